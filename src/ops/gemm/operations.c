/* Descriptions of tenon_gemm and tenon_gemm_ragged; see dispatch/operation.h. */
#include "base/sized.h"
#include "check/case.h"
#include "ops/common/output_shape.h"
#include "ops/gemm/int8.h"
#include "ops/gemm/mixed.h"
#include "ops/gemm/ragged.h"
#include "ops/registry.h"

static const tn_field gemm_fields[] = {TN_FLAGS_FIELD(tenon_gemm_params),
                                       TN_EPILOGUE_FIELDS(tenon_gemm_params, epilogue)};

static const tenon_gemm_params gemm_defaults = TENON_GEMM_PARAMS_INIT;

TENON_API void tenon_gemm_params_default(tenon_gemm_params *params, uint32_t size)
{
    tn_params_give_with(params, size, &gemm_defaults, sizeof gemm_defaults,
                        offsetof(tenon_gemm_params, epilogue));
}

TENON_API tenon_status tenon_gemm(tenon_stream *stream, const tenon_gemm_params *params,
                                  const tenon_tensor *a, const tenon_tensor *b,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *d, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_gemm, a, b, c, bias, d);
}

TENON_API tenon_status tenon_gemm_plan(tenon_context *context, const tenon_gemm_params *params,
                                       const tenon_tensor *a, const tenon_tensor *b,
                                       const tenon_tensor *c, const tenon_tensor *bias,
                                       const tenon_tensor *d, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_gemm, a, b, c, bias, d);
}

static const char *const gemm_examples[] = {
    "gemm a=T:4x5 b=T:5x6 c=T:4x6 bias=T:6 d=T:4x6 beta=1",
    /* Exceeds two tiles and two blocks of K, in each kind of layout. */
    "gemm a=T:2x37x1091 b=T:2x1091x131/150000,137,1+3 d=T:2x37x131 activation=relu",
    ("gemm a=T:131x300/1,140 b=T:300x133/1,301 c=T:133 bias=T:131x1 d=T:131x133/140,1+5 alpha=0.5 "
     "beta=-0.5 activation=sigmoid"),
    "gemm a=T:33x70/151,2 b=T:70x35/80,2 c=@d d=T:33x35/1,40 beta=2",
    /* Long and thin in both directions, and vectors. */
    "gemm a=T:3x700 b=T:700x1000 d=T:3x1000",
    "gemm a=T:1000x700 b=T:700x5 bias=T:5 d=T:1000x5 activation=gelu",
    "gemm a=T:1x1500 b=T:1500x700 d=T:1x700",
    "gemm a=T:1x1500 b=T:1500x700/1,1501 bias=T:700 d=T:1x700",
    "gemm a=T:17x9000 b=T:9000x19 d=T:17x19",
    "gemm a=T:0x5 b=T:5x6 d=T:0x6",
    NULL,
};

static const tn_operation *served_as(const void *given, const tenon_tensor **views)
{
    const tenon_gemm_params *params = given;
    if (tn_is_mixed(views[GEMM_A], views[GEMM_B], views[GEMM_D]))
        return &tn_operation_gemm_mixed;
    if (!tn_gemm_is_int8(views[GEMM_A]))
        return params != NULL && tn_epilogue_post_views(&params->epilogue, views + GEMM_POST)
                   ? &tn_operation_gemm_post
                   : &tn_operation_gemm;
    if (params != NULL)
        tn_int8_take_vectors(&params->epilogue, views);
    return &tn_operation_gemm_int8;
}

#define STORED(name, operand)                                                                      \
    {name " were stored row by row without gaps", 1 << (operand), TN_ORDER_AS_VIEWED, NULL},       \
    {                                                                                              \
        name " were stored column by column without gaps", 1 << (operand), TN_ORDER_TRANSPOSED,    \
            NULL                                                                                   \
    }
static const tn_alternative gemm_alternatives[] = {
    STORED("a", GEMM_A), STORED("b", GEMM_B), {.condition = NULL}};

static bool product_shape(const void *params, const tenon_tensor *const *views,
                          tenon_tensor *output)
{
    tenon_tensor a = *views[GEMM_A], b = *views[GEMM_B];
    const tenon_tensor *const batches[] = {&a, &b};
    (void)params;
    if (a.rank < 2 || b.rank < 2)
        return false;
    a.rank -= 2;
    b.rank -= 2;
    output->dtype = tn_gemm_is_int8(&a)  ? TENON_DTYPE_I32
                    : a.dtype == b.dtype ? a.dtype
                                         : TENON_DTYPE_F32;
    return tn_shape_broadcast(batches, 2, output) && tn_shape_append(output, a.shape[a.rank]) &&
           tn_shape_append(output, b.shape[b.rank + 1]);
}

