/* Tests memory, transfers and workspace. */
#include "runtime.h"

#include "runtime/queue/launch.h"

TEST(memory_of_wrong_sizes)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    tenon_memory memory = {.kind = 7};
    tenon_tensor tensor;
    char largest[32];
    const int64_t huge[] = {INT64_MAX / 16}, negative[] = {-1};
    assert_ok(tenon_context_device(test_context, &info));
    snprintf(largest, sizeof largest, "%llu", (unsigned long long)info.max_allocation);
    assert_refused(tenon_memory_create(test_context, info.max_allocation + 1, &memory),
                   TENON_ERROR_OUT_OF_MEMORY, "tenon_memory_create", largest);
    assert_refused(tenon_memory_create(test_context, UINT64_MAX, &memory),
                   TENON_ERROR_OUT_OF_MEMORY, "tenon_memory_create", largest);
    assert_int_equal(memory.kind, 7);
    assert_refused(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, huge, &tensor),
                   TENON_ERROR_OUT_OF_MEMORY, "tenon_tensor_create", largest);
    assert_invalid(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, negative, &tensor),
                   "shape -1");
    assert_invalid(tenon_tensor_create(test_context, TENON_DTYPE_INVALID, 1, huge, &tensor),
                   "dtype");
    assert_invalid(tenon_memory_create(NULL, 4, &memory), "context");
    assert_invalid(tenon_memory_create(test_context, 4, NULL), "memory");
    assert_ok(tenon_memory_create(test_context, 0, &memory));
    assert_int_equal(memory.kind, TENON_MEMORY_NONE);
    tenon_memory_destroy(&memory);
    tenon_memory_destroy(NULL);
}

TEST(transfers_of_wrong_sizes)
{
    float data[4] = {0};
    void *pointer = data;
    tenon_tensor x = make_tensor(test_context, 4), repeated = x;
    repeated.stride[0] = 0;
    assert_invalid(tenon_tensor_upload(test_stream, data, 12, &x, NULL), "12");
    assert_invalid(tenon_tensor_download(test_stream, &x, data, 20, NULL), "20");
    assert_invalid(tenon_tensor_upload(test_stream, NULL, 16, &x, NULL), "data");
    assert_invalid(tenon_tensor_upload(test_stream, data, 16, &repeated, NULL), "tensor");
    assert_invalid(tenon_tensor_fill(test_stream, &repeated, 1, NULL), "tensor");
    assert_invalid(tenon_tensor_fill(NULL, &x, 1, NULL), "stream");
    for (uint32_t flags = 0; flags < 10; flags++) {
        bool sound = (flags >= 1 && flags <= 3) || flags == 6;
        if (!sound)
            assert_invalid(tenon_tensor_map(test_stream, &x, flags, &pointer, NULL), "flags");
    }
    assert_invalid(tenon_tensor_map(test_stream, &x, TENON_MAP_READ, NULL, NULL), "pointer");
    assert_invalid(tenon_tensor_unmap(test_stream, &x, NULL, NULL), "pointer");
    tenon_memory_destroy(&x.memory);
}

/* Uploads and downloads in every layout and type: the data is unchanged, and so are gaps. */
TEST(strided_transfers)
{
    static const tenon_dtype types[] = {TENON_DTYPE_U8, TENON_DTYPE_BF16, TENON_DTYPE_F32,
                                        TENON_DTYPE_F64};
    test_random random = test_random_for(701);
    unsigned char sent[3 * 4 * 5 * 8], got[sizeof sent];
    for (int i = 0; i < TEST_LAYOUTS * 8; i++) {
        const int64_t shape[] = {3, 4, 5};
        int64_t stride[3];
        test_tensor t;
        test_strides((test_layout)(i / 8), i % 2 == 1, 3, shape, stride);
        test_tensor_create(&t, types[i / 2 % 4], 3, shape, stride, i % 3);
        test_upload(&t);
        size_t bytes = 60 * tenon_dtype_size(t.view.dtype);
        for (size_t b = 0; b < bytes; b++)
            sent[b] = (unsigned char)test_next(&random);
        assert_ok(tenon_tensor_upload(test_stream, sent, bytes, &t.view, NULL));
        assert_ok(tenon_tensor_download(test_stream, &t.view, got, bytes, NULL));
        assert_memory_equal(got, sent, bytes);
        unsigned char *bits = test_download_bits(&t);
        assert_memory_equal(bits, sent, bytes);
        free(bits);
        test_tensor_destroy(&t);
    }
}

