#include "pool_case.h"
#include "ops/registry.h"

static const char *describe(const void *user)
{
    static char text[1024];
    const pool_data *data = user;
    const pool_case *p = &data->problem;
    const tenon_pool_params *q = &p->params;
    const tenon_conv_geometry *g = &q->geometry;
    char x[160], y[160], w[160], s[160], d[160], b[160], e[160];
    uint32_t n = p->rank - 2;
    snprintf(text, sizeof text,
             "%s kind %u flags %u, x %s y %s, window %s stride %s dilation %s padding %s + %s, "
             "layouts %d %d%s",
             tenon_dtype_string(data->dtype), q->kind, q->flags, tn_shape_text(p->rank, p->x, x),
             tn_shape_text(p->rank, data->y.view.shape, y), tn_shape_text(n, q->window, w),
             tn_shape_text(n, g->stride, s), tn_shape_text(n, g->dilation, d),
             tn_shape_text(n, g->pad_begin, b), tn_shape_text(n, g->pad_end, e), p->x_layout,
             p->y_layout, p->no_indices ? ", no indices" : "");
    return text;
}

static tenon_status call_forward(const void *user, const char *solver)
{
    const pool_data *data = user;
    tenon_pool_params params = data->problem.params;
    params.solver = solver;
    return test_call(&tn_operation_pool, &params, &data->x.view, &data->y.view,
                     data->indexed ? &data->indices.view : NULL);
}

static tenon_status call_backward(const void *user, const char *solver)
{
    const pool_data *data = user;
    tenon_pool_params params = data->problem.params;
    params.solver = solver;
    return test_call(&tn_operation_pool_backward, &params, data->indexed ? NULL : &data->x.view,
                     &data->y.view, data->indexed ? &data->indices.view : NULL, &data->dx.view);
}

static void strides(pool_layout layout, uint32_t rank, const int64_t *shape, int64_t *stride)
{
    int64_t step = layout == NHWC ? shape[1] + (shape[1] == 0) : 1;
    if (layout == GAPS) {
        test_strides(TEST_STRIDED, true, rank, shape, stride);
        return;
    }
    for (uint32_t d = rank; d-- > 2;) {
        stride[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    stride[1] = layout == NHWC ? 1 : step;
    stride[0] = layout == NHWC ? step : step * (shape[1] + (shape[1] == 0));
}

void pool_make(pool_data *data, const pool_case *p, tenon_dtype dtype)
{
    int64_t y[POOL_RANK] = {p->x[0], p->x[1]}, x_stride[POOL_RANK], y_stride[POOL_RANK],
            index_stride[POOL_RANK];
    memset(data, 0, sizeof *data);
    data->problem = *p;
    data->dtype = dtype;
    for (uint32_t d = 2; d < p->rank; d++)
        y[d] = p->params.flags != 0 ? 1
                                    : tenon_conv_output_size(&p->params.geometry, d - 2, p->x[d],
                                                             p->params.window[d - 2]);
    strides(p->x_layout, p->rank, p->x, x_stride);
    strides(p->y_layout, p->rank, y, y_stride);
    strides(p->y_layout == GAPS ? NCHW : p->y_layout, p->rank, y, index_stride);
    test_tensor_create(&data->x, dtype, p->rank, p->x, x_stride, 3);
    test_tensor_create(&data->dx, dtype, p->rank, p->x, x_stride, 1);
    test_tensor_create(&data->y, dtype, p->rank, y, y_stride, 2);
    test_tensor_create(&data->indices, TENON_DTYPE_I32, p->rank, y, index_stride, 5);
    data->indexed = p->params.kind == TENON_POOL_MAX && !p->no_indices;
    const size_t x_count = (size_t)tenon_tensor_elements(&data->x.view),
                 y_count = (size_t)tenon_tensor_elements(&data->y.view),
                 most = (x_count > 2 * y_count ? x_count : 2 * y_count) + 1;
    data->expected = malloc(most * sizeof *data->expected);
    data->places = malloc(most * sizeof *data->places);
    assert_true(data->expected != NULL && data->places != NULL);
}

void pool_dismiss(pool_data *data)
{
    test_tensor_destroy(&data->x);
    test_tensor_destroy(&data->dx);
    test_tensor_destroy(&data->y);
    test_tensor_destroy(&data->indices);
    free(data->expected);
    free(data->places);
}

void pool_expect(pool_data *data)
{
    const tenon_tensor *const views[] = {&data->x.host, &data->y.host,
                                         data->indexed ? &data->indices.host : NULL};
    const int64_t count = tenon_tensor_elements(&data->y.view);
    assert_true(tn_operation_pool.reference(&data->problem.params, views, data->expected));
    for (int64_t i = 0; i < count && data->indexed; i++)
        data->places[i] = (int64_t)data->expected[count + i].value;
}

void pool_run_forward(pool_data *data, test_judge judge)
{
    const test_tensor operands[] = {data->x, data->y,
                                    data->indexed ? data->indices : (test_tensor){.image = NULL}};
    const test_subject subject = {.family = &tn_pool_family,
                                  .call = call_forward,
                                  .describe = describe,
                                  .data = data,
                                  .operands = operands,
                                  .operand_count = POOL_OPERANDS,
                                  .expected = data->expected,
                                  .judge = judge,
                                  .outputs = 2};
    pool_expect(data);
    test_run_all(&subject);
}

void pool_run_backward(pool_data *data, test_judge judge, test_random *random)
{
    const tenon_tensor *const views[] = {
        &data->x.host, &data->y.host, data->indexed ? &data->indices.host : NULL, &data->dx.host};
    test_fill(&data->y, judge, random);
    for (int64_t i = 0; i < tenon_tensor_elements(&data->indices.view) && data->indexed; i++)
        test_set(&data->indices, i, (double)data->places[i]);
    assert_true(tn_operation_pool_backward.reference(&data->problem.params, views, data->expected));
    const test_tensor operands[] = {data->x, data->y, data->indices, data->dx};
    const test_subject subject = {
        &tn_pool_backward_family, call_backward, describe, data, operands, 4,
        data->expected,           judge};
    test_run_all(&subject);
}

void pool_check_type(const pool_case *p, tenon_dtype dtype, test_judge judge, test_random *random)
{
    pool_data data;
    pool_make(&data, p, dtype);
    test_fill(&data.x, judge, random);
    pool_run_forward(&data, judge);
    pool_run_backward(&data, judge, random);
    pool_dismiss(&data);
}

void pool_check(const pool_case *p, test_judge judge, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        pool_check_type(p, *type, judge, random);
}

pool_case pool_plain(uint32_t rank, int64_t n, int64_t c, int64_t size, int64_t window)
{
    pool_case p = {.rank = rank, .x = {n, c}, .params = TENON_POOL_PARAMS_INIT};
    for (uint32_t d = 2; d < rank; d++) {
        p.x[d] = size + (int64_t)d;
        p.params.window[d - 2] = window;
    }
    return p;
}
