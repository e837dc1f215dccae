/* Descriptions (dispatch/operation.h) of the optimizers, tenon_square_sum and tenon_clip. */
#include "check/case.h"
#include "ops/common/output_shape.h"
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

/* Return the description that serves a step: that with a guard if the parameters name one. */
#define SERVED_AS(name, NAME)                                                                      \
    static const tn_operation *name##_served_as(const void *given, const tenon_tensor **views)     \
    {                                                                                              \
        const tenon_##name##_params *params = given;                                               \
        return params != NULL && tn_guard_views(params->skip, params->gradient_scale,              \
                                                views + NAME##_OPERANDS)                           \
                   ? &tn_operation_##name##_guarded                                                \
                   : &tn_operation_##name;                                                         \
    }
SERVED_AS(sgd, SGD)
SERVED_AS(adam, ADAM)
SERVED_AS(clip, CLIP)

static const tenon_sgd_params sgd_defaults = TENON_SGD_PARAMS_INIT;

TENON_API void tenon_sgd_params_default(tenon_sgd_params *params, uint32_t size)
{
    tn_params_give(params, size, &sgd_defaults, sizeof sgd_defaults);
}
static const tenon_adam_params adam_defaults = TENON_ADAM_PARAMS_INIT;

TENON_API void tenon_adam_params_default(tenon_adam_params *params, uint32_t size)
{
    tn_params_give(params, size, &adam_defaults, sizeof adam_defaults);
}
static const tenon_square_sum_params square_sum_defaults = TENON_SQUARE_SUM_PARAMS_INIT;

TENON_API void tenon_square_sum_params_default(tenon_square_sum_params *params, uint32_t size)
{
    tn_params_give(params, size, &square_sum_defaults, sizeof square_sum_defaults);
}
static const tenon_clip_params clip_defaults = TENON_CLIP_PARAMS_INIT;

TENON_API void tenon_clip_params_default(tenon_clip_params *params, uint32_t size)
{
    tn_params_give(params, size, &clip_defaults, sizeof clip_defaults);
}

TENON_API tenon_status tenon_sgd(tenon_stream *stream, const tenon_sgd_params *params,
                                 const tenon_tensor *gradient, const tenon_tensor *parameter,
                                 const tenon_tensor *velocity, const tenon_tensor *master,
                                 const tenon_sync *sync)
{
    return TN_RUN(tn_operation_sgd, gradient, parameter, velocity, master);
}

TENON_API tenon_status tenon_sgd_plan(tenon_context *context, const tenon_sgd_params *params,
                                      const tenon_tensor *gradient, const tenon_tensor *parameter,
                                      const tenon_tensor *velocity, const tenon_tensor *master,
                                      tenon_plan **plan)
{
    return TN_PLAN(tn_operation_sgd, gradient, parameter, velocity, master);
}

TENON_API tenon_status tenon_adam(tenon_stream *stream, const tenon_adam_params *params,
                                  const tenon_tensor *gradient, const tenon_tensor *parameter,
                                  const tenon_tensor *first, const tenon_tensor *second,
                                  const tenon_tensor *master, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_adam, gradient, parameter, first, second, master);
}

TENON_API tenon_status tenon_adam_plan(tenon_context *context, const tenon_adam_params *params,
                                       const tenon_tensor *gradient, const tenon_tensor *parameter,
                                       const tenon_tensor *first, const tenon_tensor *second,
                                       const tenon_tensor *master, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_adam, gradient, parameter, first, second, master);
}

TENON_API tenon_status tenon_square_sum(tenon_stream *stream, const tenon_square_sum_params *params,
                                        const tenon_tensor *x, const tenon_tensor *sum,
                                        const tenon_sync *sync)
{
    return TN_RUN(tn_operation_square_sum, x, sum);
}

TENON_API tenon_status tenon_square_sum_plan(tenon_context *context,
                                             const tenon_square_sum_params *params,
                                             const tenon_tensor *x, const tenon_tensor *sum,
                                             tenon_plan **plan)
{
    return TN_PLAN(tn_operation_square_sum, x, sum);
}

