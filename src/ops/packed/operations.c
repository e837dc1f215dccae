/* The packed product for those who call all operations alike. Its weights are no operand of a call:
 * here they are K by N of a fixed pattern, packed for each call. */
#include "base/dtype.h"
#include "check/case.h"
#include "ops/packed/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

enum { X_A, X_C, X_BIAS, X_D, X_OPERANDS };

typedef struct pattern_params {
    tenon_gemm_params gemm;
    int64_t k, n;
} pattern_params;

static void default_packed(void *params)
{
    *(pattern_params *)params = (pattern_params){.gemm = TENON_GEMM_PARAMS_INIT};
    ((pattern_params *)params)->gemm.struct_size = sizeof(pattern_params);
}

static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, pattern_params, gemm.flags),
                                  TN_EPILOGUE_FIELDS(pattern_params, gemm.epilogue),
                                  TN_FIELD("k", TN_FIELD_I64, pattern_params, k),
                                  TN_FIELD("n", TN_FIELD_I64, pattern_params, n)};

/* What the public call takes, with whatever is wrong with its size. */
static tenon_gemm_params inner_params(const pattern_params *p)
{
    tenon_gemm_params params = p->gemm;
    params.struct_size -= (uint32_t)(sizeof *p - sizeof params);
    return params;
}

/* A host tensor of small integers, which every type holds. Returns its memory, which is the
 * caller's to free; NULL without. */
static void *make_weights(const pattern_params *p, tenon_dtype dtype, tenon_tensor *weights)
{
    const int64_t shape[] = {p->k, p->n};
    *weights = tenon_tensor_view(dtype, 2, shape);
    const size_t size = tenon_dtype_size(dtype);
    const int64_t count = tenon_tensor_elements(weights);
    unsigned char *data = malloc((size_t)count * size + 1);
    for (int64_t i = 0; data != NULL && i < count; i++)
        tn_dtype_store(dtype, data + (size_t)i * size, (double)(i * 7 % 11 % 7) - 3);
    weights->memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = data};
    return data;
}

/* The type of a, where it is one that weights can have. */
static tenon_dtype weights_type(const tenon_tensor *a)
{
    return a != NULL && a->dtype >= TENON_DTYPE_F64 && a->dtype <= TENON_DTYPE_BF16
               ? a->dtype
               : TENON_DTYPE_F32;
}

/* NULL where the weights cannot be made. */
static tenon_packed *pack_weights(tenon_stream *stream, const pattern_params *p,
                                  const tenon_tensor *a)
{
    tenon_pack_params params = TENON_PACK_PARAMS_INIT;
    tenon_packed *packed = NULL;
    tenon_tensor weights, device;
    void *data = make_weights(p, weights_type(a), &weights);
    const size_t bytes = (size_t)tenon_tensor_elements(&weights) * tenon_dtype_size(weights.dtype);
    params.layout = "panels";
    if (data != NULL && tenon_tensor_create(stream->context, weights.dtype, 2, weights.shape,
                                            &device) == TENON_OK) {
        if (tenon_tensor_upload(stream, data, bytes, &device, NULL) == TENON_OK)
            (void)tenon_gemm_pack(stream, &params, &device, &packed, NULL);
        tenon_memory_destroy(&device.memory);
    }
    free(data);
    return packed;
}

static tenon_status run_packed(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    const tenon_gemm_params inner = inner_params(params);
    tenon_packed *packed = stream != NULL ? pack_weights(stream, params, v[X_A]) : NULL;
    tenon_status status =
        tenon_gemm_packed(stream, &inner, v[X_A], packed, v[X_C], v[X_BIAS], v[X_D], sync);
    tenon_packed_release(packed);
    return status;
}

static tenon_status plan_packed(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    const tenon_gemm_params inner = inner_params(params);
    tenon_stream *stream = NULL;
    tenon_packed *packed = NULL;
    if (context != NULL && tenon_stream_create(context, NULL, &stream) == TENON_OK) {
        packed = pack_weights(stream, params, v[X_A]);
        (void)tenon_stream_finish(stream);
    }
    tenon_status status =
        tenon_gemm_packed_plan(context, &inner, v[X_A], packed, v[X_C], v[X_BIAS], v[X_D], plan);
    tenon_packed_release(packed);
    tenon_stream_destroy(stream);
    return status;
}

static bool packed_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    const tenon_gemm_params inner = inner_params(params);
    tenon_tensor b;
    void *data = make_weights(params, v[X_A]->dtype, &b);
    bool made =
        data != NULL && tn_gemm_reference(&inner, v[X_A], &b, v[X_C], v[X_BIAS], v[X_D], expected);
    free(data);
    return made;
}

void tn_packed_blame(tenon_stream *lab, const tenon_gemm_params *params, int64_t k, int64_t n,
                     const tenon_tensor *const *views, const tn_choice *choice)
{
    pattern_params all = {.gemm = *params, .k = k, .n = n};
    const tenon_tensor *ordered[X_OPERANDS] = {views[GEMM_A], views[GEMM_C], views[GEMM_BIAS],
                                               views[GEMM_D]};
    all.gemm.struct_size = sizeof all;
    tn_case_blame(lab, &tn_operation_gemm_packed, &all, ordered, choice, 1);
}

static const char *const examples[] = {
    "gemm_packed a=T:4x5 c=T:4x6 bias=T:6 d=T:4x6 beta=1 k=5 n=6",
    /* Past two tiles, two panels and two blocks of K. */
    "gemm_packed a=T:2x29x2091 bias=T:131 d=T:2x29x131 k=2091 n=131 activation=relu",
    "gemm_packed a=T:27x300/1,29 c=@d d=T:27x70/90,1+5 k=300 n=70 alpha=0.5 beta=-0.5",
    "gemm_packed a=T:1x700 d=T:1x300 k=700 n=300",
    "gemm_packed a=T:3x500/1100,2 bias=T:3x1 d=T:3x97/1,5 k=500 n=97 activation=sigmoid",
    "gemm_packed a=T:0x5 d=T:0x6 k=5 n=6",
    NULL,
};

const tn_operation tn_operation_gemm_packed = {
    .name = "tenon_gemm_packed",
    .family = &tn_gemm_packed_family,
    .operands = {{.name = "a"},
                 {.name = "c", .optional = true},
                 {.name = "bias", .optional = true},
                 {.name = "d"}},
    .operand_count = X_OPERANDS,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(pattern_params),
    .defaults = default_packed,
    .run = run_packed,
    .plan = plan_packed,
    .reference = packed_reference,
    .examples = examples,
};
