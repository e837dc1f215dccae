/* References of gated linear units, and their awkward cases. docs/numerics.md derives the bounds.
 */
#include "check/awkward.h"
#include "ops/gated/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* Returns the product of an exact factor and a value f computed by the device. */
static tn_bounded product(tenon_dtype dtype, double factor, tn_bounded f)
{
    double least = tn_least_normal(dtype), size = fabs(f.value) + f.bound;
    double value = factor * f.value;
    if (tn_may_be_nan(factor, f))
        return (tn_bounded){value, TN_ANYTHING};
    return (tn_bounded){value, fabs(factor) * (f.bound + 2 * tn_roundoff(dtype) * size) +
                                   tn_flushed(factor, least) * size + least};
}

/* Returns db: dy · a is rounded, then multiplied by the derivative. */
static tn_bounded gate_gradient(const tenon_activation *activation, tenon_dtype dtype, double a,
                                double b, double dy)
{
    double u = tn_roundoff(dtype), least = tn_least_normal(dtype);
    double lost = tn_flushed(dy, least) * fabs(a) + tn_flushed(a, least) * fabs(dy) + least;
    tn_bounded slope = tn_activation_gradient_reference(activation, dtype, b, 1);
    tn_bounded result = tn_activation_gradient_reference(activation, dtype, b, dy * a);
    if (result.bound == TN_ANYTHING)
        return result;
    result.bound += (1 + 2 * u) * (fabs(slope.value) + slope.bound) * (2 * u * fabs(dy * a) + lost);
    return result;
}

bool tn_gated_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_activation *activation = &((const tenon_gated_params *)params)->activation;
    const tenon_tensor *a = v[GATED_A], *b = v[GATED_B];
    const tenon_dtype dtype = (tenon_dtype)a->dtype;
    int64_t count = tenon_tensor_elements(a);
    double *value = tn_host_read(a, a->rank, a->shape);
    double *gate = tn_host_read(b, a->rank, a->shape);
    bool whole = value != NULL && gate != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        tn_bounded f = tn_activation_reference(activation, dtype, (tn_bounded){gate[i], 0});
        results[i] = tn_stored(dtype, product(dtype, value[i], f));
    }
    free(value);
    free(gate);
    return whole;
}

bool tn_gated_backward_reference(const void *params, const tenon_tensor *const *v,
                                 tn_bounded *results)
{
    const tenon_activation *activation = &((const tenon_gated_params *)params)->activation;
    const tenon_tensor *a = v[GATED_A], *b = v[GATED_B], *dy = v[GATED_DY];
    const tenon_dtype dtype = (tenon_dtype)a->dtype;
    int64_t count = tenon_tensor_elements(a);
    double *value = tn_host_read(a, a->rank, a->shape);
    double *gate = tn_host_read(b, a->rank, a->shape);
    double *gradient = tn_host_read(dy, a->rank, a->shape);
    bool whole = value != NULL && gate != NULL && gradient != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        tn_bounded f = tn_activation_reference(activation, dtype, (tn_bounded){gate[i], 0});
        results[i] = tn_stored(dtype, product(dtype, gradient[i], f));
        results[count + i] =
            tn_stored(dtype, gate_gradient(activation, dtype, value[i], gate[i], gradient[i]));
    }
    free(value);
    free(gate);
    free(gradient);
    return whole;
}

bool tn_gated_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                      tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    (void)choice;
    if (number == TN_LAYOUTS)
        return false;
    tn_pointwise_awkward(like->operands == GATED_OPERANDS ? &tn_operation_gated
                                                          : &tn_operation_gated_backward,
                         like->from, like->to, (tn_layout)number, c);
    ((tenon_gated_params *)c->params.bytes)->activation = tn_activation_tried(like->kind);
    return true;
}
