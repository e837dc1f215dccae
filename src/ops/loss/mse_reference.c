/* References of the squared error, and its awkward cases. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
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

bool tn_mse_forward_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_mse_params *params = given;
    const tenon_tensor *x = v[MSE_X], *t = v[MSE_T], *loss = v[MSE_LOSS];
    tn_axes axes;
    if (tn_axes_check("reference", params->axis_count, params->axes, x->rank, "x", &axes) !=
        TENON_OK)
        return false;
    const int64_t size = tn_axes_size(&axes, x), count = tenon_tensor_elements(loss);
    const double factor = tn_mse_factor(params, &axes, x);
    double *x_rows = tn_reduction_gather(x, x, &axes), *t_rows = tn_reduction_gather(t, x, &axes);
    double *squares = tn_array(size, sizeof *squares);
    bool whole = x_rows != NULL && t_rows != NULL && squares != NULL;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(loss->dtype, loss_of(x->dtype, x_rows + i * size, t_rows + i * size,
                                                    size, factor, squares));
    free(x_rows);
    free(t_rows);
    free(squares);
    return whole;
}

bool tn_mse_backward_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_mse_params *params = given;
    const tenon_tensor *x = v[MSE_X], *t = v[MSE_T], *dloss = v[MSE_DLOSS];
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

/* `loss`: the type of the loss or of its gradient; TENON_DTYPE_INVALID if absent. */
static bool awkward(const tn_operation *operation, uint32_t dtype, tenon_dtype loss,
                    uint32_t number, tn_case *c)
{
    tenon_mse_params *params = (tenon_mse_params *)c->params.bytes;
    if (number == 2)
        return false;
    tn_awkward_begin(c, operation);
    params->flags = TENON_MSE_MEAN;
    params->axis_count = 2;
    params->axes[0] = 1;
    params->axes[1] = 3;
    params->scale = 1.5;
    for (uint32_t i = 0; i < operation->operand_count; i++)
        c->views[i] =
            tn_reduction_awkward_view(i == MSE_LOSS ? loss : (tenon_dtype)dtype, number != 0, i);
    c->views[MSE_LOSS].shape[1] = c->views[MSE_LOSS].shape[3] = 1;
    return true;
}

bool tn_mse_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    const tn_reduction_problem *like = (const tn_reduction_problem *)problem;
    const bool wide = (like->flags & REDUCTION_WIDE) != 0;
    (void)choice;
    return awkward(&tn_operation_mse, like->dtype,
                   wide ? TENON_DTYPE_F32 : (tenon_dtype)like->dtype, number, c);
}

bool tn_mse_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                             tn_case *c)
{
    const tn_rows_problem *like = (const tn_rows_problem *)problem;
    const bool has_dloss = (like->flag & MSE_HAS_DLOSS) != 0;
    (void)choice;
    return awkward(&tn_operation_mse_backward, like->dtype,
                   has_dloss ? (tenon_dtype)like->dtype : TENON_DTYPE_INVALID, number, c);
}
