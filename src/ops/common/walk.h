/* How the index space of walk_args is cut into work-items. */
#ifndef TN_OPS_COMMON_WALK_H
#define TN_OPS_COMMON_WALK_H

#include "common/walk_args.h"
#include "ops/common/gpu.h"
#include "runtime/queue/launch.h"

/* Cuts the space of args->rank, args->shape and args->stride; `share` is a GPU's work-item's. Sets
 * the launch's global and local sizes. */
void tn_walk_cut(tenon_context *context, tn_stream_share share, walk_args *args, tn_launch *launch);

/* The lanes of a vector of elements that are moved as they are. */
uint32_t tn_element_lanes(tenon_context *context, tenon_dtype dtype);

/* Vectors of them that a work-item has on their way: 1 on a CPU. */
int32_t tn_moved_vectors(const tenon_context *context);

/* TENON_COPY_SIZE, TENON_VW, TENON_VECTORS on GPUs and, by tn_stores_option(stores), TENON_STREAM,
 * as common/element.clh takes them. */
void tn_element_options(tenon_context *context, tenon_dtype dtype, const int32_t *stores,
                        char *text);

#endif
