/* Forward convolution for GPUs: see conv/implicit_tiled.clh. */
#include "conv/implicit_tiled.clh"
