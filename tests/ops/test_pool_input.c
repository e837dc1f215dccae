/* Tests invalid input of pooling that the tests of every operation do not cover. */
#include "pool_case.h"

/* A valid pair of calls. Operands are those of the forward call and dx. */
enum { DX = POOL_OPERANDS, OPERANDS };

static tenon_pool_params make(pool_pair *pair, test_tensor *o)
{
    const pool_case p = pool_plain(4, 1, 2, 4, 2);
    pool_begin(pair, &p, TENON_DTYPE_F32);
    test_make(&pair->forward);
    test_make(&pair->backward);
    memcpy(o, pair->forward.operands, POOL_OPERANDS * sizeof *o);
    o[DX] = pair->backward.operands[POOL_BACKWARD_DX];
    for (int i = 0; i < OPERANDS; i++)
        test_upload(&o[i]);
    return p.params;
}

static void refuse(const test_tensor *o, const tenon_pool_params *params,
                   const tenon_tensor *indices, tenon_status status, const char *argument)
{
    assert_refused(
        tenon_pool_forward(test_stream, params, &o[POOL_X].view, &o[POOL_Y].view, indices, NULL),
        status, "tenon_pool_forward", argument);
    assert_untouched(&o[POOL_Y]);
    assert_untouched(&o[POOL_INDICES]);
    assert_refused(tenon_pool_backward(test_stream, params, &o[POOL_X].view, &o[POOL_Y].view,
                                       indices, &o[DX].view, NULL),
                   status, "tenon_pool_backward", argument);
    assert_untouched(&o[DX]);
}

/* Geometries with windows outside the image, or without any window. */
TEST(bad_geometries)
{
    static const struct {
        int64_t window, stride, dilation, begin, end;
        const char *argument;
    } cases[] = {{0, 1, 1, 0, 0, "window[1]"},
                 {-1, 1, 1, 0, 0, "window[1]"},
                 {9, 1, 1, 1, 0, "window[1] is 9 (9 dilated), larger than the padded"},
                 {3, 1, 4, 1, 0, "larger than the padded"},
                 {INT64_MAX, 1, 3, 0, 0, "window[1]"},
                 {2, 0, 1, 0, 0, "stride[1] is 0"},
                 {2, 1, 0, 0, 0, "dilation[1] is 0"},
                 {2, 1, 1, -1, 0, "pad_begin[1] is -1"},
                 {2, 1, 1, 0, -3, "pad_end[1] is -3"},
                 {2, 1, 1, 2, 0, "padding 2 + 0"},
                 {2, 1, 1, 0, 2, "padding 0 + 2"},
                 {2, 1, 8, 1, 1, "padding 1 + 1"}, /* the image is between the two taps */
                 {2, 1, 1, 1, 0, "shape"}};
    pool_pair pair;
    test_tensor o[OPERANDS];
    const tenon_pool_params sound = make(&pair, o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_pool_params params = sound;
        params.window[1] = cases[i].window;
        params.geometry.stride[1] = cases[i].stride;
        params.geometry.dilation[1] = cases[i].dilation;
        params.geometry.pad_begin[1] = cases[i].begin;
        params.geometry.pad_end[1] = cases[i].end;
        refuse(o, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, cases[i].argument);
    }
    tenon_pool_params params = sound;
    params.kind = 4;
    refuse(o, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, "kind is 4");
    params = sound;
    params.flags = TENON_POOL_CEIL | TENON_POOL_ADAPTIVE;
    refuse(o, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, "flags is 6");
    params = sound;
    params.kind = TENON_POOL_LP;
    params.p = 0.5;
    refuse(o, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, "p is 0.5");
    params.p = 2;
    refuse(o, &params, &o[POOL_INDICES].view, TENON_ERROR_INVALID_ARGUMENT, "indices");
    assert_invalid(
        tenon_pool_backward(test_stream, &params, NULL, &o[POOL_Y].view, NULL, &o[DX].view, NULL),
        "x is NULL");
    params = sound;
    params.reserved = 1;
    refuse(o, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, "reserved");
    pool_dismiss(&pair);
}

TEST(bad_indices)
{
    pool_pair pair;
    test_tensor o[OPERANDS];
    const tenon_pool_params sound = make(&pair, o);
    tenon_tensor indices = o[POOL_INDICES].view;
    indices.dtype = TENON_DTYPE_I8;
    refuse(o, &sound, &indices, TENON_ERROR_UNSUPPORTED, "indices: type is i8");
    indices = o[POOL_INDICES].view;
    indices.shape[3]--;
    refuse(o, &sound, &indices, TENON_ERROR_INVALID_ARGUMENT, "indices");
    tenon_pool_params params = sound;
    params.kind = TENON_POOL_AVERAGE;
    refuse(o, &params, &o[POOL_INDICES].view, TENON_ERROR_INVALID_ARGUMENT, "indices");
    assert_invalid(
        tenon_pool_backward(test_stream, NULL, NULL, &o[POOL_Y].view, NULL, &o[DX].view, NULL),
        "indices");
    const int64_t huge[] = {1, 1, 65536, 32769}, one[] = {1, 1, 1, 1};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 4, huge),
                       y = tenon_tensor_view(TENON_DTYPE_F32, 4, one);
    indices = tenon_tensor_view(TENON_DTYPE_I32, 4, one);
    params = sound;
    params.flags = TENON_POOL_GLOBAL;
    tenon_plan *plan;
    assert_refused(tenon_pool_forward_plan(test_context, &params, &x, &y, &indices, &plan),
                   TENON_ERROR_UNSUPPORTED, "tenon_pool_forward_plan", "indices: i32");
    pool_dismiss(&pair);
}

/* Outputs must not overlap any other operand. */
TEST(bad_memory)
{
    pool_pair pair;
    test_tensor o[OPERANDS];
    const tenon_pool_params sound = make(&pair, o);
    tenon_tensor y = o[POOL_Y].view, indices = o[POOL_INDICES].view;
    indices.memory = o[POOL_Y].view.memory;
    assert_invalid(tenon_pool_forward(test_stream, &sound, &o[POOL_X].view, &y, &indices, NULL),
                   "y overlaps the output indices");
    indices.memory = o[POOL_X].view.memory;
    assert_invalid(tenon_pool_forward(test_stream, &sound, &o[POOL_X].view, &y, &indices, NULL),
                   "x overlaps the output indices");
    indices = o[POOL_INDICES].view;
    indices.stride[1] = 0;
    assert_invalid(tenon_pool_forward(test_stream, &sound, &o[POOL_X].view, &y, &indices, NULL),
                   "indices");
    y.memory = o[POOL_X].view.memory;
    assert_invalid(tenon_pool_forward(test_stream, &sound, &o[POOL_X].view, &y, NULL, NULL),
                   "x overlaps the output y");
    tenon_tensor dx = o[DX].view;
    dx.memory = o[POOL_X].view.memory;
    assert_invalid(
        tenon_pool_backward(test_stream, &sound, &o[POOL_X].view, &o[POOL_Y].view, NULL, &dx, NULL),
        "x overlaps the output dx");
    assert_untouched(&o[POOL_X]);
    assert_untouched(&o[POOL_Y]);
    pool_dismiss(&pair);
}
