/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "ops/gemm/int8.h"
#include "ops/gemm/ragged.h"
#include "check/case.h"
#include "check/host.h"
#include "ops/registry.h"

TN_OPERATION_DEFAULTS(gemm, tenon_gemm_params)
TN_OPERATION_CALLS(gemm, tenon_gemm, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[GEMM_D])

static const tn_field gemm_fields[] = {TN_FLAGS_FIELD(tenon_gemm_params),
                                       TN_EPILOGUE_FIELDS(tenon_gemm_params, epilogue)};

static bool gemm_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_gemm_reference(params, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[GEMM_D],
                             expected);
}

static const char *const gemm_examples[] = {
    "gemm a=T:4x5 b=T:5x6 c=T:4x6 bias=T:6 d=T:4x6 beta=1",
    /* Past two tiles and two blocks of K, in layouts of each kind. */
    "gemm a=T:2x37x1091 b=T:2x1091x131/150000,137,1+3 d=T:2x37x131 activation=relu",
    ("gemm a=T:131x300/1,140 b=T:300x133/1,301 c=T:133 bias=T:131x1 d=T:131x133/140,1+5 alpha=0.5 "
     "beta=-0.5 activation=sigmoid"),
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

/* Products of i8 and u8: scales and zero points are operands of their own here. */
static tenon_gemm_params with_vectors(const void *params, const tenon_tensor *const *v)
{
    tenon_gemm_params all = *(const tenon_gemm_params *)params;
    for (int i = 0; i < 3; i++) {
        all.epilogue.scale[i] = v[GEMM_D + i];
        all.epilogue.zero_point[i] = v[GEMM_D + 3 + i];
    }
    return all;
}

#define INT8_D (INT8_OPERANDS - 1)

static tenon_status run_int8(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    const tenon_gemm_params all = with_vectors(params, v);
    return tenon_gemm(stream, &all, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[INT8_D], sync);
}

static tenon_status plan_int8(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    const tenon_gemm_params all = with_vectors(params, v);
    return tenon_gemm_plan(context, &all, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[INT8_D],
                           plan);
}

static bool int8_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    const tenon_gemm_params all = with_vectors(params, v);
    int8_views views = {v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS], v[INT8_D]};
    for (int i = 0; i < INT8_VECTORS; i++)
        views[GEMM_OPERANDS + i] = v[GEMM_D + i];
    return tn_gemm_int8_reference(&all, views, expected);
}

/* Scales are above 0. */
static void settle_int8(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    for (int i = INT8_SCALE_A; i <= INT8_SCALE_D; i++)
        if (v[GEMM_D + i] != NULL)
            tn_case_reals(v[GEMM_D + i], 0.01, 0.1, seed);
}

static const char *const int8_examples[] = {
    ("gemm_int8 a=u8:4x5 b=i8:5x6 c=f32:4x6 bias=f32:6 scale_of_a=f32:4 scale_of_b=f32:6 "
     "scale_of_d=f32:6 zero_point_of_a=u8:4 zero_point_of_b=i8:6 zero_point_of_d=u8:6 d=u8:4x6 "
     "beta=1"),
    "gemm_int8 a=i8:2x33x300 b=i8:2x300x69/1,310,1+3 bias=i32:69 d=i32:2x33x69 activation=relu",
    "gemm_int8 a=u8:70x150/1,71 b=i8:150x67 scale_of_b=f32:67 zero_point_of_a=u8: d=f16:70x67",
    "gemm_int8 a=i8:3x500 b=u8:500x130/1,501 zero_point_of_b=u8: d=bf16:3x130 alpha=0.01",
    "gemm_int8 a=i8:1x700 b=i8:700x300 d=f32:1x300 alpha=0.01 activation=sigmoid",
    "gemm_int8 a=u8:1x700 b=u8:700x300/1,700 d=i32:1x300",
    NULL,
};

const tn_operation tn_operation_gemm_int8 = {
    .name = "tenon_gemm",
    .family = &tn_gemm_int8_family,
    .operands = {{.name = "a"},
                 {.name = "b"},
                 {.name = "c", .optional = true},
                 {.name = "bias", .optional = true},
                 {.name = "scale of a", .optional = true},
                 {.name = "scale of b", .optional = true},
                 {.name = "scale of d", .optional = true},
                 {.name = "zero point of a", .optional = true},
                 {.name = "zero point of b", .optional = true},
                 {.name = "zero point of d", .optional = true},
                 {.name = "d"}},
    .operand_count = INT8_OPERANDS,
    .output_count = 1,
    .fields = gemm_fields,
    .field_count = TN_FIELD_COUNT(gemm_fields),
    .params_size = sizeof(tenon_gemm_params),
    .defaults = default_gemm,
    .run = run_int8,
    .plan = plan_int8,
    .reference = int8_reference,
    .settle = settle_int8,
    .examples = int8_examples,
};

static const tn_field ragged_fields[] = {TN_FLAGS_FIELD(tenon_gemm_ragged_params),
                                         TN_EPILOGUE_FIELDS(tenon_gemm_ragged_params, epilogue)};

TN_OPERATION_DEFAULTS(ragged, tenon_gemm_ragged_params)
TN_OPERATION_CALLS(ragged, tenon_gemm_ragged, v[RAGGED_A], v[RAGGED_B], v[RAGGED_OFFSETS],
                   v[RAGGED_C], v[RAGGED_BIAS], v[RAGGED_D])

static bool ragged_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_gemm_ragged_reference(params, v, expected);
}

/* Offsets that rise from 0 to the rows of a, some groups empty. */
static void settle_ragged(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *offsets = v[RAGGED_OFFSETS];
    const int64_t rows = v[RAGGED_A]->shape[0], groups = offsets->shape[0] - 1;
    (void)params;
    for (int64_t g = 0, row = 0; g <= groups; g++) {
        tenon_tensor entry = tenon_tensor_slice(*offsets, 0, g, 1);
        tn_case_integers(&entry, row, row, seed);
        const double part = (tn_random(seed) + 1) / 2 * 2 * (double)(rows - row);
        row = g + 1 >= groups ? rows : row + (int64_t)(part / (double)(groups - g));
    }
}

static const char *const ragged_examples[] = {
    "gemm_ragged a=T:4x5 b=T:2x5x6 offsets=i32:3 c=T:4x6 bias=T:2x6 d=T:4x6 beta=1",
    ("gemm_ragged a=T:70x410/450,1+5 b=T:3x410x131/60000,1,420 offsets=i32:4 d=T:70x131 "
     "activation=gelu alpha=0.5"),
    "gemm_ragged a=T:150x90 b=T:5x90x67 offsets=i32:6 c=@d d=T:150x67/1,160 beta=-0.5",
    NULL,
};

const tn_operation tn_operation_gemm_ragged = {
    .name = "tenon_gemm_ragged",
    .family = &tn_gemm_ragged_family,
    .operands = {{.name = "a"},
                 {.name = "b"},
                 {.name = "offsets"},
                 {.name = "c", .optional = true},
                 {.name = "bias", .optional = true},
                 {.name = "d", .read = true}},
    .operand_count = RAGGED_OPERANDS,
    .output_count = 1,
    .fields = ragged_fields,
    .field_count = TN_FIELD_COUNT(ragged_fields),
    .params_size = sizeof(tenon_gemm_ragged_params),
    .defaults = default_ragged,
    .run = run_ragged,
    .plan = plan_ragged,
    .reference = ragged_reference,
    .settle = settle_ragged,
    .examples = ragged_examples,
};
