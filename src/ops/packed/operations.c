/* The packed product as a regular operation, for generic callers (tests, self-check, tools). Its
 * weights are not an operand: they are a fixed pattern, one matrix or batches of them, packed at
 * each call. */
#include "base/checked.h"
#include "check/awkward.h"
#include "ops/packed/pattern.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

/* The terms after the activation are operands after these. */
enum { X_A, X_C, X_BIAS, X_D, X_OPERANDS, X_VIEWS = X_OPERANDS + POST_TERMS };

static const pattern_gemm packed_defaults = {
    .gemm = {.struct_size = sizeof(pattern_gemm), .epilogue = TENON_EPILOGUE_INIT}};

static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, pattern_gemm, gemm.flags),
                                  TN_EPILOGUE_FIELDS(pattern_gemm, gemm.epilogue),
                                  TN_FIELD_ARRAY("batch", TN_FIELD_I64, pattern_gemm, batch),
                                  TN_FIELD("k", TN_FIELD_I64, pattern_gemm, k),
                                  TN_FIELD("n", TN_FIELD_I64, pattern_gemm, n)};

/* Parameters passed to the public call. A struct_size that exceeds the known parameters is passed
 * on, to let that call reject it. */
typedef struct call_params {
    tenon_gemm_params gemm;
    uint64_t beyond; /* bytes of the caller's struct after the known parameters */
} call_params;

static call_params inner_params(const pattern_gemm *p)
{
    call_params params = {.gemm = p->gemm};
    params.gemm.struct_size -= (uint32_t)(sizeof *p - sizeof params.gemm);
    if (p->gemm.struct_size > sizeof *p)
        memcpy(&params.beyond, p + 1, sizeof params.beyond);
    return params;
}

void *tn_pattern_weights(tenon_tensor *weights)
{
    uint64_t seed = 7;
    const bool is_valid = weights->dtype != TENON_DTYPE_INVALID; /* otherwise its size overflows */
    void *data = is_valid
                     ? tn_array(tenon_tensor_elements(weights), tenon_dtype_size(weights->dtype))
                     : NULL;
    weights->memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = data};
    if (data != NULL)
        tn_case_integers(weights, -3, 3, &seed);
    return data;
}

tenon_dtype tn_pattern_type(const tenon_tensor *input)
{
    return input != NULL && input->dtype >= TENON_DTYPE_F64 && input->dtype <= TENON_DTYPE_BF16
               ? input->dtype
               : TENON_DTYPE_F32;
}

/* Returns a dense view of the weights, without memory. It is invalid if their size overflows. */
static tenon_tensor weights_of(const pattern_gemm *p, tenon_dtype dtype)
{
    int64_t shape[TENON_MAX_RANK];
    uint32_t rank = 0;
    while (rank < TENON_MAX_RANK - 2 && p->batch[rank] > 0) {
        shape[rank] = p->batch[rank];
        rank++;
    }
    shape[rank++] = p->k;
    shape[rank++] = p->n;
    return tenon_tensor_view(dtype, rank, shape);
}

/* Returns the index in the panels of element `number`, in row-major order, of a tensor of rows ×
 * cols matrices. */
static int64_t position(int64_t rows, int64_t cols, int64_t panel, int64_t number)
{
    const int64_t padded = tn_packed_padded(cols, panel);
    const int64_t col = number % cols, row = number / cols % rows, matrix = number / cols / rows;
    return matrix * rows * padded + col / panel * rows * panel + row * panel + col % panel;
}

/* Packs a host tensor into zeroed host memory. */
static void pack_on_host(const tenon_tensor *view, int64_t panel, void *packed)
{
    const int64_t rows = view->shape[view->rank - 2], cols = view->shape[view->rank - 1];
    const int64_t count = tenon_tensor_elements(view);
    const size_t size = tenon_dtype_size(view->dtype);
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        memcpy((unsigned char *)packed + (size_t)position(rows, cols, panel, i) * size,
               tn_host_element(view, index), size);
        tn_next_index(index, view->shape, view->rank);
    }
}

static tenon_status no_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the weights", caller);
}

