/* References of cross-entropy, and its awkward cases. docs/numerics.md derives the bounds. */
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
#include "ops/loss/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* Length, stride and number of the rows of dense row-major logits. */
typedef struct layout {
    int64_t size, step, rows;
} layout;

static layout layout_of(const tenon_cross_entropy_params *params, const tenon_tensor *logits)
{
    int32_t axis = params->axis < 0 ? params->axis + (int32_t)logits->rank : params->axis;
    layout l = {.size = logits->shape[axis], .step = 1};
    for (uint32_t d = (uint32_t)axis + 1; d < logits->rank; d++)
        l.step *= logits->shape[d];
    l.rows = tenon_tensor_elements(logits) / l.size;
    return l;
}

/* Returns the first element of a row, given its index in the shape without the axis. */
static int64_t first_of(layout l, int64_t row)
{
    return row / l.step * l.step * l.size + row % l.step;
}

static bool ignored(const tenon_cross_entropy_params *params, double label)
{
    return (params->flags & TENON_CROSS_ENTROPY_IGNORE) != 0 && label == params->ignore_label;
}

bool tn_cross_entropy_forward_reference(const void *given, const tenon_tensor *const *v,
                                        tn_bounded *results)
{
    const tenon_cross_entropy_params *params = given;
    const tenon_tensor *logits = v[CROSS_ENTROPY_LOGITS], *labels = v[CROSS_ENTROPY_LABELS];
    const layout l = layout_of(params, logits);
    double *x = tn_host_read(logits, logits->rank, logits->shape);
    double *label = tn_host_read(labels, labels->rank, labels->shape);
    bool whole = x != NULL && label != NULL;
    for (int64_t row = 0; whole && row < l.rows; row++) {
        const double *first = x + first_of(l, row);
        tn_bounded loss = {(double)NAN, 0};
        if (ignored(params, label[row])) {
            loss.value = 0;
        } else if (label[row] >= 0 && label[row] < (double)l.size) {
            const tn_exp_sum sum = tn_exp_sum_of(logits->dtype, first, l.step, l.size);
            loss = tn_log_softmax_at(&sum, first[(int64_t)label[row] * l.step]);
            loss.value = -loss.value;
        }
        results[row] = tn_stored(logits->dtype, loss);
    }
    free(x);
    free(label);
    return whole;
}

static void backward_row(layout l, const double *x, double label, double factor, tenon_dtype dtype,
                         tn_bounded *results)
{
    const tn_exp_sum sum = tn_exp_sum_of(dtype, x, l.step, l.size);
    const double u = sum.unit;
    bool is_class = label >= 0 && label < (double)l.size;
    for (int64_t i = 0; i < l.size; i++) {
        tn_bounded p = tn_softmax_at(&sum, x[i * l.step]);
        if ((double)i == label) { /* for f64, 1 - p keeps p's error */
            p.value -= 1;
            p.bound += u * (fabs(p.value) + p.bound);
        }
        /* scale is rounded to the type, multiplied by dloss, and the result by p. */
        double bound = p.bound * fabs(factor) + 4 * u * (fabs(p.value) + p.bound) * fabs(factor) +
                       sum.least * (1 + fabs(p.value) + p.bound);
        results[i * l.step] =
            tn_stored(dtype, (tn_bounded){is_class ? p.value * factor : (double)NAN, bound});
    }
}

bool tn_cross_entropy_backward_reference(const void *given, const tenon_tensor *const *v,
                                         tn_bounded *results)
{
    const tenon_cross_entropy_params *params = given;
    const tenon_tensor *logits = v[CROSS_ENTROPY_LOGITS], *labels = v[CROSS_ENTROPY_LABELS],
                       *dloss = v[CROSS_ENTROPY_DLOSS];
    const layout l = layout_of(params, logits);
    double *x = tn_host_read(logits, logits->rank, logits->shape);
    double *label = tn_host_read(labels, labels->rank, labels->shape);
    double *weight = dloss != NULL ? tn_host_read(dloss, dloss->rank, dloss->shape) : NULL;
    bool whole = x != NULL && label != NULL && (weight != NULL || dloss == NULL);
    for (int64_t row = 0; whole && row < l.rows; row++) {
        int64_t first = first_of(l, row);
        double factor = params->scale * (weight != NULL ? weight[row] : 1);
        if (ignored(params, label[row]))
            for (int64_t i = 0; i < l.size; i++)
                results[first + i * l.step] = (tn_bounded){0, 0};
        else
            backward_row(l, x + first, label[row], factor, logits->dtype, results + first);
    }
    free(x);
    free(label);
    free(weight);
    return whole;
}

/* Returns a view for awkward cases. All operands except the first have gaps. */
static tenon_tensor loss_reference_make_view(const tn_rows_problem *like, const tn_choice *choice,
                                             uint32_t number, uint32_t operand)
{
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_tensor view = tn_rows_awkward_view(like, choice, number, 1, operand);
    if (operand == CROSS_ENTROPY_LOGITS || operand == CROSS_ENTROPY_DLOGITS)
        return view;
    view.dtype = operand == CROSS_ENTROPY_LABELS ? TENON_DTYPE_I32 : dtype;
    view.offset = 3 * tenon_dtype_size(view.dtype);
    view.rank = 2;
    view.shape[1] = view.shape[2];
    view.stride[1] = number % 2 == 0 ? 2 : 1;
    view.stride[0] = 2 * view.shape[1] + operand;
    return view;
}

bool tn_cross_entropy_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                              tn_case *c)
{
    const tn_rows_problem *like = (const tn_rows_problem *)problem;
    tenon_cross_entropy_params *params = (tenon_cross_entropy_params *)c->params.bytes;
    if (number == 2 * tn_awkward_count(choice))
        return false;
    tn_awkward_begin(c, like->backward ? &tn_operation_cross_entropy_backward
                                       : &tn_operation_cross_entropy);
    params->axis = 1;
    params->flags = (like->flag & CROSS_ENTROPY_IGNORES) != 0 ? TENON_CROSS_ENTROPY_IGNORE : 0;
    params->ignore_label = 1;
    params->scale = 0.5;
    for (uint32_t i = 0; i < like->views; i++)
        c->views[i] = loss_reference_make_view(like, choice, number, i);
    if (like->backward && (like->flag & CROSS_ENTROPY_HAS_DLOSS) == 0)
        c->views[CROSS_ENTROPY_DLOSS].dtype = TENON_DTYPE_INVALID;
    return true;
}
