#include "offer.h"

static tenon_status run_gemm(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_gemm(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_gemm(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gemm_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static void default_gemm(void *params)
{
    *(tenon_gemm_params *)params = tenon_gemm_params_default();
    ((tenon_gemm_params *)params)->epilogue.beta = 1;
}

const operation offer_gemm = {
    .name = "tenon_gemm",
    .plan_name = "tenon_gemm_plan",
    .operands = {{.name = "a", .rank = 2, .shape = {4, 5}},
                 {.name = "b", .rank = 2, .shape = {5, 6}},
                 {.name = "c", .rank = 2, .shape = {4, 6}},
                 {.name = "bias", .rank = 1, .shape = {6}, .optional = true},
                 {.name = "d", .rank = 2, .shape = {4, 6}}},
    .count = 5,
    .run = run_gemm,
    .plan = plan_gemm,
    .params_size = sizeof(tenon_gemm_params),
    .defaults = default_gemm,
};
