/*
 * Tests that the text of a call with packed weights, as TENON_RECORD writes it, is a call with the
 * same problem, and that such calls can be planned in contexts without a device.
 */
#include "gemm_case.h"
#include "quick.h"

#include "check/case.h"
#include "dispatch/state.h"
#include "ops/registry.h"
#include "runtime/context/target.h"

/* The arguments of the callback for a choice of solver: the text of the call, its family and its
 * problem. */
typedef struct heard {
    char text[TN_CASE_TEXT_SIZE];
    const tn_family *family;
    tn_any_problem problem;
} heard;

static void hear(void *user, const tn_request *request, const tn_choice *choice)
{
    heard *h = user;
    if (request->call == NULL || choice == NULL)
        return;
    tn_call_text(request->call, h->text);
    h->family = request->family;
    memset(&h->problem, 0, sizeof h->problem);
    memcpy(&h->problem, request->problem, request->problem->size);
}

static void listen(heard *h)
{
    tn_dispatch *dispatch = tn_dispatch_of(test_context);
    assert_non_null(dispatch);
    dispatch->listener = h != NULL ? hear : NULL;
    dispatch->listener_user = h;
}

/* Plans the call that the text describes, and compares its problem. */
static void check_text(const heard *original)
{
    static const char begins[] = "tenon check ";
    heard copy = {.family = NULL};
    tenon_plan *plan;
    tn_case c;
    assert_memory_equal(original->text, begins, sizeof begins - 1);
    assert_ok(tn_case_parse_line(original->text + sizeof begins - 1, TENON_DTYPE_INVALID, &c));
    listen(&copy);
    assert_ok(tn_case_plan(test_context, &c, NULL, &plan));
    listen(NULL);
    tenon_plan_release(plan);
    assert_ptr_equal(copy.family, original->family);
    assert_string_equal(copy.text, original->text);
    assert_memory_equal(&copy.problem, &original->problem, sizeof copy.problem);
}

/* Plans the call in a context of the device that is treated as its own kind, where nothing runs. */
static void check_without_device(const heard *original)
{
    tenon_context *target;
    tenon_plan *plan;
    tn_case c;
    assert_ok(tn_target_like(test_context, test_context->device.model.kind, NULL, NULL, &target));
    assert_ok(tn_case_parse_line(original->text + strlen("tenon check "), TENON_DTYPE_INVALID, &c));
    assert_ok(tn_case_plan(target, &c, NULL, &plan));
    assert_memory_equal(plan->name, original->family->name, strlen(original->family->name));
    tenon_plan_release(plan);
    tenon_context_release(target);
}

/* A convolution of channels-last images with packed filters. */
typedef struct packed_call {
    int64_t channels, filters, groups, filter, size, stride, pad;
    bool residual;
} packed_call;

static tenon_tensor image_of(tenon_dtype dtype, int64_t channels, int64_t size)
{
    const int64_t shape[] = {2, size, size, channels};
    return tenon_tensor_nhwc(tenon_tensor_view(dtype, 4, shape));
}

/* Checks the arguments of the callback, and releases the plan and its weights. */
static void finish(const heard *h, const char *family, tenon_plan *plan, tenon_packed *packed)
{
    listen(NULL);
    assert_string_equal(h->family != NULL ? h->family->name : "none", family);
    check_text(h);
    check_without_device(h);
    tenon_plan_release(plan);
    tenon_packed_release(packed);
}

static void check_conv(const packed_call *p, tenon_dtype dtype, const char *family)
{
    const int64_t w_shape[] = {p->filters, p->channels / p->groups, p->filter, p->filter},
                  out = (p->size + 2 * p->pad - p->filter) / p->stride + 1;
    const tenon_tensor x = image_of(dtype, p->channels, p->size),
                       y = image_of(dtype, p->filters, out),
                       bias = tenon_tensor_view(dtype, 1, w_shape);
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_tensor w = test_dense(dtype, 4, w_shape, NULL);
    tenon_packed *packed;
    tenon_plan *plan;
    heard h = {.family = NULL};
    params.groups = p->groups;
    for (int d = 0; d < 2; d++) {
        params.geometry.stride[d] = p->stride;
        params.geometry.pad_begin[d] = params.geometry.pad_end[d] = p->pad;
    }
    params.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    params.epilogue.beta = p->residual ? 1 : 0;
    assert_ok(tenon_tensor_fill(test_stream, &w, 1, NULL));
    assert_ok(tenon_conv_pack_filter(test_stream, NULL, &w, &packed, NULL));
    listen(&h);
    assert_ok(tenon_conv_forward_packed_plan(test_context, &params, &x, packed,
                                             p->residual ? &y : NULL, &bias, &y, &plan));
    finish(&h, family, plan, packed);
    tenon_memory_destroy(&w.memory);
}

/* Filters in panels are those of CPUs. */
TEST(convolutions)
{
    static const packed_call larger = {19, 37, 1, 3, 9, 2, 1, true},
                             grouped = {40, 40, 40, 3, 9, 1, 1, false},
                             transformed = {19, 37, 1, 3, 9, 1, 1, false},
                             pointwise = {19, 37, 1, 1, 14, 1, 0, true},
                             strided = {19, 37, 1, 1, 25, 2, 0, true};
    const bool is_cpu = test_context->device.is_cpu;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        check_conv(&larger, *type, is_cpu ? "conv_packed" : "conv");
        check_conv(&grouped, *type, is_cpu ? "conv_packed" : "conv");
        check_conv(&transformed, *type, is_cpu ? "conv_packed" : "conv");
        check_conv(&pointwise, *type, is_cpu ? "gemm_packed" : "conv");
        check_conv(&strided, *type, is_cpu ? "gemm_packed" : "conv");
    }
}

static void check_product(uint32_t rank, const int64_t *b_shape, const char *layout,
                          const char *family)
{
    const tenon_tensor b = test_dense(TENON_DTYPE_F32, rank, b_shape, NULL);
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    int64_t a_shape[TENON_MAX_RANK], d_shape[TENON_MAX_RANK];
    heard h = {.family = NULL};
    memcpy(a_shape, b_shape, sizeof *a_shape * rank);
    memcpy(d_shape, b_shape, sizeof *d_shape * rank);
    a_shape[rank - 2] = d_shape[rank - 2] = 13;
    a_shape[rank - 1] = b_shape[rank - 2];
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, rank, a_shape),
                       d = tenon_tensor_view(TENON_DTYPE_F32, rank, d_shape);
    tenon_packed *packed = pack_matrix(&b, layout);
    tenon_plan *plan;
    listen(&h);
    assert_ok(tenon_gemm_packed_plan(test_context, &params, &a, packed, NULL, NULL, &d, &plan));
    finish(&h, family, plan, packed);
    tenon_memory_destroy((tenon_memory *)(uintptr_t)&b.memory);
}

TEST(products)
{
    static const int64_t shape[] = {2, 3, 41, 37};
    for (uint32_t rank = 2; rank <= 4; rank++) {
        check_product(rank, shape + 4 - rank, "panels", "gemm_packed");
        check_product(rank, shape + 4 - rank, "rows", "gemm");
    }
}
