/* Tests asynchronous transfers and pinned memory. */
#include "runtime.h"

#include <stdint.h>

static const tenon_dtype types[] = {TENON_DTYPE_U8,  TENON_DTYPE_I8,  TENON_DTYPE_BF16,
                                    TENON_DTYPE_F16, TENON_DTYPE_F32, TENON_DTYPE_I32,
                                    TENON_DTYPE_F64};
enum { TYPES = sizeof types / sizeof *types, POISON = 0xa5 };

static void open_gate(cl_event gate, cl_event done)
{
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(gate);
    clReleaseEvent(done);
}

/* Checks that an upload waits for its wait list, that its event reports when the data may change,
 * and that the tensor's whole memory, including gaps and guard zones, is then correct. */
static void up(test_tensor *t, unsigned char *data, size_t bytes)
{
    unsigned char *image = malloc((size_t)t->bytes);
    cl_event gate = test_gate(test_context), done = NULL;
    assert_non_null(image);
    memcpy(image, t->image, (size_t)t->bytes);
    test_fill_poison(t);
    test_upload(t);
    assert_ok(tenon_tensor_upload_async(
        test_stream, data, bytes, &t->view,
        &(tenon_sync){.wait_list = &gate, .wait_count = 1, .event = &done}));
    assert_false(test_is_over(done));
    open_gate(gate, done);
    memset(data, POISON, bytes);
    memcpy(t->image, image, (size_t)t->bytes);
    assert_untouched(t);
    free(image);
}

/* Checks that a download writes nothing before its wait list completes. */
static void down(const test_tensor *t, unsigned char *data, size_t bytes,
                 const unsigned char *expected)
{
    cl_event gate = test_gate(test_context), done = NULL;
    memset(data, POISON, bytes);
    assert_ok(tenon_tensor_download_async(
        test_stream, &t->view, data, bytes,
        &(tenon_sync){.wait_list = &gate, .wait_count = 1, .event = &done}));
    assert_false(test_is_over(done));
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(data[i], POISON);
    open_gate(gate, done);
    assert_memory_equal(data, expected, bytes);
    assert_untouched(t);
}

TEST(every_layout_and_type)
{
    test_random random = test_random_for(831);
    tenon_pinned *pinned;
    assert_ok(tenon_pinned_create(test_context, 60 * 8, &pinned));
    for (int i = 0; i < TEST_LAYOUTS * TYPES; i++) {
        const int64_t shape[] = {3, 4, 5};
        int64_t stride[3];
        test_tensor t;
        /* Pinned memory and ordinary memory. */
        unsigned char other[60 * 8];
        unsigned char *data = i % 2 == 0 ? tenon_pinned_pointer(pinned) : other;
        test_strides((test_layout)(i / TYPES), i % 3 == 1, 3, shape, stride);
        test_tensor_create(&t, types[i % TYPES], 3, shape, stride, i % 3);
        test_fill_integers(&t, &random, 100);
        test_upload(&t);
        const size_t bytes = 60 * tenon_dtype_size(t.view.dtype);
        unsigned char *bits = test_download_bits(&t);
        memcpy(data, bits, bytes);
        up(&t, data, bytes);
        down(&t, data, bytes, bits);
        free(bits);
        test_tensor_destroy(&t);
    }
    tenon_pinned_destroy(pinned);
}

/* Uploads the next batch while the previous one is downloaded; no call waits. */
TEST(a_pipeline)
{
    enum { STEPS = 12, SIZE = 3000, RING = 3 };
    tenon_pinned *in, *out;
    tenon_tensor x[RING], y[RING];
    tenon_stream *copying = test_new_stream(test_context);
    assert_ok(tenon_pinned_create(test_context, RING * SIZE * sizeof(float), &in));
    assert_ok(tenon_pinned_create(test_context, STEPS * SIZE * sizeof(float), &out));
    float *from = tenon_pinned_pointer(in), *to = tenon_pinned_pointer(out);
    cl_event there[RING] = {0}, used[RING] = {0};
    for (int r = 0; r < RING; r++) {
        x[r] = make_tensor(test_context, SIZE);
        y[r] = make_tensor(test_context, SIZE);
    }
    memset(to, POISON, STEPS * SIZE * sizeof(float));
    for (int s = 0; s < STEPS; s++) {
        const int r = s % RING;
        float *batch = from + r * SIZE;
        if (there[r] != NULL) { /* the upload that read this slot */
            assert_int_equal(clWaitForEvents(1, &there[r]), CL_SUCCESS);
            clReleaseEvent(there[r]);
        }
        for (int i = 0; i < SIZE; i++)
            batch[i] = (float)(s * 100 + i % 50 - 25);
        assert_ok(
            tenon_tensor_upload_async(copying, batch, SIZE * sizeof(float), &x[r],
                                      &(tenon_sync){.wait_list = used[r] != NULL ? &used[r] : NULL,
                                                    .wait_count = used[r] != NULL,
                                                    .event = &there[r]}));
        if (used[r] != NULL)
            clReleaseEvent(used[r]);
        assert_ok(relu(test_stream, &x[r], &y[r],
                       &(tenon_sync){.wait_list = &there[r], .wait_count = 1, .event = &used[r]}));
        assert_ok(tenon_tensor_download_async(test_stream, &y[r], to + s * SIZE,
                                              SIZE * sizeof(float), NULL));
    }
    assert_ok(tenon_stream_finish(test_stream));
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < SIZE; i++) {
            const int sent = s * 100 + i % 50 - 25;
            assert_true(to[s * SIZE + i] == (float)(sent > 0 ? sent : 0));
        }
    for (int r = 0; r < RING; r++) {
        clReleaseEvent(there[r]);
        clReleaseEvent(used[r]);
        test_destroy(&x[r], &y[r]);
    }
    tenon_stream_destroy(copying);
    tenon_pinned_destroy(in);
    tenon_pinned_destroy(out);
}

