/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "check/case.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"

static const tn_field sgd_fields[] = {
    TN_FLAGS_FIELD(tenon_sgd_params),
    TN_FIELD("learning_rate", TN_FIELD_F64, tenon_sgd_params, learning_rate),
    TN_FIELD("momentum", TN_FIELD_F64, tenon_sgd_params, momentum),
    TN_FIELD("dampening", TN_FIELD_F64, tenon_sgd_params, dampening),
    TN_FIELD("weight_decay", TN_FIELD_F64, tenon_sgd_params, weight_decay)};
static const tn_field adam_fields[] = {
    TN_FLAGS_FIELD(tenon_adam_params),
    TN_FIELD("learning_rate", TN_FIELD_F64, tenon_adam_params, learning_rate),
    TN_FIELD("beta1", TN_FIELD_F64, tenon_adam_params, beta1),
    TN_FIELD("beta2", TN_FIELD_F64, tenon_adam_params, beta2),
    TN_FIELD("epsilon", TN_FIELD_F64, tenon_adam_params, epsilon),
    TN_FIELD("weight_decay", TN_FIELD_F64, tenon_adam_params, weight_decay),
    TN_FIELD("step", TN_FIELD_U64, tenon_adam_params, step)};
static const tn_field square_sum_fields[] = {TN_FLAGS_FIELD(tenon_square_sum_params)};
static const tn_field clip_fields[] = {
    TN_FLAGS_FIELD(tenon_clip_params),
    TN_FIELD("max_norm", TN_FIELD_F64, tenon_clip_params, max_norm),
    TN_FIELD("epsilon", TN_FIELD_F64, tenon_clip_params, epsilon)};

TN_OPERATION_DEFAULTS(sgd, tenon_sgd_params)
TN_OPERATION_DEFAULTS(adam, tenon_adam_params)
TN_OPERATION_DEFAULTS(square_sum, tenon_square_sum_params)
TN_OPERATION_DEFAULTS(clip, tenon_clip_params)
TN_OPERATION_CALLS(sgd, tenon_sgd, v[0], v[1], v[2], v[3])
TN_OPERATION_CALLS(adam, tenon_adam, v[0], v[1], v[2], v[3], v[4])
TN_OPERATION_CALLS(square_sum, tenon_square_sum, v[0], v[1])
TN_OPERATION_CALLS(clip, tenon_clip, v[0], v[1])

/* A mean of squares. */
static void settle_second(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[ADAM_SECOND], 0, 1, seed);
}

static void settle_sum(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[CLIP_SUM], 0, 9, seed);
}

static const char *const sgd_examples[] = {
    "sgd gradient=T:4x5 parameter=T:4x5 velocity=S:4x5 momentum=0.9",
    "sgd gradient=T:33003+1 parameter=T:33003",
    "sgd gradient=T:7x229/1,9 parameter=T:7x229 velocity=S:7x229 momentum=0.9 weight_decay=0.1",
    "sgd gradient=T:37x229/1,40 parameter=T:37x229 velocity=S:37x229 momentum=0.9 dampening=0.1",
    "sgd gradient=f16:3x70 parameter=f16:3x70 master=f32:3x70",
    "sgd gradient=bf16:3x70 parameter=bf16:3x70 velocity=f32:3x70 master=f32:3x70 momentum=0.5",
    NULL,
};

static const char *const adam_examples[] = {
    "adam gradient=T:4x5 parameter=T:4x5 first=S:4x5 second=S:4x5",
    "adam gradient=T:33003+1 parameter=T:33003 first=S:33003 second=S:33003 step=7 "
    "weight_decay=0.01",
    "adam gradient=f16:37x229/1,40 parameter=f16:37x229 first=f32:37x229 second=f32:37x229 "
    "master=f32:37x229",
    "adam gradient=bf16:3x70 parameter=bf16:3x70 first=f32:3x70 second=f32:3x70 master=f32:3x70 "
    "step=3",
    NULL,
};

static const char *const square_sum_examples[] = {
    "square_sum x=T:4x5 sum=S:",
    "square_sum x=T:33003+1 sum=S: flags=1",
    "square_sum x=T:37x229/1,40 sum=S:",
    NULL,
};

static const char *const clip_examples[] = {
    "clip sum=S: x=T:4x5 max_norm=0.01",
    "clip sum=S: x=T:33003+1",
    "clip sum=S: x=T:37x229/1,40 max_norm=0.5",
    NULL,
};

const tn_operation tn_operation_sgd = {
    .name = "tenon_sgd",
    .family = &tn_sgd_family,
    .operands = {{.name = "gradient"},
                 {.name = "parameter", .read = true},
                 {.name = "velocity", .optional = true, .read = true},
                 {.name = "master", .optional = true, .read = true}},
    .operand_count = 4,
    .output_count = 3,
    .fields = sgd_fields,
    .field_count = TN_FIELD_COUNT(sgd_fields),
    .params_size = sizeof(tenon_sgd_params),
    .defaults = default_sgd,
    .run = run_sgd,
    .plan = plan_sgd,
    .reference = tn_sgd_reference,
    .examples = sgd_examples,
};

const tn_operation tn_operation_adam = {
    .name = "tenon_adam",
    .family = &tn_adam_family,
    .operands = {{.name = "gradient"},
                 {.name = "parameter", .read = true},
                 {.name = "first", .read = true},
                 {.name = "second", .read = true},
                 {.name = "master", .optional = true, .read = true}},
    .operand_count = 5,
    .output_count = 4,
    .fields = adam_fields,
    .field_count = TN_FIELD_COUNT(adam_fields),
    .params_size = sizeof(tenon_adam_params),
    .defaults = default_adam,
    .run = run_adam,
    .plan = plan_adam,
    .reference = tn_adam_reference,
    .settle = settle_second,
    .examples = adam_examples,
};

const tn_operation tn_operation_square_sum = {
    .name = "tenon_square_sum",
    .family = &tn_square_sum_family,
    .operands = {{.name = "x"}, {.name = "sum", .read = true}},
    .operand_count = 2,
    .output_count = 1,
    .fields = square_sum_fields,
    .field_count = TN_FIELD_COUNT(square_sum_fields),
    .params_size = sizeof(tenon_square_sum_params),
    .defaults = default_square_sum,
    .run = run_square_sum,
    .plan = plan_square_sum,
    .reference = tn_square_sum_reference,
    .examples = square_sum_examples,
};

const tn_operation tn_operation_clip = {
    .name = "tenon_clip",
    .family = &tn_clip_family,
    .operands = {{.name = "sum"}, {.name = "x", .read = true}},
    .operand_count = 2,
    .output_count = 1,
    .fields = clip_fields,
    .field_count = TN_FIELD_COUNT(clip_fields),
    .params_size = sizeof(tenon_clip_params),
    .defaults = default_clip,
    .run = run_clip,
    .plan = plan_clip,
    .reference = tn_clip_reference,
    .settle = settle_sum,
    .examples = clip_examples,
};
