/* Bits of args.flags of the optimizer kernels, in addition to the flags of the public header. */
#ifndef TENON_OPTIMIZER_KERNEL_FLAGS_H
#define TENON_OPTIMIZER_KERNEL_FLAGS_H

#define OPTIMIZER_HAS_VELOCITY 256
#define OPTIMIZER_HAS_MASTER   512

#endif