/* Fills tensors of every type and layout with several values; gaps and guard zones are unchanged.
 */
TEST(fills)
{
    static const double values[] = {0, 1, -2.5, 300, 1e300, -0.0};
    char why[256];
    for (tenon_dtype type = TENON_DTYPE_F64; type != TENON_DTYPE_INVALID;
         type = test_next_moved_type(type))
        for (int layout = 0; layout < TEST_LAYOUTS; layout++) {
            const int64_t shape[] = {4, 7};
            int64_t stride[2];
            test_tensor t;
            tn_bounded expected[28];
            double value = values[(type + layout) % 6];
            test_strides((test_layout)layout, false, 2, shape, stride);
            test_tensor_create(&t, type, 2, shape, stride, 1);
            test_upload(&t);
            assert_ok(tenon_tensor_fill(test_stream, &t.view, value, NULL));
            test_tensor model = t;
            model.image = malloc((size_t)t.bytes);
            assert_non_null(model.image);
            memcpy(model.image, t.image, (size_t)t.bytes);
            test_fill_value(&model, value);
            for (int i = 0; i < 28; i++)
                expected[i] = (tn_bounded){test_get(&model, i), 0};
            if (!test_result(&t, expected, TEST_EXACT, why))
                fail_msg("%s of %g, %s: %s", tenon_dtype_string(type), value,
                         test_layout_string((test_layout)layout), why);
            free(model.image);
            test_tensor_destroy(&t);
        }
}

TEST(mapping)
{
    const int64_t shape[] = {2, 3}, stride[] = {5, 1};
    test_tensor t;
    float *pointer;
    test_tensor_create(&t, TENON_DTYPE_F32, 2, shape, stride, 2);
    test_fill_value(&t, 7);
    test_upload(&t);
    assert_ok(tenon_tensor_map(test_stream, &t.view, TENON_MAP_READ | TENON_MAP_WRITE,
                               (void **)&pointer, NULL));
    assert_true(pointer[0] == 7 && pointer[7] == 7);
    pointer[6] = 8;
    assert_ok(tenon_tensor_unmap(test_stream, &t.view, pointer, NULL));
    double *values = test_download(&t);
    assert_true(values[4] == 8 && values[3] == 7);
    free(values);
    test_tensor_destroy(&t);
    tenon_tensor none = make_tensor(test_context, 0);
    assert_ok(tenon_tensor_map(test_stream, &none, TENON_MAP_READ, (void **)&pointer, NULL));
    assert_null(pointer);
    assert_ok(tenon_tensor_unmap(test_stream, &none, NULL, NULL));
}

