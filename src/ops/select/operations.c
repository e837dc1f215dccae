/* Descriptions (dispatch/operation.h) of tenon_compare, tenon_classify, tenon_logic and
 * tenon_where. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/select/internal.h"

static const char *const compare_kinds[] = {"equal",   "not_equal",     "less", "less_equal",
                                            "greater", "greater_equal", NULL},
                         *const classify_kinds[] = {"nan",
                                                    "infinite",
                                                    "positive_infinite",
                                                    "negative_infinite",
                                                    "finite",
                                                    NULL},
                         *const logic_kinds[] = {"and",        "or",          "xor", "not",
                                                 "shift_left", "shift_right", NULL};

#define FIELDS(operation)                                                                          \
    {                                                                                              \
        TN_FLAGS_FIELD(tenon_##operation##_params),                                                \
            TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_##operation##_params, kind,                 \
                           operation##_kinds)                                                      \
    }
static const tn_field compare_fields[] = FIELDS(compare), classify_fields[] = FIELDS(classify),
                      logic_fields[] = FIELDS(logic),
                      where_fields[] = {TN_FLAGS_FIELD(tenon_where_params)};

static const tenon_compare_params compare_defaults = TENON_COMPARE_PARAMS_INIT;

TENON_API void tenon_compare_params_default(tenon_compare_params *params, uint32_t size)
{
    tn_params_give(params, size, &compare_defaults, sizeof compare_defaults);
}

TENON_API tenon_status tenon_compare(tenon_stream *stream, const tenon_compare_params *params,
                                     const tenon_tensor *a, const tenon_tensor *b,
                                     const tenon_tensor *d, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_compare, a, b, d);
}

TENON_API tenon_status tenon_compare_plan(tenon_context *context,
                                          const tenon_compare_params *params, const tenon_tensor *a,
                                          const tenon_tensor *b, const tenon_tensor *d,
                                          tenon_plan **plan)
{
    return TN_PLAN(tn_operation_compare, a, b, d);
}

static const tenon_classify_params classify_defaults = TENON_CLASSIFY_PARAMS_INIT;

TENON_API void tenon_classify_params_default(tenon_classify_params *params, uint32_t size)
{
    tn_params_give(params, size, &classify_defaults, sizeof classify_defaults);
}

TENON_API tenon_status tenon_classify(tenon_stream *stream, const tenon_classify_params *params,
                                      const tenon_tensor *x, const tenon_tensor *y,
                                      const tenon_sync *sync)
{
    return TN_RUN(tn_operation_classify, x, y);
}

TENON_API tenon_status tenon_classify_plan(tenon_context *context,
                                           const tenon_classify_params *params,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           tenon_plan **plan)
{
    return TN_PLAN(tn_operation_classify, x, y);
}

static const tenon_logic_params logic_defaults = TENON_LOGIC_PARAMS_INIT;

TENON_API void tenon_logic_params_default(tenon_logic_params *params, uint32_t size)
{
    tn_params_give(params, size, &logic_defaults, sizeof logic_defaults);
}

TENON_API tenon_status tenon_logic(tenon_stream *stream, const tenon_logic_params *params,
                                   const tenon_tensor *a, const tenon_tensor *b,
                                   const tenon_tensor *d, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_logic, a, b, d);
}

TENON_API tenon_status tenon_logic_plan(tenon_context *context, const tenon_logic_params *params,
                                        const tenon_tensor *a, const tenon_tensor *b,
                                        const tenon_tensor *d, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_logic, a, b, d);
}

static const tenon_where_params where_defaults = TENON_WHERE_PARAMS_INIT;

TENON_API void tenon_where_params_default(tenon_where_params *params, uint32_t size)
{
    tn_params_give(params, size, &where_defaults, sizeof where_defaults);
}

TENON_API tenon_status tenon_where(tenon_stream *stream, const tenon_where_params *params,
                                   const tenon_tensor *condition, const tenon_tensor *a,
                                   const tenon_tensor *b, const tenon_tensor *d,
                                   const tenon_sync *sync)
{
    return TN_RUN(tn_operation_where, condition, a, b, d);
}

TENON_API tenon_status tenon_where_plan(tenon_context *context, const tenon_where_params *params,
                                        const tenon_tensor *condition, const tenon_tensor *a,
                                        const tenon_tensor *b, const tenon_tensor *d,
                                        tenon_plan **plan)
{
    return TN_PLAN(tn_operation_where, condition, a, b, d);
}

static const char *const compare_examples[] = {
    "compare a=T:4x5 b=T:4x5 d=bool:4x5",
    "compare a=T:33003+1 b=T: d=bool:33003 kind=less",
    "compare a=T:37x229/1,40 b=T:229 d=bool:37x229 kind=greater_equal",
    "compare a=i64:3x5x70/400,75,1 b=i64:5x1 d=bool:3x5x70 kind=not_equal",
    "compare a=u8:5003 b=u8:5003 d=bool:5003 kind=greater",
    NULL,
};

static const char *const classify_examples[] = {
    "classify x=T:4x5 y=bool:4x5",
    "classify x=T:33003+1 y=bool:33003 kind=finite",
    "classify x=T:37x229/1,40 y=bool:37x229 kind=infinite",
    NULL,
};

static const char *const logic_examples[] = {
    "logic a=bool:4x5 b=bool:4x5 d=bool:4x5",
    "logic a=bool:33003+1 d=bool:33003 kind=not",
    "logic a=i32:37x229/1,40 b=i32:229 d=@a kind=xor",
    "logic a=u16:3x5x70/400,75,1 b=u16:5x1 d=u16:3x5x70 kind=shift_left",
    "logic a=i64:5003 b=i64:5003 d=i64:5003 kind=shift_right",
    NULL,
};

static const char *const where_examples[] = {
    "where condition=bool:4x5 a=T:4x5 b=T:4x5 d=T:4x5",
    "where condition=bool:33003 a=T:33003+1 b=T: d=T:33003",
    "where condition=bool:229 a=T:37x229/1,40 b=T:37x1 d=@a",
    "where condition=bool:3x5x70/400,75,1 a=u8:3x5x70 b=u8:5x1 d=u8:3x5x70",
    NULL,
};

static bool where_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    output->dtype = views[WHERE_A]->dtype;
    return tn_shape_broadcast(views, WHERE_D, output);
}

const tn_operation tn_operation_compare = {
    TN_NAMES("tenon_compare"),
    .family = &tn_compare_family,
    .operands = {{.name = "a", .role = TN_INPUT_OR_SAME},
                 {.name = "b", .role = TN_INPUT_OR_SAME},
                 {.name = "d", .role = TN_OUTPUT, .shape = tn_shape_of_two_bool}},
    .operand_count = COMPARE_OPERANDS,
    TN_FIELDS(compare_fields),
    TN_PARAMS(compare_defaults, TENON_COMPARE_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_compare_prepare,
    .reference = tn_compare_reference,
    .fill_valid = tn_compare_fill,
    .is_measurable = true,
    .examples = compare_examples,
    .converts = true,
};

const tn_operation tn_operation_classify = {
    TN_NAMES("tenon_classify"),
    .family = &tn_classify_family,
    .operands = {{.name = "x", .role = TN_INPUT},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first_bool}},
    .operand_count = CLASSIFY_OPERANDS,
    TN_FIELDS(classify_fields),
    TN_PARAMS(classify_defaults, TENON_CLASSIFY_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_classify_prepare,
    .reference = tn_classify_reference,
    .fill_valid = tn_classify_fill,
    .is_measurable = true,
    .examples = classify_examples,
    .converts = true,
};

const tn_operation tn_operation_logic = {
    TN_NAMES("tenon_logic"),
    .family = &tn_logic_family,
    .operands = {{.name = "a", .role = TN_INPUT_OR_SAME},
                 {.name = "b", .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "d", .role = TN_OUTPUT, .shape = tn_shape_of_two}},
    .operand_count = LOGIC_OPERANDS,
    TN_FIELDS(logic_fields),
    TN_PARAMS(logic_defaults, TENON_LOGIC_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_logic_prepare,
    .reference = tn_logic_reference,
    .fill_valid = tn_logic_fill,
    .is_measurable = true,
    .examples = logic_examples,
    .converts = true,
};

const tn_operation tn_operation_where = {
    TN_NAMES("tenon_where"),
    .family = &tn_where_family,
    .operands = {{.name = "condition", .role = TN_INPUT_OR_SAME},
                 {.name = "a", .role = TN_INPUT_OR_SAME},
                 {.name = "b", .role = TN_INPUT_OR_SAME},
                 {.name = "d", .role = TN_OUTPUT, .shape = where_shape}},
    .operand_count = WHERE_OPERANDS,
    TN_FIELDS(where_fields),
    TN_PARAMS(where_defaults, TENON_WHERE_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_where_prepare,
    .reference = tn_where_reference,
    .examples = where_examples,
    .converts = true,
};
