#include "offer.h"

/* The views as operands of the test: the output last. */
enum { A, B, C, BIAS, SCALES, ZEROS = SCALES + 3, D = ZEROS + 3, OPERANDS };

static tenon_gemm_params with_vectors(const void *params, const tenon_tensor *const *v)
{
    tenon_gemm_params all = *(const tenon_gemm_params *)params;
    for (int i = 0; i < 3; i++) {
        all.epilogue.scale[i] = v[SCALES + i];
        all.epilogue.zero_point[i] = v[ZEROS + i];
    }
    return all;
}

static tenon_status run_gemm(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    const tenon_gemm_params all = with_vectors(params, v);
    return tenon_gemm(stream, &all, v[A], v[B], v[C], v[BIAS], v[D], sync);
}

static tenon_status plan_gemm(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    const tenon_gemm_params all = with_vectors(params, v);
    return tenon_gemm_plan(context, &all, v[A], v[B], v[C], v[BIAS], v[D], plan);
}

static void default_gemm(void *params)
{
    *(tenon_gemm_params *)params = tenon_gemm_params_default();
    ((tenon_gemm_params *)params)->epilogue.beta = 1;
}

#define BYTES TENON_DTYPE_U8
const operation offer_gemm_int8 = {
    .name = "tenon_gemm",
    .plan_name = "tenon_gemm_plan",
    .operands =
        {{.name = "a", .dtype = BYTES, .rank = 2, .shape = {4, 5}},
         {.name = "b", .dtype = TENON_DTYPE_I8, .rank = 2, .shape = {5, 6}},
         {.name = "c", .rank = 2, .shape = {4, 6}},
         {.name = "bias", .rank = 1, .shape = {6}, .optional = true},
         {.name = "scale of a", .rank = 1, .shape = {4}, .optional = true},
         {.name = "scale of b", .rank = 1, .shape = {6}, .optional = true},
         {.name = "scale of d", .rank = 1, .shape = {6}, .optional = true},
         {.name = "zero point of a", .dtype = BYTES, .rank = 1, .shape = {4}, .optional = true},
         {.name = "zero point of b",
          .dtype = TENON_DTYPE_I8,
          .rank = 1,
          .shape = {6},
          .optional = true},
         {.name = "zero point of d", .dtype = BYTES, .rank = 1, .shape = {6}, .optional = true},
         {.name = "d", .dtype = BYTES, .rank = 2, .shape = {4, 6}}},
    .count = OPERANDS,
    .run = run_gemm,
    .plan = plan_gemm,
    .params_size = sizeof(tenon_gemm_params),
    .defaults = default_gemm,
};
