/* References of softmax, and its awkward cases. docs/numerics.md derives the bounds. */
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
#include "ops/softmax/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* A row of dense row-major values: its first element, its stride and its length. */
typedef struct row {
    int64_t first, step, size;
} row;

static void forward_row(row r, const double *x, tenon_dtype dtype, bool is_log, tn_bounded *results)
{
    const tn_exp_sum sum = tn_exp_sum_of(dtype, x + r.first, r.step, r.size);
    for (int64_t i = 0; i < r.size; i++) {
        int64_t at = r.first + i * r.step;
        results[at] =
            tn_stored(dtype, is_log ? tn_log_softmax_at(&sum, x[at]) : tn_softmax_at(&sum, x[at]));
    }
}

static void backward_row(row r, const double *y, const double *dy, tenon_dtype dtype, bool is_log,
                         tn_bounded *results)
{
    const double u = tn_unit(dtype), least = tn_least_normal(dtype);
    double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < r.size; i++) {
        int64_t at = r.first + i * r.step;
        double term = is_log ? dy[at] : y[at] * dy[at];
        sum += term;
        magnitude += fabs(term);
    }
    double sum_bound = tn_gamma((double)r.size + 1, u) * magnitude + (double)(r.size + 1) * least;
    for (int64_t i = 0; i < r.size; i++) {
        int64_t at = r.first + i * r.step;
        tn_bounded result;
        if (is_log) {
            double p = exp(y[at]), product = p * (fabs(sum) + sum_bound);
            result.value = dy[at] - p * sum;
            result.bound = p * sum_bound + 8 * u * product + u * (fabs(dy[at]) + product) +
                           least * (2 + fabs(sum));
        } else {
            double difference = fabs(dy[at]) + fabs(sum) + sum_bound;
            result.value = y[at] * (dy[at] - sum);
            result.bound =
                fabs(y[at]) * (sum_bound + 3 * u * difference) + least * (1 + fabs(y[at]));
        }
        results[at] = tn_stored(dtype, result);
    }
}

/* Calls forward_row (if dy is NULL) or backward_row for every row. */
static void each_row(const tenon_softmax_params *params, const tenon_tensor *like, const double *x,
                     const double *dy, tn_bounded *results)
{
    uint32_t axis =
        (uint32_t)(params->axis < 0 ? params->axis + (int32_t)like->rank : params->axis);
    int64_t size = like->shape[axis], step = 1, count = tenon_tensor_elements(like);
    bool is_log = (params->flags & TENON_SOFTMAX_LOG) != 0;
    for (uint32_t d = axis + 1; d < like->rank; d++)
        step *= like->shape[d];
    for (int64_t block = 0; block < count; block += step * size)
        for (int64_t i = 0; i < step; i++) {
            const row r = {block + i, step, size};
            if (dy == NULL)
                forward_row(r, x, like->dtype, is_log, results);
            else
                backward_row(r, x, dy, like->dtype, is_log, results);
        }
}

bool tn_softmax_forward_reference(const void *params, const tenon_tensor *const *v,
                                  tn_bounded *expected)
{
    const tenon_tensor *x = v[SOFTMAX_X];
    double *values = tn_host_read(x, x->rank, x->shape);
    if (values != NULL)
        each_row(params, v[SOFTMAX_Y], values, NULL, expected);
    free(values);
    return values != NULL;
}

bool tn_softmax_backward_reference(const void *params, const tenon_tensor *const *v,
                                   tn_bounded *expected)
{
    const tenon_tensor *dx = v[SOFTMAX_BACKWARD_DX];
    double *y_values = tn_host_read(v[SOFTMAX_BACKWARD_Y], dx->rank, dx->shape);
    double *dy_values = tn_host_read(v[SOFTMAX_BACKWARD_DY], dx->rank, dx->shape);
    bool whole = y_values != NULL && dy_values != NULL;
    if (whole)
        each_row(params, dx, y_values, dy_values, expected);
    free(y_values);
    free(dy_values);
    return whole;
}

/* All operands except the first have gaps; the second one also between elements. */
bool tn_softmax_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        tn_case *c)
{
    const tn_rows_problem *like = (const tn_rows_problem *)problem;
    tenon_softmax_params *params = (tenon_softmax_params *)c->params.bytes;
    if (number == 2 * tn_awkward_count(choice))
        return false;
    tn_awkward_begin(c, like->backward ? &tn_operation_softmax_backward : &tn_operation_softmax);
    params->axis = 1;
    params->flags = like->flag;
    for (uint32_t v = 0; v < like->views; v++)
        c->views[v] = tn_rows_awkward_view(like, choice, number, v == 1 ? 2 : 1, v);
    return true;
}
