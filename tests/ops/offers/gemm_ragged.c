#include "offer.h"

static tenon_status run_ragged(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_gemm_ragged(stream, params, v[0], v[1], v[2], v[3], v[4], v[5], sync);
}

static tenon_status plan_ragged(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gemm_ragged_plan(context, params, v[0], v[1], v[2], v[3], v[4], v[5], plan);
}

static void default_ragged(void *params)
{
    *(tenon_gemm_ragged_params *)params = tenon_gemm_ragged_params_default();
    ((tenon_gemm_ragged_params *)params)->epilogue.beta = 1;
}

static const double offsets[] = {0, 1, 4};

const operation offer_gemm_ragged = {
    .name = "tenon_gemm_ragged",
    .plan_name = "tenon_gemm_ragged_plan",
    .operands =
        {{.name = "a", .rank = 2, .shape = {4, 5}},
         {.name = "b", .rank = 3, .shape = {2, 5, 6}},
         {.name = "offsets", .dtype = TENON_DTYPE_I32, .rank = 1, .shape = {3}, .values = offsets},
         {.name = "c", .rank = 2, .shape = {4, 6}},
         {.name = "bias", .rank = 2, .shape = {2, 6}, .optional = true},
         {.name = "d", .rank = 2, .shape = {4, 6}}},
    .count = 6,
    .run = run_ragged,
    .plan = plan_ragged,
    .params_size = sizeof(tenon_gemm_ragged_params),
    .defaults = default_ragged,
};
