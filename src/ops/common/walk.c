#include "ops/common/walk.h"

#include "base/checked.h"
#include "ops/common/rows.h"
#include "ops/common/stores.h"
#include "ops/common/gpu.h"

/* Least elements per work-item of a CPU, to be worth its launch. */
#define CPU_CHUNK 8192
#define GPU_BYTES 16

void tn_walk_cut(tenon_context *context, tn_stream_share share, walk_args *args, tn_launch *launch)
{
    int64_t inner = args->shape[args->rank - 1];
    bool cpu = context->device.is_cpu;
    args->length = inner;
    for (int v = 0; v < TENON_WALK_OPERANDS; v++)
        args->step[v] = args->stride[v][args->rank - 1];
    args->rows = 1;
    for (int32_t d = 0; d + 1 < args->rank; d++)
        args->rows *= args->shape[d];
    const tn_stream_pieces cut =
        cpu ? (tn_stream_pieces){tn_ceil_div(inner, CPU_CHUNK), CPU_CHUNK, 1}
            : tn_stream_cut(context, inner, args->rows, share);
    args->chunk = cut.chunk;
    args->pieces = cut.pieces;
    args->parts = cut.parts;
    args->unit = (tenon_i32)share.unit;
    args->rows_each = cpu ? tn_max_i64(CPU_CHUNK / inner, 1) : 1;
    args->items = args->parts * args->pieces * tn_ceil_div(args->rows, args->rows_each);
    launch->dimensions = 1;
    launch->local[0] = cpu ? 1 : tn_gpu_group(context, args->items);
    launch->global[0] = (size_t)tn_round_up(args->items, (int64_t)launch->local[0]);
}

/* Enough for 16 bytes on a GPU. */
uint32_t tn_element_lanes(tenon_context *context, tenon_dtype dtype)
{
    const uint32_t size = (uint32_t)tenon_dtype_size(dtype);
    return context->device.is_cpu ? tn_lanes(context, size == 8 ? TENON_DTYPE_F64 : TENON_DTYPE_F32)
                                  : GPU_BYTES / size;
}

int32_t tn_moved_vectors(const tenon_context *context)
{
    return context->device.is_cpu ? 1 : (int32_t)context->device.model.kind->memory.vectors;
}

void tn_element_options(tenon_context *context, tenon_dtype dtype, const int32_t *stores,
                        char *text)
{
    char gpu[TN_GPU_OPTIONS];
    uint32_t size = (uint32_t)tenon_dtype_size(dtype);
    tn_build_options(context, text, "-DTENON_COPY_SIZE=%u -DTENON_VW=%u%s%s", size,
                     tn_element_lanes(context, dtype),
                     tn_stream_option(context, tn_moved_vectors(context), gpu),
                     tn_stores_option(stores));
}
