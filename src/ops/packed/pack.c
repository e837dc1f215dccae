/* Packing and unpacking: copies between a tensor and the packed memory, both described by views. */
#include "base/shape.h"
#include "ops/packed/internal.h"

#include <tenon/elementwise.h>

/* Maximum rank of a tensor: a view of its panels has one more dimension. */
#define MAX_RANK (TENON_MAX_RANK - 1)

/* Corresponding parts of a tensor and of the packed memory. */
typedef struct part {
    tenon_tensor tensor, packed;
} part;

#define MOST_PARTS 4

/* Copies to make, in order. A part with `fill` has no tensor; its packed memory is set to zero. */
typedef struct moves {
    part parts[MOST_PARTS];
    bool fill[MOST_PARTS];
    int count;
} moves;

/* Returns `size` columns of each matrix, from column `start` on, which must be in one panel. */
static part columns_of(const tenon_packed *packed, const tenon_tensor *matrix, int64_t start,
                       int64_t size)
{
    const uint32_t last = matrix->rank - 1, first = tn_packed_first_row(packed, matrix);
    const int64_t panel = packed->panel;
    const uint64_t element = tenon_dtype_size(matrix->dtype);
    int64_t step = panel;
    part p = {.tensor = *matrix};
    p.tensor.shape[last] = size;
    p.tensor.offset += (uint64_t)(start * matrix->stride[last]) * element;
    p.packed = p.tensor;
    p.packed.memory = packed->memory.memory;
    p.packed.stride[last] = 1;
    for (uint32_t d = last; d-- > first;) {
        p.packed.stride[d] = step;
        step *= matrix->shape[d];
    }
    p.packed.offset = (uint64_t)(start / panel * step + start % panel) * element;
    step *= tn_packed_padded(matrix->shape[last], panel) / panel;
    for (uint32_t d = first; d-- > 0;) {
        p.packed.stride[d] = step;
        step *= matrix->shape[d];
    }
    return p;
}

/* Inserts a dimension. */
static void insert(tenon_tensor *view, uint32_t at, int64_t size, int64_t stride)
{
    for (uint32_t d = view->rank++; d > at; d--) {
        view->shape[d] = view->shape[d - 1];
        view->stride[d] = view->stride[d - 1];
    }
    view->shape[at] = size;
    view->stride[at] = stride;
}

/* Returns all whole panels. The dimension of the columns becomes two: the panels, before the rows,
 * and the columns of a panel. */
static part whole_panels(const tenon_packed *packed, const tenon_tensor *matrix, int64_t count)
{
    const uint32_t first = tn_packed_first_row(packed, matrix), last = matrix->rank - 1;
    const int64_t panel = packed->panel;
    int64_t elements = panel; /* of a panel */
    part p = columns_of(packed, matrix, 0, panel);
    for (uint32_t d = first; d < last; d++)
        elements *= matrix->shape[d];
    insert(&p.tensor, first, count, panel * matrix->stride[last]);
    insert(&p.packed, first, count, elements);
    return p;
}

static void add(moves *m, bool fill, part p)
{
    m->fill[m->count] = fill;
    m->parts[m->count++] = p;
}

static void add_panels(moves *m, const tenon_packed *packed, const tenon_tensor *matrix,
                       bool reverse)
{
    const int64_t columns = matrix->shape[matrix->rank - 1], panel = packed->panel;
    const int64_t whole = columns / panel, rest = columns % panel;
    if (whole > 0)
        add(m, false, whole_panels(packed, matrix, whole));
    if (rest > 0)
        add(m, false, columns_of(packed, matrix, whole * panel, rest));
    if (rest > 0 && !reverse) {
        part padding = columns_of(packed, matrix, columns, panel - rest);
        padding.tensor = padding.packed;
        add(m, true, padding);
    }
    if (m->count == 0) /* an empty copy still signals the caller's event */
        add(m, false, columns_of(packed, matrix, 0, 0));
}

static moves plan_moves(const tenon_packed *packed, const tenon_tensor *tensor, bool reverse)
{
    moves m = {.count = 0};
    const bool is_dense = packed->layout != PACKED_PANELS;
    const tenon_tensor matrix = tn_packed_matrix(packed, tensor);
    if (is_dense)
        add(&m, false, (part){*tensor, tn_packed_dense(packed)});
    if (packed->panel > 0 && !(is_dense && reverse)) /* dense weights are unpacked with one copy */
        add_panels(&m, packed, &matrix, reverse);
    return m;
}

/* Packs all elements, or unpacks them if `reverse`. The first copy waits for the caller's events,
 * and the last copy, or the transformation of the filters, signals. */
