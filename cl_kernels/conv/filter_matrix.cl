/* The gradient of a convolution's filters on matrix units: see conv/matrix.clh. */
#define TENON_GRADIENT_OF_FILTER 1
#include "conv/matrix.clh"
