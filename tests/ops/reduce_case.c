#include "reduce_case.h"
#include "ops/registry.h"

static const char *describe(const void *user)
{
    static char text[1024];
    const reduce_data *data = user;
    const reduce_case *p = &data->problem;
    char shape[160], strides[160];
    snprintf(text, sizeof text,
             "%s kind %u%s, axes %#x of %s, strides %s, correction %u, y %s %s%s",
             tenon_dtype_string(data->dtype), p->kind, p->moments ? " with means" : "", p->axes,
             tn_shape_text(p->rank, p->shape, shape), tn_shape_text(p->rank, p->stride, strides),
             p->correction, test_layout_string(p->y_layout), p->keeps ? "keeps axes" : "",
             p->wide ? " wide" : "");
    return text;
}

tenon_reduce_params reduce_params(const reduce_case *p)
{
    tenon_reduce_params params = TENON_REDUCE_PARAMS_INIT;
    params.kind = p->kind;
    params.correction = p->correction;
    for (uint32_t d = p->rank; d-- > 0;) /* in no special order, some from the end */
        if ((p->axes >> d & 1) != 0)
            params.axes[params.axis_count++] = (int32_t)d - (d % 2 == 0 ? (int32_t)p->rank : 0);
    return params;
}

static tenon_status call(const void *user, const char *solver)
{
    const reduce_data *data = user;
    tenon_reduce_params params = reduce_params(&data->problem);
    const test_tensor *v = data->operands;
    params.solver = solver;
    return data->problem.moments
               ? test_call(&tn_operation_moments, &params, &v[0].view, &v[1].view, &v[2].view)
               : test_call(&tn_operation_reduce, &params, &v[0].view, &v[1].view);
}

static tenon_dtype result_type(const reduce_case *p, tenon_dtype dtype)
{
    if (p->kind == TENON_REDUCE_ARGMAX || p->kind == TENON_REDUCE_ARGMIN)
        return TENON_DTYPE_I32;
    return p->wide && tenon_dtype_size(dtype) == 2 ? TENON_DTYPE_F32 : dtype;
}

static void make_result(reduce_data *data, uint32_t i)
{
    const reduce_case *p = &data->problem;
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < p->rank; d++) {
        bool reduced = p->axes == 0 || (p->axes >> d & 1) != 0;
        if (!reduced || p->keeps)
            shape[rank++] = reduced ? 1 : p->shape[d];
    }
    test_strides(p->y_layout, false, rank, shape, stride);
    test_tensor_create(&data->operands[i], result_type(p, data->dtype), rank, shape, stride,
                       p->offset);
}

void reduce_make(reduce_data *data, const reduce_case *p, tenon_dtype dtype, test_random *random)
{
    *data = (reduce_data){.problem = *p, .dtype = dtype, .count = p->moments ? 3 : 2};
    test_tensor_create(&data->operands[0], dtype, p->rank, p->shape, p->stride, p->offset);
    test_fill(&data->operands[0], p->judge, random);
    for (uint32_t i = 1; i < data->count; i++)
        make_result(data, i);
}

void reduce_run(reduce_data *data, bool automatic)
{
    tenon_reduce_params params = reduce_params(&data->problem);
    const test_tensor *y = &data->operands[data->count - 1];
    const int64_t count = tenon_tensor_elements(&y->view);
    const bool moments = data->problem.moments;
    const tenon_tensor *host[MOMENTS_OPERANDS];
    data->expected = calloc(2 * (size_t)count + 1, sizeof *data->expected);
    assert_non_null(data->expected);
    for (uint32_t i = 0; i < data->count; i++)
        host[i] = &data->operands[i].host;
    assert_true(
        (moments ? tn_moments_reference : tn_reduce_reference)(&params, host, data->expected));
    const test_subject subject = {.family = &tn_reduce_family,
                                  .call = call,
                                  .describe = describe,
                                  .data = data,
                                  .operands = data->operands,
                                  .operand_count = data->count,
                                  .expected = data->expected,
                                  .judge = data->problem.judge,
                                  .outputs = data->count - 1};
    if (automatic) {
        test_upload(&data->operands[0]);
        test_run(&subject, NULL);
    } else {
        test_run_all(&subject);
    }
    for (uint32_t i = 0; i < data->count; i++)
        test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

void reduce_check(const reduce_case *p, tenon_dtype dtype, test_random *random)
{
    reduce_data data;
    reduce_make(&data, p, dtype, random);
    reduce_run(&data, false);
}
