/* Descriptions (dispatch/operation.h) of normalization and its gradient. */
#include "check/case.h"
#include "ops/common/output_shape.h"
#include "ops/norm/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_norm_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_norm_params, kind, tn_norm_words),
    TN_FIELD("dimensions", TN_FIELD_U32, tenon_norm_params, dimensions),
    TN_FIELD("groups", TN_FIELD_I64, tenon_norm_params, groups),
    TN_FIELD("epsilon", TN_FIELD_F64, tenon_norm_params, epsilon),
    TN_FIELD("momentum", TN_FIELD_F64, tenon_norm_params, momentum)};

static const tenon_norm_params norm_defaults = TENON_NORM_PARAMS_INIT;

TENON_API void tenon_norm_params_default(tenon_norm_params *params, uint32_t size)
{
    tn_params_give(params, size, &norm_defaults, sizeof norm_defaults);
}

TENON_API tenon_status tenon_norm_forward(tenon_stream *stream, const tenon_norm_params *params,
                                          const tenon_tensor *x, const tenon_tensor *gamma,
                                          const tenon_tensor *beta, const tenon_tensor *y,
                                          const tenon_tensor *mean, const tenon_tensor *rstd,
                                          const tenon_tensor *running_mean,
                                          const tenon_tensor *running_variance,
                                          const tenon_sync *sync)
{
    return TN_RUN(tn_operation_norm, x, gamma, beta, y, mean, rstd, running_mean, running_variance);
}

TENON_API tenon_status tenon_norm_forward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *gamma, const tenon_tensor *beta, const tenon_tensor *y,
    const tenon_tensor *mean, const tenon_tensor *rstd, const tenon_tensor *running_mean,
    const tenon_tensor *running_variance, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_norm, x, gamma, beta, y, mean, rstd, running_mean,
                   running_variance);
}

TENON_API tenon_status tenon_norm_inference(tenon_stream *stream, const tenon_norm_params *params,
                                            const tenon_tensor *x, const tenon_tensor *gamma,
                                            const tenon_tensor *beta, const tenon_tensor *mean,
                                            const tenon_tensor *variance, const tenon_tensor *y,
                                            const tenon_sync *sync)
{
    return TN_RUN(tn_operation_norm_inference, x, gamma, beta, mean, variance, y);
}

TENON_API tenon_status tenon_norm_inference_plan(tenon_context *context,
                                                 const tenon_norm_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *gamma,
                                                 const tenon_tensor *beta, const tenon_tensor *mean,
                                                 const tenon_tensor *variance,
                                                 const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_norm_inference, x, gamma, beta, mean, variance, y);
}

TENON_API tenon_status tenon_norm_backward(tenon_stream *stream, const tenon_norm_params *params,
                                           const tenon_tensor *x, const tenon_tensor *dy,
                                           const tenon_tensor *gamma, const tenon_tensor *mean,
                                           const tenon_tensor *rstd, const tenon_tensor *dx,
                                           const tenon_tensor *dgamma, const tenon_tensor *dbeta,
                                           const tenon_sync *sync)
{
    return TN_RUN(tn_operation_norm_backward, x, dy, gamma, mean, rstd, dx, dgamma, dbeta);
}

TENON_API tenon_status tenon_norm_backward_plan(tenon_context *context,
                                                const tenon_norm_params *params,
                                                const tenon_tensor *x, const tenon_tensor *dy,
                                                const tenon_tensor *gamma, const tenon_tensor *mean,
                                                const tenon_tensor *rstd, const tenon_tensor *dx,
                                                const tenon_tensor *dgamma,
                                                const tenon_tensor *dbeta, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_norm_backward, x, dy, gamma, mean, rstd, dx, dgamma, dbeta);
}

TENON_API tenon_status tenon_norm_inference_backward(
    tenon_stream *stream, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_norm_inference_backward, x, dy, gamma, mean, variance, dx, dgamma,
                  dbeta);
}

TENON_API tenon_status tenon_norm_inference_backward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_norm_inference_backward, x, dy, gamma, mean, variance, dx, dgamma,
                   dbeta);
}

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    return tn_norm_forward_reference(&tn_operation_norm, params, v, expected);
}

static bool inference_reference(const void *params, const tenon_tensor *const *v,
                                tn_bounded *expected)
{
    return tn_norm_forward_reference(&tn_operation_norm_inference, params, v, expected);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return tn_norm_backward_reference(&tn_operation_norm_backward, params, v, expected);
}

static bool inference_backward_reference(const void *params, const tenon_tensor *const *v,
                                         tn_bounded *expected)
{
    return tn_norm_backward_reference(&tn_operation_norm_inference_backward, params, v, expected);
}

