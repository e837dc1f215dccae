/* The reference of the activations, and the self-check of their solvers. */
#include "ops/activation/internal.h"
#include "ops/common/host.h"

#include <stdlib.h>

void tn_activation_forward_reference(const tenon_activation_params *params, const tenon_tensor *x,
                                     const tenon_tensor *y, tn_bounded *results)
{
    int64_t count = tenon_tensor_elements(y);
    double *values = tn_host_read(x, y->rank, y->shape);
    for (int64_t i = 0; values != NULL && i < count; i++)
        results[i] =
            tn_activation_reference(&params->activation, y->dtype, (tn_bounded){values[i], 0});
    free(values);
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

static tenon_status run(tenon_stream *stream, const activation_problem *problem,
                        const tenon_activation *activation, const tn_choice *choice, tn_twin *x,
                        tn_twin *y)
{
    static const char operation[] = "activation self-check";
    const tn_operand operands[] = {{x->device.memory, x->device.offset},
                                   {y->device.memory, y->device.offset}};
    double scalars[TN_MAX_SCALARS] = {[TN_SCALAR_ACT_ALPHA] = activation->alpha};
    tn_recording recording = {.context = stream->context};
    tenon_status status =
        choice->solver->record(operation, &recording, &problem->head, choice->values);
    if (status == TENON_OK)
        status = tn_recording_run(operation, choice->solver->name, stream, &recording, operands,
                                  scalars, NULL);
    if (status == TENON_OK)
        status = tn_twin_fetch(stream, y);
    tn_recording_destroy(&recording);
    return status;
}

static tenon_status compare(tenon_stream *stream, const tenon_activation_params *params,
                            const tn_choice *choice, tn_twin *x, tn_twin *y, bool *right,
                            char why[256])
{
    activation_problem problem;
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(&y->host) * sizeof *expected);
    if (expected == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "activation self-check: no memory");
    tn_activation_forward_reference(params, &x->host, &y->host, expected);
    tn_activation_canonicalise(&params->activation, &x->host, &y->host, &problem);
    tenon_status status = run(stream, &problem, &params->activation, choice, x, y);
    if (status == TENON_OK)
        *right = tn_host_within(&y->host, expected, why);
    free(expected);
    return status;
}

tenon_status tn_activation_self_check(tenon_stream *stream, const tn_problem *problem,
                                      const tn_choice *choice, bool *right, char why[256])
{
    const activation_problem *like = (const activation_problem *)problem;
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor view_x = make_view(like, choice, 1), view_y = make_view(like, choice, 2);
    tn_twin x = {0}, y = {0};
    uint64_t seed = 1;
    params.activation.kind = like->activation;
    params.activation.alpha = 0.25;
    tenon_status status = tn_twin_create(stream, &view_x, &seed, &x);
    if (status == TENON_OK)
        status = tn_twin_create(stream, &view_y, &seed, &y);
    if (status == TENON_OK)
        status = compare(stream, &params, choice, &x, &y, right, why);
    tn_twin_destroy(&x);
    tn_twin_destroy(&y);
    return status;
}
