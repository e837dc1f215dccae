/*
 * Tests packed weights as objects: packing and unpacking bit for bit, filters, plans that keep a
 * reference, lifetimes, and refused calls.
 */
#include "conv_case.h"
#include "gemm_case.h"
#include "quick.h"

static const char *const layouts[] = {NULL, "panels", "rows"};

/* Creates a tensor of random bytes, including NaNs with any payload, subnormals and infinities. */
static void make_bits(test_tensor *tensor, tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                      test_layout layout, test_random *random)
{
    int64_t stride[TENON_MAX_RANK];
    test_strides(layout, layout == TEST_STRIDED, rank, shape, stride);
    test_tensor_create(tensor, dtype, rank, shape, stride, (int64_t)layout);
    for (uint64_t i = 0; random != NULL && i < tensor->bytes; i++)
        tensor->image[i] = (unsigned char)test_next(random);
    test_upload(tensor);
}

static void round_trip(const tenon_packed *packed, const test_tensor *source, test_layout layout)
{
    const tenon_tensor *view = &source->view;
    test_tensor back;
    make_bits(&back, view->dtype, view->rank, view->shape, layout, NULL);
    assert_ok(tenon_packed_unpack(test_stream, packed, &back.view, NULL));
    unsigned char *wanted = test_download_bits(source), *got = test_download_bits(&back);
    char shape[160];
    if (memcmp(wanted, got, (size_t)tenon_tensor_elements(view) * tenon_dtype_size(view->dtype)) !=
        0)
        fail_msg("%s %s unpacked has other bits", tenon_dtype_string(view->dtype),
                 tn_shape_text(view->rank, view->shape, shape));
    free(wanted);
    free(got);
    test_tensor_destroy(&back);
}

TEST(unpacking_gives_the_bits_that_were_packed)
{
    static const int64_t shapes[][4] = {{1, 1, 1, 1},  {1, 1, 5, 33},   {1, 1, 300, 31},
                                        {1, 1, 1, 97}, {2, 3, 17, 70},  {1, 2, 4, 5000},
                                        {1, 1, 40, 1}, {3, 1, 129, 64}, {2, 2, 0, 8}};
    test_random random = test_random_for(851);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int l = 0; l < 3; l++) {
                test_tensor source;
                const uint32_t rank = shapes[i][0] * shapes[i][1] == 1 ? 2 : 4;
                make_bits(&source, *type, rank, &shapes[i][4 - rank],
                          (test_layout)((i + (size_t)l) % TEST_LAYOUTS), &random);
                tenon_packed *packed = pack_matrix(&source.view, layouts[l]);
                for (int to = 0; to < TEST_LAYOUTS; to += 2)
                    round_trip(packed, &source, (test_layout)to);
                assert_untouched(&source);
                tenon_packed_release(packed);
                test_tensor_destroy(&source);
            }
}

TEST(filters_unpack_too)
{
    static const int64_t shapes[][5] = {{7, 3, 5}, {6, 5, 3, 3}, {4, 2, 3, 1, 2}, {9, 4, 1, 1}};
    test_random random = test_random_for(852);
    for (uint32_t i = 0; i < 4; i++)
        for (int l = 0; l < TEST_LAYOUTS; l++) {
            const uint32_t rank = i == 3 ? 4 : i + 3;
            test_tensor source;
            tenon_packed *packed;
            make_bits(&source, TENON_DTYPE_F16, rank, shapes[i], (test_layout)l, &random);
            assert_ok(tenon_conv_pack_filter(test_stream, NULL, &source.view, &packed, NULL));
            round_trip(packed, &source, TEST_ROW);
            round_trip(packed, &source, TEST_STRIDED);
            tenon_packed_release(packed);
            test_tensor_destroy(&source);
        }
}

static tenon_status call_conv(const void *params, const tenon_tensor *const *v)
{
    tenon_packed *packed;
    assert_ok(tenon_conv_pack_filter(test_stream, NULL, v[CONV_W], &packed, NULL));
    const tenon_status status = tenon_conv_forward_packed(test_stream, params, v[CONV_X], packed,
                                                          v[CONV_C], v[CONV_BIAS], v[CONV_Y], NULL);
    tenon_packed_release(packed);
    return status;
}

