/* The references of squared error, and the self-checks of its solvers. docs/numerics.md derives the
 * bounds. */
#include "check/case.h"
#include "ops/common/exp_sum.h"
#include "check/host.h"
#include "ops/loss/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

static tn_bounded loss_of(tenon_dtype dtype, const double *x, const double *t, int64_t n,
                          double factor, double *squares)
{
    const double unit = tn_unit(dtype), least = tn_least_normal(dtype);
    double distances = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] - t[i];
        distances += fabs(d);
        squares[i] = d * d;
    }
    double sum = tn_exact_sum(squares, n);
    double lost = 2 * least * distances + (2 * (double)n + 1) * least;
    return (tn_bounded){factor * sum,
                        fabs(factor) * (tn_gamma(tn_sum_depth(n) + 5, unit) * sum + 2 * lost) +
                            least * (1 + sum)};
}

bool tn_mse_forward_reference(const tenon_mse_params *params, const tenon_tensor *x,
                              const tenon_tensor *t, const tenon_tensor *loss, tn_bounded *results)
{
    tn_axes axes;
    if (tn_axes_check("reference", params->axis_count, params->axes, x->rank, "x", &axes) !=
        TENON_OK)
        return false;
    const int64_t size = tn_axes_size(&axes, x), count = tenon_tensor_elements(loss);
    const double factor = tn_mse_factor(params, &axes, x);
    double *x_rows = tn_reduction_gather(x, x, &axes), *t_rows = tn_reduction_gather(t, x, &axes);
    double *squares = malloc((size_t)(size > 0 ? size : 1) * sizeof *squares);
    bool whole = x_rows != NULL && t_rows != NULL && squares != NULL;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(loss->dtype, loss_of(x->dtype, x_rows + i * size, t_rows + i * size,
                                                    size, factor, squares));
    free(x_rows);
    free(t_rows);
    free(squares);
    return whole;
}

bool tn_mse_backward_reference(const tenon_mse_params *params, const tenon_tensor *x,
                               const tenon_tensor *t, const tenon_tensor *dloss,
                               tn_bounded *results)
{
    const double unit = tn_unit(x->dtype), least = tn_least_normal(x->dtype);
    tenon_tensor wide = *x;
    tn_axes axes;
    if (tn_axes_check("reference", params->axis_count, params->axes, x->rank, "x", &axes) !=
        TENON_OK)
        return false;
    if (dloss != NULL) {
        wide.memory = dloss->memory;
        wide.offset = dloss->offset;
        for (uint32_t d = 0; d < x->rank; d++)
            wide.stride[d] = tn_reduced_stride(dloss, x, &axes, d);
    }
    const double factor = 2 * tn_mse_factor(params, &axes, x);
    double *x_values = tn_host_read(x, x->rank, x->shape);
    double *t_values = tn_host_read(t, x->rank, x->shape);
    double *weights = tn_host_read(&wide, x->rank, x->shape);
    bool whole = x_values != NULL && t_values != NULL && weights != NULL;
    for (int64_t i = 0; whole && i < tenon_tensor_elements(x); i++) {
        double d = x_values[i] - t_values[i], w = dloss != NULL ? factor * weights[i] : factor;
        double flushed = least * (1 + fabs(w) + fabs(d) * (1 + fabs(factor)));
        results[i] =
            tn_stored(x->dtype, (tn_bounded){w * d, tn_gamma(4, unit) * fabs(w * d) + 2 * flushed});
    }
    free(x_values);
    free(t_values);
    free(weights);
    return whole;
}

static const tenon_mse_params check_params = {.struct_size = sizeof check_params,
                                              .flags = TENON_MSE_MEAN,
                                              .axis_count = 2,
                                              .axes = TN_REDUCTION_CHECK_AXES,
                                              .scale = 1.5};

