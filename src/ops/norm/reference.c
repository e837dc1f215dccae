/* References of normalization. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "ops/common/exp_sum.h"
#include "check/host.h"
#include "ops/norm/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A compensated sum (W. Kahan, "Further remarks on reducing truncation errors", 1965). For f64 the
 * reference must not round more than the device. */
typedef struct total {
    double sum, lost;
} total;

static void add(total *t, double value)
{
    double y = value - t->lost, sum = t->sum + y;
    t->lost = isfinite(sum) ? (sum - t->sum) - y : 0;
    t->sum = sum;
}

/* The operands as doubles, and the indices of each element's set and parameter. */
typedef struct host_norm {
    double *value[NORM_VIEWS]; /* NULL if absent */
    int64_t *set, *parameter;
    int64_t elements, sets, parameters, count; /* count: elements of a set */
    double unit, least, epsilon;
    tenon_dtype dtype;
} host_norm;

static void number_elements(const tenon_norm_params *params, const tenon_tensor *x, host_norm *h)
{
    int64_t shape[TENON_MAX_RANK] = {0}, index[TENON_MAX_RANK] = {0}, step[2][TENON_MAX_RANK];
    uint32_t reduced, parameters,
        rank = tn_norm_dimensions(params, x, shape, &reduced, &parameters);
    h->sets = h->parameters = 1;
    for (uint32_t d = rank; d-- > 0;) {
        step[0][d] = (reduced >> d & 1) != 0 ? 0 : h->sets;
        step[1][d] = (parameters >> d & 1) != 0 ? h->parameters : 0;
        h->sets *= step[0][d] != 0 ? shape[d] : 1;
        h->parameters *= step[1][d] != 0 ? shape[d] : 1;
    }
    h->count = h->sets > 0 ? h->elements / h->sets : 0;
    for (int64_t i = 0; i < h->elements; i++) {
        h->set[i] = h->parameter[i] = 0;
        for (uint32_t d = 0; d < rank; d++) {
            h->set[i] += index[d] * step[0][d];
            h->parameter[i] += index[d] * step[1][d];
        }
        tn_next_index(index, shape, rank);
    }
}

static void close_host(host_norm *h)
{
    for (int v = 0; v < NORM_VIEWS; v++)
        free(h->value[v]);
    free(h->set);
    free(h->parameter);
}

/* Outputs are not read, except running statistics. */
static bool open_host(const tn_operation *operation, const tenon_norm_params *params,
                      const tenon_tensor *const *operands, host_norm *h)
{
    const tenon_tensor *x = operands[0];
    memset(h, 0, sizeof *h);
    h->dtype = x->dtype;
    h->unit = tn_unit(x->dtype);
    h->least = tn_least_normal(x->dtype);
    h->epsilon = x->dtype == TENON_DTYPE_F64 ? params->epsilon : (double)(float)params->epsilon;
    h->elements = tenon_tensor_elements(x);
    h->set = tn_array(h->elements, sizeof *h->set);
    h->parameter = tn_array(h->elements, sizeof *h->parameter);
    bool whole = h->set != NULL && h->parameter != NULL;
    for (uint32_t i = 0; i < operation->operand_count && whole; i++) {
        double **value = &h->value[tn_norm_number(operation, i)];
        if (operands[i] == NULL ||
            (tn_operation_writes(operation, i) && !operation->operands[i].read))
            continue;
        *value = tn_host_read(operands[i], operands[i]->rank, operands[i]->shape);
        whole = *value != NULL;
    }
    if (whole)
        number_elements(params, x, h);
    else
        close_host(h);
    return whole;
}

static double value_or(const host_norm *h, int view, int64_t number, double absent)
{
    return h->value[view] != NULL ? h->value[view][number] : absent;
}

/* Pointers to the results of each output; NULL if it is absent. */
typedef struct norm_results {
    tn_bounded *of[NORM_VIEWS];
} norm_results;

static norm_results place_results(const tn_operation *operation,
                                  const tenon_tensor *const *operands, tn_bounded *expected)
{
    norm_results results = {{NULL}};
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (operands[i] != NULL && tn_operation_writes(operation, i)) {
            results.of[tn_norm_number(operation, i)] = expected;
            expected += tenon_tensor_elements(operands[i]);
        }
    return results;
}

