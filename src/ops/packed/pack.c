/* Packing and unpacking: the public entries, and the family. */
#include "ops/packed/internal.h"

#include "base/shape.h"

static const tn_solver *const solvers[] = {&tn_pack_runs};

const tn_family tn_pack_family = {
    .name = "pack", .solvers = solvers, .solver_count = 1, .self_check = tn_pack_self_check};

/* The batch's dimensions, fewest and innermost last. */
static void take_batch(const tn_space *space, pack_problem *p)
{
    for (uint32_t i = 0; i < PACK_MAX_BATCH; i++) {
        bool is_there = i + space->rank >= PACK_MAX_BATCH;
        p->batch[i] = is_there ? space->shape[i + space->rank - PACK_MAX_BATCH] : 1;
        p->stride[i] = is_there ? space->stride[0][i + space->rank - PACK_MAX_BATCH] : 0;
    }
}

/* A dense tensor is the fewest lines that the view has, as rows of one panel. */
static void take_lines(const tenon_tensor *view, pack_problem *p)
{
    tn_space space = {.rank = view->rank, .views = 1};
    for (uint32_t d = 0; d < view->rank; d++) {
        space.shape[d] = view->shape[d];
        space.stride[0][d] = view->stride[d];
    }
    tn_space_collapse(&space);
    p->rows = p->cols = 1;
    if (space.rank > 0) {
        p->cols = space.shape[--space.rank];
        p->col = space.stride[0][space.rank];
    }
    if (space.rank > 0) {
        p->rows = space.shape[--space.rank];
        p->row = space.stride[0][space.rank];
    }
    p->panel = p->cols;
    take_batch(&space, p);
}

void tn_pack_canonicalise(const tenon_tensor *view, int64_t panel, bool reverse, pack_problem *p)
{
    const uint32_t lead = view->rank - 2;
    tn_space batch = {.rank = lead, .views = 1};
    *p = (pack_problem){.head = {.size = sizeof *p, .forced = -1}, .reverse = reverse};
    p->dtype = view->dtype;
    if (panel == 0) {
        take_lines(view, p);
        return;
    }
    p->panel = panel;
    p->rows = view->shape[lead];
    p->cols = view->shape[lead + 1];
    p->row = p->rows == 1 ? 0 : view->stride[lead];
    p->col = p->cols == 1 ? 0 : view->stride[lead + 1];
    for (uint32_t d = 0; d < lead; d++) {
        batch.shape[d] = view->shape[d];
        batch.stride[0][d] = view->stride[d];
    }
    tn_space_collapse(&batch);
    take_batch(&batch, p);
}

/* Moves all elements one way or the other. */
static tenon_status move(tenon_stream *stream, const tenon_packed *packed,
                         const tenon_tensor *tensor, tn_call *call, bool reverse,
                         const tenon_sync *sync)
{
    pack_problem problem;
    call->operands[reverse ? PACK_FROM : PACK_TO].view = &packed->memory;
    if (tn_tensor_empty(&packed->memory))
        return tn_call_run(stream, &tn_pack_family, NULL, call, sync);
    tn_pack_canonicalise(tensor, packed->panel, reverse, &problem);
    return tn_call_run(stream, &tn_pack_family, &problem.head, call, sync);
}

static tenon_status check_source(const char *operation, tenon_context *context,
                                 const char *argument, const tenon_tensor *tensor,
                                 uint32_t least_rank, const char *dimensions)
{
    TN_TRY(tn_tensor_check(operation, argument, tensor));
    if (tensor->rank < least_rank)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be at least %u: %s",
                       operation, argument, tensor->rank, least_rank, dimensions);
    TN_TRY(tn_float_check(operation, context, tensor->dtype));
    return tn_memory_check(operation, argument, context, tensor);
}

static tenon_status pack(const char *operation, tenon_stream *stream,
                         const tenon_pack_params *params, packed_kind kind, const char *argument,
                         const tenon_tensor *tensor, tenon_packed **out, const tenon_sync *sync)
{
    static const tenon_pack_params defaults = TENON_PACK_PARAMS_INIT;
    tn_call call = {.operation = operation,
                    .operands = {{argument, tensor, TN_INPUT}, {"packed", NULL, TN_OUTPUT}},
                    .operand_count = PACK_OPERANDS};
    tenon_packed *packed;
    params = params != NULL ? params : &defaults;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: packed is NULL", operation);
    *out = NULL;
    TN_TRY(tn_stream_check(operation, stream));
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_sync_check(operation, sync));
    TN_TRY(check_source(operation, stream->context, argument, tensor, kind == PACKED_FILTER ? 3 : 2,
                        kind == PACKED_FILTER ? "K C/groups and the filter's size" : "… K N"));
    TN_TRY(tn_packed_create(operation, stream->context, kind, params->layout, tensor, &packed));
    tenon_status status = move(stream, packed, tensor, &call, false, sync);
    if (status != TENON_OK) {
        tenon_packed_release(packed);
        return status;
    }
    *out = packed;
    return TENON_OK;
}

TENON_API tenon_status tenon_gemm_pack(tenon_stream *stream, const tenon_pack_params *params,
                                       const tenon_tensor *b, tenon_packed **packed,
                                       const tenon_sync *sync)
{
    return pack("tenon_gemm_pack", stream, params, PACKED_GEMM, "b", b, packed, sync);
}

TENON_API tenon_status tenon_conv_pack_filter(tenon_stream *stream, const tenon_pack_params *params,
                                              const tenon_tensor *w, tenon_packed **packed,
                                              const tenon_sync *sync)
{
    return pack("tenon_conv_pack_filter", stream, params, PACKED_FILTER, "w", w, packed, sync);
}

TENON_API tenon_status tenon_packed_unpack(tenon_stream *stream, const tenon_packed *packed,
                                           const tenon_tensor *tensor, const tenon_sync *sync)
{
    static const char operation[] = "tenon_packed_unpack";
    char wanted[160], got[160];
    tn_call call = {.operation = operation,
                    .operands = {{"packed", NULL, TN_INPUT}, {"tensor", tensor, TN_OUTPUT}},
                    .operand_count = PACK_OPERANDS};
    TN_TRY(tn_stream_check(operation, stream));
    TN_TRY(tn_packed_check(operation, stream->context, packed,
                           packed != NULL ? packed->kind : PACKED_GEMM));
    TN_TRY(tn_call_check_views(&call));
    TN_TRY(tn_same_dtype_check(operation, "tensor", tensor, "packed", packed->view.dtype));
    if (!tn_tensor_same_shape(tensor, &packed->view))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: tensor: its shape is %s, packed was %s",
                       operation, tn_shape_text(tensor->rank, tensor->shape, got),
                       tn_shape_text(packed->view.rank, packed->view.shape, wanted));
    return move(stream, packed, tensor, &call, true, sync);
}