static tenon_status upload_panels(const char *caller, tenon_stream *stream,
                                  const tenon_tensor *weights, const tenon_packed *packed)
{
    const size_t bytes = (size_t)tenon_packed_bytes(packed);
    void *panels = calloc(bytes + 1, 1);
    if (panels == NULL)
        return no_memory(caller);
    pack_on_host(weights, packed->panel, panels);
    const tenon_status status = tenon_tensor_upload(stream, panels, bytes, &packed->memory, NULL);
    free(panels);
    return status;
}

static tenon_status upload_pattern(const char *caller, tenon_stream *stream, tenon_tensor *weights,
                                   const tenon_packed *packed)
{
    void *data = tn_pattern_weights(weights);
    const tenon_status status =
        data != NULL ? upload_panels(caller, stream, weights, packed) : no_memory(caller);
    free(data);
    return status;
}

/* Packs the weights on the host. The self-check must not depend on the copies that tenon_gemm_pack
 * makes. Without a stream, the memory remains uninitialized. */
static tenon_status pack_weights(const char *caller, tenon_context *context, tenon_stream *stream,
                                 const pattern_gemm *p, const tenon_tensor *a,
                                 tenon_packed **packed)
{
    tenon_tensor weights = weights_of(p, tn_pattern_type(a));
    if (weights.dtype == TENON_DTYPE_INVALID)
        return no_memory(caller);
    TN_TRY(tn_packed_create(caller, context, PACKED_GEMM, "panels", &weights, packed));
    return stream != NULL ? upload_pattern(caller, stream, &weights, *packed) : TENON_OK;
}

static tenon_status run_packed(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    const call_params inner = inner_params(params);
    tenon_packed *packed = NULL;
    tenon_status status = TENON_OK;
    if (stream != NULL)
        status = pack_weights(tn_operation_gemm_packed.name, stream->context, stream, params,
                              v[X_A], &packed);
    if (status == TENON_OK)
        status =
            tenon_gemm_packed(stream, &inner.gemm, v[X_A], packed, v[X_C], v[X_BIAS], v[X_D], sync);
    tenon_packed_release(packed);
    return status;
}

/* In a context without a device the plan has no memory for the weights. */
static tenon_status plan_packed(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    static const char caller[] = "tenon_gemm_packed_plan";
    const call_params inner = inner_params(params);
    tenon_stream *stream = NULL;
    tenon_packed *packed = NULL;
    tenon_status status = TENON_OK;
    if (plan != NULL)
        *plan = NULL;
    if (context != NULL && context->cl != NULL)
        status = tenon_stream_create(context, NULL, &stream);
    if (status == TENON_OK && context != NULL)
        status = pack_weights(caller, context, stream, params, v[X_A], &packed);
    if (status == TENON_OK && stream != NULL)
        status = tenon_stream_finish(stream);
    if (status == TENON_OK)
        status = tenon_gemm_packed_plan(context, &inner.gemm, v[X_A], packed, v[X_C], v[X_BIAS],
                                        v[X_D], plan);
    tenon_packed_release(packed);
    tenon_stream_destroy(stream);
    return status;
}

DEFINE_PATTERN_POST(gemm)

static bool packed_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    const call_params inner = inner_params(params);
    tenon_tensor b = weights_of(params, v[X_A]->dtype);
    void *data = tn_pattern_weights(&b);
    const tenon_tensor *const views[] = {v[X_A], &b, v[X_C], v[X_BIAS], v[X_D]};
    const bool made = data != NULL && tn_gemm_reference(&inner.gemm, views, expected);
    free(data);
    return made;
}

static bool post_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return packed_reference(params, v, expected) &&
           tn_post_reference(v[X_D], v + X_OPERANDS, expected);
}

