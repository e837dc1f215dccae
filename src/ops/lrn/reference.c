/* References of local response normalization in double precision, and its awkward cases. */
#include "base/checked.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "check/host.h"
#include "ops/lrn/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* Roundings of a power: 16 ulp of pow(), an ulp being at most two roundoffs, or less of the roots
 * and the division that replace it. */
#define POWER_ROUNDINGS 32

/* A column of channels: the elements of x at one position, and the step between channels. */
typedef struct column {
    const tenon_lrn_params *params;
    tenon_dtype dtype;
    double u; /* roundoff, twice that for f64, where the reference rounds as much */
    const double *x;
    int64_t channels, step;
} column;

static double lrn_at(const column *c, int64_t channel)
{
    return c->x[channel * c->step];
}

/* Returns the base of the power for a channel. All terms are positive. */
static tn_bounded lrn_base_of(const column *c, int64_t channel)
{
    const int64_t size = c->params->size;
    const int64_t first = tn_max_i64(channel - (size - 1) / 2, 0),
                  last = tn_min_i64(channel + size / 2, c->channels - 1);
    double sum = 0;
    for (int64_t i = first; i <= last; i++)
        sum += lrn_at(c, i) * lrn_at(c, i);
    const double value = c->params->k + c->params->alpha / (double)size * sum;
    return (tn_bounded){value, isfinite(value) ? tn_gamma((double)size + 5, c->u) * value +
                                                     ((double)size + 3) * tn_least_normal(c->dtype)
                                               : 0};
}

/* Returns base^-beta. */
static tn_bounded lrn_power_of(const column *c, tn_bounded base)
{
    const double beta = c->params->beta, value = pow(base.value, -beta);
    if (!isfinite(base.value))
        return (tn_bounded){value, 0};
    if (beta == 0)
        return (tn_bounded){1, 0};
    if (base.value <= base.bound)
        return (tn_bounded){value, TN_ANYTHING};
    const double below = pow(base.value + base.bound, -beta),
                 above = pow(base.value - base.bound, -beta),
                 exponent = expm1(c->u * beta * fabs(log(base.value)));
    return (tn_bounded){value, fmax(above - value, value - below) +
                                   (POWER_ROUNDINGS * c->u + exponent) * above +
                                   tn_least_normal(c->dtype)};
}

/* Returns a·b for an exact a. */
static tn_bounded scaled(const column *c, double a, tn_bounded b)
{
    if (b.bound == TN_ANYTHING)
        return b;
    const double value = a * b.value;
    if (!isfinite(value))
        return (tn_bounded){value, 0};
    const double error = fabs(a) * b.bound;
    return (tn_bounded){value, error + c->u * (fabs(value) + error) + tn_least_normal(c->dtype)};
}

/* The element at `at`, counted in a dense tensor of the shape: its column and its channel. */
static int64_t find_column(column *c, const tenon_tensor *view, const double *values, int64_t at)
{
    const int64_t channel = at / c->step % view->shape[1];
    c->x = values + (at - channel * c->step);
    return channel;
}

static column column_of(const tenon_lrn_params *params, const tenon_tensor *x)
{
    column c = {.params = params,
                .dtype = x->dtype,
                .u = tn_roundoff(x->dtype) * (x->dtype == TENON_DTYPE_F64 ? 2 : 1),
                .channels = x->shape[1],
                .step = 1};
    for (uint32_t d = 2; d < x->rank; d++)
        c.step *= x->shape[d];
    return c;
}

