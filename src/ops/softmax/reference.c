/* The references of softmax, and the self-check of its solvers. docs/numerics.md derives the
 * bounds. */
#include "check/case.h"
#include "ops/common/exp_sum.h"
#include "check/host.h"
#include "ops/softmax/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* A row within dense row-major values: its first element, the step along it, and its length. */
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

/* Calls one of the two for every row; dy is NULL for the forward. */
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

bool tn_softmax_forward_reference(const tenon_softmax_params *params, const tenon_tensor *x,
                                  const tenon_tensor *y, tn_bounded *results)
{
    double *values = tn_host_read(x, y->rank, y->shape);
    if (values == NULL)
        return false;
    each_row(params, y, values, NULL, results);
    free(values);
    return true;
}

bool tn_softmax_backward_reference(const tenon_softmax_params *params, const tenon_tensor *y,
                                   const tenon_tensor *dy, const tenon_tensor *dx,
                                   tn_bounded *results)
{
    double *y_values = tn_host_read(y, dx->rank, dx->shape);
    double *dy_values = tn_host_read(dy, dx->rank, dx->shape);
    bool whole = y_values != NULL && dy_values != NULL;
    if (whole)
        each_row(params, dx, y_values, dy_values, results);
    free(y_values);
    free(dy_values);
    return whole;
}

/* Rows in two dimensions about an axis that is the middle one, all with tails. `along`: contiguous
 * along the axis, else across it; the later operands have gaps, the second between elements too. */
static tenon_tensor make_view(tenon_dtype dtype, bool along, int64_t number)
{
    const int64_t step = number == 1 ? 2 : 1;
    const uint32_t inner = along ? 1 : 2, outer = along ? 2 : 1;
    tenon_tensor view = {
        .offset = 3 * tenon_dtype_size(dtype), .dtype = dtype, .rank = 3, .shape = {3, 37, 35}};
    view.stride[inner] = step;
    view.stride[outer] = step * view.shape[inner] + number;
    view.stride[0] = view.stride[outer] * view.shape[outer] + number;
    return view;
}

static tenon_status compare(tenon_stream *stream, const tn_rows_problem *like,
                            const tn_choice *choice, tn_twin *twins, bool *right, char why[256])
{
    static const char operation[] = "softmax self-check";
    const double scalars[TN_MAX_SCALARS] = {0};
    const tenon_tensor *views[TENON_ROWS_VIEWS] = {0}, *output = &twins[like->views - 1].host;
    tenon_softmax_params params = TENON_SOFTMAX_PARAMS_INIT;
    tn_rows_problem problem;
    params.axis = 1;
    params.flags = like->flag;
    for (uint32_t v = 0; v < like->views; v++)
        views[v] = &twins[v].host;
    tn_rows_canonicalise(views, like->views, like->views - 1, 1, &problem);
    problem.backward = like->backward;
    problem.flag = like->flag;
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(output) * sizeof *expected);
    bool whole = expected != NULL &&
                 (like->backward
                      ? tn_softmax_backward_reference(&params, views[0], views[1], output, expected)
                      : tn_softmax_forward_reference(&params, views[0], output, expected));
    tenon_status status =
        whole ? tn_twin_run(stream, operation, choice, &problem.head, scalars, twins, like->views)
              : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(output, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream,
                       like->backward ? &tn_operation_softmax_backward : &tn_operation_softmax,
                       &params, twins, like->views, choice);
    free(expected);
    return status;
}

static tenon_status check_layout(tenon_stream *stream, const tn_rows_problem *like,
                                 const tn_choice *choice, bool along, bool *right, char why[256])
{
    tn_twin twins[SOFTMAX_BACKWARD_OPERANDS] = {0};
    tenon_status status = TENON_OK;
    uint64_t seed = 1;
    for (uint32_t v = 0; v < like->views && status == TENON_OK; v++) {
        tenon_tensor view = make_view((tenon_dtype)like->dtype, along, v);
        status = tn_twin_create(stream, &view, &seed, &twins[v]);
    }
    if (status == TENON_OK)
        status = compare(stream, like, choice, twins, right, why);
    for (uint32_t v = 0; v < SOFTMAX_BACKWARD_OPERANDS; v++)
        tn_twin_destroy(&twins[v]);
    return status;
}

/* A team's: at the size of these rows, more vectors than it keeps. */
static tn_choice smallest_team(const tn_choice *choice)
{
    tn_choice small = *choice;
    small.values[0] = 1;
    return small;
}

/* Softmax and its logarithm are one program, so both are checked; the key of the check does not
 * tell them apart. */
tenon_status tn_softmax_self_check(tenon_stream *stream, const tn_problem *problem,
                                   const tn_choice *choice, bool *right, char why[256])
{
    tn_rows_problem like = *(const tn_rows_problem *)problem;
    *right = true;
    for (int i = 0; i < 4 && *right; i++) {
        like.flag = i % 2 == 0 ? 0 : TENON_SOFTMAX_LOG;
        TN_TRY(check_layout(stream, &like, choice, i / 2 == 0, right, why));
        if (*right && tn_is_solver(choice->solver, &tn_softmax_group)) {
            const tn_choice small = smallest_team(choice);
            TN_TRY(check_layout(stream, &like, &small, i / 2 == 0, right, why));
        }
    }
    return TENON_OK;
}