static tenon_status move(const char *caller, tenon_stream *stream, const tenon_packed *packed,
                         const tenon_tensor *tensor, bool reverse, const tenon_sync *sync)
{
    const moves m = plan_moves(packed, tensor, reverse);
    const bool transforms = !reverse && packed->transformed.panel > 0;
    const bool is_empty = tn_tensor_empty(tensor);
    for (int i = 0; i < m.count; i++) {
        const part *p = &m.parts[i];
        tenon_sync own = {0};
        if (sync != NULL && i == 0) {
            own.wait_list = sync->wait_list;
            own.wait_count = sync->wait_count;
        }
        if (i == m.count - 1 && !transforms)
            own.event = tn_sync_event(sync);
        tenon_status status = m.fill[i]
                                  ? tenon_tensor_fill(stream, &p->packed, 0, &own)
                                  : tenon_copy(stream, NULL, reverse ? &p->packed : &p->tensor,
                                               reverse ? &p->tensor : &p->packed, &own);
        if (status != TENON_OK)
            return i == 0 || is_empty ? status
                                      : tn_fail_because(TENON_ERROR_INCOMPLETE,
                                                        "%s: the output is undefined", caller);
    }
    const tenon_sync last = {.event = tn_sync_event(sync)};
    if (transforms && tn_filters_transform(caller, stream, packed, &last) != TENON_OK)
        return tn_fail_because(TENON_ERROR_INCOMPLETE, "%s: the output is undefined", caller);
    return TENON_OK;
}

/* Checks the type: filters must be floating-point; a matrix may also be i8 or u8. */
static tenon_status check_type(const char *caller, tenon_context *context, packed_kind kind,
                               const char *argument, tenon_dtype dtype)
{
    if (kind != PACKED_GEMM || dtype <= TENON_DTYPE_BF16)
        return tn_float_check(caller, argument, context, dtype);
    if (!tn_packed_is_bytes(dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: type %s is not supported; f64, f32, f16, bf16, i8 and u8 are",
                       caller, argument, tenon_dtype_string(dtype));
    return TENON_OK;
}

static tenon_status check_source(const char *caller, tenon_context *context, packed_kind kind,
                                 const char *argument, const tenon_tensor *tensor)
{
    const uint32_t least_rank = kind == PACKED_FILTER ? 3 : 2;
    TN_TRY(tn_tensor_check(caller, argument, tensor));
    if (tensor->rank < least_rank || tensor->rank > MAX_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be %u to %d: %s",
                       caller, argument, tensor->rank, least_rank, MAX_RANK,
                       kind == PACKED_FILTER ? "K C/groups and the filter's size" : "… K N");
    TN_TRY(check_type(caller, context, kind, argument, tensor->dtype));
    return tn_memory_check(caller, argument, context, tensor);
}

static tenon_status pack(const char *caller, tenon_stream *stream, const tenon_pack_params *params,
                         packed_kind kind, const char *argument, const tenon_tensor *tensor,
                         tenon_packed **out, const tenon_sync *sync)
{
    static const tenon_pack_params defaults = TENON_PACK_PARAMS_INIT;
    tenon_pack_params room;
    const void *taken;
    tenon_packed *packed;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: packed is NULL", caller);
    *out = NULL;
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_params_take(caller, params, &defaults, sizeof defaults, "TENON_PACK_PARAMS_INIT",
                          &room, &taken));
    params = taken;
    TN_TRY(tn_params_check(caller, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_sync_check(caller, sync));
    TN_TRY(check_source(caller, stream->context, kind, argument, tensor));
    TN_TRY(tn_packed_create(caller, stream->context, kind, params->layout, tensor, &packed));
    tenon_status status = move(caller, stream, packed, tensor, false, sync);
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
    static const char caller[] = "tenon_packed_unpack";
    char wanted[160], got[160];
    TN_TRY(tn_stream_check(caller, stream));
    if (packed == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: packed is NULL", caller);
    TN_TRY(tn_packed_check(caller, stream->context, packed, packed->kind));
    TN_TRY(tn_tensor_check(caller, "tensor", tensor));
    TN_TRY(tn_output_check(caller, "tensor", tensor));
    TN_TRY(tn_same_dtype_check(caller, "tensor", tensor, "packed", packed->view.dtype));
    if (!tn_tensor_same_shape(tensor, &packed->view))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: tensor: shape is %s, must be that of packed, %s", caller,
                       tn_shape_text(tensor->rank, tensor->shape, got),
                       tn_shape_text(packed->view.rank, packed->view.shape, wanted));
    TN_TRY(tn_sync_check(caller, sync));
    TN_TRY(tn_memory_check(caller, "tensor", stream->context, tensor));
    return move(caller, stream, packed, tensor, true, sync);
}
