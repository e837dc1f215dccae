#include "parallel_case.h"

#include "base/dtype.h"

void parallel_draw(parallel_shapes *s, tenon_dtype dtype, test_random *random)
{
    static const int64_t sizes[] = {0, 1, 3, 7, 16, 33};
    s->count = (uint32_t)test_between(random, 1, PARALLEL_MOST);
    s->starts[0] = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t rank = (uint32_t)test_between(random, 0, 2);
        const int64_t shape[] = {sizes[test_between(random, 0, 5)],
                                 sizes[test_between(random, 0, 5)]};
        s->views[i] = tenon_tensor_view(dtype, rank, shape);
        s->starts[i + 1] = s->starts[i] + tenon_tensor_elements(&s->views[i]);
    }
    assert_true(s->starts[s->count] <= PARALLEL_ROOM);
}

tenon_dtype parallel_draw_type(test_random *random)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F32, TENON_DTYPE_F16,
                                        TENON_DTYPE_BF16, TENON_DTYPE_F64};
    tenon_dtype dtype;
    do
        dtype = types[test_between(random, 0, 4)];
    while (dtype == TENON_DTYPE_F64 && !test_has(TENON_CAPABILITY_F64));
    return dtype;
}

static size_t size_of(const parallel_shapes *s)
{
    return tenon_dtype_size(s->views[0].dtype);
}

void parallel_values(const parallel_shapes *s, test_random *random, void *values)
{
    for (int64_t i = 0; i < s->starts[s->count]; i++)
        tn_dtype_store(s->views[0].dtype, (char *)values + (size_t)i * size_of(s),
                       test_real(random, -2, 2));
}

static size_t bytes_of(const parallel_shapes *s, uint32_t i)
{
    return (size_t)(s->starts[i + 1] - s->starts[i]) * size_of(s);
}

tenon_status parallel_upload(tenon_stream *stream, const parallel_shapes *s,
                             const tenon_tensor *tensors, const void *values)
{
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < s->count && status == TENON_OK; i++)
        status =
            tenon_tensor_upload(stream, (const char *)values + (size_t)s->starts[i] * size_of(s),
                                bytes_of(s, i), &tensors[i], NULL);
    return status;
}

tenon_status parallel_download(tenon_stream *stream, const parallel_shapes *s,
                               const tenon_tensor *tensors, void *values)
{
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < s->count && status == TENON_OK; i++)
        status = tenon_tensor_download(stream, &tensors[i],
                                       (char *)values + (size_t)s->starts[i] * size_of(s),
                                       bytes_of(s, i), NULL);
    return status;
}

void parallel_add(const parallel_shapes *s, uint32_t members, const void *const *values, void *sum)
{
    const tenon_dtype dtype = s->views[0].dtype;
    for (int64_t i = 0; i < s->starts[s->count]; i++) {
        const size_t at = (size_t)i * size_of(s);
        double total = tn_dtype_load(dtype, (const char *)values[0] + at);
        for (uint32_t m = 1; m < members; m++) {
            total += tn_dtype_load(dtype, (const char *)values[m] + at);
            total = dtype == TENON_DTYPE_F64 ? total : (double)(float)total;
        }
        tn_dtype_store(dtype, (char *)sum + at, total);
    }
}

static void make(parallel_alone *a, tenon_dtype dtype, tenon_tensor *tensors)
{
    for (uint32_t i = 0; i < a->s->count; i++) {
        const tenon_tensor *view = &a->s->views[i];
        assert_ok(tenon_tensor_create(test_context, dtype, view->rank, view->shape, &tensors[i]));
        assert_ok(tenon_tensor_fill(a->stream, &tensors[i], 0, NULL));
    }
}

void parallel_alone_open(parallel_alone *a, const parallel_shapes *s, const void *values)
{
    const tenon_dtype dtype = s->views[0].dtype;
    const tenon_dtype moments = dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
    memset(a, 0, sizeof *a);
    a->s = s;
    assert_ok(tenon_stream_create(test_context, NULL, &a->stream));
    make(a, dtype, a->values);
    make(a, dtype, a->gradients);
    make(a, moments, a->firsts);
    make(a, moments, a->seconds);
    assert_ok(parallel_upload(a->stream, s, a->values, values));
}

void parallel_alone_step(parallel_alone *a, const tenon_adam_params *params, uint32_t members,
                         const void *const *gradients)
{
    static double sum[PARALLEL_ROOM];
    parallel_add(a->s, members, gradients, sum);
    assert_ok(parallel_upload(a->stream, a->s, a->gradients, sum));
    for (uint32_t i = 0; i < a->s->count; i++)
        assert_ok(tenon_adam(a->stream, params, &a->gradients[i], &a->values[i], &a->firsts[i],
                             &a->seconds[i], NULL, NULL));
}

void parallel_alone_close(parallel_alone *a)
{
    for (uint32_t i = 0; i < a->s->count; i++) {
        tenon_tensor_destroy(&a->values[i]);
        tenon_tensor_destroy(&a->gradients[i]);
        tenon_tensor_destroy(&a->firsts[i]);
        tenon_tensor_destroy(&a->seconds[i]);
    }
    tenon_stream_destroy(a->stream);
}
