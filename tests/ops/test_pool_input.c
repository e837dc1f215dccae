/* Pooling: what is refused beyond what every operation refuses. */
#include "pool_case.h"

static void refuse(const pool_data *data, const tenon_pool_params *params,
                   const tenon_tensor *indices, tenon_status status, const char *argument)
{
    assert_refused(
        tenon_pool_forward(test_stream, params, &data->x.view, &data->y.view, indices, NULL),
        status, "tenon_pool_forward", argument);
    assert_untouched(&data->y);
    assert_untouched(&data->indices);
    assert_refused(tenon_pool_backward(test_stream, params, &data->x.view, &data->y.view, indices,
                                       &data->dx.view, NULL),
                   status, "tenon_pool_backward", argument);
    assert_untouched(&data->dx);
}

/* Geometries that leave a window nothing to look at, or no place. */
static void bad_geometries(void **state)
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
                 {2, 1, 8, 1, 1, "padding 1 + 1"}, /* both taps miss the image between them */
                 {2, 1, 1, 1, 0, "shape"}};
    pool_case p = pool_plain(4, 1, 2, 4, 2);
    pool_data data;
    (void)state;
    pool_make(&data, &p, TENON_DTYPE_F32);
    test_upload(&data.y);
    test_upload(&data.dx);
    test_upload(&data.indices);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_pool_params params = p.params;
        params.window[1] = cases[i].window;
        params.geometry.stride[1] = cases[i].stride;
        params.geometry.dilation[1] = cases[i].dilation;
        params.geometry.pad_begin[1] = cases[i].begin;
        params.geometry.pad_end[1] = cases[i].end;
        refuse(&data, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, cases[i].argument);
    }
    tenon_pool_params params = p.params;
    params.kind = 3;
    refuse(&data, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, "kind is 3");
    params = p.params;
    params.reserved = 1;
    refuse(&data, &params, NULL, TENON_ERROR_INVALID_ARGUMENT, "reserved");
    pool_dismiss(&data);
}

static void bad_indices(void **state)
{
    pool_case p = pool_plain(4, 1, 2, 4, 2);
    pool_data data;
    (void)state;
    pool_make(&data, &p, TENON_DTYPE_F32);
    test_upload(&data.y);
    test_upload(&data.dx);
    test_upload(&data.indices);
    tenon_tensor indices = data.indices.view;
    indices.dtype = TENON_DTYPE_I8;
    refuse(&data, &p.params, &indices, TENON_ERROR_UNSUPPORTED, "indices: type is i8");
    indices = data.indices.view;
    indices.shape[3]--;
    refuse(&data, &p.params, &indices, TENON_ERROR_INVALID_ARGUMENT, "indices");
    tenon_pool_params params = p.params;
    params.kind = TENON_POOL_AVERAGE;
    refuse(&data, &params, &data.indices.view, TENON_ERROR_INVALID_ARGUMENT, "indices");
    assert_refused(
        tenon_pool_backward(test_stream, NULL, NULL, &data.y.view, NULL, &data.dx.view, NULL),
        TENON_ERROR_INVALID_ARGUMENT, "tenon_pool_backward", "indices");
    const int64_t huge[] = {1, 1, 65536, 32769}, one[] = {1, 1, 1, 1};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 4, huge),
                       y = tenon_tensor_view(TENON_DTYPE_F32, 4, one);
    indices = tenon_tensor_view(TENON_DTYPE_I32, 4, one);
    params = p.params;
    params.flags = TENON_POOL_GLOBAL;
    tenon_plan *plan;
    assert_refused(tenon_pool_forward_plan(test_context, &params, &x, &y, &indices, &plan),
                   TENON_ERROR_UNSUPPORTED, "tenon_pool_forward_plan", "indices: i32");
    pool_dismiss(&data);
}

/* Neither output may overlap anything. */
static void bad_memory(void **state)
{
    pool_case p = pool_plain(4, 1, 2, 4, 2);
    pool_data data;
    (void)state;
    pool_make(&data, &p, TENON_DTYPE_F32);
    test_upload(&data.x);
    test_upload(&data.y);
    tenon_tensor y = data.y.view, indices = data.indices.view;
    indices.memory = data.y.view.memory;
    assert_refused(tenon_pool_forward(test_stream, &p.params, &data.x.view, &y, &indices, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_pool_forward",
                   "y overlaps the output indices");
    indices.memory = data.x.view.memory;
    assert_refused(tenon_pool_forward(test_stream, &p.params, &data.x.view, &y, &indices, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_pool_forward",
                   "x overlaps the output indices");
    indices = data.indices.view;
    indices.stride[1] = 0;
    assert_refused(tenon_pool_forward(test_stream, &p.params, &data.x.view, &y, &indices, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_pool_forward", "indices");
    y.memory = data.x.view.memory;
    assert_refused(tenon_pool_forward(test_stream, &p.params, &data.x.view, &y, NULL, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_pool_forward", "x overlaps the output y");
    tenon_tensor dx = data.dx.view;
    dx.memory = data.x.view.memory;
    assert_refused(
        tenon_pool_backward(test_stream, &p.params, &data.x.view, &data.y.view, NULL, &dx, NULL),
        TENON_ERROR_INVALID_ARGUMENT, "tenon_pool_backward", "x overlaps the output dx");
    assert_untouched(&data.x);
    assert_untouched(&data.y);
    pool_dismiss(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_geometries),
        cmocka_unit_test(bad_indices),
        cmocka_unit_test(bad_memory),
    };
    return TEST_MAIN(tests);
}