TENON_API tenon_status tenon_clip(tenon_stream *stream, const tenon_clip_params *params,
                                  const tenon_tensor *sum, const tenon_tensor *x,
                                  const tenon_sync *sync)
{
    return TN_RUN(tn_operation_clip, sum, x);
}

TENON_API tenon_status tenon_clip_plan(tenon_context *context, const tenon_clip_params *params,
                                       const tenon_tensor *sum, const tenon_tensor *x,
                                       tenon_plan **plan)
{
    return TN_PLAN(tn_operation_clip, sum, x);
}

/* The second moment is a mean of squares, so it must not be negative. */
static void fill_valid_second(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[ADAM_SECOND], 0, 1, seed);
}

/* A sum of squares. It may be negative, and so have no root, if that is to be skipped. */
static void fill_valid_sum(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const bool skips = (((const tenon_clip_params *)given)->flags & TENON_CLIP_SKIP_NONFINITE) != 0;
    tn_case_reals(v[CLIP_SUM], skips ? -9 : 0, 9, seed);
}

static void fill_valid_sgd_guard(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_guard_fill(v + SGD_OPERANDS, seed);
}

static void fill_valid_adam_guard(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    fill_valid_second(params, v, seed);
    tn_guard_fill(v + ADAM_OPERANDS, seed);
}

