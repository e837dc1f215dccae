#include "support.h"

tenon_context *test_new_context(const tenon_context_params *params)
{
    tenon_context *context;
    assert_ok(tenon_context_create(params, &context));
    return context;
}

tenon_stream *test_new_stream(tenon_context *context)
{
    tenon_stream *stream;
    assert_ok(tenon_stream_create(context, NULL, &stream));
    return stream;
}

tenon_statistics test_statistics(tenon_context *context)
{
    tenon_statistics statistics = TENON_STATISTICS_INIT;
    assert_ok(tenon_context_statistics(context, &statistics));
    return statistics;
}

cl_event test_gate(tenon_context *context)
{
    cl_int error;
    cl_event gate = clCreateUserEvent(tenon_context_cl(context), &error);
    assert_int_equal(error, CL_SUCCESS);
    return gate;
}

bool test_is_over(cl_event event)
{
    cl_int status = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status <= CL_COMPLETE;
}

static size_t size_of(const tenon_tensor *tensor)
{
    return (size_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
}

tenon_tensor test_dense(tenon_dtype dtype, uint32_t rank, const int64_t *shape, const void *data)
{
    tenon_tensor tensor;
    assert_ok(tenon_tensor_create(test_context, dtype, rank, shape, &tensor));
    if (data != NULL)
        assert_ok(tenon_tensor_upload(test_stream, data, size_of(&tensor), &tensor, NULL));
    return tensor;
}

void test_read(const tenon_tensor *tensor, void *data)
{
    assert_ok(tenon_tensor_download(test_stream, tensor, data, size_of(tensor), NULL));
}

void test_destroy_all(tenon_tensor *const *tensors)
{
    for (; *tensors != NULL; tensors++)
        tenon_memory_destroy(&(*tensors)->memory);
}
