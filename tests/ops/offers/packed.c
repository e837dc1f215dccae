#include "offer.h"

/* Products with packed weights: each call packs its own, of a matrix of zeros, so that what the
 * caller spoils is the rest. */
static tenon_packed *pack_zeros(bool filter, const char *layout, uint32_t rank,
                                const int64_t *shape)
{
    tenon_pack_params params = TENON_PACK_PARAMS_INIT;
    tenon_packed *packed;
    tenon_tensor zeros;
    params.layout = layout;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, rank, shape, &zeros));
    assert_ok(tenon_tensor_fill(test_stream, &zeros, 0, NULL));
    assert_ok((filter ? tenon_conv_pack_filter : tenon_gemm_pack)(test_stream, &params, &zeros,
                                                                  &packed, NULL));
    tenon_memory_destroy(&zeros.memory);
    return packed;
}

static tenon_packed *pack_b(const char *layout)
{
    const int64_t shape[] = {5, 6};
    return pack_zeros(false, layout, 2, shape);
}

static tenon_status run_gemm(const char *layout, tenon_stream *stream, const void *params,
                             const tenon_tensor *const *v, const tenon_sync *sync)
{
    tenon_packed *b = pack_b(layout);
    tenon_status status = tenon_gemm_packed(stream, params, v[0], b, v[1], v[2], v[3], sync);
    tenon_packed_release(b);
    return status;
}

static tenon_status plan_gemm(const char *layout, tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    tenon_packed *b = pack_b(layout);
    tenon_status status = tenon_gemm_packed_plan(context, params, v[0], b, v[1], v[2], v[3], plan);
    tenon_packed_release(b);
    return status;
}

static tenon_status run_panels(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return run_gemm("panels", stream, params, v, sync);
}

static tenon_status plan_panels(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return plan_gemm("panels", context, params, v, plan);
}

static tenon_status run_rows(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return run_gemm("rows", stream, params, v, sync);
}

static tenon_status plan_rows(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return plan_gemm("rows", context, params, v, plan);
}

static void default_gemm(void *params)
{
    *(tenon_gemm_params *)params = tenon_gemm_params_default();
    ((tenon_gemm_params *)params)->epilogue.beta = 1;
}

#define GEMM_OPERANDS_LIST                                                                         \
    {                                                                                              \
        {.name = "a", .rank = 2, .shape = {4, 5}}, {.name = "c", .rank = 2, .shape = {4, 6}},      \
            {.name = "bias", .rank = 1, .shape = {6}, .optional = true},                           \
        {                                                                                          \
            .name = "d", .rank = 2, .shape = { 4, 6 }                                              \
        }                                                                                          \
    }

const operation offer_gemm_packed = {
    .name = "tenon_gemm_packed",
    .plan_name = "tenon_gemm_packed_plan",
    .operands = GEMM_OPERANDS_LIST,
    .count = 4,
    .run = run_panels,
    .plan = plan_panels,
    .params_size = sizeof(tenon_gemm_params),
    .defaults = default_gemm,
};

const operation offer_gemm_packed_rows = {
    .name = "tenon_gemm_packed",
    .plan_name = "tenon_gemm_packed_plan",
    .operands = GEMM_OPERANDS_LIST,
    .count = 4,
    .run = run_rows,
    .plan = plan_rows,
    .params_size = sizeof(tenon_gemm_params),
    .defaults = default_gemm,
};

static tenon_packed *pack_w(void)
{
    const int64_t shape[] = {4, 3, 3, 3};
    return pack_zeros(true, NULL, 4, shape);
}

static tenon_status run_conv(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    tenon_packed *w = pack_w();
    tenon_status status =
        tenon_conv_forward_packed(stream, params, v[0], w, v[1], v[2], v[3], sync);
    tenon_packed_release(w);
    return status;
}

static tenon_status plan_conv(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    tenon_packed *w = pack_w();
    tenon_status status =
        tenon_conv_forward_packed_plan(context, params, v[0], w, v[1], v[2], v[3], plan);
    tenon_packed_release(w);
    return status;
}

static void default_conv(void *params)
{
    *(tenon_conv_params *)params = tenon_conv_params_default();
    ((tenon_conv_params *)params)->epilogue.beta = 1;
}

const operation offer_conv_packed = {
    .name = "tenon_conv_forward_packed",
    .plan_name = "tenon_conv_forward_packed_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 3, 6, 6}},
                 {.name = "c", .rank = 4, .shape = {2, 4, 4, 4}},
                 {.name = "bias", .rank = 1, .shape = {4}, .optional = true},
                 {.name = "y", .rank = 4, .shape = {2, 4, 4, 4}}},
    .count = 4,
    .run = run_conv,
    .plan = plan_conv,
    .params_size = sizeof(tenon_conv_params),
    .defaults = default_conv,
};
