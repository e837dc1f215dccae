/* Gradient of a convolution's image on matrix units; also the transposed convolution: see
 * conv/implicit_matrix.clh. */
#define TENON_GRADIENT_OF_IMAGE 1
#include "conv/implicit_matrix.clh"
