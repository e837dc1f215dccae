/* Convolution on matrix units, forward: see conv/implicit_matrix.clh. */
#include "conv/implicit_matrix.clh"
