/* Flags of the terms after the activation, in the kernel arguments of products and convolutions:
 *
 *     d = post_scale * act(...) + post_shift + residual
 *
 * Kernels read them only in builds with TENON_POST. Included by C11 and by OpenCL C. */
#ifndef TENON_COMMON_POST_ARGS_H
#define TENON_COMMON_POST_ARGS_H

#define TENON_POST_SCALE    256 /* if unset, post_scale is not read; likewise for the others */
#define TENON_POST_SHIFT    512
#define TENON_POST_RESIDUAL 1024
#define TENON_POST_ANY      (TENON_POST_SCALE | TENON_POST_SHIFT | TENON_POST_RESIDUAL)
/* Host only: the residual is the output itself. */
#define TENON_POST_IN_PLACE 2048

#endif
