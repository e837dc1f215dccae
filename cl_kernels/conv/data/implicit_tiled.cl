/* Gradient of a convolution's image, for GPUs; also the transposed convolution: see
 * conv/implicit_tiled.clh. */
#define TENON_GRADIENT_OF_IMAGE 1
#include "conv/implicit_tiled.clh"