static tenon_status plan_conv(const void *params, const tenon_tensor *const *v, tenon_plan **plan)
{
    tenon_packed *packed;
    assert_ok(tenon_conv_pack_filter(test_stream, NULL, v[CONV_W], &packed, NULL));
    const tenon_status status = tenon_conv_forward_packed_plan(
        test_context, params, v[CONV_X], packed, v[CONV_C], v[CONV_BIAS], v[CONV_Y], plan);
    tenon_packed_release(packed);
    return status;
}

TEST(convolutions_take_packed_filters)
{
    test_random random = test_random_for(854);
    const int count = quick_is_on() ? 4 : 12;
    for (int i = 0; i < count; i++) {
        const conv_case p = random_conv(&random);
        test_fixture f;
        conv_make(&f, FORWARD, &p, i % 3 == 0 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32,
                  i % 2 == 0 ? TEST_EXACT : TEST_BOUND, &random);
        f.call = call_conv;
        f.plan = plan_conv;
        test_finish(&f, TEST_ALL);
    }
}

/* Weights of i8 and u8: unpacked bit for bit, and multiplied by each solver with every scale and
 * zero point. */
TEST(bytes_are_packed_in_rows)
{
    static const tenon_dtype types[] = {TENON_DTYPE_I8, TENON_DTYPE_U8};
    test_random random = test_random_for(857);
    for (int i = 0; i < 4; i++) {
        const int64_t shape[] = {19, 70};
        test_tensor source;
        make_bits(&source, types[i % 2], 2, shape, (test_layout)(i % TEST_LAYOUTS), &random);
        tenon_packed *packed = pack_matrix(&source.view, i / 2 == 0 ? NULL : "rows");
        assert_int_equal(tenon_packed_bytes(packed), 19 * 70);
        round_trip(packed, &source, TEST_STRIDED);
        tenon_packed_release(packed);
        test_tensor_destroy(&source);

        gemm_case p = simple_int8;
        p.a_type = types[i / 2];
        p.b_type = types[i % 2];
        p.d_type = int8_results[(i * 2 + 1) % INT8_RESULTS];
        p.b = (test_layout)(i % TEST_LAYOUTS);
        p.batch_rank = (uint32_t)i % 2;
        p.many = i % 2 == 0 ? 0 : ALL_VECTORS;
        p.bias_form = FORM_COLUMNS;
        p.pack = IN_ROWS;
        check_gemm(&p, &random);
    }
}

/* The plan of an i8 or u8 product takes its scales and zero points after d. */
TEST(plans_of_bytes_take_scales)
{
    const int64_t rows[] = {3, 20}, weights[] = {20, 40}, columns[] = {40}, results[] = {3, 40};
    float scales[40], d_data[3 * 40];
    tenon_packed *packed;
    tenon_plan *plan;
    tenon_tensor a = test_dense(TENON_DTYPE_U8, 2, rows, NULL);
    tenon_tensor b = test_dense(TENON_DTYPE_I8, 2, weights, NULL);
    tenon_tensor scale = test_dense(TENON_DTYPE_F32, 1, columns, NULL);
    tenon_tensor d = test_dense(TENON_DTYPE_F32, 2, results, NULL);
    for (int i = 0; i < 40; i++)
        scales[i] = (float)(i + 1);
    assert_ok(tenon_tensor_fill(test_stream, &a, 3, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &b, -2, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &d, 777, NULL));
    assert_ok(tenon_tensor_upload(test_stream, scales, sizeof scales, &scale, NULL));
    assert_ok(tenon_gemm_pack(test_stream, NULL, &b, &packed, NULL));
    const tenon_gemm_params params = tenon_gemm_params(.epilogue.scale = {NULL, &scale});
    assert_ok(tenon_gemm_packed_plan(test_context, &params, &a, packed, NULL, NULL, &d, &plan));
    tenon_packed_release(packed);
    tenon_tensor_destroy(&b);
    const tenon_memory memories[] = {a.memory,     {0}, {0}, d.memory, {0},
                                     scale.memory, {0}, {0}, {0},      {0}};
    assert_int_equal(tenon_plan_operands(plan), 10);
    assert_ok(tenon_plan_run(test_stream, plan, memories, 10, NULL));
    assert_ok(tenon_tensor_download(test_stream, &d, d_data, sizeof d_data, NULL));
    for (int i = 0; i < 3 * 40; i++)
        assert_true(d_data[i] == -120.0f * scales[i % 40]);
    tenon_plan_release(plan);
    test_destroy(&a, &scale, &d);
}

