/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "check/case.h"
#include "ops/norm/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_norm_params),
    TN_FIELD_WORDS("kind", TN_FIELD_I32, tenon_norm_params, kind, tn_norm_words),
    TN_FIELD("dimensions", TN_FIELD_U32, tenon_norm_params, dimensions),
    TN_FIELD("groups", TN_FIELD_I64, tenon_norm_params, groups),
    TN_FIELD("epsilon", TN_FIELD_F64, tenon_norm_params, epsilon),
    TN_FIELD("momentum", TN_FIELD_F64, tenon_norm_params, momentum)};

TN_OPERATION_DEFAULTS(norm, tenon_norm_params)
TN_OPERATION_CALLS(forward, tenon_norm_forward, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
TN_OPERATION_CALLS(inference, tenon_norm_inference, v[0], v[1], v[2], v[3], v[4], v[5])
TN_OPERATION_CALLS(backward, tenon_norm_backward, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
TN_OPERATION_CALLS(inference_backward, tenon_norm_inference_backward, v[0], v[1], v[2], v[3], v[4],
                   v[5], v[6], v[7])

/* The place for the results of the next view; NULL where that is absent. */
static tn_bounded *next(const tenon_tensor *view, tn_bounded **expected)
{
    tn_bounded *place = *expected;
    if (view == NULL)
        return NULL;
    *expected += tenon_tensor_elements(view);
    return place;
}

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    const norm_views views = tn_norm_forward_views(v);
    norm_forward_results results = {.y = next(v[3], &expected)};
    results.mean = next(v[4], &expected);
    results.rstd = next(v[5], &expected);
    results.running_mean = next(v[6], &expected);
    results.running_variance = next(v[7], &expected);
    return tn_norm_forward_reference(params, &views, &results);
}

static bool inference_reference(const void *params, const tenon_tensor *const *v,
                                tn_bounded *expected)
{
    const norm_views views = tn_norm_inference_views(v);
    const norm_forward_results results = {.y = expected};
    return tn_norm_forward_reference(params, &views, &results);
}

static bool gradients(const void *params, const tenon_tensor *const *v, bool given,
                      tn_bounded *expected)
{
    const norm_views views = tn_norm_backward_views(v, given);
    norm_backward_results results = {.dx = next(v[5], &expected)};
    results.dgamma = next(v[6], &expected);
    results.dbeta = next(v[7], &expected);
    return tn_norm_backward_reference(params, &views, &results);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return gradients(params, v, false, expected);
}

static bool inference_backward_reference(const void *params, const tenon_tensor *const *v,
                                         tn_bounded *expected)
{
    return gradients(params, v, true, expected);
}

/* A variance, or the reciprocal of a deviation: operand 4 but for the running one. */
static void settle_given(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[4], 0.5, 1.5, seed);
}

static void settle_running(const void *params, const tenon_tensor *const *v, uint64_t *seed)
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

const tn_operation tn_operation_norm = {
    .name = "tenon_norm_forward",
    .family = &tn_norm_family,
    .operands = {{.name = "x"},
                 {.name = "gamma", .optional = true},
                 {.name = "beta", .optional = true},
                 {.name = "y"},
                 {.name = "mean", .optional = true},
                 {.name = "rstd", .optional = true},
                 {.name = "running_mean", .optional = true, .read = true},
                 {.name = "running_variance", .optional = true, .read = true}},
    .operand_count = 8,
    .output_count = 5,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_norm,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .settle = settle_running,
    .examples = forward_examples,
};

const tn_operation tn_operation_norm_inference = {
    .name = "tenon_norm_inference",
    .family = &tn_norm_family,
    .operands = {{.name = "x"},
                 {.name = "gamma", .optional = true},
                 {.name = "beta", .optional = true},
                 {.name = "mean"},
                 {.name = "variance"},
                 {.name = "y"}},
    .operand_count = 6,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_norm,
    .run = run_inference,
    .plan = plan_inference,
    .reference = inference_reference,
    .settle = settle_given,
    .examples = inference_examples,
};

const tn_operation tn_operation_norm_backward = {
    .name = "tenon_norm_backward",
    .family = &tn_norm_backward_family,
    .operands = {{.name = "x"},
                 {.name = "dy"},
                 {.name = "gamma", .optional = true},
                 {.name = "mean", .optional = true},
                 {.name = "rstd"},
                 {.name = "dx", .optional = true},
                 {.name = "dgamma", .optional = true},
                 {.name = "dbeta", .optional = true}},
    .operand_count = 8,
    .output_count = 3,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_norm,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .settle = settle_given,
    .examples = backward_examples,
};

const tn_operation tn_operation_norm_inference_backward = {
    .name = "tenon_norm_inference_backward",
    .family = &tn_norm_backward_family,
    .operands = {{.name = "x"},
                 {.name = "dy"},
                 {.name = "gamma", .optional = true},
                 {.name = "mean", .optional = true},
                 {.name = "variance"},
                 {.name = "dx", .optional = true},
                 {.name = "dgamma", .optional = true},
                 {.name = "dbeta", .optional = true}},
    .operand_count = 8,
    .output_count = 3,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_norm,
    .run = run_inference_backward,
    .plan = plan_inference_backward,
    .reference = inference_backward_reference,
    .settle = settle_given,
    .examples = inference_backward_examples,
};