/* Returns the longest chain of roundings in a sum of n elements: within a block, over the blocks,
 * over the lanes of a vector, and over the pieces and the parts of a set. */
static double chain(int64_t n)
{
    const double cut = NORM_BLOCK + NORM_MOST_PIECES + NORM_MOST_PARTS + 16 + 2;
    return fmin((double)n, cut + (double)n / NORM_BLOCK);
}

/* The statistics of a set, with bounds of a device's errors. */
typedef struct set_statistics {
    total sum, magnitude, squares, about_mean;
    tn_bounded mean, variance, rstd;
    double shift; /* bound of the error of the mean of any piece, as a root mean square */
} set_statistics;

/* Returns rsqrt(variance + epsilon), bounded by the extremes of the variance. */
static tn_bounded rstd_of(const host_norm *h, tn_bounded variance)
{
    const double q = variance.value + h->epsilon;
    tn_bounded r = {1 / sqrt(q), 0};
    if (!isfinite(q))
        return r;
    const double e = variance.bound + h->unit * (fabs(q) + variance.bound) + h->least;
    const double most = q + e, at_least = h->epsilon * (1 - h->unit) - h->least;
    const double low = fmax(q - e, variance.bound > 0 ? at_least : q - e);
    if (!(low > 0)) {
        r.value = variance.bound > 0 ? 0 : r.value;
        r.bound = INFINITY;
        return r;
    }
    const double below = e / (sqrt(most) * sqrt(q) * (sqrt(q) + sqrt(most)));
    const double above = fmin(e, q - low) / (sqrt(low) * sqrt(q) * (sqrt(q) + sqrt(low)));
    r.bound = fmax(below, above) + 4 * h->unit / sqrt(low) + h->least;
    return r;
}

static void finish_set(const tenon_norm_params *params, const host_norm *h, set_statistics *s)
{
    const double n = (double)h->count, k = chain(h->count);
    const double v = s->about_mean.sum / n;
    s->variance = (tn_bounded){v, tn_gamma(k + 9, h->unit) * v + (k + 9) * h->least};
    if (params->kind != TENON_NORM_RMS) {
        s->mean.bound = tn_gamma(k + 6, h->unit) * (s->magnitude.sum / n) + 2 * h->least;
        s->shift = tn_gamma(k + 6, h->unit) * sqrt(s->squares.sum / n) + 2 * h->least;
        const double moved = 3 * s->shift * s->shift + 2 * s->shift * sqrt(v + s->shift * s->shift);
        s->variance.bound = moved + tn_gamma(k + 16, h->unit) * (v + moved) + (k + 16) * h->least;
    }
    s->rstd = rstd_of(h, s->variance);
}

/* Returns the statistics of all sets, which the caller frees; NULL if memory is exhausted. */
static set_statistics *statistics_of(const tenon_norm_params *params, const host_norm *h)
{
    const double n = (double)h->count, *x = h->value[NORM_X];
    set_statistics *sets = tn_array(h->sets, sizeof *sets);
    if (sets == NULL)
        return NULL;
    for (int64_t i = 0; i < h->elements; i++) {
        add(&sets[h->set[i]].sum, x[i]);
        add(&sets[h->set[i]].magnitude, fabs(x[i]));
        add(&sets[h->set[i]].squares, x[i] * x[i]);
    }
    for (int64_t s = 0; s < h->sets; s++)
        sets[s].mean.value = params->kind == TENON_NORM_RMS ? 0 : sets[s].sum.sum / n;
    for (int64_t i = 0; i < h->elements; i++) {
        double d = x[i] - sets[h->set[i]].mean.value;
        add(&sets[h->set[i]].about_mean, d * d);
    }
    for (int64_t s = 0; s < h->sets; s++)
        finish_set(params, h, &sets[s]);
    return sets;
}

/* Returns the given statistics, which are exact. */
static set_statistics *statistics_given(const host_norm *h)
{
    set_statistics *sets = tn_array(h->sets, sizeof *sets);
    for (int64_t s = 0; s < h->sets && sets != NULL; s++) {
        sets[s].mean.value = h->value[NORM_MEAN][s];
        sets[s].variance.value = h->value[NORM_RSTD][s];
        sets[s].rstd = rstd_of(h, sets[s].variance);
    }
    return sets;
}