static bool ragged_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_tensor *a = views[0], *b = views[1];
    (void)params;
    if (a->rank != 2 || b->rank != 3)
        return false;
    const int64_t shape[] = {a->shape[0], b->shape[2]};
    return tn_shape_set(output, a->dtype, 2, shape);
}

/* The operands that all products share, and the members of the descriptions of tenon_gemm. */
#define GEMM_FIVE_OPERANDS                                                                         \
    {.name = "a"}, {.name = "b"}, {.name = "c", .optional = true, .role = TN_INPUT_OR_SAME},       \
        {.name = "bias", .optional = true},                                                        \
    {                                                                                              \
        .name = "d", .role = TN_OUTPUT, .shape = product_shape                                     \
    }
#define GEMM_OPERATION                                                                             \
    TN_NAMES("tenon_gemm"), TN_FIELDS(gemm_fields),                                                \
        TN_PARAMS(gemm_defaults, TENON_GEMM_PARAMS_INIT),                                          \
        .flags = TENON_GEMM_BATCH_INVARIANT | TENON_GEMM_ALLOW_TF32,                               \
        .epilogue_at = offsetof(tenon_gemm_params, epilogue), .alternatives = gemm_alternatives

const tn_operation tn_operation_gemm = {
    GEMM_OPERATION,
    .family = &tn_gemm_family,
    .operands = {GEMM_FIVE_OPERANDS},
    .operand_count = GEMM_OPERANDS,
    TN_PROBLEM(gemm_problem),
    .served_as = served_as,
    .prepare = tn_gemm_prepare,
    .reference = tn_gemm_reference,
    .examples = gemm_examples,
};

static const char *const post_examples[] = {
    "gemm_post a=T:4x5 b=T:5x6 c=T:4x6 bias=T:6 d=T:4x6 post_scale=T:6 post_shift=T:6 "
    "residual=T:4x6 beta=1",
    "gemm_post a=T:2x37x1091 b=T:1091x131 d=T:2x37x131 post_scale=T:37x1 activation=relu",
    "gemm_post a=T:131x300/1,140 b=T:300x133/1,301 bias=T:131x1 d=T:131x133/140,1+5 "
    "post_shift=T:133 residual=@d alpha=0.5 activation=sigmoid",
    "gemm_post a=T:33x70/151,2 b=T:70x35/80,2 c=@d d=T:33x35/1,40 residual=T:33x35 beta=2",
    "gemm_post a=T:0x5 b=T:5x6 d=T:0x6 post_shift=T:6",
    NULL,
};

/* A product with terms after the activation, which the parameters of tenon_gemm point to and which
 * are operands after d. */
const tn_operation tn_operation_gemm_post = {
    GEMM_OPERATION,
    .family = &tn_gemm_post_family,
    .operands = {GEMM_FIVE_OPERANDS, POST_OPERANDS},
    .operand_count = GEMM_MATRICES,
    TN_PROBLEM(gemm_problem),
    .prepare = tn_gemm_prepare,
    .reference = tn_gemm_post_reference,
    .examples = post_examples,
};

