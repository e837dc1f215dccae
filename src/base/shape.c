#include "base/shape.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/invalid_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tenon_status check_dimensions(const char *caller, const char *argument,
                                     const tenon_tensor *t)
{
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->shape[d] < 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: size of dimension %u is %" PRId64 ", must not be negative",
                           caller, argument, d, t->shape[d]);
        if (t->stride[d] < 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: stride of dimension %u is %" PRId64 ", must not be negative",
                           caller, argument, d, t->stride[d]);
    }
    return TENON_OK;
}

/* Returns true if the element count and the end of the last byte fit in 63 bits. Always true for an
 * empty view. */
static bool extent_fits(const tenon_tensor *t)
{
    int64_t count = 1, last = 0, span, bytes;
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->shape[d] == 0)
            return true;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (!tn_mul_i64(count, t->shape[d], &count) ||
            !tn_mul_i64(t->shape[d] - 1, t->stride[d], &span) || !tn_add_i64(last, span, &last))
            return false;
    }
    int64_t size = (int64_t)tenon_dtype_size(t->dtype);
    return tn_add_i64(last, 1, &last) && tn_mul_i64(last, size, &bytes) &&
           tn_mul_i64(count, size, &count) && t->offset <= (uint64_t)INT64_MAX &&
           tn_add_i64(bytes, (int64_t)t->offset, &bytes);
}

tenon_status tn_handle_check(const char *caller, const char *argument, const tenon_memory *memory)
{
    if (memory->kind > TENON_MEMORY_SEQUENCE)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: memory kind is %u, which is not a tenon_memory_kind", caller,
                       argument, memory->kind);
    if (memory->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: memory: reserved is %u, must be 0",
                       caller, argument, memory->reserved);
    return TENON_OK;
}

tenon_status tn_tensor_check(const char *caller, const char *argument, const tenon_tensor *tensor)
{
    if (tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller, argument);
    if (tensor->dtype == TENON_DTYPE_INVALID) {
        char text[TN_INVALID_VIEW_TEXT];
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is an invalid view: %s", caller,
                       argument, tn_invalid_view_text(tensor, text));
    }
    if (!tn_dtype_valid(tensor->dtype))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: dtype is %d, which is not a tenon_dtype", caller, argument,
                       (int)tensor->dtype);
    if (tensor->rank > TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be at most %d",
                       caller, argument, tensor->rank, TENON_MAX_RANK);
    TN_TRY(tn_handle_check(caller, argument, &tensor->memory));
    TN_TRY(check_dimensions(caller, argument, tensor));
    if (tensor->offset % tenon_dtype_size(tensor->dtype) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: offset is %" PRIu64
                       " bytes, must be a multiple of the element size %zu",
                       caller, argument, tensor->offset, tenon_dtype_size(tensor->dtype));
    if (!extent_fits(tensor)) {
        char text[160];
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: the size of shape %s overflows",
                       caller, argument, tn_shape_text(tensor->rank, tensor->shape, text));
    }
    return TENON_OK;
}

bool tn_tensor_empty(const tenon_tensor *tensor)
{
    for (uint32_t d = 0; d < tensor->rank; d++)
        if (tensor->shape[d] == 0)
            return true;
    return false;
}

TENON_API int64_t tenon_tensor_elements(const tenon_tensor *tensor)
{
    int64_t count = 1;
    if (tensor == NULL || !tn_dtype_valid(tensor->dtype) || tensor->rank > TENON_MAX_RANK ||
        tn_tensor_empty(tensor))
        return 0;
    for (uint32_t d = 0; d < tensor->rank; d++)
        if (tensor->shape[d] < 0 || !tn_mul_i64(count, tensor->shape[d], &count))
            return 0;
    return count;
}

tn_extent tn_tensor_extent(const tenon_tensor *tensor)
{
    tn_extent extent = {tensor->offset, tensor->offset};
    if (tn_tensor_empty(tensor))
        return extent;
    uint64_t last = 0;
    for (uint32_t d = 0; d < tensor->rank; d++)
        last += (uint64_t)(tensor->shape[d] - 1) * (uint64_t)tensor->stride[d];
    extent.end += (last + 1) * tenon_dtype_size(tensor->dtype);
    return extent;
}