static tn_bounded result_at(const host_norm *h, const set_statistics *s, int64_t i)
{
    const double gamma = value_or(h, NORM_GAMMA, h->parameter[i], 1);
    const double beta = value_or(h, NORM_BETA, h->parameter[i], 0);
    const double d = h->value[NORM_X][i] - s->mean.value, r = s->rstd.value, u = h->unit;
    tn_bounded y = {d * r * gamma + beta, INFINITY};
    if (isinf(s->rstd.bound))
        return y;
    const double off = s->shift + u * (fabs(d) + s->shift);
    const double t = (fabs(d) + off) * (r + s->rstd.bound) * (1 + u);
    const double e =
        (off * (r + s->rstd.bound) + fabs(d) * s->rstd.bound) * (1 + u) + u * fabs(d) * r;
    y.bound = fabs(gamma) * e + tn_gamma(2, u) * (fabs(gamma) * t + fabs(beta)) +
              h->least * (2 * r * fabs(gamma) + fabs(gamma) + t + 3);
    if (isnan(y.bound)) /* an infinite r, or a set that contains an infinity */
        y.bound = 0;
    return y;
}

static void running_statistics(const tenon_norm_params *params, const host_norm *h,
                               const set_statistics *s, int64_t number, const norm_results *results)
{
    const double n = (double)h->count, u = h->unit;
    const double m =
        h->dtype == TENON_DTYPE_F64 ? params->momentum : (double)(float)params->momentum;
    for (int v = NORM_RUNNING_MEAN; v <= NORM_RUNNING_VARIANCE; v++) {
        tn_bounded *result = results->of[v];
        if (result == NULL)
            continue;
        const double old = h->value[v][number];
        tn_bounded fresh = s->mean;
        if (v == NORM_RUNNING_VARIANCE)
            fresh = (tn_bounded){s->variance.value * n / (n - 1), s->variance.bound * n / (n - 1)};
        result[number].value = (1 - m) * old + m * fresh.value;
        result[number].bound =
            m * fresh.bound + 4 * h->least +
            tn_gamma(12, u) * ((1 - m) * fabs(old) + m * (fabs(fresh.value) + fresh.bound));
    }
}

bool tn_norm_forward_reference(const tn_operation *operation, const tenon_norm_params *params,
                               const tenon_tensor *const *operands, tn_bounded *expected)
{
    const norm_results results = place_results(operation, operands, expected);
    host_norm h;
    if (!open_host(operation, params, operands, &h))
        return false;
    set_statistics *sets = operation == &tn_operation_norm_inference ? statistics_given(&h)
                                                                     : statistics_of(params, &h);
    for (int64_t s = 0; s < h.sets && sets != NULL; s++) {
        if (results.of[NORM_MEAN] != NULL)
            results.of[NORM_MEAN][s] = sets[s].mean;
        if (results.of[NORM_RSTD] != NULL)
            results.of[NORM_RSTD][s] = sets[s].rstd;
        running_statistics(params, &h, &sets[s], s, &results);
    }
    for (int64_t i = 0; i < h.elements && sets != NULL; i++)
        results.of[NORM_Y][i] = tn_stored(h.dtype, result_at(&h, &sets[h.set[i]], i));
    const bool whole = sets != NULL;
    free(sets);
    close_host(&h);
    return whole;
}

/* Sums of terms, of their magnitudes, and of their errors due to flushing. */
typedef struct sums {
    total dy, dy_magnitude, product, product_magnitude, lost;
} sums;

static void add_element(sums *s, double dy, double h, double r, double weight)
{
    add(&s->dy, dy * weight);
    add(&s->dy_magnitude, fabs(dy * weight));
    add(&s->product, dy * weight * h);
    add(&s->product_magnitude, fabs(dy * weight * h));
    add(&s->lost, 1 + fabs(dy * r) + fabs(h));
}

/* Returns r of a set: as given, or computed from the given variance in RSTD_ROUNDINGS roundings. */
static double given_rstd(const host_norm *h, bool given, int64_t set)
{
    const double value = h->value[NORM_RSTD][set];
    return given ? 1 / sqrt(value + h->epsilon) : value;
}
#define RSTD_ROUNDINGS 6

