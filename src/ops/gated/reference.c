/* The references of gated linear units, and the self-check of their solver. docs/numerics.md
 * derives the bounds. */
#include "ops/gated/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

static double flushed(double x, double least_normal)
{
    return fabs(x) < least_normal ? fabs(x) : 0;
}

/* A factor that is given exactly, times a device's f. */
static tn_bounded product(tenon_dtype dtype, double factor, tn_bounded f)
{
    double least = tn_least_normal(dtype), size = fabs(f.value) + f.bound;
    double value = factor * f.value;
    if (tn_may_be_nan(factor, f))
        return (tn_bounded){value, TN_ANYTHING};
    return (tn_bounded){value, fabs(factor) * (f.bound + 2 * tn_roundoff(dtype) * size) +
                                   flushed(factor, least) * size + least};
}

/* dy · a is rounded, and then multiplied by the derivative. */
static tn_bounded gate_gradient(const tenon_activation *activation, tenon_dtype dtype, double a,
                                double b, double dy)
{
    double u = tn_roundoff(dtype), least = tn_least_normal(dtype);
    double lost = flushed(dy, least) * fabs(a) + flushed(a, least) * fabs(dy) + least;
    tn_bounded slope = tn_activation_gradient_reference(activation, dtype, b, 1);
    tn_bounded result = tn_activation_gradient_reference(activation, dtype, b, dy * a);
    if (result.bound == TN_ANYTHING)
        return result;
    result.bound += (1 + 2 * u) * (fabs(slope.value) + slope.bound) * (2 * u * fabs(dy * a) + lost);
    return result;
}

bool tn_gated_forward_reference(const tenon_gated_params *params, const tenon_tensor *a,
                                const tenon_tensor *b, tn_bounded *results)
{
    const tenon_dtype dtype = (tenon_dtype)a->dtype;
    int64_t count = tenon_tensor_elements(a);
    double *value = tn_host_read(a, a->rank, a->shape);
    double *gate = tn_host_read(b, a->rank, a->shape);
    bool whole = value != NULL && gate != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        tn_bounded f =
            tn_activation_reference(&params->activation, dtype, (tn_bounded){gate[i], 0});
        results[i] = tn_stored(dtype, product(dtype, value[i], f));
    }
    free(value);
    free(gate);
    return whole;
}

bool tn_gated_backward_reference(const tenon_gated_params *params, const tenon_tensor *a,
                                 const tenon_tensor *b, const tenon_tensor *dy, tn_bounded *results)
{
    const tenon_dtype dtype = (tenon_dtype)a->dtype;
    const tenon_activation *activation = &params->activation;
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

static void fill(const void *params, tn_pointwise_problem *problem)
{
    problem->kind = ((const tenon_gated_params *)params)->activation.kind;
}

tenon_status tn_gated_self_check(tenon_stream *stream, const tn_problem *problem,
                                 const tn_choice *choice, bool *right, char why[256])
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    const bool is_forward = like->operands == GATED_OPERANDS;
    tenon_gated_params params = TENON_GATED_PARAMS_INIT;
    params.activation = tn_activation_tried(like->kind);
    const double scalars[TN_MAX_SCALARS] = {[TN_SCALAR_ACT_ALPHA] = params.activation.alpha,
                                            [TN_SCALAR_ACT_BETA] = params.activation.beta};
    const tn_pointwise_check check = {.of = is_forward ? &tn_operation_gated
                                                       : &tn_operation_gated_backward,
                                      .params = &params,
                                      .scalars = scalars,
                                      .problem_size = sizeof(tn_pointwise_problem),
                                      .fill = fill};
    uint64_t seed = 1;
    for (int layout = 0; layout < TN_POINTWISE_LAYOUTS && *right; layout++)
        TN_TRY(tn_pointwise_self_check(stream, problem, choice, &check, layout, &seed, right, why));
    return TENON_OK;
}
