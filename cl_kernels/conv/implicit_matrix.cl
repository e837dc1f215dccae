/* Convolution on matrix units, forward: see conv/matrix.clh. */
#include "conv/matrix.clh"