TEST(wrapped_host_memory)
{
    static _Alignas(4096) float host[1024];
    tenon_memory memory;
    float *pointer;
    for (int i = 0; i < 1024; i++)
        host[i] = (float)(i - 500);
    assert_ok(tenon_memory_wrap(test_context, host, sizeof host, &memory));
    const int64_t shape[] = {1024};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    x.memory = memory;
    assert_ok(relu(test_stream, &x, &x, NULL));
    assert_ok(tenon_tensor_map(test_stream, &x, TENON_MAP_READ, (void **)&pointer, NULL));
    for (int i = 0; i < 1024; i++)
        assert_true(pointer[i] == (float)(i > 500 ? i - 500 : 0));
    assert_ok(tenon_tensor_unmap(test_stream, &x, pointer, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    tenon_memory_destroy(&memory);
    assert_invalid(tenon_memory_wrap(test_context, NULL, 4, &memory), "host");
    assert_invalid(tenon_memory_wrap(test_context, host, 0, &memory), "bytes");
}

/* Returns a plan that requires workspace. */
static tenon_plan *plan_with_workspace(tenon_memory memories[5])
{
    const int64_t x[] = {1, 4, 12, 12}, w[] = {8, 4, 3, 3}, y[] = {1, 8, 10, 10};
    tenon_tensor views[3];
    tenon_plan *plan = NULL;
    tenon_conv_params params = tenon_conv_params(.solver = "conv/im2col_gemm");
    memset(memories, 0, 5 * sizeof *memories);
    views[0] = test_dense(TENON_DTYPE_F32, 4, x, NULL);
    views[1] = test_dense(TENON_DTYPE_F32, 4, w, NULL);
    views[2] = test_dense(TENON_DTYPE_F32, 4, y, NULL);
    memories[0] = views[0].memory;
    memories[1] = views[1].memory;
    memories[4] = views[2].memory;
    assert_ok(tenon_conv_forward_plan(test_context, &params, &views[0], &views[1], NULL, NULL,
                                      &views[2], &plan));
    assert_true(tenon_plan_workspace(plan) > 0);
    return plan;
}

static void destroy_memories(tenon_memory memories[5])
{
    for (int i = 0; i < 5; i++)
        tenon_memory_destroy(&memories[i]);
}

TEST(workspace_of_the_caller)
{
    tenon_memory memories[5], workspace;
    tenon_plan *plan = plan_with_workspace(memories);
    uint64_t needed = tenon_plan_workspace(plan);
    char bytes[32];
    tenon_stream *stream = test_new_stream(test_context);
    assert_ok(tenon_memory_create(test_context, needed + 128, &workspace));
    assert_ok(tenon_stream_set_workspace(stream, &workspace, 128, needed));
    assert_ok(tenon_plan_run(stream, plan, memories, 5, NULL));
    assert_ok(tenon_stream_finish(stream));
    assert_ok(tenon_stream_set_workspace(stream, &workspace, 0, needed - 1));
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)needed);
    assert_refused(tenon_plan_run(stream, plan, memories, 5, NULL), TENON_ERROR_WORKSPACE_TOO_SMALL,
                   "tenon_conv_forward_plan", bytes);
    assert_ok(tenon_stream_set_workspace(stream, NULL, 0, 0));
    assert_ok(tenon_plan_run(stream, plan, memories, 5, NULL));
    assert_invalid(tenon_stream_set_workspace(stream, &workspace, 64, 64), "offset");
    assert_invalid(tenon_stream_set_workspace(stream, &workspace, 0, needed + 129), "memory");
    assert_invalid(tenon_stream_set_workspace(stream, &workspace, 0, UINT64_MAX), "bytes");
    tenon_memory marked = workspace;
    marked.reserved = 1;
    assert_invalid(tenon_stream_set_workspace(stream, &marked, 0, 128),
                   "memory: reserved is 1, must be 0");
    assert_invalid(tenon_stream_set_workspace(NULL, NULL, 0, 0), "stream");
    assert_ok(tenon_stream_finish(stream));
    tenon_stream_destroy(stream);
    tenon_memory_destroy(&workspace);
    destroy_memories(memories);
    tenon_plan_release(plan);
}

TEST(workspace_within_its_limit)
{
    tenon_context *context = test_context_with(.workspace_limit = 1000);
    tenon_stream *stream = test_new_stream(context);
    assert_ok(tenon_stream_reserve_workspace(stream, 1000));
    assert_refused(tenon_stream_reserve_workspace(stream, 1001), TENON_ERROR_WORKSPACE_TOO_SMALL,
                   "tenon_stream_reserve_workspace", "1001");
    assert_invalid(tenon_stream_reserve_workspace(NULL, 1), "stream");
    /* A forced solver that requires more is refused; the automatic choice selects another. */
    const int64_t x_shape[] = {1, 4, 12, 12}, w_shape[] = {8, 4, 3, 3}, y_shape[] = {1, 8, 10, 10};
    tenon_tensor x, w, y;
    tenon_conv_params conv = TENON_CONV_PARAMS_INIT;
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 4, x_shape, &x));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 4, w_shape, &w));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 4, y_shape, &y));
    assert_ok(tenon_conv_forward(stream, &conv, &x, &w, NULL, NULL, &y, NULL));
    conv.solver = "conv/im2col_gemm";
    assert_ok(tenon_stream_set_workspace(stream, NULL, 0, 0));
    tenon_status status = tenon_conv_forward(stream, &conv, &x, &w, NULL, NULL, &y, NULL);
    if (status != TENON_OK) /* it may use blocks that are small enough */
        assert_refused(status, TENON_ERROR_WORKSPACE_TOO_SMALL, "tenon_conv_forward", "1000");
    assert_ok(tenon_stream_finish(stream));
    test_destroy(&x, &w, &y);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