/* A plan keeps a reference to the packed matrix, and takes only the other operands. */
TEST(plans_keep_the_packed_matrix)
{
    test_random random = test_random_for(855);
    for (int l = 0; l < 3; l++) {
        const gemm_case p = gemm_of(&simple_gemm, 9, 40, 50);
        test_fixture f;
        tenon_plan *plan;
        make_gemm(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        test_upload_all(&f);
        tenon_tensor a = f.operands[GEMM_A].view, d = f.operands[GEMM_D].view;
        const tenon_memory memories[] = {a.memory, {0}, {0}, d.memory};
        a.memory = d.memory = (tenon_memory){0};
        tenon_packed *packed = pack_matrix(&f.operands[GEMM_B].view, layouts[l]);
        assert_ok(tenon_gemm_packed_plan(test_context, NULL, &a, packed, NULL, NULL, &d, &plan));
        tenon_packed_retain(packed);
        tenon_packed_release(packed);
        tenon_packed_release(packed); /* the plan's reference is left */
        assert_int_equal(tenon_plan_operands(plan), 4);
        assert_invalid(tenon_plan_run(test_stream, plan, memories, 5, NULL), "count");
        for (int run = 0; run < 2; run++)
            test_run_plan(&f, plan, memories, 4);
        tenon_plan_release(plan);
        test_release(&f);
    }
}

/* A packed matrix keeps its context, in whatever order they and the stream and plan are released.
 */
TEST(objects_keep_their_context)
{
    const int64_t shape[] = {20, 40}, a_shape[] = {3, 20}, d_shape[] = {3, 40};
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, 2, a_shape),
                       d = tenon_tensor_view(TENON_DTYPE_F32, 2, d_shape);
    for (int order = 0; order < 2; order++) {
        tenon_tensor b;
        tenon_packed *packed;
        tenon_plan *plan;
        tenon_context *context = test_new_context(NULL);
        tenon_stream *stream = test_new_stream(context);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &b));
        assert_ok(tenon_tensor_fill(stream, &b, 2, NULL));
        assert_ok(tenon_gemm_pack(stream, NULL, &b, &packed, NULL));
        assert_ok(tenon_gemm_packed_plan(context, NULL, &a, packed, NULL, NULL, &d, &plan));
        tenon_memory_destroy(&b.memory);
        tenon_context_release(context);
        if (order == 0)
            tenon_plan_release(plan);
        assert_ok(tenon_stream_finish(stream));
        tenon_stream_destroy(stream);
        assert_true(tenon_packed_bytes(packed) >= sizeof(float) * 20 * 40);
        tenon_packed_release(packed);
        if (order == 1)
            tenon_plan_release(plan);
    }
}

TEST(objects_describe_themselves)
{
    const int64_t shape[] = {2, 20, 40};
    char text[200], cut[8];
    tenon_tensor b = test_dense(TENON_DTYPE_F32, 3, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &b, 2, NULL));
    tenon_packed *packed = pack_matrix(&b, "rows");
    size_t length = tenon_packed_describe(packed, text, sizeof text);
    assert_string_equal(text, "gemm f32 2x20x40 rows, 6400 bytes");
    assert_int_equal(length, strlen(text));
    assert_int_equal(tenon_packed_describe(packed, cut, sizeof cut), length);
    assert_string_equal(cut, "gemm f3");
    assert_int_equal(tenon_packed_describe(packed, NULL, 0), length);
    assert_int_equal(tenon_packed_bytes(packed), 6400);
    const tenon_tensor view = tenon_packed_view(packed);
    assert_int_equal(view.rank, 3);
    assert_memory_equal(view.shape, shape, sizeof shape);
    assert_int_equal(view.memory.kind, TENON_MEMORY_NONE);
    tenon_packed_release(packed);
    packed = pack_matrix(&b, "panels");
    tenon_packed_describe(packed, text, sizeof text);
    assert_contains(text, "panels of ");
    tenon_packed_release(packed);
    tenon_memory_destroy(&b.memory);
    assert_int_equal(tenon_packed_describe(NULL, text, sizeof text), 0);
    assert_int_equal(tenon_packed_bytes(NULL), 0);
    assert_int_equal(tenon_packed_view(NULL).dtype, TENON_DTYPE_INVALID);
    tenon_packed_retain(NULL);
    tenon_packed_release(NULL);
}

