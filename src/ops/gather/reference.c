/* The references of gather and its gradient. docs/numerics.md derives the bound. */
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/exp_sum.h"
#include "check/host.h"
#include "ops/gather/internal.h"

#include <math.h>
#include <stdlib.h>

/* The table and what is picked from it, both dense: outer × rows × inner, outer × count × inner. */
typedef struct sizes {
    int64_t outer, rows, count, inner;
} sizes;

static sizes sizes_of(const tenon_tensor *table, const tenon_tensor *indices, uint32_t axis)
{
    sizes s = {1, table->shape[axis], tenon_tensor_elements(indices), 1};
    for (uint32_t d = 0; d < table->rank; d++)
        if (d != axis)
            *(d < axis ? &s.outer : &s.inner) *= table->shape[d];
    return s;
}

bool tn_gather_reference(uint32_t axis, const tenon_tensor *x, const tenon_tensor *indices,
                         const tenon_tensor *y, tn_bounded *results)
{
    const sizes s = sizes_of(x, indices, axis);
    unsigned char none[8];
    double *table = tn_host_read(x, x->rank, x->shape);
    double *index = tn_host_read(indices, indices->rank, indices->shape);
    bool whole = table != NULL && index != NULL;
    tn_dtype_store(y->dtype, none, (double)NAN);
    const double missing = tn_dtype_load(y->dtype, none);
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

/* An element is the sum of n terms, whose absolute values come to `size`. */
static tn_bounded summed(tenon_dtype dtype, double sum, double size, double n)
{
    tn_bounded result = {sum, 0};
    if (n > 1)
        result.bound = tn_gamma(n - 1, tn_unit(dtype)) * size + n * tn_least_normal(dtype);
    else if (fabs(sum) < tn_least_normal(dtype))
        result.bound = fabs(sum);
    return tn_stored(dtype, result);
}

/* One line of outer: bounds hold the sums of absolute values, and counts how many terms each row
 * has, until the end. */
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

bool tn_gather_backward_reference(uint32_t axis, const tenon_tensor *dy,
                                  const tenon_tensor *indices, const tenon_tensor *dx,
                                  tn_bounded *results)
{
    const sizes s = sizes_of(dx, indices, axis);
    double *terms = tn_host_read(dy, dy->rank, dy->shape);
    double *index = tn_host_read(indices, indices->rank, indices->shape);
    double *counts = calloc((size_t)s.rows + 1, sizeof *counts);
    bool whole = terms != NULL && index != NULL && counts != NULL;
    for (int64_t o = 0; whole && o < s.outer; o++)
        sum_line(&s, index, terms + o * s.count * s.inner, counts, dx->dtype,
                 results + o * s.rows * s.inner);
    free(terms);
    free(index);
    free(counts);
    return whole;
}
