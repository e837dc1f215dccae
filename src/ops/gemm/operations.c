/* What tests and tools know of the operations of this family: see ops/operation.h. */
#include "ops/gemm/internal.h"
#include "ops/operation.h"

static void default_gemm(void *params)
{
    *(tenon_gemm_params *)params = tenon_gemm_params_default();
}

static const tn_field gemm_fields[] = {TN_FLAGS_FIELD(tenon_gemm_params),
                                       TN_EPILOGUE_FIELDS(tenon_gemm_params, epilogue)};

static tenon_status run_gemm(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_gemm(stream, params, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[GEMM_D],
                      sync);
}

static tenon_status plan_gemm(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gemm_plan(context, params, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS],
                           v[GEMM_D], plan);
}

static bool gemm_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_gemm_reference(params, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[GEMM_D],
                             expected);
}

static const char *const gemm_examples[] = {
    "gemm a=T:4x5 b=T:5x6 c=T:4x6 bias=T:6 d=T:4x6 beta=1",
    /* Past two tiles and two blocks of K, in layouts of each kind. */
    "gemm a=T:2x37x1091 b=T:2x1091x131/150000,137,1+3 d=T:2x37x131 activation=relu",
    "gemm a=T:131x300/1,140 b=T:300x133/1,301 c=T:133 bias=T:131x1 d=T:131x133/140,1+5 alpha=0.5 "
    "beta=-0.5 activation=sigmoid",
    "gemm a=T:33x70/151,2 b=T:70x35/80,2 c=@d d=T:33x35/1,40 beta=2",
    /* Long and thin, both ways, and vectors. */
    "gemm a=T:3x700 b=T:700x1000 d=T:3x1000",
    "gemm a=T:1000x700 b=T:700x5 bias=T:5 d=T:1000x5 activation=gelu",
    "gemm a=T:1x1500 b=T:1500x700 d=T:1x700",
    "gemm a=T:1x1500 b=T:1500x700/1,1501 bias=T:700 d=T:1x700",
    "gemm a=T:17x9000 b=T:9000x19 d=T:17x19",
    "gemm a=T:0x5 b=T:5x6 d=T:0x6",
    NULL,
};

const tn_operation tn_operation_gemm = {
    .name = "tenon_gemm",
    .family = &tn_gemm_family,
    .operands = {{.name = "a"},
                 {.name = "b"},
                 {.name = "c", .optional = true},
                 {.name = "bias", .optional = true},
                 {.name = "d"}},
    .operand_count = GEMM_OPERANDS,
    .output_count = 1,
    .fields = gemm_fields,
    .field_count = TN_FIELD_COUNT(gemm_fields),
    .params_size = sizeof(tenon_gemm_params),
    .defaults = default_gemm,
    .run = run_gemm,
    .plan = plan_gemm,
    .reference = gemm_reference,
    .examples = gemm_examples,
};