static void refuse_pack(tenon_stream *stream, const tenon_pack_params *params,
                        const tenon_tensor *b, tenon_status status, const char *argument)
{
    tenon_packed *packed = (tenon_packed *)(uintptr_t)1;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    assert_refused(tenon_gemm_pack(stream, params, b, &packed, &sync), status, "tenon_gemm_pack",
                   argument);
    assert_null(packed);
    assert_null(event);
}

TEST(bad_packing_is_refused)
{
    const int64_t shape[] = {20, 40};
    tenon_pack_params params = TENON_PACK_PARAMS_INIT;
    tenon_tensor bad;
    assert_int_equal(params.struct_size, sizeof params);
    tenon_tensor b = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_invalid(tenon_gemm_pack(test_stream, NULL, &b, NULL, NULL), "packed");
    refuse_pack(NULL, NULL, &b, TENON_ERROR_INVALID_ARGUMENT, "stream");
    refuse_pack(test_stream, NULL, NULL, TENON_ERROR_INVALID_ARGUMENT, "b");
    params.struct_size = 3;
    refuse_pack(test_stream, &params, &b, TENON_ERROR_INVALID_ARGUMENT, "struct_size");
    params = (tenon_pack_params)TENON_PACK_PARAMS_INIT;
    params.flags = 1;
    refuse_pack(test_stream, &params, &b, TENON_ERROR_INVALID_ARGUMENT, "flags");
    params = (tenon_pack_params)TENON_PACK_PARAMS_INIT;
    params.layout = "filters";
    refuse_pack(test_stream, &params, &b, TENON_ERROR_INVALID_ARGUMENT, "layout");
    bad = b;
    bad.memory = (tenon_memory){0};
    refuse_pack(test_stream, NULL, &bad, TENON_ERROR_INVALID_ARGUMENT, "b");
    bad = b;
    bad.shape[0]++;
    refuse_pack(test_stream, NULL, &bad, TENON_ERROR_INVALID_ARGUMENT, "b");
    bad = b;
    bad.rank = 1;
    refuse_pack(test_stream, NULL, &bad, TENON_ERROR_INVALID_ARGUMENT, "b");
    bad = b;
    bad.dtype = TENON_DTYPE_I32;
    refuse_pack(test_stream, NULL, &bad, TENON_ERROR_UNSUPPORTED, "");
    bad = b; /* one element, repeated beyond the memory of any device */
    bad.stride[0] = bad.stride[1] = 0;
    bad.shape[0] = bad.shape[1] = INT64_C(1) << 30;
    refuse_pack(test_stream, NULL, &bad, TENON_ERROR_OUT_OF_MEMORY, "");
    tenon_packed *packed;
    assert_invalid(tenon_conv_pack_filter(test_stream, NULL, &b, &packed, NULL), "w");
    tenon_memory_destroy(&b.memory);
    b = test_dense(TENON_DTYPE_I8, 3, (int64_t[]){4, 3, 2}, NULL);
    params.layout = "panels";
    refuse_pack(test_stream, &params, &b, TENON_ERROR_UNSUPPORTED, "layout");
    assert_refused(tenon_conv_pack_filter(test_stream, NULL, &b, &packed, NULL),
                   TENON_ERROR_UNSUPPORTED, "tenon_conv_pack_filter", "i8");
    tenon_memory_destroy(&b.memory);
}

typedef struct strangers {
    tenon_context *context;
    tenon_stream *stream;
    tenon_packed *packed;
} strangers;

static void make_strangers(strangers *s, const int64_t *shape)
{
    tenon_tensor b;
    s->context = test_new_context(NULL);
    s->stream = test_new_stream(s->context);
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 2, shape, &b));
    assert_ok(tenon_tensor_fill(s->stream, &b, 0, NULL));
    assert_ok(tenon_gemm_pack(s->stream, NULL, &b, &s->packed, NULL));
    tenon_memory_destroy(&b.memory);
}

