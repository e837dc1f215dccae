/* Descriptions (dispatch/operation.h) of tenon_sort, tenon_top_k and
 * tenon_search_sorted. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/sort/internal.h"

static const tn_field sort_fields[] = {TN_FLAGS_FIELD(tenon_sort_params),
                                       TN_FIELD("axis", TN_FIELD_I32, tenon_sort_params, axis)};
static const tn_field top_k_fields[] = {TN_FLAGS_FIELD(tenon_top_k_params),
                                        TN_FIELD("axis", TN_FIELD_I32, tenon_top_k_params, axis)};

static const tn_field search_sorted_fields[] = {TN_FLAGS_FIELD(tenon_search_sorted_params)};

static const tenon_sort_params sort_defaults = TENON_SORT_PARAMS_INIT;
static const tenon_top_k_params top_k_defaults = TENON_TOP_K_PARAMS_INIT;
static const tenon_search_sorted_params search_sorted_defaults = TENON_SEARCH_SORTED_PARAMS_INIT;

TENON_API void tenon_sort_params_default(tenon_sort_params *params, uint32_t size)
{
    tn_params_give(params, size, &sort_defaults, sizeof sort_defaults);
}

TENON_API void tenon_top_k_params_default(tenon_top_k_params *params, uint32_t size)
{
    tn_params_give(params, size, &top_k_defaults, sizeof top_k_defaults);
}

TENON_API tenon_status tenon_sort(tenon_stream *stream, const tenon_sort_params *params,
                                  const tenon_tensor *x, const tenon_tensor *payload,
                                  const tenon_tensor *y, const tenon_tensor *indices,
                                  const tenon_tensor *moved, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_sort, x, payload, y, indices, moved);
}

TENON_API tenon_status tenon_sort_plan(tenon_context *context, const tenon_sort_params *params,
                                       const tenon_tensor *x, const tenon_tensor *payload,
                                       const tenon_tensor *y, const tenon_tensor *indices,
                                       const tenon_tensor *moved, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_sort, x, payload, y, indices, moved);
}

TENON_API tenon_status tenon_top_k(tenon_stream *stream, const tenon_top_k_params *params,
                                   const tenon_tensor *x, const tenon_tensor *y,
                                   const tenon_tensor *indices, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_top_k, x, y, indices);
}

TENON_API tenon_status tenon_top_k_plan(tenon_context *context, const tenon_top_k_params *params,
                                        const tenon_tensor *x, const tenon_tensor *y,
                                        const tenon_tensor *indices, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_top_k, x, y, indices);
}

TENON_API void tenon_search_sorted_params_default(tenon_search_sorted_params *params, uint32_t size)
{
    tn_params_give(params, size, &search_sorted_defaults, sizeof search_sorted_defaults);
}

TENON_API tenon_status tenon_search_sorted(tenon_stream *stream,
                                           const tenon_search_sorted_params *params,
                                           const tenon_tensor *sorted, const tenon_tensor *values,
                                           const tenon_tensor *indices, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_search_sorted, sorted, values, indices);
}

TENON_API tenon_status tenon_search_sorted_plan(tenon_context *context,
                                                const tenon_search_sorted_params *params,
                                                const tenon_tensor *sorted,
                                                const tenon_tensor *values,
                                                const tenon_tensor *indices, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_search_sorted, sorted, values, indices);
}

static const char *const sort_examples[] = {
    "sort x=T:3x7 payload=i32:3x7 y=T:3x7 indices=i32:3x7 moved=i32:3x7",
    "sort x=T:5003+1 y=T:5003",
    "sort x=T:300x9 y=T:300x9 indices=i32:300x9 axis=0 flags=1",
    "sort x=i32:3x2003 y=i32:3x2003 indices=i32:3x2003",
    "sort x=u8:70003 y=u8:70003",
    NULL,
};

static const char *const top_k_examples[] = {
    "sort tenon_top_k x=T:3x7 y=T:3x4 indices=i32:3x4",
    "sort tenon_top_k x=T:4x5003 y=T:4x30 indices=i32:4x30",
    "sort tenon_top_k x=i32:900x5 y=i32:500x5 axis=0 flags=1",
    NULL,
};

static const char *const search_sorted_examples[] = {
    "search_sorted sorted=T:7 values=T:3x5 indices=i32:3x5",
    "search_sorted sorted=T:3x700 values=T:3x500 indices=i32:3x500 flags=1",
    "search_sorted sorted=u8:300 values=u8:5003 indices=i32:5003",
    NULL,
};

static bool moved_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    return views[SORT_CALL_PAYLOAD] != NULL && tn_shape_of_second(params, views, output);
}

const tn_operation tn_operation_sort = {
    TN_NAMES("tenon_sort"),
    .family = &tn_sort_family,
    .operands =
        {{.name = "x"},
         {.name = "payload", .optional = true},
         {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first},
         {.name = "indices",
          .optional = true,
          .role = TN_OPTIONAL_OUTPUT,
          .shape = tn_shape_of_first_i32},
         {.name = "moved", .optional = true, .role = TN_OPTIONAL_OUTPUT, .shape = moved_shape}},
    .operand_count = SORT_CALL_OPERANDS,
    .flags = TENON_SORT_DESCENDING,
    TN_FIELDS(sort_fields),
    TN_PARAMS(sort_defaults, TENON_SORT_PARAMS_INIT),
    TN_PROBLEM(sort_problem),
    .prepare = tn_sort_prepare,
    .reference = tn_sort_reference,
    .fill_valid = tn_sort_fill_valid,
    .is_measurable = true,
    .examples = sort_examples,
    .converts = true,
};

const tn_operation tn_operation_top_k = {
    TN_NAMES("tenon_top_k"),
    .family = &tn_sort_family,
    .operands = {{.name = "x"},
                 {.name = "y", .role = TN_OUTPUT},
                 {.name = "indices", .optional = true, .role = TN_OPTIONAL_OUTPUT}},
    .operand_count = TOP_K_OPERANDS,
    .flags = TENON_TOP_K_SMALLEST,
    TN_FIELDS(top_k_fields),
    TN_PARAMS(top_k_defaults, TENON_TOP_K_PARAMS_INIT),
    TN_PROBLEM(sort_problem),
    .prepare = tn_top_k_prepare,
    .reference = tn_top_k_reference,
    .fill_valid = tn_sort_fill_valid,
    .is_measurable = true,
    .examples = top_k_examples,
    .converts = true,
};

const tn_operation tn_operation_search_sorted = {
    TN_NAMES("tenon_search_sorted"),
    .family = &tn_search_sorted_family,
    .operands = {{.name = "sorted"},
                 {.name = "values"},
                 {.name = "indices", .role = TN_OUTPUT, .shape = tn_shape_of_second_i32}},
    .operand_count = SEARCH_OPERANDS,
    .flags = TENON_SEARCH_RIGHT,
    TN_FIELDS(search_sorted_fields),
    TN_PARAMS(search_sorted_defaults, TENON_SEARCH_SORTED_PARAMS_INIT),
    TN_PROBLEM(sort_problem),
    .prepare = tn_search_sorted_prepare,
    .reference = tn_search_sorted_reference,
    .fill_valid = tn_search_sorted_fill_valid,
    .is_measurable = true,
    .examples = search_sorted_examples,
    .converts = true,
};
