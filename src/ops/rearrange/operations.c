/* Descriptions (dispatch/operation.h) of rearrangements. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/rearrange/internal.h"
#include "ops/registry.h"

static const tn_field rearrange_fields[] = {
    TN_FLAGS_FIELD(tenon_rearrange_params),
    TN_FIELD("flip", TN_FIELD_U32, tenon_rearrange_params, flip),
    TN_FIELD_ARRAY("shift", TN_FIELD_I64, tenon_rearrange_params, shift)};
static const tn_field triangle_fields[] = {
    TN_FLAGS_FIELD(tenon_triangle_params),
    TN_FIELD("diagonal", TN_FIELD_I64, tenon_triangle_params, diagonal),
    TN_FIELD("value", TN_FIELD_F64, tenon_triangle_params, value)};
static const tn_field reverse_fields[] = {
    TN_FLAGS_FIELD(tenon_reverse_lengths_params),
    TN_FIELD("axis", TN_FIELD_I32, tenon_reverse_lengths_params, axis),
    TN_FIELD("batch_axis", TN_FIELD_I32, tenon_reverse_lengths_params, batch_axis)};
static const tn_field one_hot_fields[] = {
    TN_FLAGS_FIELD(tenon_one_hot_params),
    TN_FIELD("axis", TN_FIELD_I32, tenon_one_hot_params, axis),
    TN_FIELD("on", TN_FIELD_F64, tenon_one_hot_params, on),
    TN_FIELD("off", TN_FIELD_F64, tenon_one_hot_params, off)};

static const tenon_rearrange_params rearrange_defaults = TENON_REARRANGE_PARAMS_INIT;
static const tenon_triangle_params triangle_defaults = TENON_TRIANGLE_PARAMS_INIT;
static const tenon_reverse_lengths_params reverse_defaults = TENON_REVERSE_LENGTHS_PARAMS_INIT;
static const tenon_one_hot_params one_hot_defaults = TENON_ONE_HOT_PARAMS_INIT;

TENON_API void tenon_rearrange_params_default(tenon_rearrange_params *params, uint32_t size)
{
    tn_params_give(params, size, &rearrange_defaults, sizeof rearrange_defaults);
}

TENON_API tenon_status tenon_rearrange(tenon_stream *stream, const tenon_rearrange_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       const tenon_sync *sync)
{
    return TN_RUN(tn_operation_rearrange, x, y);
}

TENON_API tenon_status tenon_rearrange_plan(tenon_context *context,
                                            const tenon_rearrange_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            tenon_plan **plan)
{
    return TN_PLAN(tn_operation_rearrange, x, y);
}

TENON_API void tenon_triangle_params_default(tenon_triangle_params *params, uint32_t size)
{
    tn_params_give(params, size, &triangle_defaults, sizeof triangle_defaults);
}

TENON_API tenon_status tenon_triangle(tenon_stream *stream, const tenon_triangle_params *params,
                                      const tenon_tensor *x, const tenon_tensor *y,
                                      const tenon_sync *sync)
{
    return TN_RUN(tn_operation_triangle, x, y);
}

TENON_API tenon_status tenon_triangle_plan(tenon_context *context,
                                           const tenon_triangle_params *params,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           tenon_plan **plan)
{
    return TN_PLAN(tn_operation_triangle, x, y);
}

TENON_API void tenon_reverse_lengths_params_default(tenon_reverse_lengths_params *params,
                                                    uint32_t size)
{
    tn_params_give(params, size, &reverse_defaults, sizeof reverse_defaults);
}

TENON_API tenon_status tenon_reverse_lengths(tenon_stream *stream,
                                             const tenon_reverse_lengths_params *params,
                                             const tenon_tensor *x, const tenon_tensor *lengths,
                                             const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_reverse_lengths, x, lengths, y);
}

TENON_API tenon_status tenon_reverse_lengths_plan(tenon_context *context,
                                                  const tenon_reverse_lengths_params *params,
                                                  const tenon_tensor *x,
                                                  const tenon_tensor *lengths,
                                                  const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_reverse_lengths, x, lengths, y);
}

TENON_API void tenon_one_hot_params_default(tenon_one_hot_params *params, uint32_t size)
{
    tn_params_give(params, size, &one_hot_defaults, sizeof one_hot_defaults);
}

TENON_API tenon_status tenon_one_hot(tenon_stream *stream, const tenon_one_hot_params *params,
                                     const tenon_tensor *indices, const tenon_tensor *y,
                                     const tenon_sync *sync)
{
    return TN_RUN(tn_operation_one_hot, indices, y);
}

TENON_API tenon_status tenon_one_hot_plan(tenon_context *context,
                                          const tenon_one_hot_params *params,
                                          const tenon_tensor *indices, const tenon_tensor *y,
                                          tenon_plan **plan)
{
    return TN_PLAN(tn_operation_one_hot, indices, y);
}

static const char *const rearrange_examples[] = {
    "rearrange x=T:4x5 y=T:4x5 shift=1,-2",
    "rearrange x=T:3x37x41+2 y=T:3x37x41 shift=0,3,7 flip=5",
    "rearrange x=T:3x7/1,3 y=T:9x70",
    "rearrange x=u8:9x70 y=u8:10x71 shift=1,1 flip=2",
    "rearrange x=i32:9x70 y=i32:18x70",
    NULL,
};

static const char *const triangle_examples[] = {
    "rearrange tenon_triangle x=T:4x5 y=T:4x5",
    "rearrange tenon_triangle x=T:3x37x41+2 y=T:3x37x41 diagonal=-3 value=-1.5",
    "rearrange tenon_triangle x=T:7x19/1,9 y=T:7x19/1,7 diagonal=2 flags=1",
    "rearrange tenon_triangle x=u8:9x70 y=u8:9x70 flags=1",
    NULL,
};

static const char *const reverse_lengths_examples[] = {
    "rearrange tenon_reverse_lengths x=T:7x3 lengths=i32:3 y=T:7x3",
    "rearrange tenon_reverse_lengths x=T:3x37x41+2 lengths=i32:3 y=T:3x37x41 axis=1 batch_axis=0",
    "rearrange tenon_reverse_lengths x=i32:3x37 lengths=i32:3 y=i32:3x37 axis=1 batch_axis=0",
    NULL,
};

static const char *const one_hot_examples[] = {
    "rearrange tenon_one_hot indices=i32:5 y=T:5x7",
    "rearrange tenon_one_hot indices=i32:3x41 y=T:3x37x41 axis=1 on=3 off=-1",
    "rearrange tenon_one_hot indices=i32:9 y=u8:9x70 flags=1",
    NULL,
};

const tn_operation tn_operation_rearrange = {
    TN_NAMES("tenon_rearrange"),
    .family = &tn_rearrange_family,
    .operands = {{.name = "x"}, {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = REARRANGE_OPERANDS,
    TN_FIELDS(rearrange_fields),
    TN_PARAMS(rearrange_defaults, TENON_REARRANGE_PARAMS_INIT),
    TN_PROBLEM(rearrange_problem),
    .prepare = tn_rearrange_prepare,
    .reference = tn_rearrange_reference,
    .examples = rearrange_examples,
    .converts = true,
};

const tn_operation tn_operation_triangle = {
    TN_NAMES("tenon_triangle"),
    .family = &tn_rearrange_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = REARRANGE_OPERANDS,
    TN_FIELDS(triangle_fields),
    TN_PARAMS(triangle_defaults, TENON_TRIANGLE_PARAMS_INIT),
    .flags = TENON_TRIANGLE_UPPER,
    TN_PROBLEM(rearrange_problem),
    .prepare = tn_triangle_prepare,
    .reference = tn_triangle_reference,
    .examples = triangle_examples,
    .converts = true,
};

const tn_operation tn_operation_reverse_lengths = {
    TN_NAMES("tenon_reverse_lengths"),
    .family = &tn_rearrange_family,
    .operands = {{.name = "x"},
                 {.name = "lengths"},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = REVERSE_OPERANDS,
    TN_FIELDS(reverse_fields),
    TN_PARAMS(reverse_defaults, TENON_REVERSE_LENGTHS_PARAMS_INIT),
    TN_PROBLEM(rearrange_problem),
    .prepare = tn_reverse_lengths_prepare,
    .reference = tn_reverse_lengths_reference,
    .fill_valid = tn_reverse_lengths_fill_valid,
    .examples = reverse_lengths_examples,
    .converts = true,
};

const tn_operation tn_operation_one_hot = {
    TN_NAMES("tenon_one_hot"),
    .family = &tn_rearrange_family,
    .operands = {{.name = "indices"}, {.name = "y", .role = TN_OUTPUT}},
    .operand_count = ONE_HOT_OPERANDS,
    TN_FIELDS(one_hot_fields),
    TN_PARAMS(one_hot_defaults, TENON_ONE_HOT_PARAMS_INIT),
    .flags = TENON_ONE_HOT_FROM_END,
    TN_PROBLEM(rearrange_problem),
    .prepare = tn_one_hot_prepare,
    .reference = tn_one_hot_reference,
    .fill_valid = tn_one_hot_fill_valid,
    .examples = one_hot_examples,
    .converts = true,
};
