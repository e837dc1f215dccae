/* References of gather and its gradient, and their awkward cases. docs/numerics.md derives the
 * bound. */
#include "base/checked.h"
#include "check/awkward.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/exp_sum.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* Dense shapes: the table, outer × rows × inner; what is gathered, outer × count × inner. */
typedef struct sizes {
    int64_t outer, rows, count, inner;
} sizes;

static uint32_t axis_of(const void *params, const tenon_tensor *table)
{
    const int32_t axis = ((const tenon_gather_params *)params)->axis;
    return (uint32_t)(axis < 0 ? axis + (int32_t)table->rank : axis);
}

static sizes sizes_of(const void *params, const tenon_tensor *table, const tenon_tensor *indices)
{
    const uint32_t axis = axis_of(params, table);
    sizes s = {1, table->shape[axis], tenon_tensor_elements(indices), 1};
    for (uint32_t d = 0; d < table->rank; d++)
        if (d != axis)
            *(d < axis ? &s.outer : &s.inner) *= table->shape[d];
    return s;
}

bool tn_gather_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[GATHER_FROM], *indices = v[GATHER_INDICES], *y = v[GATHER_TO];
    const sizes s = sizes_of(params, x, indices);
    double *table = tn_host_read(x, x->rank, x->shape);
    double *index = tn_host_read(indices, indices->rank, indices->shape);
    bool whole = table != NULL && index != NULL;
    const double missing = tn_dtype_is_float(y->dtype) ? (double)NAN : 0;
    for (int64_t o = 0; whole && o < s.outer; o++)
        for (int64_t i = 0; i < s.count; i++) {
            bool there = index[i] >= 0 && index[i] < (double)s.rows;
            const double *row = there ? table + (o * s.rows + (int64_t)index[i]) * s.inner : NULL;
            for (int64_t c = 0; c < s.inner; c++)
                *results++ = (tn_bounded){there ? row[c] : missing, 0};
        }
    free(table);
    free(index);
    return whole;
}

/* Returns an element that is the sum of n terms, whose magnitudes add up to `size`. */
static tn_bounded summed(tenon_dtype dtype, double sum, double size, double n)
{
    tn_bounded result = {sum, 0};
    if (n > 1)
        result.bound = tn_gamma(n - 1, tn_unit(dtype)) * size + n * tn_least_normal(dtype);
    else if (fabs(sum) < tn_least_normal(dtype))
        result.bound = fabs(sum);
    return tn_stored(dtype, result);
}

/* Computes dx for one index of `outer`. Until the end, bounds hold sums of magnitudes, and `counts`
 * the number of terms of each row. */
static void sum_line(const sizes *s, const double *index, const double *dy, double *counts,
                     tenon_dtype dtype, tn_bounded *dx)
{
    for (int64_t i = 0; i < s->rows * s->inner; i++)
        dx[i] = (tn_bounded){0, 0};
    for (int64_t i = 0; i < s->rows; i++)
        counts[i] = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (!(index[i] >= 0 && index[i] < (double)s->rows))
            continue;
        int64_t row = (int64_t)index[i];
        counts[row]++;
        for (int64_t c = 0; c < s->inner; c++) {
            dx[row * s->inner + c].value += dy[i * s->inner + c];
            dx[row * s->inner + c].bound += fabs(dy[i * s->inner + c]);
        }
    }
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t i = row * s->inner; i < (row + 1) * s->inner; i++)
            dx[i] = summed(dtype, dx[i].value, dx[i].bound, counts[row]);
}

bool tn_gather_backward_reference(const void *params, const tenon_tensor *const *v,
                                  tn_bounded *results)
{
    const tenon_tensor *dy = v[GATHER_FROM], *indices = v[GATHER_INDICES], *dx = v[GATHER_TO];
    const sizes s = sizes_of(params, dx, indices);
    double *terms = tn_host_read(dy, dy->rank, dy->shape);
    double *index = tn_host_read(indices, indices->rank, indices->shape);
    double *counts = tn_array(s.rows, sizeof *counts);
    bool whole = terms != NULL && index != NULL && counts != NULL;
    for (int64_t o = 0; whole && o < s.outer; o++)
        sum_line(&s, index, terms + o * s.count * s.inner, counts, dx->dtype,
                 results + o * s.rows * s.inner);
    free(terms);
    free(index);
    free(counts);
    return whole;
}

/* Fills in indices, some of them out of range at either end. Every third is one of a few. */
static void put_indices(const void *params, const tenon_tensor *table, const tenon_tensor *indices,
                        uint64_t *seed)
{
    int64_t index[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(indices);
    tn_case_integers(indices, -2, table->shape[axis_of(params, table)] + 1, seed);
    for (int64_t i = 0; i < count; i++) {
        if (i % 3 == 0)
            tn_dtype_store(indices->dtype, tn_host_element(indices, index),
                           trunc(3 * tn_random(seed)));
        tn_next_index(index, indices->shape, indices->rank);
    }
}

void tn_gather_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    put_indices(params, v[GATHER_FROM], v[GATHER_INDICES], seed);
}

void tn_gather_backward_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    put_indices(params, v[GATHER_TO], v[GATHER_INDICES], seed);
}

/* More rows than a digit of the sort has values, and more indices than a work-item sorts. */
#define AWKWARD_ROWS    300
#define AWKWARD_INDICES 59, 71

/* Returns a view of the table, or of the gathered rows, contiguous along the last dimension or
 * along the axis, with a gap between lines. */
static tenon_tensor gather_reference_make_view(tenon_dtype dtype, bool table, bool along_axis,
                                               int64_t inner)
{
    const int64_t table_shape[] = {2, AWKWARD_ROWS, inner},
                  picked_shape[] = {2, AWKWARD_INDICES, inner};
    tenon_tensor view =
        tn_awkward_view(dtype, table ? 3 : 4, table ? table_shape : picked_shape, false);
    const uint32_t last = view.rank - 1;
    int64_t step = along_axis ? 1 : inner + 1;
    for (uint32_t d = last - 1; d > 0; d--) {
        view.stride[d] = step;
        step *= view.shape[d];
    }
    if (along_axis) {
        view.stride[last] = step + 1;
        step = view.stride[last] * inner;
    }
    view.stride[0] = step + 5;
    return view;
}

/* The indices include repetitions and some out of range. */
static bool make_awkward(uint32_t type, const tn_operation *operation, uint32_t number, tn_case *c)
{
    const tenon_dtype dtype = (tenon_dtype)type;
    const bool along_axis = number == 1, backward = operation == &tn_operation_gather_backward;
    const int64_t inner = along_axis ? 5 : 83;
    if (number == 2)
        return false;
    tn_awkward_begin(c, operation);
    ((tenon_gather_params *)c->params.bytes)->axis = 1;
    c->views[GATHER_FROM] = gather_reference_make_view(dtype, !backward, along_axis, inner);
    c->views[GATHER_INDICES] = (tenon_tensor){.offset = 4,
                                              .dtype = TENON_DTYPE_I32,
                                              .rank = 2,
                                              .shape = {AWKWARD_INDICES},
                                              .stride = {81, 1}};
    c->views[GATHER_TO] = gather_reference_make_view(dtype, backward, along_axis, inner);
    return true;
}

bool tn_gather_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    (void)choice;
    return make_awkward(((const gather_problem *)problem)->dtype, &tn_operation_gather, number, c);
}

bool tn_gather_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                                tn_case *c)
{
    (void)choice;
    return make_awkward(((const gather_backward_problem *)problem)->dtype,
                        &tn_operation_gather_backward, number, c);
}
