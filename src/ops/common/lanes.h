/* The lanes of kernels' vectors, their TENON_VW. */
#ifndef TN_OPS_COMMON_LANES_H
#define TN_OPS_COMMON_LANES_H

#include "dispatch/solver.h"

/* As kernels for GPUs have them on any device: 16 bytes of what sums are taken in. */
int32_t tn_gpu_lanes(uint32_t dtype);

/* Of a CPU as many as fill its vectors, from 2 to 16. */
uint32_t tn_lanes(const tenon_context *context, uint32_t dtype);

/* Of kernels that stream from memory to memory: of a GPU as many as make 16 bytes. */
uint32_t tn_stream_lanes(const tenon_context *context, uint32_t dtype);

/* The rate of multiply-adds of what a type's sums are taken in. */
tn_rate tn_sum_rate(uint32_t dtype);

#endif
