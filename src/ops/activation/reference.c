/* References of the activations, and their awkward cases. */
#include "check/awkward.h"
#include "ops/activation/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

bool tn_activation_forward_reference(const void *params, const tenon_tensor *const *v,
                                     tn_bounded *results)
{
    const tenon_activation *activation = &((const tenon_activation_params *)params)->activation;
    const tenon_tensor *x = v[ACTIVATION_X], *y = v[ACTIVATION_Y];
    int64_t count = tenon_tensor_elements(y);
    double *values = tn_host_read(x, y->rank, y->shape);
    for (int64_t i = 0; values != NULL && i < count; i++)
        results[i] = tn_stored(
            y->dtype, tn_activation_reference(activation, y->dtype, (tn_bounded){values[i], 0}));
    bool whole = values != NULL;
    free(values);
    return whole;
}

bool tn_activation_backward_reference(const void *params, const tenon_tensor *const *v,
                                      tn_bounded *results)
{
    const tenon_activation *activation = &((const tenon_activation_params *)params)->activation;
    const tenon_tensor *x = v[BACKWARD_X], *dy = v[BACKWARD_DY], *dx = v[BACKWARD_DX];
    int64_t count = tenon_tensor_elements(dx);
    double *at = tn_host_read(x, dx->rank, dx->shape);
    double *gradient = tn_host_read(dy, dx->rank, dx->shape);
    bool whole = at != NULL && gradient != NULL;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(
            dx->dtype, tn_activation_gradient_reference(activation, dx->dtype, at[i], gradient[i]));
    free(at);
    free(gradient);
    return whole;
}

bool tn_activation_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                           tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    const bool dense = tn_awkward_size(choice, 0, "dense", 0) != 0;
    if (number == tn_awkward_count(choice))
        return false;
    tn_pointwise_awkward(like->operands == ACTIVATION_OPERANDS ? &tn_operation_activation
                                                               : &tn_operation_activation_backward,
                         like->from, like->to, dense ? TN_LAYOUT_DENSE : TN_LAYOUT_GAPS, c);
    for (uint32_t v = 0; v < like->operands; v++)
        c->views[v].offset = (uint64_t)tn_awkward_size(choice, number, "offset", 3) *
                             tenon_dtype_size((tenon_dtype)like->to);
    ((tenon_activation_params *)c->params.bytes)->activation = tn_activation_tried(like->kind);
    return true;
}