bool tn_tensor_dense(const tenon_tensor *tensor)
{
    int64_t stride = 1;
    for (uint32_t d = tensor->rank; d-- > 0;) {
        if (tensor->shape[d] != 1 && tensor->stride[d] != stride)
            return false;
        if (!tn_mul_i64(stride, tensor->shape[d], &stride))
            return false; /* sizes of an empty view may overflow */
    }
    return true;
}

bool tn_tensor_same_shape(const tenon_tensor *a, const tenon_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

tenon_status tn_shape_check(const char *caller, const char *argument, const tenon_tensor *tensor,
                            uint32_t rank, const int64_t *shape)
{
    char got[160], wanted[160];
    if (tensor->rank == rank && memcmp(tensor->shape, shape, rank * sizeof *shape) == 0)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be %s", caller,
                   argument, tn_shape_text(tensor->rank, tensor->shape, got),
                   tn_shape_text(rank, shape, wanted));
}

bool tn_tensor_same_view(const tenon_tensor *a, const tenon_tensor *b)
{
    if (a->dtype != b->dtype || a->offset != b->offset || !tn_tensor_same_shape(a, b))
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->shape[d] != 1 && a->stride[d] != b->stride[d])
            return false;
    return true;
}

tenon_status tn_broadcast(const char *caller, const char *argument, const tenon_tensor *tensor,
                          uint32_t rank, const int64_t *shape, int64_t *stride)
{
    char from[160], to[160];
    uint32_t lead = rank - tensor->rank;
    bool fits = tensor->rank <= rank;
    for (uint32_t d = 0; d < rank && fits; d++) {
        int64_t size = d < lead ? 1 : tensor->shape[d - lead];
        fits = size == 1 || size == shape[d];
        stride[d] = size == 1 ? 0 : tensor->stride[d - lead];
    }
    if (!fits)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape %s does not broadcast to %s",
                       caller, argument, tn_shape_text(tensor->rank, tensor->shape, from),
                       tn_shape_text(rank, shape, to));
    return TENON_OK;
}

bool tn_next_index(int64_t *index, const int64_t *shape, uint32_t rank)
{
    while (rank-- > 0) {
        if (++index[rank] < shape[rank])
            return true;
        index[rank] = 0;
    }
    return false;
}

/* Returns true if the two dimensions can be merged in every view. If a product overflows, the
 * dimension is never stepped over, or the view is empty. */
static bool mergeable(const tn_space *s, uint32_t outer, uint32_t inner)
{
    int64_t product;
    if (!tn_mul_i64(s->shape[outer], s->shape[inner], &product))
        return false;
    for (uint32_t v = 0; v < s->views; v++)
        if (!tn_mul_i64(s->stride[v][inner], s->shape[inner], &product) ||
            s->stride[v][outer] != product)
            return false;
    return true;
}

static void move_dimension(tn_space *s, uint32_t to, uint32_t from)
{
    s->shape[to] = s->shape[from];
    for (uint32_t v = 0; v < s->views; v++)
        s->stride[v][to] = s->stride[v][from];
}

void tn_space_collapse(tn_space *space)
{
    uint32_t kept = 0;
    for (uint32_t d = 0; d < space->rank; d++) {
        if (space->shape[d] == 1)
            continue;
        if (kept > 0 && mergeable(space, kept - 1, d)) {
            int64_t outer = space->shape[kept - 1];
            move_dimension(space, kept - 1, d);
            space->shape[kept - 1] *= outer;
        } else {
            move_dimension(space, kept++, d);
        }
    }
    /* Clears the unused dimensions, since spaces are hashed and compared as bytes. */
    for (uint32_t d = kept; d < TENON_MAX_RANK; d++) {
        space->shape[d] = 0;
        for (uint32_t v = 0; v < space->views; v++)
            space->stride[v][d] = 0;
    }
    space->rank = kept;
}
