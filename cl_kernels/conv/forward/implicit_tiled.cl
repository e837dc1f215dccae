/* Convolution for GPUs, forward: see conv/implicit_tiled.clh. */
#include "conv/implicit_tiled.clh"
