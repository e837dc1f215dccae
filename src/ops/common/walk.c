#include "ops/common/walk.h"

#include "base/checked.h"
#include "ops/common/rows.h"
#include "ops/common/stores.h"
#include "ops/common/gpu.h"

/* A CPU's work-item is worth its launch from about this many elements on. */
#define CPU_CHUNK 8192
#define GPU_GROUP 64
#define GPU_BYTES 16

void tn_walk_cut(tenon_context *context, int64_t gpu_chunk, walk_args *args, tn_launch *launch)
{
    int64_t inner = args->shape[args->rank - 1];
    bool cpu = context->device.is_cpu;
    args->rows = 1;
    for (int32_t d = 0; d + 1 < args->rank; d++)
        args->rows *= args->shape[d];
    args->chunk = cpu ? CPU_CHUNK : gpu_chunk;
    args->pieces = tn_ceil_div(inner, args->chunk);
    args->rows_each = cpu ? tn_max_i64(CPU_CHUNK / inner, 1) : 1;
    args->items = args->pieces * tn_ceil_div(args->rows, args->rows_each);
    launch->dimensions = 1;
    launch->local[0] = cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(args->items, (int64_t)launch->local[0]);
}

/* Of a GPU as many as make 16 bytes. */
uint32_t tn_element_lanes(tenon_context *context, tenon_dtype dtype)
{
    const uint32_t size = (uint32_t)tenon_dtype_size(dtype);
    return context->device.is_cpu ? tn_lanes(context, size == 8 ? TENON_DTYPE_F64 : TENON_DTYPE_F32)
                                  : GPU_BYTES / size;
}

void tn_element_options(tenon_context *context, tenon_dtype dtype, const int32_t *stores,
                        char *text)
{
    uint32_t size = (uint32_t)tenon_dtype_size(dtype);
    tn_build_options(context, text, "-DTENON_COPY_SIZE=%u -DTENON_VW=%u%s%s", size,
                     tn_element_lanes(context, dtype), tn_gpu_option(context),
                     tn_stores_option(stores));
}
