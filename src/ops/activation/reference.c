/* The reference of the activations, and the self-check of their solvers. */
#include "ops/activation/internal.h"
#include "ops/common/host.h"

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

/* Past two chunks of a work-item, with a tail that is no vector; or rows with gaps. */
static tenon_tensor make_view(const activation_problem *like, const tn_choice *choice, int64_t gap)
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype),
                         .dtype = dtype,
                         .rank = 1,
                         .shape = {16387},
                         .stride = {1}};
    if (choice->solver == &tn_activation_dense)
        return view;
    view.rank = 3;
    for (int d = 2; d >= 0; d--) {
        view.shape[d] = 11 + 4 * d;
        view.stride[d] = d == 2 ? gap : view.stride[d + 1] * view.shape[d + 1] + gap;
    }
    return view;
}

static tenon_status compare(tenon_stream *stream, const tenon_activation_params *params,
                            const tn_choice *choice, tn_twin twins[ACTIVATION_OPERANDS],
                            bool *right, char why[256])
{
    static const char operation[] = "activation self-check";
    const tenon_tensor *x = &twins[ACTIVATION_X].host, *y = &twins[ACTIVATION_Y].host;
    double scalars[TN_MAX_SCALARS] = {[TN_SCALAR_ACT_ALPHA] = params->activation.alpha};
    activation_problem problem;
    tn_activation_canonicalise(&params->activation, x, y, &problem);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(y) * sizeof *expected);
    tenon_status status =
        expected != NULL && tn_activation_forward_reference(params, x, y, expected)
            ? tn_twin_run(stream, operation, choice, &problem.head, scalars, twins,
                          ACTIVATION_OPERANDS)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(y, expected, why);
    free(expected);
    return status;
}

tenon_status tn_activation_self_check(tenon_stream *stream, const tn_problem *problem,
                                      const tn_choice *choice, bool *right, char why[256])
{
    const activation_problem *like = (const activation_problem *)problem;
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x_view = make_view(like, choice, 1), y_view = make_view(like, choice, 2);
    tn_twin twins[ACTIVATION_OPERANDS] = {0};
    uint64_t seed = 1;
    params.activation.kind = like->activation;
    params.activation.alpha = 0.25;
    tenon_status status = tn_twin_create(stream, &x_view, &seed, &twins[ACTIVATION_X]);
    if (status == TENON_OK)
        status = tn_twin_create(stream, &y_view, &seed, &twins[ACTIVATION_Y]);
    if (status == TENON_OK)
        status = compare(stream, &params, choice, twins, right, why);
    for (int i = 0; i < ACTIVATION_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}