/* Fills operand 4 with valid values: a variance or a reciprocal standard deviation. */
static void fill_valid_given(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[4], 0.5, 1.5, seed);
}

static void fill_valid_running(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    if (v[7] != NULL)
        tn_case_reals(v[7], 0.5, 1.5, seed);
}

static const char *const forward_examples[] = {
    "norm x=T:4x5x3 gamma=T:5 beta=T:5 y=T:4x5x3 mean=S:5 rstd=S:5 running_mean=S:5 "
    "running_variance=S:5 kind=batch",
    "norm x=T:21x1367+3 gamma=T:1367 beta=T:1367 y=T:21x1367 mean=S:21 rstd=S:21",
    "norm x=T:2x12x37x5 gamma=T:12 beta=T:12 y=T:2x12x37x5 kind=group groups=3",
    "norm x=T:3x19x50x41 gamma=T:19 beta=T:19 y=@x kind=batch epsilon=0.01",
    "norm x=T:3x19x50x41/38950,1,779,19 gamma=S:19 beta=S:19 y=T:3x19x50x41/38950,1,779,19 "
    "kind=instance",
    "norm x=T:2x300000 gamma=T:300000 y=T:2x300000 rstd=S:2 kind=rms",
    NULL,
};

static const char *const inference_examples[] = {
    "norm tenon_norm_inference x=T:4x5x3 gamma=T:5 beta=T:5 mean=S:5 variance=S:5 y=T:4x5x3 "
    "kind=batch",
    "norm tenon_norm_inference x=T:3x19x50x41/38950,1,779,19 mean=S:19 variance=S:19 "
    "y=T:3x19x50x41 kind=batch",
    NULL,
};

static const char *const backward_examples[] = {
    "norm_backward x=T:4x5x3 dy=T:4x5x3 gamma=T:5 mean=S:5 rstd=S:5 dx=T:4x5x3 dgamma=T:5 "
    "dbeta=T:5 kind=batch",
    "norm_backward x=T:21x1367+3 dy=T:21x1367 gamma=T:1367 mean=S:21 rstd=S:21 dx=@dy "
    "dgamma=T:1367 dbeta=T:1367",
    "norm_backward x=T:2x12x37x5 dy=T:2x12x37x5 mean=S:2x3 rstd=S:2x3 dx=T:2x12x37x5 kind=group "
    "groups=3",
    "norm_backward x=T:3x19x50x41/38950,1,779,19 dy=T:3x19x50x41/38950,1,779,19 gamma=S:19 "
    "mean=S:3x19 rstd=S:3x19 dx=T:3x19x50x41/38950,1,779,19 dgamma=S:19 dbeta=S:19 kind=instance",
    NULL,
};

static const char *const inference_backward_examples[] = {
    "norm_backward tenon_norm_inference_backward x=T:4x5x3 dy=T:4x5x3 gamma=T:5 mean=S:5 "
    "variance=S:5 dx=T:4x5x3 dgamma=T:5 dbeta=T:5 kind=batch",
    "norm_backward tenon_norm_inference_backward x=T:3x19x50x41 dy=T:3x19x50x41 gamma=T:19 "
    "mean=S:19 variance=S:19 dx=T:3x19x50x41 dgamma=T:19 dbeta=T:19 kind=batch",
    NULL,
};

/* Returns the number of dimensions of x before the sets of a layer or RMS normalization. */
static uint32_t dimensions_before(const tenon_norm_params *params, const tenon_tensor *x)
{
    return x->rank > params->dimensions ? x->rank - params->dimensions : 0;
}

static bool statistics_shape(const void *given, const tenon_tensor *const *views,
                             tenon_tensor *output)
{
    const tenon_norm_params *params = given;
    const tenon_tensor *x = views[0];
    const tenon_dtype dtype = tn_sum_dtype(x->dtype);
    if (params->kind == TENON_NORM_LAYER || params->kind == TENON_NORM_RMS)
        return tn_shape_set(output, dtype, dimensions_before(params, x), x->shape);
    if (x->rank < 2)
        return false;
    if (params->kind == TENON_NORM_BATCH)
        return tn_shape_set(output, dtype, 1, x->shape + 1);
    const int64_t shape[] = {x->shape[0],
                             params->kind == TENON_NORM_GROUP ? params->groups : x->shape[1]};
    return tn_shape_set(output, dtype, 2, shape);
}

