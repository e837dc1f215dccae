/* The gradient of a convolution's image on matrix units; also the transposed convolution: see
 * conv/matrix.clh. */
#define TENON_GRADIENT_OF_IMAGE 1
#include "conv/matrix.clh"
