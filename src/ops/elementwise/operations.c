/* Descriptions (dispatch/operation.h) of tenon_elementwise, tenon_elementwise_chain and tenon_copy.
 */
#include "ops/common/output_shape.h"
#include "ops/elementwise/internal.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const char *const kinds[] = {
    "add", "subtract", "multiply",  "divide",
    "max", "min",      "scale_add", TENON_BINARY_FUNCTIONS(TN_FUNCTION_WORD) NULL};

static bool is_scale_add(const void *params, const void *value)
{
    (void)value;
    return ((const tenon_elementwise_params *)params)->kind == TENON_ELEMENTWISE_SCALE_ADD;
}

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_elementwise_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_elementwise_params, kind, kinds),
    TN_FIELD_IF("alpha", TN_FIELD_F64, tenon_elementwise_params, alpha, is_scale_add),
    TN_FIELD_IF("beta", TN_FIELD_F64, tenon_elementwise_params, beta, is_scale_add)};

/* Return true if the step of a chain that contains the member uses alpha or beta. */
static bool uses_alpha(const void *params, const void *alpha)
{
    const tenon_elementwise_chain_params *chain = params;
    const size_t n = (size_t)((const char *)alpha - (const char *)&chain->steps[0].alpha) /
                     sizeof(tenon_chain_step);
    const tenon_chain_step *step = &chain->steps[n];
    return n < chain->step_count && step->op < CHAIN_UNARY &&
           (step->op == TENON_CHAIN_ACTIVATE ? tn_activation_constants(step->activation) >= 1
                                             : step->operand == TENON_CHAIN_SCALAR);
}

static bool uses_beta(const void *params, const void *beta)
{
    const tenon_elementwise_chain_params *chain = params;
    const size_t n = (size_t)((const char *)beta - (const char *)&chain->steps[0].beta) /
                     sizeof(tenon_chain_step);
    const tenon_chain_step *step = &chain->steps[n];
    return n < chain->step_count &&
           (step->op == TENON_CHAIN_ACTIVATE
                ? tn_activation_constants(step->activation) == 2
                : step->op == TENON_CHAIN_FMA && step->addend == TENON_CHAIN_SCALAR);
}

#define STEP_NAMES(member)                                                                         \
    {                                                                                              \
        "steps[0]." member, "steps[1]." member, "steps[2]." member, "steps[3]." member,            \
            "steps[4]." member, "steps[5]." member, "steps[6]." member, "steps[7]." member         \
    }
static const char *const alpha_names[TENON_CHAIN_MAX_STEPS] = STEP_NAMES("alpha"),
                         *const beta_names[TENON_CHAIN_MAX_STEPS] = STEP_NAMES("beta");

/* A member of every step, as an array. */
#define STEP_FIELD(name, type, member, words, element_names, is_used)                              \
    {                                                                                              \
        name, type, TENON_CHAIN_MAX_STEPS,                                                         \
            offsetof(tenon_elementwise_chain_params, steps[0].member), sizeof(tenon_chain_step),   \
            words, element_names, is_used                                                          \
    }
static const tn_field chain_fields[] = {
    TN_FLAGS_FIELD(tenon_elementwise_chain_params),
    TN_FIELD("step_count", TN_FIELD_U32, tenon_elementwise_chain_params, step_count),
    STEP_FIELD("op", TN_FIELD_U32, op, tn_chain_words, NULL, NULL),
    STEP_FIELD("operand", TN_FIELD_U32, operand, tn_chain_source_words, NULL, NULL),
    STEP_FIELD("addend", TN_FIELD_U32, addend, tn_chain_source_words, NULL, NULL),
    STEP_FIELD("activation", TN_FIELD_U32, activation, tn_activation_words, NULL, NULL),
    STEP_FIELD("alpha", TN_FIELD_F64, alpha, NULL, alpha_names, uses_alpha),
    STEP_FIELD("beta", TN_FIELD_F64, beta, NULL, beta_names, uses_beta)};
static const tn_field copy_fields[] = {TN_FLAGS_FIELD(tenon_copy_params)};

static const tenon_elementwise_params elementwise_defaults = TENON_ELEMENTWISE_PARAMS_INIT;

TENON_API void tenon_elementwise_params_default(tenon_elementwise_params *params, uint32_t size)
{
    tn_params_give(params, size, &elementwise_defaults, sizeof elementwise_defaults);
}

TENON_API tenon_status tenon_elementwise(tenon_stream *stream,
                                         const tenon_elementwise_params *params,
                                         const tenon_tensor *a, const tenon_tensor *b,
                                         const tenon_tensor *d, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_elementwise, a, b, d);
}

TENON_API tenon_status tenon_elementwise_plan(tenon_context *context,
                                              const tenon_elementwise_params *params,
                                              const tenon_tensor *a, const tenon_tensor *b,
                                              const tenon_tensor *d, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_elementwise, a, b, d);
}
static const tenon_elementwise_chain_params chain_defaults = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;

TENON_API void tenon_elementwise_chain_params_default(tenon_elementwise_chain_params *params,
                                                      uint32_t size)
{
    tn_params_give(params, size, &chain_defaults, sizeof chain_defaults);
}

TENON_API tenon_status tenon_elementwise_chain(tenon_stream *stream,
                                               const tenon_elementwise_chain_params *params,
                                               const tenon_tensor *x0, const tenon_tensor *x1,
                                               const tenon_tensor *x2, const tenon_tensor *x3,
                                               const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_elementwise_chain, x0, x1, x2, x3, y);
}

