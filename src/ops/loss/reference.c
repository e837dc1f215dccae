/* The references of cross-entropy, and the self-check of its solvers. docs/numerics.md derives the
 * bounds. */
#include "check/case.h"
#include "ops/common/exp_sum.h"
#include "check/host.h"
#include "ops/loss/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* How the rows of dense row-major logits lie. */
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

/* The first element of a row, by its number in the shape without the axis. */
static int64_t first_of(layout l, int64_t row)
{
    return row / l.step * l.step * l.size + row % l.step;
}

static bool ignored(const tenon_cross_entropy_params *params, double label)
{
    return (params->flags & TENON_CROSS_ENTROPY_IGNORE) != 0 && label == params->ignore_label;
}

bool tn_cross_entropy_forward_reference(const tenon_cross_entropy_params *params,
                                        const tenon_tensor *logits, const tenon_tensor *labels,
                                        tn_bounded *results)
{
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
        if ((double)i == label) { /* in f64, 1 - p keeps p's error */
            p.value -= 1;
            p.bound += u * (fabs(p.value) + p.bound);
        }
        /* scale is rounded to the type, multiplied by dloss, and the two by p. */
        double bound = p.bound * fabs(factor) + 4 * u * (fabs(p.value) + p.bound) * fabs(factor) +
                       sum.least * (1 + fabs(p.value) + p.bound);
        results[i * l.step] =
            tn_stored(dtype, (tn_bounded){is_class ? p.value * factor : (double)NAN, bound});
    }
}

bool tn_cross_entropy_backward_reference(const tenon_cross_entropy_params *params,
                                         const tenon_tensor *logits, const tenon_tensor *labels,
                                         const tenon_tensor *dloss, tn_bounded *results)
{
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

/* Rows in two dimensions about an axis that is the middle one, all with tails. `along`: contiguous
 * along the axis, else across it; the last operands have gaps. Labels come out -1, 0 and 1. */
static tenon_tensor make_view(const tn_rows_problem *like, bool along, uint32_t number)
{
    const bool has_axis = number == CROSS_ENTROPY_LOGITS || number == CROSS_ENTROPY_DLOGITS;
    const uint32_t inner = along ? 1 : 2, outer = along ? 2 : 1;
    tenon_tensor view = {.dtype = number == CROSS_ENTROPY_LABELS ? TENON_DTYPE_I32
                                                                 : (tenon_dtype)like->dtype,
                         .rank = has_axis ? 3 : 2,
                         .shape = {3, 37, 35}};
    view.offset = 3 * tenon_dtype_size(view.dtype);
    if (has_axis) {
        view.stride[inner] = 1;
        view.stride[outer] = view.shape[inner] + number;
        view.stride[0] = view.stride[outer] * view.shape[outer] + number;
    } else {
        view.shape[1] = view.shape[2];
        view.stride[1] = along ? 2 : 1;
        view.stride[0] = 2 * view.shape[1] + number;
    }
    return view;
}

static bool has_dloss(const tn_rows_problem *like)
{
    return (like->flag & CROSS_ENTROPY_HAS_DLOSS) != 0;
}

static tenon_status compare(tenon_stream *stream, const tn_rows_problem *like,
                            const tn_choice *choice, tn_twin *twins, bool *right, char why[256])
{
    static const char operation[] = "cross_entropy self-check";
    const double scalars[TN_MAX_SCALARS] = {[TN_SCALAR_ROWS] = 0.5};
    const tenon_tensor *v[TENON_ROWS_VIEWS] = {0}, *output = &twins[like->views - 1].host;
    tenon_cross_entropy_params params = TENON_CROSS_ENTROPY_PARAMS_INIT;
    tn_rows_problem problem;
    params.axis = 1;
    params.flags = (like->flag & CROSS_ENTROPY_IGNORES) != 0 ? TENON_CROSS_ENTROPY_IGNORE : 0;
    params.ignore_label = 1;
    params.scale = 0.5;
    for (uint32_t i = 0; i < like->views; i++)
        v[i] = tn_twin_host(&twins[i]);
    tn_rows_canonicalise(v, like->views, like->backward ? CROSS_ENTROPY_DLOGITS : 0, 1, &problem);
    tn_cross_entropy_fill(&params, like->backward != 0, has_dloss(like), &problem);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(output) * sizeof *expected);
    bool whole =
        expected != NULL &&
        (like->backward ? tn_cross_entropy_backward_reference(&params, v[0], v[1], v[2], expected)
                        : tn_cross_entropy_forward_reference(&params, v[0], v[1], expected));
    tenon_status status =
        whole ? tn_twin_run(stream, operation, choice, &problem.head, scalars, twins, like->views)
              : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(output, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream,
                       like->backward ? &tn_operation_cross_entropy_backward
                                      : &tn_operation_cross_entropy,
                       &params, twins, like->views, choice);
    free(expected);
    return status;
}

static tenon_status check_layout(tenon_stream *stream, const tn_rows_problem *like,
                                 const tn_choice *choice, bool along, bool *right, char why[256])
{
    tn_twin twins[CROSS_ENTROPY_BACKWARD_OPERANDS] = {0};
    tenon_status status = TENON_OK;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < like->views && status == TENON_OK; i++) {
        if (like->backward != 0 && i == CROSS_ENTROPY_DLOSS && !has_dloss(like))
            continue;
        tenon_tensor view = make_view(like, along, i);
        status = tn_twin_create(stream, &view, &seed, &twins[i]);
    }
    if (status == TENON_OK)
        status = compare(stream, like, choice, twins, right, why);
    for (int i = 0; i < CROSS_ENTROPY_BACKWARD_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}

tenon_status tn_cross_entropy_self_check(tenon_stream *stream, const tn_problem *problem,
                                         const tn_choice *choice, bool *right, char why[256])
{
    const tn_rows_problem *like = (const tn_rows_problem *)problem;
    *right = true;
    for (int along = 0; along < 2 && *right; along++)
        TN_TRY(check_layout(stream, like, choice, along != 0, right, why));
    if (*right && tn_is_solver(choice->solver, &tn_cross_entropy_group)) {
        tn_choice small = *choice; /* a team that these rows are too long to be kept by */
        small.values[0] = 1;
        TN_TRY(check_layout(stream, like, &small, true, right, why));
    }
    return TENON_OK;
}
