/* How the index space of walk_args is cut into work-items. */
#ifndef TN_OPS_COMMON_WALK_H
#define TN_OPS_COMMON_WALK_H

#include "common/walk_args.h"
#include "runtime/launch.h"

/* Cuts the space of args->rank and args->shape; a GPU's work-item takes `gpu_chunk` elements of a
 * line. Sets the launch's global and local sizes. */
void tn_walk_cut(tenon_context *context, int64_t gpu_chunk, walk_args *args, tn_launch *launch);

/* The lanes of a vector of elements that are moved as they are. */
uint32_t tn_element_lanes(tenon_context *context, tenon_dtype dtype);

/* TENON_COPY_SIZE, TENON_VW and, by tn_stores_option(stores), TENON_STREAM, as common/element.clh
 * takes them. */
void tn_element_options(tenon_context *context, tenon_dtype dtype, const int32_t *stores,
                        char *text);

#endif
