/* The reference of histograms, and their awkward cases. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
#include "ops/histogram/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* An element, which doubles cannot hold if it is an i64. */
typedef struct histogram_number {
    bool is_whole;
    int64_t whole;
    double real;
} histogram_number;

static histogram_number number_at(const tenon_tensor *view, const int64_t *index)
{
    const void *element = tn_host_element(view, index);
    histogram_number n = {.is_whole = !tn_dtype_is_float(view->dtype)};
    if (n.is_whole)
        n.whole = tn_dtype_load_whole(view->dtype, element);
    n.real = tn_dtype_load(view->dtype, element);
    return n;
}

static bool is_at_least(histogram_number x, histogram_number edge)
{
    return x.is_whole ? x.whole >= edge.whole : x.real >= edge.real;
}

static bool is_greater(histogram_number x, histogram_number edge)
{
    return x.is_whole ? x.whole > edge.whole : x.real > edge.real;
}

/* Tries every bin, from the last one on. */
static int64_t bin_between(const tenon_tensor *edges, int64_t bins, histogram_number x)
{
    if (isnan(x.real) || is_greater(x, number_at(edges, &bins)))
        return -1;
    for (int64_t bin = bins - 1; bin >= 0; bin--)
        if (is_at_least(x, number_at(edges, &bin)))
            return bin;
    return -1;
}

/* The arithmetic that the header defines, each step rounded to the type. */
static int64_t bin_of_width(const tenon_histogram_params *params, tenon_dtype dtype, int64_t bins,
                            histogram_number x)
{
    double position;
    if (dtype == TENON_DTYPE_F64) {
        if (!(x.real >= params->low && x.real <= params->high))
            return -1;
        position = (x.real - params->low) * ((double)bins / (params->high - params->low));
    } else {
        volatile float value = x.is_whole ? (float)x.whole : (float)x.real;
        volatile float low = (float)params->low, high = (float)params->high;
        volatile float scale = (float)((double)bins / ((double)high - (double)low));
        if (!(value >= low && value <= high))
            return -1;
        volatile float distance = value - low;
        volatile float product = distance * scale;
        position = (double)product;
    }
    return position < (double)bins ? (int64_t)position : bins - 1;
}

static int64_t bin_of(const tenon_histogram_params *params, const tenon_tensor *const *v,
                      histogram_number x)
{
    const int64_t bins = v[HISTOGRAM_Y]->shape[0];
    if (v[HISTOGRAM_EDGES] != NULL)
        return bin_between(v[HISTOGRAM_EDGES], bins, x);
    if (params->flags & TENON_HISTOGRAM_INDICES)
        return x.whole >= 0 && x.whole < bins ? x.whole : -1;
    return bin_of_width(params, v[HISTOGRAM_X]->dtype, bins, x);
}

bool tn_histogram_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[HISTOGRAM_X], *weights = v[HISTOGRAM_WEIGHTS], *y = v[HISTOGRAM_Y];
    const int64_t bins = y->shape[0];
    int64_t index[TENON_MAX_RANK] = {0};
    double *counts = tn_array(bins, sizeof *counts), *sizes = tn_array(bins, sizeof *sizes);
    const bool whole = counts != NULL && sizes != NULL;
    for (int64_t bin = 0; bin < bins; bin++)
        results[bin] = (tn_bounded){0, 0};
    for (int64_t i = tenon_tensor_elements(x); whole && i > 0; i--) {
        const int64_t bin = bin_of(params, v, number_at(x, index));
        if (bin >= 0) {
            const double weight = weights != NULL ? number_at(weights, index).real : 1;
            results[bin].value += weight;
            sizes[bin] += fabs(weight);
            counts[bin]++;
        }
        tn_next_index(index, x->shape, x->rank);
    }
    for (int64_t bin = 0; whole && weights != NULL && bin < bins; bin++)
        if (counts[bin] > 0)
            results[bin].bound = tn_gamma(counts[bin] - 1, tn_unit(y->dtype)) * sizes[bin] +
                                 counts[bin] * tn_least_normal(y->dtype);
    for (int64_t bin = 0; y->dtype == TENON_DTYPE_I64 && bin < bins; bin++)
        results[bin] = tn_whole((int64_t)results[bin].value);
    free(counts);
    free(sizes);
    return whole;
}

/* Fills ascending edges, some of them equal for integers. */
static void fill_edges(const tenon_tensor *edges, bool is_real, uint64_t *seed)
{
    const double count = (double)edges->shape[0];
    for (int64_t i = 0; i < edges->shape[0]; i++) {
        const double place = (2 * (double)i + 1 + tn_random(seed)) / count - 1;
        const double value = is_real ? 0.9 * place : floor(5 + 7 * place);
        tn_dtype_store(edges->dtype, tn_host_element(edges, &i), value);
    }
}

/* Integers are in and near the bins; every seventh real is an edge of the default range or NaN. */
void tn_histogram_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    static const double few[] = {0.0, -0.0, 1.0, NAN};
    const tenon_tensor *x = v[HISTOGRAM_X];
    const bool is_real = tn_dtype_is_float(x->dtype);
    const bool by_index =
        (((const tenon_histogram_params *)params)->flags & TENON_HISTOGRAM_INDICES) != 0;
    int64_t index[TENON_MAX_RANK] = {0};
    if (!is_real)
        tn_case_integers(x, -2, by_index ? v[HISTOGRAM_Y]->shape[0] + 1 : 13, seed);
    for (int64_t i = tenon_tensor_elements(x); is_real && i > 0; i--) {
        if (i % 7 == 0)
            tn_dtype_store(x->dtype, tn_host_element(x, index), few[i / 7 % 4]);
        tn_next_index(index, x->shape, x->rank);
    }
    if (v[HISTOGRAM_EDGES] != NULL)
        fill_edges(v[HISTOGRAM_EDGES], is_real, seed);
}

/* Elements of one block or of several. */
bool tn_histogram_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    const histogram_problem *p = (const histogram_problem *)problem;
    tenon_histogram_params *params = (tenon_histogram_params *)c->params.bytes;
    const int64_t shape[] = {3, tn_awkward_size(choice, 0, "size", 21), 5};
    const int64_t bins[] = {number == 0 ? 37 : 1}, edges[] = {bins[0] + 1};
    const tenon_dtype dtype = (tenon_dtype)p->dtype, sum = (tenon_dtype)p->sum_dtype;
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_histogram);
    params->flags = p->flags & HISTOGRAM_INDICES ? TENON_HISTOGRAM_INDICES : 0;
    params->low = tn_dtype_is_float(dtype) ? -0.8 : 0.5;
    params->high = tn_dtype_is_float(dtype) ? 0.7 : 11;
    c->views[HISTOGRAM_X] = tn_awkward_view(dtype, 3, shape, number == 1);
    c->views[HISTOGRAM_Y] = tn_awkward_view(sum, 1, bins, number == 1);
    if (p->flags & HISTOGRAM_HAS_WEIGHTS)
        c->views[HISTOGRAM_WEIGHTS] = tn_awkward_view(sum, 3, shape, number == 1);
    if (p->flags & HISTOGRAM_HAS_EDGES)
        c->views[HISTOGRAM_EDGES] = tn_awkward_view(dtype, 1, edges, number == 1);
    return true;
}
