/* Overlap of a view's elements with each other and with another view's. */
#include "base/shape.h"

#include "base/checked.h"

/* A view in units of bytes, without dimensions of size 1 or stride 0. */
typedef struct lattice {
    uint32_t rank;
    int64_t start, width; /* offset of the first element, and the element size */
    int64_t count[TENON_MAX_RANK];
    int64_t step[TENON_MAX_RANK];
} lattice;

static lattice lattice_of(const tenon_tensor *t, int64_t shift)
{
    int64_t size = (int64_t)tenon_dtype_size(t->dtype);
    lattice l = {.start = (int64_t)t->offset + shift, .width = size};
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->shape[d] == 1 || t->stride[d] == 0)
            continue;
        /* Insertion sort by step, ascending. */
        uint32_t at = l.rank++;
        for (; at > 0 && l.step[at - 1] > t->stride[d] * size; at--) {
            l.count[at] = l.count[at - 1];
            l.step[at] = l.step[at - 1];
        }
        l.count[at] = t->shape[d];
        l.step[at] = t->stride[d] * size;
    }
    return l;
}

bool tn_tensor_self_overlaps(const tenon_tensor *tensor)
{
    if (tn_tensor_empty(tensor))
        return false;
    for (uint32_t d = 0; d < tensor->rank; d++)
        if (tensor->shape[d] > 1 && tensor->stride[d] == 0)
            return true;
    lattice l = lattice_of(tensor, 0);
    int64_t span = l.width;
    for (uint32_t d = 0; d < l.rank; d++) {
        if (l.step[d] < span)
            return true;
        span += (l.count[d] - 1) * l.step[d];
    }
    return false;
}

static int64_t floor_mod(int64_t value, int64_t modulus)
{
    int64_t rest = value % modulus;
    return rest < 0 ? rest + modulus : rest;
}

/* Returns the span of a view's bytes modulo `pitch`, from its first byte. */
static int64_t span_modulo(const lattice *l, int64_t pitch)
{
    int64_t span = l->width;
    for (uint32_t d = 0; d < l->rank; d++)
        if (l->step[d] % pitch != 0)
            span += (l->count[d] - 1) * l->step[d];
    return span;
}

/* Returns true if the two views modulo `pitch` are disjoint arcs of a circle of `pitch` bytes. The
 * position of the circle's origin does not matter. */
static bool disjoint_modulo(const lattice *a, const lattice *b, int64_t pitch)
{
    int64_t gap = floor_mod(b->start - a->start, pitch);
    return gap >= span_modulo(a, pitch) && pitch - gap >= span_modulo(b, pitch);
}

bool tn_tensor_overlaps(const tenon_tensor *a, const tenon_tensor *b, int64_t shift)
{
    if (tn_tensor_empty(a) || tn_tensor_empty(b))
        return false;
    tn_extent ea = tn_tensor_extent(a), eb = tn_tensor_extent(b);
    if ((int64_t)ea.end <= (int64_t)eb.first + shift ||
        (int64_t)eb.end + shift <= (int64_t)ea.first)
        return false;
    lattice la = lattice_of(a, 0), lb = lattice_of(b, shift);
    for (uint32_t d = 0; d < la.rank; d++)
        if (disjoint_modulo(&la, &lb, la.step[d]))
            return false;
    for (uint32_t d = 0; d < lb.rank; d++)
        if (disjoint_modulo(&la, &lb, lb.step[d]))
            return false;
    return true;
}

tenon_status tn_output_check(const char *caller, const char *argument, const tenon_tensor *tensor)
{
    char shape[160], stride[160];
    if (!tn_tensor_self_overlaps(tensor))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: %s: an output's elements must not overlap: shape %s, strides %s", caller,
                   argument, tn_shape_text(tensor->rank, tensor->shape, shape),
                   tn_shape_text(tensor->rank, tensor->stride, stride));
}