static tn_bounded gradient_at(const tenon_norm_params *params, const host_norm *h, bool given,
                              const sums *s, int64_t i)
{
    const double n = (double)h->count, k = chain(h->count);
    const double gamma = value_or(h, NORM_GAMMA, h->parameter[i], 1);
    const double r = given_rstd(h, given, h->set[i]), g = h->value[NORM_DY][i] * gamma;
    const double hat = (h->value[NORM_X][i] - value_or(h, NORM_MEAN, h->set[i], 0)) * r;
    if (given)
        return (tn_bounded){g * r, tn_gamma(2 + RSTD_ROUNDINGS, h->unit) * fabs(g * r) +
                                       h->least * (2 + fabs(r) * (1 + fabs(gamma)))};
    const bool centered = params->kind != TENON_NORM_RMS;
    const double sum = centered ? s->dy.sum : 0, mean = centered ? s->dy_magnitude.sum / n : 0;
    const double product = s->product_magnitude.sum / n;
    const double lost =
        3 + fabs(gamma) + fabs(hat) * (2 + fabs(r) * s->dy_magnitude.sum / n) + fabs(r) * product;
    return (tn_bounded){r * (g - (sum + hat * s->product.sum) / n),
                        tn_gamma(5, h->unit) * fabs(r * g) +
                            tn_gamma(k + 18, h->unit) * fabs(r) * (mean + fabs(hat) * product) +
                            h->least * (2 + fabs(r) * lost)};
}

static void parameter_results(const host_norm *h, bool given, const sums *parameters,
                              tenon_dtype dtype, const norm_results *results)
{
    const int64_t count = h->elements / h->parameters;
    const double k = chain(count) + (given ? RSTD_ROUNDINGS : 0);
    for (int64_t p = 0; p < h->parameters; p++) {
        const sums *s = &parameters[p];
        if (results->of[NORM_DGAMMA] != NULL)
            results->of[NORM_DGAMMA][p] =
                tn_stored(dtype, (tn_bounded){s->product.sum,
                                              tn_gamma(k + 4, h->unit) * s->product_magnitude.sum +
                                                  h->least * s->lost.sum});
        if (results->of[NORM_DBETA] != NULL)
            results->of[NORM_DBETA][p] = tn_stored(
                dtype, (tn_bounded){s->dy.sum, tn_gamma(k, h->unit) * s->dy_magnitude.sum +
                                                   h->least * (double)count});
    }
}

bool tn_norm_backward_reference(const tn_operation *operation, const tenon_norm_params *params,
                                const tenon_tensor *const *operands, tn_bounded *expected)
{
    const bool given = operation == &tn_operation_norm_inference_backward;
    const norm_results results = place_results(operation, operands, expected);
    const tenon_tensor *dgamma = operands[NORM_BACKWARD_DGAMMA],
                       *dbeta = operands[NORM_BACKWARD_DBETA];
    host_norm h;
    if (!open_host(operation, params, operands, &h))
        return false;
    sums *sets = tn_array(h.sets, sizeof *sets);
    sums *parameters = tn_array(h.parameters, sizeof *parameters);
    const double *gradient = h.value[NORM_DY];
    const bool whole = sets != NULL && parameters != NULL && gradient != NULL;
    for (int64_t i = 0; i < h.elements && whole; i++) {
        const double dy = gradient[i], r = given_rstd(&h, given, h.set[i]);
        const double hat = (h.value[NORM_X][i] - value_or(&h, NORM_MEAN, h.set[i], 0)) * r;
        add_element(&sets[h.set[i]], dy, hat, r, value_or(&h, NORM_GAMMA, h.parameter[i], 1));
        add_element(&parameters[h.parameter[i]], dy, hat, r, 1);
    }
    for (int64_t i = 0; i < h.elements && whole && results.of[NORM_DX] != NULL; i++)
        results.of[NORM_DX][i] =
            tn_stored(h.dtype, gradient_at(params, &h, given, &sets[h.set[i]], i));
    if (whole && (dgamma != NULL || dbeta != NULL))
        parameter_results(&h, given, parameters, (dgamma != NULL ? dgamma : dbeta)->dtype,
                          &results);
    free(sets);
    free(parameters);
    close_host(&h);
    return whole;
}