void tn_int8_fill_scales(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    for (int i = INT8_SCALE_A; i <= INT8_SCALE_D; i++)
        if (v[INT8_VECTOR(i)] != NULL)
            tn_case_reals(v[INT8_VECTOR(i)], 0.01, 0.1, seed);
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

/* A product of i8 and u8. Its scales and zero points, which the parameters of tenon_gemm point to,
 * are operands after d. */
const tn_operation tn_operation_gemm_int8 = {
    GEMM_OPERATION,
    .family = &tn_gemm_int8_family,
    .operands = {GEMM_FIVE_OPERANDS,
                 {.name = "scale of a", .optional = true},
                 {.name = "scale of b", .optional = true},
                 {.name = "scale of d", .optional = true},
                 {.name = "zero point of a", .optional = true},
                 {.name = "zero point of b", .optional = true},
                 {.name = "zero point of d", .optional = true}},
    .operand_count = INT8_OPERANDS,
    TN_PROBLEM(int8_problem),
    .prepare = tn_gemm_int8_prepare,
    .reference = tn_gemm_int8_reference,
    .fill_valid = tn_int8_fill_scales,
    .is_measurable = true,
    .examples = int8_examples,
};

static const char *const mixed_examples[] = {
    "gemm_mixed a=f16:4x5 b=f16:5x6 c=f32:4x6 bias=f32:6 d=f32:4x6 beta=1",
    "gemm_mixed a=f32:2x37x291 b=bf16:291x131 d=f32:2x37x131 activation=relu",
    ("gemm_mixed a=bf16:131x300/1,140 b=bf16:300x133/1,301 bias=f32:131x1 d=f32:131x133/140,1+5 "
     "alpha=0.5 activation=sigmoid"),
    "gemm_mixed a=f16:33x70/151,2 b=bf16:70x35/80,2 c=@d d=f32:33x35/1,40 beta=2",
    "gemm_mixed a=f32:1x700 b=f16:700x300 d=f32:1x300",
    "gemm_mixed a=f16:0x5 b=f32:5x6 d=f32:0x6",
    NULL,
};

/* A product of f32, f16 and bf16 with a result of f32. */
const tn_operation tn_operation_gemm_mixed = {
    GEMM_OPERATION,
    .family = &tn_gemm_mixed_family,
    .operands = {GEMM_FIVE_OPERANDS},
    .operand_count = GEMM_OPERANDS,
    TN_PROBLEM(gemm_mixed_problem),
    .prepare = tn_gemm_mixed_prepare,
    .reference = tn_gemm_mixed_reference,
    .examples = mixed_examples,
};

static const tn_field ragged_fields[] = {TN_FLAGS_FIELD(tenon_gemm_ragged_params),
                                         TN_EPILOGUE_FIELDS(tenon_gemm_ragged_params, epilogue)};

static const tenon_gemm_ragged_params ragged_defaults = TENON_GEMM_RAGGED_PARAMS_INIT;

TENON_API void tenon_gemm_ragged_params_default(tenon_gemm_ragged_params *params, uint32_t size)
{
    tn_params_give_with(params, size, &ragged_defaults, sizeof ragged_defaults,
                        offsetof(tenon_gemm_ragged_params, epilogue));
}

TENON_API tenon_status tenon_gemm_ragged(tenon_stream *stream,
                                         const tenon_gemm_ragged_params *params,
                                         const tenon_tensor *a, const tenon_tensor *b,
                                         const tenon_tensor *offsets, const tenon_tensor *c,
                                         const tenon_tensor *bias, const tenon_tensor *d,
                                         const tenon_sync *sync)
{
    return TN_RUN(tn_operation_gemm_ragged, a, b, offsets, c, bias, d);
}

TENON_API tenon_status tenon_gemm_ragged_plan(tenon_context *context,
                                              const tenon_gemm_ragged_params *params,
                                              const tenon_tensor *a, const tenon_tensor *b,
                                              const tenon_tensor *offsets, const tenon_tensor *c,
                                              const tenon_tensor *bias, const tenon_tensor *d,
                                              tenon_plan **plan)
{
    return TN_PLAN(tn_operation_gemm_ragged, a, b, offsets, c, bias, d);
}

static const char *const ragged_examples[] = {
    "gemm_ragged a=T:4x5 b=T:2x5x6 offsets=i32:3 c=T:4x6 bias=T:2x6 d=T:4x6 beta=1",
    ("gemm_ragged a=T:70x410/450,1+5 b=T:3x410x131/60000,1,420 offsets=i32:4 d=T:70x131 "
     "activation=gelu alpha=0.5"),
    "gemm_ragged a=T:150x90 b=T:5x90x67 offsets=i32:6 c=@d d=T:150x67/1,160 beta=-0.5",
    NULL,
};

const tn_operation tn_operation_gemm_ragged = {
    TN_NAMES("tenon_gemm_ragged"),
    .family = &tn_gemm_ragged_family,
    .operands = {{.name = "a"},
                 {.name = "b"},
                 {.name = "offsets"},
                 {.name = "c", .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "bias", .optional = true},
                 {.name = "d", .read = true, .role = TN_OUTPUT, .shape = ragged_shape}},
    .operand_count = RAGGED_OPERANDS,
    TN_FIELDS(ragged_fields),
    TN_PARAMS(ragged_defaults, TENON_GEMM_RAGGED_PARAMS_INIT),
    .epilogue_at = offsetof(tenon_gemm_ragged_params, epilogue),
    TN_PROBLEM(ragged_problem),
    .prepare = tn_ragged_prepare,
    .reference = tn_gemm_ragged_reference,
    .fill_valid = tn_ragged_fill_valid,
    .examples = ragged_examples,
};