static void fill_valid_clip_guard(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    fill_valid_sum(params, v, seed);
    tn_guard_fill(v + CLIP_OPERANDS, seed);
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

static const char *const sgd_guarded_examples[] = {
    "sgd_guarded gradient=T:4x5 parameter=T:4x5 velocity=S:4x5 skip=i32: gradient_scale=f32: "
    "momentum=0.9",
    "sgd_guarded gradient=bf16:3x70 parameter=bf16:3x70 velocity=f32:3x70 master=f32:3x70 "
    "skip=u8: momentum=0.5",
    "sgd_guarded gradient=T:7x229/1,9 parameter=T:7x229 gradient_scale=f32:1+2",
    NULL,
};

static const char *const adam_guarded_examples[] = {
    "adam_guarded gradient=T:4x5 parameter=T:4x5 first=S:4x5 second=S:4x5 skip=i32: "
    "gradient_scale=f32: step=7",
    "adam_guarded gradient=f16:37x229/1,40 parameter=f16:37x229 first=f32:37x229 "
    "second=f32:37x229 master=f32:37x229 skip=u8:1+3",
    "adam_guarded gradient=T:33003+1 parameter=T:33003 first=S:33003 second=S:33003 "
    "gradient_scale=f32:",
    NULL,
};

static const char *const clip_guarded_examples[] = {
    "clip_guarded sum=S: x=T:4x5 skip=i32: gradient_scale=f32: max_norm=0.01",
    "clip_guarded sum=S: x=T:33003+1 skip=u8:",
    "clip_guarded sum=S: x=T:37x229/1,40 gradient_scale=f32: max_norm=0.5",
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

#define SGD_OPERAND_INFOS                                                                          \
    {.name = "gradient"}, {.name = "parameter", .read = true, .role = TN_OUTPUT},                  \
        {.name = "velocity", .optional = true, .read = true, .role = TN_OPTIONAL_OUTPUT},          \
    {                                                                                              \
        .name = "master", .optional = true, .read = true, .role = TN_OPTIONAL_OUTPUT               \
    }
#define SGD_OPERATION                                                                              \
    TN_NAMES("tenon_sgd"), TN_FIELDS(sgd_fields), TN_PARAMS(sgd_defaults, TENON_SGD_PARAMS_INIT),  \
        .flags = TENON_SGD_NESTEROV | TENON_SGD_FIRST | TENON_SGD_MAXIMIZE,                        \
        TN_PROBLEM(tn_lines_problem), .prepare = tn_sgd_prepare

const tn_operation tn_operation_sgd = {
    SGD_OPERATION,
    .operands = {SGD_OPERAND_INFOS},
    .family = &tn_sgd_family,
    .operand_count = SGD_OPERANDS,
    .served_as = sgd_served_as,
    .reference = tn_sgd_reference,
    .examples = sgd_examples,
};

const tn_operation tn_operation_sgd_guarded = {
    SGD_OPERATION,
    .operands = {SGD_OPERAND_INFOS, GUARD_OPERAND_INFOS},
    .family = &tn_sgd_guarded_family,
    .operand_count = SGD_OPERANDS + GUARD_OPERANDS,
    .reference = tn_sgd_guarded_reference,
    .fill_valid = fill_valid_sgd_guard,
    .examples = sgd_guarded_examples,
};

#define ADAM_OPERAND_INFOS                                                                         \
    {.name = "gradient"}, {.name = "parameter", .read = true, .role = TN_OUTPUT},                  \
        {.name = "first", .read = true, .role = TN_OUTPUT},                                        \
        {.name = "second", .read = true, .role = TN_OUTPUT},                                       \
    {                                                                                              \
        .name = "master", .optional = true, .read = true, .role = TN_OPTIONAL_OUTPUT               \
    }
#define ADAM_OPERATION                                                                             \
    TN_NAMES("tenon_adam"), TN_FIELDS(adam_fields),                                                \
        TN_PARAMS(adam_defaults, TENON_ADAM_PARAMS_INIT),                                          \
        .flags = TENON_ADAM_DECOUPLED | TENON_ADAM_MAXIMIZE, TN_PROBLEM(tn_lines_problem),         \
        .prepare = tn_adam_prepare

const tn_operation tn_operation_adam = {
    ADAM_OPERATION,
    .operands = {ADAM_OPERAND_INFOS},
    .family = &tn_adam_family,
    .operand_count = ADAM_OPERANDS,
    .served_as = adam_served_as,
    .reference = tn_adam_reference,
    .fill_valid = fill_valid_second,
    .examples = adam_examples,
};

const tn_operation tn_operation_adam_guarded = {
    ADAM_OPERATION,
    .operands = {ADAM_OPERAND_INFOS, GUARD_OPERAND_INFOS},
    .family = &tn_adam_guarded_family,
    .operand_count = ADAM_OPERANDS + GUARD_OPERANDS,
    .reference = tn_adam_guarded_reference,
    .fill_valid = fill_valid_adam_guard,
    .examples = adam_guarded_examples,
};

const tn_operation tn_operation_square_sum = {
    TN_NAMES("tenon_square_sum"),
    .family = &tn_square_sum_family,
    .operands = {{.name = "x"},
                 {.name = "sum", .read = true, .role = TN_OUTPUT, .shape = tn_shape_one_sum}},
    .operand_count = SQUARE_SUM_OPERANDS,
    TN_FIELDS(square_sum_fields),
    TN_PARAMS(square_sum_defaults, TENON_SQUARE_SUM_PARAMS_INIT),
    .flags = TENON_SQUARE_SUM_ADD,
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_square_sum_prepare,
    .reference = tn_square_sum_reference,
    .examples = square_sum_examples,
};

#define CLIP_OPERAND_INFOS                                                                         \
    {.name = "sum"},                                                                               \
    {                                                                                              \
        .name = "x", .read = true, .role = TN_OUTPUT                                               \
    }
#define CLIP_OPERATION                                                                             \
    TN_NAMES("tenon_clip"), TN_FIELDS(clip_fields),                                                \
        TN_PARAMS(clip_defaults, TENON_CLIP_PARAMS_INIT), .flags = TENON_CLIP_SKIP_NONFINITE,      \
                                                          TN_PROBLEM(tn_lines_problem),            \
                                                          .prepare = tn_clip_prepare

const tn_operation tn_operation_clip = {
    CLIP_OPERATION,
    .operands = {CLIP_OPERAND_INFOS},
    .family = &tn_clip_family,
    .operand_count = CLIP_OPERANDS,
    .served_as = clip_served_as,
    .reference = tn_clip_reference,
    .fill_valid = fill_valid_sum,
    .examples = clip_examples,
};

const tn_operation tn_operation_clip_guarded = {
    CLIP_OPERATION,
    .operands = {CLIP_OPERAND_INFOS, GUARD_OPERAND_INFOS},
    .family = &tn_clip_guarded_family,
    .operand_count = CLIP_OPERANDS + GUARD_OPERANDS,
    .reference = tn_clip_guarded_reference,
    .fill_valid = fill_valid_clip_guard,
    .examples = clip_guarded_examples,
};