static bool gamma_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_norm_params *params = given;
    const tenon_tensor *x = views[0], *gamma = views[NORM_BACKWARD_GAMMA];
    if (gamma != NULL)
        return tn_shape_set(output, gamma->dtype, gamma->rank, gamma->shape);
    if (params->kind == TENON_NORM_LAYER || params->kind == TENON_NORM_RMS) {
        const uint32_t before = dimensions_before(params, x);
        return tn_shape_set(output, x->dtype, x->rank - before, x->shape + before);
    }
    return x->rank >= 2 && tn_shape_set(output, x->dtype, 1, x->shape + 1);
}

const tn_operation tn_operation_norm = {
    TN_NAMES("tenon_norm_forward"),
    .family = &tn_norm_family,
    .operands =
        {{.name = "x", .image = true, .role = TN_INPUT_OR_SAME},
         {.name = "gamma", .optional = true},
         {.name = "beta", .optional = true},
         {.name = "y", .image = true, .role = TN_OUTPUT, .shape = tn_shape_of_first},
         {.name = "mean", .optional = true, .role = TN_OWN_OUTPUT, .shape = statistics_shape},
         {.name = "rstd", .optional = true, .role = TN_OWN_OUTPUT, .shape = statistics_shape},
         {.name = "running_mean", .optional = true, .read = true, .role = TN_OWN_OUTPUT},
         {.name = "running_variance", .optional = true, .read = true, .role = TN_OWN_OUTPUT}},
    .operand_count = NORM_FORWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(norm_defaults, TENON_NORM_PARAMS_INIT),
    TN_PROBLEM(norm_problem),
    .prepare = tn_norm_prepare,
    .reference = forward_reference,
    .fill_valid = fill_valid_running,
    .examples = forward_examples,
};

const tn_operation tn_operation_norm_inference = {
    TN_NAMES("tenon_norm_inference"),
    .family = &tn_norm_family,
    .operands = {{.name = "x", .image = true, .role = TN_INPUT_OR_SAME},
                 {.name = "gamma", .optional = true},
                 {.name = "beta", .optional = true},
                 {.name = "mean"},
                 {.name = "variance"},
                 {.name = "y", .image = true, .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = NORM_INFERENCE_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(norm_defaults, TENON_NORM_PARAMS_INIT),
    TN_PROBLEM(norm_problem),
    .prepare = tn_norm_prepare,
    .reference = inference_reference,
    .fill_valid = fill_valid_given,
    .examples = inference_examples,
};

const tn_operation tn_operation_norm_backward = {
    TN_NAMES("tenon_norm_backward"),
    .family = &tn_norm_backward_family,
    .operands = {{.name = "x", .image = true, .role = TN_INPUT_OR_SAME},
                 {.name = "dy", .image = true, .role = TN_INPUT_OR_SAME},
                 {.name = "gamma", .optional = true},
                 {.name = "mean", .optional = true},
                 {.name = "rstd"},
                 {.name = "dx",
                  .image = true,
                  .optional = true,
                  .role = TN_OPTIONAL_OUTPUT,
                  .shape = tn_shape_of_first},
                 {.name = "dgamma", .optional = true, .role = TN_OWN_OUTPUT, .shape = gamma_shape},
                 {.name = "dbeta", .optional = true, .role = TN_OWN_OUTPUT, .shape = gamma_shape}},
    .operand_count = NORM_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(norm_defaults, TENON_NORM_PARAMS_INIT),
    TN_PROBLEM(norm_problem),
    .prepare = tn_norm_prepare,
    .reference = backward_reference,
    .fill_valid = fill_valid_given,
    .examples = backward_examples,
};

const tn_operation tn_operation_norm_inference_backward = {
    TN_NAMES("tenon_norm_inference_backward"),
    .family = &tn_norm_backward_family,
    .operands = {{.name = "x", .image = true, .role = TN_INPUT_OR_SAME},
                 {.name = "dy", .image = true, .role = TN_INPUT_OR_SAME},
                 {.name = "gamma", .optional = true},
                 {.name = "mean", .optional = true},
                 {.name = "variance"},
                 {.name = "dx",
                  .image = true,
                  .optional = true,
                  .role = TN_OPTIONAL_OUTPUT,
                  .shape = tn_shape_of_first},
                 {.name = "dgamma", .optional = true, .role = TN_OWN_OUTPUT, .shape = gamma_shape},
                 {.name = "dbeta", .optional = true, .role = TN_OWN_OUTPUT, .shape = gamma_shape}},
    .operand_count = NORM_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(norm_defaults, TENON_NORM_PARAMS_INIT),
    TN_PROBLEM(norm_problem),
    .prepare = tn_norm_prepare,
    .reference = inference_backward_reference,
    .fill_valid = fill_valid_given,
    .examples = inference_backward_examples,
};
