/* Gradient of a convolution's filters, for GPUs: see conv/implicit_tiled.clh. */
#define TENON_GRADIENT_OF_FILTER 1
#include "conv/implicit_tiled.clh"
