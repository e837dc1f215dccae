/* References of the parametric ReLU, and its awkward cases. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/prelu/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* Returns a product, rounded once by the device, and for f64 also by the reference. */
static tn_bounded product(tenon_dtype dtype, double a, double b)
{
    double least = tn_least_normal(dtype);
    return (tn_bounded){a * b, 2 * tn_roundoff(dtype) * fabs(a * b) +
                                   tn_flushed(a, least) * fabs(b) + tn_flushed(b, least) * fabs(a) +
                                   least};
}

bool tn_prelu_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[PRELU_X], *slope = v[PRELU_SLOPE];
    const tenon_dtype dtype = (tenon_dtype)x->dtype;
    int64_t count = tenon_tensor_elements(x);
    double *values = tn_host_read(x, x->rank, x->shape);
    double *slopes = tn_host_read(slope, x->rank, x->shape);
    bool whole = values != NULL && slopes != NULL;
    (void)params;
    for (int64_t i = 0; whole && i < count; i++) {
        double value = values[i], lost = tn_flushed(value, tn_least_normal(dtype));
        tn_bounded y = value > 0 ? (tn_bounded){value, lost} : product(dtype, slopes[i], value);
        results[i] = tn_stored(dtype, y);
    }
    free(values);
    free(slopes);
    return whole;
}

/* Returns dx. A device may flush a denormal x to 0, which is on the other side of the kink. */
static tn_bounded gradient(tenon_dtype dtype, double x, double slope, double dy)
{
    double least = tn_least_normal(dtype);
    tn_bounded below = product(dtype, isnan(x) ? x : slope, dy);
    if (!(x > 0))
        return below;
    tn_bounded above = {dy, tn_flushed(dy, least)};
    if (tn_flushed(x, least) > 0)
        above.bound += fabs(dy - below.value) + below.bound;
    return above;
}

/* The sum of the terms, of their errors due to flushing, and of their magnitudes. */
typedef struct sums {
    double value, lost, absolute;
} sums;

static void add(sums *s, tenon_dtype dtype, double x, double dy)
{
    double least = tn_least_normal(dtype);
    if (x > 0)
        return;
    s->value += x * dy;
    s->absolute += fabs(x * dy);
    s->lost += tn_flushed(x, least) * fabs(dy) + tn_flushed(dy, least) * fabs(x);
}

/* Returns the sum of n products with its bound; for f64 the reference rounds as often. */
static tn_bounded total(const sums *s, tenon_dtype dtype, double n)
{
    double roundings = (n + 1) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    return (tn_bounded){s->value, tn_gamma(roundings, tn_roundoff(dtype)) * s->absolute + s->lost +
                                      (n + 1) * tn_least_normal(dtype)};
}

static void sum_slopes(const tenon_tensor *x, const tenon_tensor *slope, const double *values,
                       const double *dy, sums *all, tn_bounded *results)
{
    const tenon_dtype dtype = (tenon_dtype)x->dtype;
    const int64_t count = tenon_tensor_elements(x), slopes = tenon_tensor_elements(slope);
    const tenon_tensor dense = tenon_tensor_view(dtype, slope->rank, slope->shape);
    int64_t index[TENON_MAX_RANK] = {0}, stride[TENON_MAX_RANK] = {0};
    (void)tn_broadcast("reference", "slope", &dense, x->rank, x->shape, stride);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (uint32_t d = 0; d < x->rank; d++)
            at += index[d] * stride[d];
        add(&all[at], dtype, values[i], dy[i]);
        tn_next_index(index, x->shape, x->rank);
    }
    for (int64_t i = 0; i < slopes; i++)
        results[i] = tn_stored(dtype, total(&all[i], dtype, (double)count / (double)slopes));
}

bool tn_prelu_backward_reference(const void *params, const tenon_tensor *const *v,
                                 tn_bounded *results)
{
    const tenon_tensor *x = v[PRELU_X], *slope = v[PRELU_SLOPE], *dy = v[PRELU_DY];
    const tenon_dtype dtype = (tenon_dtype)x->dtype;
    int64_t count = tenon_tensor_elements(x);
    double *values = tn_host_read(x, x->rank, x->shape);
    double *slopes = tn_host_read(slope, x->rank, x->shape);
    double *gradients = tn_host_read(dy, x->rank, x->shape);
    sums *all = tn_array(tenon_tensor_elements(slope), sizeof *all);
    bool whole = values != NULL && slopes != NULL && gradients != NULL && all != NULL;
    (void)params;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(dtype, gradient(dtype, values[i], slopes[i], gradients[i]));
    if (whole)
        sum_slopes(x, slope, values, gradients, all, results + count);
    free(values);
    free(slopes);
    free(gradients);
    free(all);
    return whole;
}

bool tn_prelu_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                      tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    (void)choice;
    if (number < TN_LAYOUTS)
        tn_pointwise_awkward(&tn_operation_prelu, like->from, like->to, (tn_layout)number, c);
    return number < TN_LAYOUTS;
}

/* Shapes of awkward cases: contiguous summed dimensions, longer than a segment; contiguous slopes,
 * likewise; gaps everywhere. Bit d of `kept` is set if slope has dimension d. For solvers that
 * split sums, all sums are long enough to be split. */
typedef struct check_shape {
    uint32_t rank, kept;
    int64_t shape[4], gap;
} check_shape;

static tenon_tensor prelu_reference_make_view(const check_shape *shape, uint32_t type,
                                              uint32_t view)
{
    const bool is_slope = view == PRELU_SLOPE || view == PRELU_DSLOPE;
    tenon_tensor result = {.dtype = (tenon_dtype)type,
                           .rank = shape->rank,
                           .offset = 3 * tenon_dtype_size((tenon_dtype)type)};
    int64_t step = 1 + shape->gap;
    for (uint32_t d = shape->rank; d-- > 0;) {
        result.shape[d] = is_slope && (shape->kept >> d & 1) == 0 ? 1 : shape->shape[d];
        result.stride[d] = step;
        step = step * result.shape[d] + shape->gap * (view + 1);
    }
    return result;
}

bool tn_prelu_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                               tn_case *c)
{
    const check_shape shapes[] = {{3, 2, {3, 2, 16387}, 0},
                                  {2,
                                   2,
                                   {tn_awkward_size(choice, number, "rows", 1031),
                                    tn_awkward_size(choice, number, "columns", 67)},
                                   0},
                                  {4,
                                   10,
                                   {5, 2, tn_awkward_size(choice, number, "rows", 7),
                                    tn_awkward_size(choice, number, "columns", 11)},
                                   1}};
    if (number == sizeof shapes / sizeof *shapes)
        return false;
    tn_awkward_begin(c, &tn_operation_prelu_backward);
    for (uint32_t v = 0; v < PRELU_VIEWS; v++)
        c->views[v] = prelu_reference_make_view(
            &shapes[number], ((const prelu_backward_problem *)problem)->dtype, v);
    return true;
}
