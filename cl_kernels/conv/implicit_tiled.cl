/* Convolution for GPUs, forward: see conv/tiled.clh. */
#include "conv/tiled.clh"
