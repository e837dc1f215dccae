/* Division of the index space of walk_args into work-items. */
#ifndef TN_OPS_COMMON_WALK_H
#define TN_OPS_COMMON_WALK_H

#include "common/walk_args.h"
#include "ops/common/gpu.h"
#include "runtime/queue/launch.h"

/* Divides the space of args->rank, args->shape and args->stride, and sets the global and local
 * sizes of the launch. `share` is the share of a GPU's work-item. */
void tn_walk_cut(tenon_context *context, tn_stream_share share, walk_args *args, tn_launch *launch);

/* Returns the vector width for elements that are copied bit by bit. */
uint32_t tn_element_lanes(tenon_context *context, tenon_dtype dtype);

/* Returns the number of such vectors that a work-item has in flight; 1 on a CPU. */
int32_t tn_moved_vectors(const tenon_context *context);

/* Writes the options of common/element.clh: TENON_COPY_SIZE, TENON_VW, TENON_VECTORS on GPUs, and
 * TENON_STREAM by tn_stores_option(stores). */
void tn_element_options(tenon_context *context, tenon_dtype dtype, const int32_t *stores,
                        char *text);

#endif