TEST(buffers_of_the_application)
{
    static const float data[] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[] = {2, 3}, negative[] = {-1}, huge[] = {INT64_MAX / 8, 8};
    const tenon_dtype f32 = TENON_DTYPE_F32;
    tenon_tensor tensor = {.rank = 7};
    float all[10] = {0};
    cl_int error;
    cl_mem buffer =
        clCreateBuffer(tenon_context_cl(test_context), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       sizeof all, all, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_invalid(tenon_tensor_from_buffer(NULL, 0, f32, 2, shape, &tensor), "buffer");
    assert_invalid(tenon_tensor_from_buffer(buffer, 0, f32, 2, shape, NULL), "tensor");
    assert_invalid(tenon_tensor_from_buffer(buffer, 0, TENON_DTYPE_INVALID, 2, shape, &tensor),
                   "dtype is 0");
    assert_invalid(tenon_tensor_from_buffer(buffer, 2, f32, 2, shape, &tensor),
                   "offset is 2 bytes");
    assert_invalid(tenon_tensor_from_buffer(buffer, 20, f32, 2, shape, &tensor),
                   "ends at byte 44 of a buffer of 40");
    assert_invalid(tenon_tensor_from_buffer(buffer, 0, f32, 1, negative, &tensor), "shape -1");
    assert_invalid(tenon_tensor_from_buffer(buffer, 0, f32, 2, huge, &tensor), "overflow");
    assert_invalid(tenon_tensor_from_buffer(buffer, 0, f32, 9, shape, &tensor), "9");
    assert_int_equal(tensor.rank, 7);
    assert_ok(tenon_tensor_from_buffer(buffer, 16, f32, 2, shape, &tensor));
    assert_ok(tenon_tensor_upload(test_stream, data, sizeof data, &tensor, NULL));
    assert_int_equal(clEnqueueReadBuffer(tenon_stream_cl(test_stream), buffer, CL_TRUE, 0,
                                         sizeof all, all, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_true(all[3] == 0);
    assert_memory_equal(all + 4, data, sizeof data);
    clReleaseMemObject(buffer);
}

TEST(shared_memory_of_the_application)
{
    const int64_t shape[] = {2, 3};
    tenon_tensor tensor = {.rank = 7};
    float host[8];
    assert_invalid(tenon_tensor_from_svm(NULL, 0, TENON_DTYPE_F32, 2, shape, &tensor), "svm");
    assert_invalid(tenon_tensor_from_svm(host, 0, TENON_DTYPE_F32, 2, shape, NULL), "tensor");
    assert_invalid(tenon_tensor_from_svm(host, 3, TENON_DTYPE_F32, 2, shape, &tensor),
                   "offset is 3 bytes");
    assert_int_equal(tensor.rank, 7);
    assert_ok(tenon_tensor_from_svm(host, 8, TENON_DTYPE_F32, 2, shape, &tensor));
    assert_int_equal(tensor.memory.kind, TENON_MEMORY_SVM);
    assert_ptr_equal(tensor.memory.u.svm, host);
    assert_int_equal(tensor.offset, 8);
    assert_int_equal(tensor.stride[0], 3);
}

TEST(tensors_are_checked_and_given_back)
{
    const int64_t shape[] = {2, 3};
    tenon_tensor tensor, zeros = {.rank = 0};
    tensor = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_ok(tenon_tensor_check(&tensor));
    const tenon_tensor slice = tenon_tensor_slice(tensor, 1, 2, 2);
    assert_invalid(tenon_tensor_check(&slice), "tenon_tensor_slice");
    assert_invalid(tenon_tensor_check(NULL), "tensor");
    tenon_tensor_destroy(&tensor);
    assert_memory_equal(&tensor, &zeros, sizeof tensor);
    assert_invalid(tenon_tensor_check(&tensor), "tensor");
    tenon_tensor_destroy(&tensor);
    tenon_tensor_destroy(NULL);
}
