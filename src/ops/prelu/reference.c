/* The references of the parametric ReLU, and its self-checks. docs/numerics.md derives the bounds.
 */
#include "base/shape.h"
#include "check/case.h"
#include "ops/prelu/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

static double flushed(double x, double least_normal)
{
    return fabs(x) < least_normal ? fabs(x) : 0;
}

/* A product, rounded once by the device, and in f64 by the reference too. */
static tn_bounded product(tenon_dtype dtype, double a, double b)
{
    double least = tn_least_normal(dtype);
    return (tn_bounded){a * b, 2 * tn_roundoff(dtype) * fabs(a * b) + flushed(a, least) * fabs(b) +
                                   flushed(b, least) * fabs(a) + least};
}

bool tn_prelu_forward_reference(const tenon_tensor *x, const tenon_tensor *slope,
                                tn_bounded *results)
{
    const tenon_dtype dtype = (tenon_dtype)x->dtype;
    int64_t count = tenon_tensor_elements(x);
    double *values = tn_host_read(x, x->rank, x->shape);
    double *slopes = tn_host_read(slope, x->rank, x->shape);
    bool whole = values != NULL && slopes != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        double v = values[i], lost = flushed(v, tn_least_normal(dtype));
        tn_bounded y = v > 0 ? (tn_bounded){v, lost} : product(dtype, slopes[i], v);
        results[i] = tn_stored(dtype, y);
    }
    free(values);
    free(slopes);
    return whole;
}

/* A denormal x may be taken for 0, which is on the other side of the kink. */
static tn_bounded gradient(tenon_dtype dtype, double x, double slope, double dy)
{
    double least = tn_least_normal(dtype);
    tn_bounded below = product(dtype, isnan(x) ? x : slope, dy);
    if (!(x > 0))
        return below;
    tn_bounded above = {dy, flushed(dy, least)};
    if (flushed(x, least) > 0)
        above.bound += fabs(dy - below.value) + below.bound;
    return above;
}

/* Sums in double, and the sums of what is lost and of the absolute values. */
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
    s->lost += flushed(x, least) * fabs(dy) + flushed(dy, least) * fabs(x);
}

/* n products, and in f64 as many roundings in the reference. */
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

bool tn_prelu_backward_reference(const tenon_tensor *x, const tenon_tensor *slope,
                                 const tenon_tensor *dy, tn_bounded *results)
{
    const tenon_dtype dtype = (tenon_dtype)x->dtype;
    int64_t count = tenon_tensor_elements(x);
    double *values = tn_host_read(x, x->rank, x->shape);
    double *slopes = tn_host_read(slope, x->rank, x->shape);
    double *gradients = tn_host_read(dy, x->rank, x->shape);
    sums *all = calloc((size_t)tenon_tensor_elements(slope) + 1, sizeof *all);
    bool whole = values != NULL && slopes != NULL && gradients != NULL && all != NULL;
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

static void fill(const void *params, tn_pointwise_problem *problem)
{
    (void)params;
    (void)problem;
}

tenon_status tn_prelu_self_check(tenon_stream *stream, const tn_problem *problem,
                                 const tn_choice *choice, bool *right, char why[256])
{
    const double scalars[TN_MAX_SCALARS] = {0};
    const tn_pointwise_check check = {.of = &tn_operation_prelu,
                                      .scalars = scalars,
                                      .problem_size = sizeof(tn_pointwise_problem),
                                      .fill = fill};
    uint64_t seed = 1;
    for (int layout = 0; layout < TN_POINTWISE_LAYOUTS && *right; layout++)
        TN_TRY(tn_pointwise_self_check(stream, problem, choice, &check, layout, &seed, right, why));
    return TENON_OK;
}

/* What is summed contiguous, and longer than a segment; slopes contiguous, likewise; gaps
 * everywhere. Bit d of `kept`: slope has the dimension. */
typedef struct check_shape {
    uint32_t rank, kept;
    int64_t shape[4], gap;
} check_shape;

static tenon_tensor make_view(const check_shape *shape, uint32_t type, uint32_t view)
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

static tenon_status compare(tenon_stream *stream, const tn_choice *choice, tn_twin *twins,
                            bool *right, char why[256])
{
    static const char operation[] = "prelu_backward self-check";
    const double scalars[TN_MAX_SCALARS] = {0};
    tn_argument arguments[PRELU_VIEWS];
    prelu_backward_problem problem;
    for (uint32_t v = 0; v < PRELU_VIEWS; v++)
        arguments[v] = (tn_argument){"view", &twins[v].host, TN_INPUT};
    TN_TRY(tn_prelu_backward_canonicalise(operation, arguments, &problem));
    const tenon_tensor *x = &twins[PRELU_X].host, *slope = &twins[PRELU_SLOPE].host;
    int64_t results = tenon_tensor_elements(x) + tenon_tensor_elements(slope);
    tn_bounded *expected = malloc((size_t)results * sizeof *expected);
    tenon_status status =
        expected != NULL && tn_prelu_backward_reference(x, slope, &twins[PRELU_DY].host, expected)
            ? tn_twins_check(stream, operation, choice, &problem.head, scalars, twins, PRELU_VIEWS,
                             2, expected, right, why)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, &tn_operation_prelu_backward, NULL, twins, PRELU_VIEWS, choice);
    free(expected);
    return status;
}

tenon_status tn_prelu_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                          const tn_choice *choice, bool *right, char why[256])
{
    static const check_shape shapes[] = {
        {3, 2, {3, 5, 16387}, 0}, {2, 2, {1031, 67}, 0}, {4, 10, {5, 3, 7, 11}, 1}};
    const prelu_backward_problem *like = (const prelu_backward_problem *)problem;
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && *right; i++) {
        tn_twin twins[PRELU_VIEWS] = {0};
        tenon_status status = TENON_OK;
        for (uint32_t v = 0; v < PRELU_VIEWS && status == TENON_OK; v++) {
            tenon_tensor view = make_view(&shapes[i], like->dtype, v);
            status = tn_twin_create(stream, &view, &seed, &twins[v]);
        }
        if (status == TENON_OK)
            status = compare(stream, choice, twins, right, why);
        for (uint32_t v = 0; v < PRELU_VIEWS; v++)
            tn_twin_destroy(&twins[v]);
        TN_TRY(status);
    }
    return TENON_OK;
}