TEST(what_is_refused)
{
    static const char up_name[] = "tenon_tensor_upload_async",
                      down_name[] = "tenon_tensor_download_async";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const tenon_sync marked = {.reserved = 1};
    float data[4] = {0};
    cl_event event = NULL;
    tenon_tensor x = make_tensor(test_context, 4), repeated = x, nowhere = x,
                 none = make_tensor(test_context, 0);
    repeated.stride[0] = 0;
    nowhere.memory.kind = TENON_MEMORY_NONE;
    assert_refused(tenon_tensor_upload_async(NULL, data, 16, &x, NULL), invalid, up_name, "stream");
    assert_refused(tenon_tensor_upload_async(test_stream, data, 12, &x, NULL), invalid, up_name,
                   "12");
    assert_refused(tenon_tensor_upload_async(test_stream, NULL, 16, &x, NULL), invalid, up_name,
                   "data");
    assert_refused(tenon_tensor_upload_async(test_stream, data, 16, NULL, NULL), invalid, up_name,
                   "tensor");
    assert_refused(tenon_tensor_upload_async(test_stream, data, 16, &repeated, NULL), invalid,
                   up_name, "tensor");
    assert_refused(tenon_tensor_upload_async(test_stream, data, 16, &nowhere, NULL), invalid,
                   up_name, "tensor");
    assert_refused(tenon_tensor_upload_async(test_stream, data, 16, &x, &marked), invalid, up_name,
                   "reserved");
    assert_refused(tenon_tensor_download_async(NULL, &x, data, 16, NULL), invalid, down_name,
                   "stream");
    assert_refused(tenon_tensor_download_async(test_stream, &x, data, 20, NULL), invalid, down_name,
                   "20");
    assert_refused(tenon_tensor_download_async(test_stream, &x, NULL, 16, NULL), invalid, down_name,
                   "data");
    /* An empty transfer returns an event too. */
    assert_ok(
        tenon_tensor_upload_async(test_stream, NULL, 0, &none, &(tenon_sync){.event = &event}));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    tenon_tensor_destroy(&x);
}

/* A tensor with stride 0 is downloaded with repeated elements. */
TEST(a_broadcast_comes_down_whole)
{
    const float sent[3] = {1, 2, 3};
    float got[6] = {0};
    tenon_tensor x = make_tensor(test_context, 3);
    assert_ok(tenon_tensor_upload_async(test_stream, sent, sizeof sent, &x, NULL));
    const int64_t shape[] = {2, 3};
    const tenon_tensor twice = tenon_tensor_broadcast(x, 2, shape);
    assert_ok(tenon_tensor_download_async(test_stream, &twice, got, sizeof got, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    for (int i = 0; i < 6; i++)
        assert_true(got[i] == sent[i % 3]);
    tenon_tensor_destroy(&x);
}

TEST(pinned_memory)
{
    static const char name[] = "tenon_pinned_create";
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    tenon_context *context;
    tenon_pinned *pinned = (void *)&info;
    assert_ok(tenon_context_device(test_context, &info));
    assert_invalid(tenon_pinned_create(NULL, 4, &pinned), "context");
    assert_null(pinned);
    assert_invalid(tenon_pinned_create(test_context, 4, NULL), "out");
    assert_invalid(tenon_pinned_create(test_context, 0, &pinned), "bytes");
    assert_refused(tenon_pinned_create(test_context, info.max_allocation + 1, &pinned),
                   TENON_ERROR_OUT_OF_MEMORY, name, "largest allocation");
    assert_null(tenon_pinned_pointer(NULL));
    tenon_pinned_destroy(NULL);
    context = test_new_context(NULL);
    assert_ok(tenon_pinned_create(context, 4099, &pinned));
    tenon_context_release(context); /* the pinned memory keeps a reference */
    unsigned char *bytes = tenon_pinned_pointer(pinned);
    assert_int_equal((uintptr_t)bytes % 8, 0);
    for (int i = 0; i < 4099; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 4099; i++)
        assert_int_equal(bytes[i], (unsigned char)(i * 7));
    assert_ptr_equal(tenon_pinned_pointer(pinned), bytes);
    tenon_pinned_destroy(pinned);
}