TENON_API tenon_status tenon_elementwise_chain_plan(tenon_context *context,
                                                    const tenon_elementwise_chain_params *params,
                                                    const tenon_tensor *x0, const tenon_tensor *x1,
                                                    const tenon_tensor *x2, const tenon_tensor *x3,
                                                    const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_elementwise_chain, x0, x1, x2, x3, y);
}
static const tenon_copy_params copy_defaults = TENON_COPY_PARAMS_INIT;

TENON_API void tenon_copy_params_default(tenon_copy_params *params, uint32_t size)
{
    tn_params_give(params, size, &copy_defaults, sizeof copy_defaults);
}

TENON_API tenon_status tenon_copy(tenon_stream *stream, const tenon_copy_params *params,
                                  const tenon_tensor *x, const tenon_tensor *y,
                                  const tenon_sync *sync)
{
    return TN_RUN(tn_operation_copy, x, y);
}

TENON_API tenon_status tenon_copy_plan(tenon_context *context, const tenon_copy_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       tenon_plan **plan)
{
    return TN_PLAN(tn_operation_copy, x, y);
}

static const char *const binary_examples[] = {
    "elementwise a=T:4x5 b=T:4x5 d=T:4x5",
    "elementwise a=T:33003+1 b=T: d=T:33003 kind=multiply",
    "elementwise a=T:37x229/1,40 b=T:229 d=@a kind=max",
    "elementwise a=T:3x5x70/400,75,1 b=T:5x1 d=T:3x5x70 kind=scale_add alpha=0.5 beta=-2",
    "elementwise a=i64:5003+1 b=i64: d=i64:5003 kind=divide",
    "elementwise a=u8:37x229/1,40 b=u8:229 d=@a kind=multiply",
    "elementwise a=T:33003+1 b=T: d=T:33003 kind=fmod",
    NULL,
};

static const char *const chain_examples[] = {
    "elementwise_chain x0=T:4x5 x1=T:4x5 x2=T:4x5 x3=T:4x5 y=T:4x5",
    "elementwise_chain x0=T:33003+1 x1=T: y=T:33003 step_count=3 op=fma,activate,max "
    "operand=x1,scalar,scalar addend=x0 activation=identity,gelu alpha=0,0,0.25",
    "elementwise_chain x0=T:37x229/1,40 x1=T:229 x2=T:37x1 y=@x0 step_count=2 op=multiply,subtract "
    "operand=x1,x2",
    "elementwise_chain x0=T:3x5x70/400,75,1 x1=T:5x1 x2=T:70 x3=T:3x1x1 y=T:3x5x70 step_count=2 "
    "op=fma,fma operand=x1,x3 addend=x2,scalar beta=0,0.5",
    "elementwise_chain x0=T:37x229 x1=T:37x1 y=T:37x229/1,40 step_count=3 op=log,multiply,exp2 "
    "operand=scalar,x1",
    NULL,
};

static const char *const copy_examples[] = {
    "copy x=T:4x5 y=T:4x5",
    "copy x=T:33003+1 y=f32:33003",
    "copy x=T:300x229/1,310 y=T:300x229",
    "copy x=f32:2x300x229/68700,1,300 y=T:2x300x229",
    "copy x=i8:3x5x70 y=T:3x5x70/400,75,1",
    "copy x=T:129x70 y=T:129x70/1,130",
    "copy x=u8:300x131/1,300 y=u8:300x131",
    "copy x=i32:40x13 y=u8:40x13",
    "copy x=T:1x5/5,0 y=T:1x5",
    "copy x=f32:7x33 y=i64:7x33",
    "copy x=f16:7x33 y=u16:7x33 flags=1",
    "copy x=i64:33003 y=bf16:33003",
    "copy x=f32:40x13 y=bool:40x13",
    NULL,
};

const tn_operation tn_operation_elementwise = {
    TN_NAMES("tenon_elementwise"),
    .family = &tn_elementwise_family,
    .operands = {{.name = "a", .role = TN_INPUT_OR_SAME},
                 {.name = "b", .role = TN_INPUT_OR_SAME},
                 {.name = "d", .role = TN_OUTPUT, .shape = tn_shape_of_two}},
    .operand_count = ELEMENTWISE_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(elementwise_defaults, TENON_ELEMENTWISE_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_elementwise_prepare,
    .reference = tn_elementwise_reference,
    .examples = binary_examples,
    .converts = true,
};

static bool chain_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    output->dtype = views[0]->dtype;
    return tn_shape_broadcast(views, CHAIN_OPERANDS - 1, output);
}

const tn_operation tn_operation_elementwise_chain = {
    TN_NAMES("tenon_elementwise_chain"),
    .family = &tn_elementwise_chain_family,
    .operands = {{.name = "x0", .role = TN_INPUT_OR_SAME},
                 {.name = "x1", .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "x2", .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "x3", .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = chain_shape}},
    .operand_count = CHAIN_OPERANDS,
    TN_FIELDS(chain_fields),
    TN_PARAMS(chain_defaults, TENON_ELEMENTWISE_CHAIN_PARAMS_INIT),
    TN_PROBLEM(elementwise_chain_problem),
    .prepare = tn_elementwise_chain_prepare,
    .reference = tn_elementwise_chain_reference,
    .examples = chain_examples,
};

const tn_operation tn_operation_copy = {
    TN_NAMES("tenon_copy"),
    .family = &tn_copy_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = COPY_OPERANDS,
    TN_FIELDS(copy_fields),
    TN_PARAMS(copy_defaults, TENON_COPY_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .flags = TENON_COPY_WRAP | TENON_COPY_NEAREST,
    .prepare = tn_copy_prepare,
    .reference = tn_copy_reference,
    .examples = copy_examples,
    .converts = true,
};
