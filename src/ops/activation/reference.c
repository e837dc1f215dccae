/* The references of the activations, and the self-check of their solvers. */
#include "check/case.h"
#include "ops/activation/internal.h"
#include "check/host.h"
#include "ops/common/stores.h"
#include "ops/registry.h"

#include <stdlib.h>

bool tn_activation_forward_reference(const tenon_activation_params *params, const tenon_tensor *x,
                                     const tenon_tensor *y, tn_bounded *results)
{
    int64_t count = tenon_tensor_elements(y);
    double *values = tn_host_read(x, y->rank, y->shape);
    for (int64_t i = 0; values != NULL && i < count; i++)
        results[i] = tn_stored(y->dtype, tn_activation_reference(&params->activation, y->dtype,
                                                                 (tn_bounded){values[i], 0}));
    bool whole = values != NULL;
    free(values);
    return whole;
}

bool tn_activation_backward_reference(const tenon_activation_params *params, const tenon_tensor *x,
                                      const tenon_tensor *dy, const tenon_tensor *dx,
                                      tn_bounded *results)
{
    int64_t count = tenon_tensor_elements(dx);
    double *at = tn_host_read(x, dx->rank, dx->shape);
    double *gradient = tn_host_read(dy, dx->rank, dx->shape);
    bool whole = at != NULL && gradient != NULL;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(dx->dtype, tn_activation_gradient_reference(
                                              &params->activation, dx->dtype, at[i], gradient[i]));
    free(at);
    free(gradient);
    return whole;
}

/* Past two chunks of a work-item, with a tail that is no vector; or rows with gaps. */
static tenon_tensor make_view(const activation_problem *like, const tn_choice *choice, int64_t gap)
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype),
                         .dtype = dtype,
                         .rank = 1,
                         .shape = {16387},
                         .stride = {1}};
    if (tn_is_solver(choice->solver, &tn_activation_dense)) {
        if (choice->values[0] == TN_STORES_PAST) /* takes place where vectors are aligned */
            view.offset = 64 * tenon_dtype_size(dtype);
        return view;
    }
    view.rank = 3;
    for (int d = 2; d >= 0; d--) {
        view.shape[d] = 11 + 4 * d;
        view.stride[d] = d == 2 ? gap : view.stride[d + 1] * view.shape[d + 1] + gap;
    }
    return view;
}

/* The last view is the output. */
static bool reference(const tenon_activation_params *params, const tenon_tensor *const *views,
                      uint32_t count, tn_bounded *results)
{
    if (count == ACTIVATION_OPERANDS)
        return tn_activation_forward_reference(params, views[ACTIVATION_X], views[ACTIVATION_Y],
                                               results);
    return tn_activation_backward_reference(params, views[BACKWARD_X], views[BACKWARD_DY],
                                            views[BACKWARD_DX], results);
}

static tenon_status compare(tenon_stream *stream, const tenon_activation_params *params,
                            const tn_choice *choice, tn_twin *twins, uint32_t count, bool *right,
                            char why[256])
{
    static const char operation[] = "activation self-check";
    const tn_operation *of =
        count == ACTIVATION_OPERANDS ? &tn_operation_activation : &tn_operation_activation_backward;
    const tenon_tensor *views[ACTIVATION_VIEWS];
    double scalars[TN_MAX_SCALARS] = {[TN_SCALAR_ACT_ALPHA] = params->activation.alpha,
                                      [TN_SCALAR_ACT_BETA] = params->activation.beta};
    activation_problem problem;
    for (uint32_t v = 0; v < count; v++)
        views[v] = &twins[v].host;
    const tenon_tensor *output = &twins[count - 1].host;
    TN_TRY(tn_twins_settle(stream, of, params, twins));
    tn_activation_canonicalise(&params->activation, views, count, &problem);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(output) * sizeof *expected);
    tenon_status status =
        expected != NULL && reference(params, views, count, expected)
            ? tn_twin_run(stream, operation, choice, &problem.head, scalars, twins, count)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(output, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, of, params, twins, count, choice);
    free(expected);
    return status;
}

tenon_status tn_activation_self_check(tenon_stream *stream, const tn_problem *problem,
                                      const tn_choice *choice, bool *right, char why[256])
{
    const activation_problem *like = (const activation_problem *)problem;
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tn_twin twins[ACTIVATION_VIEWS] = {0};
    uint64_t seed = 1;
    tenon_status status = TENON_OK;
    params.activation = tn_activation_tried(like->activation);
    for (uint32_t v = 0; v < like->views && status == TENON_OK; v++) {
        tenon_tensor view = make_view(like, choice, 1 + (int64_t)v);
        status = tn_twin_create(stream, &view, &seed, &twins[v]);
    }
    if (status == TENON_OK)
        status = compare(stream, &params, choice, twins, like->views, right, why);
    for (uint32_t v = 0; v < like->views; v++)
        tn_twin_destroy(&twins[v]);
    return status;
}
