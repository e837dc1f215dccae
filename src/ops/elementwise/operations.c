/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "ops/elementwise/internal.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const char *const kinds[] = {"add", "subtract", "multiply",  "divide",
                                    "max", "min",      "scale_add", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_elementwise_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_elementwise_params, kind, kinds),
    TN_FIELD("alpha", TN_FIELD_F64, tenon_elementwise_params, alpha),
    TN_FIELD("beta", TN_FIELD_F64, tenon_elementwise_params, beta)};

/* The member of every step. */
#define STEP_FIELD(name, type, member, words)                                                      \
    {                                                                                              \
        name, type, TENON_CHAIN_MAX_STEPS,                                                         \
            offsetof(tenon_elementwise_chain_params, steps[0].member), sizeof(tenon_chain_step),   \
            words                                                                                  \
    }
static const tn_field chain_fields[] = {
    TN_FLAGS_FIELD(tenon_elementwise_chain_params),
    TN_FIELD("step_count", TN_FIELD_U32, tenon_elementwise_chain_params, step_count),
    STEP_FIELD("op", TN_FIELD_U32, op, tn_chain_words),
    STEP_FIELD("operand", TN_FIELD_U32, operand, tn_chain_source_words),
    STEP_FIELD("addend", TN_FIELD_U32, addend, tn_chain_source_words),
    STEP_FIELD("activation", TN_FIELD_U32, activation, tn_activation_words),
    STEP_FIELD("alpha", TN_FIELD_F64, alpha, NULL),
    STEP_FIELD("beta", TN_FIELD_F64, beta, NULL)};
static const tn_field copy_fields[] = {TN_FLAGS_FIELD(tenon_copy_params)};

TN_OPERATION_DEFAULTS(binary, tenon_elementwise_params)
TN_OPERATION_DEFAULTS(chain, tenon_elementwise_chain_params)
TN_OPERATION_DEFAULTS(copy, tenon_copy_params)
TN_OPERATION_CALLS(binary, tenon_elementwise, v[0], v[1], v[2])
TN_OPERATION_CALLS(chain, tenon_elementwise_chain, v[0], v[1], v[2], v[3], v[4])
TN_OPERATION_CALLS(copy, tenon_copy, v[0], v[1])

static bool binary_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_elementwise_reference(params, v[0], v[1], v[2], expected);
}

static bool chain_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_elementwise_chain_reference(params, v, v[4], expected);
}

static bool copy_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    (void)params;
    return tn_copy_reference(v[0], v[1], expected);
}

static const char *const binary_examples[] = {
    "elementwise a=T:4x5 b=T:4x5 d=T:4x5",
    "elementwise a=T:33003+1 b=T: d=T:33003 kind=multiply",
    "elementwise a=T:37x229/1,40 b=T:229 d=@a kind=max",
    "elementwise a=T:3x5x70/400,75,1 b=T:5x1 d=T:3x5x70 kind=scale_add alpha=0.5 beta=-2",
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
    NULL,
};

const tn_operation tn_operation_elementwise = {
    .name = "tenon_elementwise",
    .family = &tn_elementwise_family,
    .operands = {{.name = "a"}, {.name = "b"}, {.name = "d"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_elementwise_params),
    .defaults = default_binary,
    .run = run_binary,
    .plan = plan_binary,
    .reference = binary_reference,
    .examples = binary_examples,
};

const tn_operation tn_operation_elementwise_chain = {
    .name = "tenon_elementwise_chain",
    .family = &tn_elementwise_chain_family,
    .operands = {{.name = "x0"},
                 {.name = "x1", .optional = true},
                 {.name = "x2", .optional = true},
                 {.name = "x3", .optional = true},
                 {.name = "y"}},
    .operand_count = 5,
    .output_count = 1,
    .fields = chain_fields,
    .field_count = TN_FIELD_COUNT(chain_fields),
    .params_size = sizeof(tenon_elementwise_chain_params),
    .defaults = default_chain,
    .run = run_chain,
    .plan = plan_chain,
    .reference = chain_reference,
    .examples = chain_examples,
};

const tn_operation tn_operation_copy = {
    .name = "tenon_copy",
    .family = &tn_copy_family,
    .operands = {{.name = "x"}, {.name = "y"}},
    .operand_count = 2,
    .output_count = 1,
    .fields = copy_fields,
    .field_count = TN_FIELD_COUNT(copy_fields),
    .params_size = sizeof(tenon_copy_params),
    .defaults = default_copy,
    .run = run_copy,
    .plan = plan_copy,
    .reference = copy_reference,
    .examples = copy_examples,
    .converts = true,
};
