/* Gradient of a convolution's filters on matrix units: see conv/implicit_matrix.clh. */
#define TENON_GRADIENT_OF_FILTER 1
#include "conv/implicit_matrix.clh"