bool tn_gemm_packed_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    const gemm_problem *like = &((const packed_problem *)problem)->gemm;
    const uint32_t type = like->dtype, types[] = {type, type, type, type, type};
    pattern_gemm *params = (pattern_gemm *)c->params.bytes;
    tenon_tensor views[GEMM_MATRICES] = {{.rank = 0}};
    if (number == tn_awkward_count(choice))
        return false;
    tn_awkward_begin(c, (like->flags & TENON_POST_ANY) != 0 ? &tn_operation_gemm_packed_post
                                                            : &tn_operation_gemm_packed);
    tn_gemm_awkward_views(like, choice, number, 2, GEMM_AWKWARD_ROWS, types, views);
    params->gemm.epilogue = tn_check_epilogue(like->flags, like->activation);
    params->batch[0] = views[GEMM_B].shape[0];
    params->k = views[GEMM_B].shape[1];
    params->n = views[GEMM_B].shape[2];
    c->views[X_A] = views[GEMM_A];
    c->views[X_C] = views[GEMM_C];
    c->views[X_BIAS] = views[GEMM_BIAS];
    c->views[X_D] = views[GEMM_D];
    for (int term = 0; term < POST_TERMS; term++)
        c->views[X_OPERANDS + term] = views[GEMM_POST + term];
    if (tn_post_tries_in_place(choice, like->flags))
        c->same[X_OPERANDS + POST_RESIDUAL] = X_D + 1;
    return true;
}

static const char *const examples[] = {
    "gemm_packed a=T:4x5 c=T:4x6 bias=T:6 d=T:4x6 beta=1 k=5 n=6",
    /* Exceeds two tiles, two panels and two blocks of K. */
    "gemm_packed a=T:2x29x2091 bias=T:131 d=T:2x29x131 k=2091 n=131 activation=relu",
    "gemm_packed a=T:27x300/1,29 c=@d d=T:27x70/90,1+5 k=300 n=70 alpha=0.5 beta=-0.5",
    "gemm_packed a=T:1x700 d=T:1x300 k=700 n=300",
    "gemm_packed a=T:3x500/1100,2 bias=T:3x1 d=T:3x97/1,5 k=500 n=97 activation=sigmoid",
    "gemm_packed a=T:0x5 d=T:0x6 k=5 n=6",
    NULL,
};

static const char *const post_examples[] = {
    "gemm_packed_post a=T:4x5 c=T:4x6 bias=T:6 d=T:4x6 post_scale=T:6 post_shift=T:6 "
    "residual=T:4x6 "
    "beta=1 k=5 n=6",
    "gemm_packed_post a=T:2x29x2091 bias=T:131 d=T:2x29x131 post_scale=T:131 k=2091 n=131 "
    "activation=relu",
    "gemm_packed_post a=T:27x300/1,29 c=@d d=T:27x70/90,1+5 post_shift=T:27x1 "
    "residual=T:27x70 k=300 "
    "n=70 alpha=0.5 beta=-0.5",
    "gemm_packed_post a=T:3x500/1100,2 bias=T:3x1 d=T:3x97/1,5 residual=@d k=500 n=97 "
    "activation=sigmoid",
    NULL,
};

/* The members that both descriptions share. */
#define PACKED_OPERANDS                                                                            \
    {.name = "a"}, {.name = "c", .optional = true}, {.name = "bias", .optional = true},            \
    {                                                                                              \
        .name = "d", .role = TN_OUTPUT                                                             \
    }
#define PACKED_OPERATION                                                                           \
    .name = "tenon_gemm_packed", TN_FIELDS(fields), TN_OWN_PARAMS(packed_defaults),                \
    .epilogue_at = offsetof(pattern_gemm, gemm.epilogue)

const tn_operation tn_operation_gemm_packed = {
    PACKED_OPERATION,
    .run = run_packed,
    .plan = plan_packed,
    .family = &tn_gemm_packed_family,
    .operands = {PACKED_OPERANDS},
    .operand_count = X_OPERANDS,
    .reference = packed_reference,
    .examples = examples,
};

const tn_operation tn_operation_gemm_packed_post = {
    PACKED_OPERATION,
    .run = run_post,
    .plan = plan_post,
    .family = &tn_gemm_packed_post_family,
    .operands = {PACKED_OPERANDS, POST_OPERANDS},
    .operand_count = X_VIEWS,
    .reference = post_reference,
    .examples = post_examples,
};
