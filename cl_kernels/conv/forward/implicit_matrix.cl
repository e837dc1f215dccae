/* Forward convolution on matrix units: see conv/implicit_matrix.clh. */
#include "conv/implicit_matrix.clh"
