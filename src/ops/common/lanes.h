/* Vector widths of kernels (TENON_VW). */
#ifndef TN_OPS_COMMON_LANES_H
#define TN_OPS_COMMON_LANES_H

#include "dispatch/solver.h"

/* Returns the vector width of GPU kernels, on any device: 16 bytes of the accumulator's type. */
int32_t tn_gpu_lanes(uint32_t dtype);

/* Returns the vector width for arithmetic: native (2 to 16) on a CPU, tn_gpu_lanes on a GPU. */
uint32_t tn_lanes(const tenon_context *context, uint32_t dtype);

/* Returns the vector width of streaming kernels: tn_lanes on a CPU, 16 bytes on a GPU. */
uint32_t tn_stream_lanes(const tenon_context *context, uint32_t dtype);

/* Returns the multiply-add rate of a type's accumulator. */
tn_rate tn_sum_rate(uint32_t dtype);

#endif