/* Runs the choice on twins of x, t, the loss or its gradient, and dx. */
static tenon_status compare(tenon_stream *stream, const tn_choice *choice, bool backward,
                            tn_twin twins[MSE_BACKWARD_OPERANDS], bool *right, char why[256])
{
    static const char operation[] = "mse self-check";
    const uint32_t count = backward ? MSE_BACKWARD_OPERANDS : MSE_OPERANDS;
    const tenon_tensor *v[MSE_BACKWARD_OPERANDS], *output = &twins[count - 1].host;
    double scalars[TN_MAX_SCALARS] = {0};
    tn_reduction_problem forward_problem;
    tn_rows_problem backward_problem;
    tn_axes axes;
    for (uint32_t i = 0; i < count; i++)
        v[i] = tn_twin_host(&twins[i]);
    TN_TRY(tn_axes_check(operation, check_params.axis_count, check_params.axes, v[MSE_X]->rank, "x",
                         &axes));
    if (backward)
        tn_mse_backward_canonicalise(&axes, v, &backward_problem);
    else
        tn_mse_canonicalise(&axes, v[MSE_X], v[MSE_T], v[MSE_LOSS], &forward_problem);
    scalars[0] = (backward ? 2 : 1) * tn_mse_factor(&check_params, &axes, v[MSE_X]);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(output) * sizeof *expected);
    bool whole =
        expected != NULL &&
        (backward
             ? tn_mse_backward_reference(&check_params, v[MSE_X], v[MSE_T], v[MSE_DLOSS], expected)
             : tn_mse_forward_reference(&check_params, v[MSE_X], v[MSE_T], v[MSE_LOSS], expected));
    tenon_status status =
        whole ? tn_twin_run(stream, operation, choice,
                            backward ? &backward_problem.head : &forward_problem.head, scalars,
                            twins, count)
              : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(output, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, backward ? &tn_operation_mse_backward : &tn_operation_mse,
                       &check_params, twins, count, choice);
    free(expected);
    return status;
}

/* `wide`: a loss of f32 whatever x is; without `has_dloss` its gradient is absent. */
typedef struct mse_check {
    tenon_dtype dtype;
    bool backward, wide, has_dloss;
} mse_check;

static tenon_status check_layout(tenon_stream *stream, const mse_check *check,
                                 const tn_choice *choice, bool along, bool *right, char why[256])
{
    tn_twin twins[MSE_BACKWARD_OPERANDS] = {0};
    tenon_tensor views[MSE_BACKWARD_OPERANDS];
    tenon_status status = TENON_OK;
    uint64_t seed = 1;
    for (int i = 0; i < MSE_BACKWARD_OPERANDS; i++)
        views[i] = tn_reduction_awkward_view(
            check->wide && i == MSE_LOSS ? TENON_DTYPE_F32 : check->dtype, along, i);
    views[MSE_LOSS].shape[1] = views[MSE_LOSS].shape[3] = 1;
    for (int i = 0; i < MSE_BACKWARD_OPERANDS && status == TENON_OK; i++)
        if (!check->backward || i != MSE_DLOSS || check->has_dloss)
            status = tn_twin_create(stream, &views[i], &seed, &twins[i]);
    if (status == TENON_OK)
        status = compare(stream, choice, check->backward, twins, right, why);
    for (int i = 0; i < MSE_BACKWARD_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}

static tenon_status check_layouts(tenon_stream *stream, const mse_check *check,
                                  const tn_choice *choice, bool *right, char why[256])
{
    *right = true;
    for (int along = 0; along < 2 && *right; along++)
        TN_TRY(check_layout(stream, check, choice, along != 0, right, why));
    return TENON_OK;
}

tenon_status tn_mse_self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    const tn_reduction_problem *like = (const tn_reduction_problem *)problem;
    const mse_check check = {.dtype = (tenon_dtype)like->dtype,
                             .wide = (like->flags & REDUCTION_WIDE) != 0};
    return check_layouts(stream, &check, choice, right, why);
}

tenon_status tn_mse_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                        const tn_choice *choice, bool *right, char why[256])
{
    const tn_rows_problem *like = (const tn_rows_problem *)problem;
    const mse_check check = {.dtype = (tenon_dtype)like->dtype,
                             .backward = true,
                             .has_dloss = (like->flag & MSE_HAS_DLOSS) != 0};
    return check_layouts(stream, &check, choice, right, why);
}