TEST(bad_unpacking_is_refused)
{
    static const char operation[] = "tenon_packed_unpack";
    const int64_t shape[] = {20, 40};
    test_random random = test_random_for(856);
    test_tensor b;
    tenon_tensor bad;
    strangers s;
    make_bits(&b, TENON_DTYPE_F32, 2, shape, TEST_ROW, &random);
    make_strangers(&s, shape);
    tenon_packed *packed = pack_matrix(&b.view, NULL);
    for (int i = 0; i < 8; i++) {
        static const char *const arguments[] = {"stream", "packed", "packed", "tensor",
                                                "tensor", "tensor", "tensor", "tensor"};
        bad = b.view;
        bad.shape[0] -= i == 4;
        bad.rank -= i == 5;
        bad.dtype = i == 6 ? TENON_DTYPE_I32 : bad.dtype;
        bad.stride[1] = i == 7 ? 0 : bad.stride[1];
        tenon_status status = tenon_packed_unpack(i == 0 ? NULL : test_stream,
                                                  i == 1   ? NULL
                                                  : i == 2 ? s.packed
                                                           : packed,
                                                  i == 3 ? NULL : &bad, NULL);
        assert_refused(status, i == 6 ? TENON_ERROR_UNSUPPORTED : TENON_ERROR_INVALID_ARGUMENT,
                       operation, arguments[i]);
    }
    bad = b.view;
    bad.memory = (tenon_memory){0};
    assert_invalid(tenon_packed_unpack(test_stream, packed, &bad, NULL), "tensor");
    assert_untouched(&b);
    tenon_packed_release(packed);
    tenon_packed_release(s.packed);
    tenon_stream_destroy(s.stream);
    tenon_context_release(s.context);
    test_tensor_destroy(&b);
}

/* Errors of the object itself; test_bad_input.c and test_bad_views.c cover the other arguments. */
TEST(bad_objects_are_refused)
{
    const int64_t shape[] = {5, 6}, a_shape[] = {4, 5}, d_shape[] = {4, 6}, w_shape[] = {5, 6, 1};
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, 2, a_shape),
                       d = tenon_tensor_view(TENON_DTYPE_F32, 2, d_shape);
    tenon_packed *filter, *doubles;
    tenon_plan *plan;
    strangers s;
    make_strangers(&s, shape);
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 3, w_shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &w, 0, NULL));
    assert_ok(tenon_conv_pack_filter(test_stream, NULL, &w, &filter, NULL));
    tenon_tensor b = test_dense(TENON_DTYPE_F16, 2, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &b, 0, NULL));
    assert_ok(tenon_gemm_pack(test_stream, NULL, &b, &doubles, NULL));
    const tenon_packed *const objects[] = {NULL, s.packed, filter, doubles};
    for (int i = 0; i < 4; i++) {
        tenon_status status = i == 3 ? TENON_ERROR_UNSUPPORTED : TENON_ERROR_INVALID_ARGUMENT;
        assert_refused(tenon_gemm_packed(test_stream, NULL, &a, objects[i], NULL, NULL, &d, NULL),
                       status, "tenon_gemm_packed", i == 3 ? "" : "packed");
        plan = (tenon_plan *)(uintptr_t)1;
        assert_refused(
            tenon_gemm_packed_plan(test_context, NULL, &a, objects[i], NULL, NULL, &d, &plan),
            status, "tenon_gemm_packed_plan", i == 3 ? "" : "packed");
        assert_null(plan);
        if (i == 2) /* convolutions accept packed filters */
            continue;
        assert_invalid(
            tenon_conv_forward_packed(test_stream, NULL, &w, objects[i], NULL, NULL, &w, NULL),
            "packed");
        assert_invalid(tenon_conv_forward_packed_plan(test_context, NULL, &w, objects[i], NULL,
                                                      NULL, &w, &plan),
                       "packed");
    }
    tenon_packed_release(filter);
    tenon_packed_release(doubles);
    test_destroy(&w, &b);
    tenon_packed_release(s.packed);
    tenon_stream_destroy(s.stream);
    tenon_context_release(s.context);
}