bool tn_lrn_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[LRN_X];
    column c = column_of(params, x);
    double *values = tn_host_read(x, x->rank, x->shape);
    const int64_t count = tenon_tensor_elements(x);
    for (int64_t i = 0; i < count && values != NULL; i++) {
        const int64_t channel = find_column(&c, x, values, i);
        const tn_bounded power = lrn_power_of(&c, lrn_base_of(&c, channel));
        results[i] = tn_stored(x->dtype, scaled(&c, lrn_at(&c, channel), power));
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

/* Returns dy·x·base^(-beta - 1) of a channel. */
static tn_bounded term_of(const column *c, const double *dy, int64_t channel)
{
    const tn_bounded base = lrn_base_of(c, channel), power = lrn_power_of(c, base);
    const double product = dy[channel * c->step] * lrn_at(c, channel);
    if (product == 0 && power.bound != TN_ANYTHING)
        return (tn_bounded){0, 0};
    if (power.bound == TN_ANYTHING)
        return power;
    const double value = product * power.value / base.value;
    if (!isfinite(value) || !isfinite(base.value))
        return (tn_bounded){value, 0};
    const double least = base.value - base.bound, most = power.value + power.bound,
                 relative = (power.bound / power.value + base.bound / least) *
                                (1 + power.bound / power.value) +
                            9 * c->u;
    /* The product may be flushed to 0. */
    return (tn_bounded){value, fabs(value) * relative +
                                   tn_least_normal(c->dtype) * (1 + most / least + 1 / least)};
}

static tn_bounded gradient_of(const column *c, const double *dy, int64_t channel)
{
    const tenon_lrn_params *params = c->params;
    const int64_t size = params->size, first = tn_max_i64(channel - size / 2, 0),
                  last = tn_min_i64(channel + (size - 1) / 2, c->channels - 1);
    const tn_bounded own =
        scaled(c, dy[channel * c->step], lrn_power_of(c, lrn_base_of(c, channel)));
    tn_bounded sum = {0, 0};
    double magnitude = 0;
    bool anything = own.bound == TN_ANYTHING;
    for (int64_t i = first; i <= last; i++) {
        const tn_bounded term = term_of(c, dy, i);
        anything = anything || term.bound == TN_ANYTHING;
        sum.value += term.value;
        sum.bound += term.bound;
        magnitude += fabs(term.value) + term.bound;
    }
    const double factor = -2 * params->alpha / (double)size * params->beta * lrn_at(c, channel),
                 value = own.value + factor * sum.value;
    if (anything)
        return (tn_bounded){0, TN_ANYTHING};
    if (!isfinite(value))
        return (tn_bounded){value, 0};
    sum.bound += tn_gamma((double)size, c->u) * magnitude;
    const double error = own.bound + fabs(factor) * (sum.bound + 6 * c->u * magnitude) +
                         (3 + magnitude) * tn_least_normal(c->dtype);
    return (tn_bounded){value,
                        error + 2 * c->u * (fabs(own.value) + fabs(factor) * magnitude + error)};
}

bool tn_lrn_backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *results)
{
    const tenon_tensor *x = v[LRN_BACKWARD_X], *dy = v[LRN_BACKWARD_DY];
    column c = column_of(params, x);
    double *values = tn_host_read(x, x->rank, x->shape),
           *gradients = tn_host_read(dy, x->rank, x->shape);
    const int64_t count = tenon_tensor_elements(x);
    const bool whole = values != NULL && gradients != NULL;
    for (int64_t i = 0; i < count && whole; i++) {
        const int64_t channel = find_column(&c, x, values, i);
        results[i] =
            tn_stored(x->dtype, gradient_of(&c, gradients + (i - channel * c.step), channel));
    }
    free(values);
    free(gradients);
    return whole;
}

/* An odd and an even size, in the layout of the problem at hand; the first one dense, the second
 * one with gaps. */
static bool make_awkward(const lrn_problem *like, const tn_operation *operation, uint32_t number,
                         tn_case *c)
{
    const int64_t size[] = {3, 11};
    if (number == 2)
        return false;
    tn_awkward_begin(c, operation);
    tenon_lrn_params *params = (tenon_lrn_params *)c->params.bytes;
    params->size = 5 - (int64_t)number;
    params->alpha = 0.5;
    params->beta = like->beta;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        c->views[i] =
            tn_image_view((tenon_dtype)like->dtype, like->dimension + 1 == like->rank, 2, 19, size);
        if (number == 1)
            for (uint32_t d = 0; d < 4; d++)
                c->views[i].stride[d] *= 2;
    }
    return true;
}

bool tn_lrn_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    (void)choice;
    return make_awkward((const lrn_problem *)problem, &tn_operation_lrn, number, c);
}

bool tn_lrn_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                             tn_case *c)
{
    (void)choice;
    return make_awkward((const lrn_problem *)problem, &tn_operation_lrn_backward, number, c);
}
