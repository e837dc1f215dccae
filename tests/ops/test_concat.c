/* tenon_concat: any axis, strides and number of inputs against copies by hand, in place, empty
 * inputs, events, bad input. */
#include "support.h"

#define MOST 20

typedef struct concat_case {
    uint32_t count, axis, rank;
    tenon_dtype dtype;
    int64_t shape[TENON_MAX_RANK]; /* of y */
    int64_t size[MOST];            /* of the inputs along the axis */
    test_tensor inputs[MOST], y;
} concat_case;

static void create(test_tensor *tensor, concat_case *c, int64_t size, test_random *random)
{
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK];
    memcpy(shape, c->shape, sizeof shape);
    shape[c->axis] = size;
    test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                 c->rank, shape, stride);
    test_tensor_create(tensor, c->dtype, c->rank, shape, stride, test_between(random, 0, 5));
}

static void draw(concat_case *c, test_random *random)
{
    *c =
        (concat_case){.count = (uint32_t)test_between(random, 1, test_one_in(random, 4) ? MOST : 4),
                      .rank = (uint32_t)test_between(random, 1, 5)};
    c->axis = (uint32_t)test_between(random, 0, c->rank - 1);
    c->dtype = (tenon_dtype)test_between(random, TENON_DTYPE_F64, TENON_DTYPE_I32);
    for (uint32_t d = 0; d < c->rank; d++)
        c->shape[d] = d == c->axis ? 0 : test_between(random, 1, test_one_in(random, 4) ? 33 : 6);
    for (uint32_t i = 0; i < c->count; i++) {
        c->size[i] = test_one_in(random, 6) ? 0 : test_between(random, 1, 9);
        create(&c->inputs[i], c, c->size[i], random);
        test_fill_integers(&c->inputs[i], random, 100);
        test_upload(&c->inputs[i]);
        c->shape[c->axis] += c->size[i];
    }
    create(&c->y, c, c->shape[c->axis], random);
    test_upload(&c->y);
}

/* What y must hold. */
static tn_bounded *expect(const concat_case *c)
{
    int64_t inner = 1, outer = 1, start = 0;
    for (uint32_t d = 0; d < c->rank; d++)
        *(d < c->axis ? &outer : &inner) *= d == c->axis ? 1 : c->shape[d];
    tn_bounded *y = calloc((size_t)(outer * inner * c->shape[c->axis]) + 1, sizeof *y);
    assert_non_null(y);
    for (uint32_t i = 0; i < c->count; start += c->size[i++])
        for (int64_t o = 0; o < outer; o++)
            for (int64_t n = 0; n < c->size[i] * inner; n++)
                y[(o * c->shape[c->axis] + start) * inner + n].value =
                    test_get(&c->inputs[i], o * c->size[i] * inner + n);
    return y;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(561);
    (void)state;
    for (int n = 4 * test_problems(20); n > 0; n--) {
        concat_case c;
        const tenon_tensor *inputs[MOST];
        tenon_concat_params params = TENON_CONCAT_PARAMS_INIT;
        cl_event event = NULL;
        const tenon_sync sync = {.event = &event};
        char why[256], shape[160];
        draw(&c, &random);
        for (uint32_t i = 0; i < c.count; i++)
            inputs[i] = &c.inputs[i].view;
        params.axis = (int32_t)c.axis - (n % 2 == 0 ? (int32_t)c.rank : 0);
        assert_ok(tenon_concat(test_stream, &params, inputs, c.count, &c.y.view, &sync));
        assert_non_null(event);
        clReleaseEvent(event);
        tn_bounded *expected = expect(&c);
        if (!test_result(&c.y, expected, TEST_EXACT, why))
            fail_msg("%s\n  TENON_TEST_SEED=%llu, %s, %u inputs to %s along axis %u", why,
                     (unsigned long long)test_seed(), tenon_dtype_string(c.dtype), c.count,
                     tn_shape_text(c.rank, c.shape, shape), c.axis);
        for (uint32_t i = 0; i < c.count; i++) {
            assert_untouched(&c.inputs[i]);
            test_tensor_destroy(&c.inputs[i]);
        }
        test_tensor_destroy(&c.y);
        free(expected);
    }
}

/* An input may be where it belongs already, and nowhere else in y. */
static void in_place(void **state)
{
    static const float values[] = {1, 2, 3, 4, 5, 6}, right[] = {1, 2, 5, 6, 5, 6};
    const int64_t shape[] = {3, 2};
    float got[6];
    tenon_tensor y, other;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &y));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &other));
    assert_ok(tenon_tensor_upload(test_stream, values, sizeof values, &y, NULL));
    assert_ok(tenon_tensor_upload(test_stream, values, sizeof values, &other, NULL));
    const tenon_tensor parts[] = {tenon_tensor_slice(y, 0, 0, 1),
                                  tenon_tensor_slice(other, 0, 2, 1),
                                  tenon_tensor_slice(y, 0, 2, 1), tenon_tensor_slice(y, 0, 1, 1)};
    const tenon_tensor *good[] = {&parts[0], &parts[1], &parts[2]},
                       *bad[] = {&parts[0], &parts[2], &parts[1]};
    assert_ok(tenon_concat(test_stream, NULL, good, 3, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, got, sizeof got, NULL));
    assert_memory_equal(got, right, sizeof right);
    assert_refused(tenon_concat(test_stream, NULL, bad, 3, &y, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_concat", "inputs[1] overlaps");
    assert_ok(tenon_tensor_download(test_stream, &y, got, sizeof got, NULL));
    assert_memory_equal(got, right, sizeof right);
    tenon_memory_destroy(&y.memory);
    tenon_memory_destroy(&other.memory);
}

static void nothing_to_copy(void **state)
{
    const int64_t shape[] = {0, 2};
    const tenon_tensor empty = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    const tenon_tensor *inputs[] = {&empty, &empty};
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    (void)state;
    assert_ok(tenon_concat(test_stream, NULL, inputs, 2, &empty, &sync));
    assert_non_null(event);
    clReleaseEvent(event);
}

static void bad_input(void **state)
{
    static const char op[] = "tenon_concat";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, half[] = {2, 6}, strides[] = {6, 1};
    test_tensor ta, tb, ty;
    tenon_concat_params params = TENON_CONCAT_PARAMS_INIT, bad;
    (void)state;
    test_tensor_create(&ta, TENON_DTYPE_F32, 2, half, strides, 0);
    test_tensor_create(&tb, TENON_DTYPE_F32, 2, half, strides, 0);
    test_tensor_create(&ty, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_upload(&ty);
    const tenon_tensor a = ta.view, y = ty.view;
    tenon_tensor b = tb.view, v;
    const tenon_tensor *inputs[] = {&a, &b}, *missing[] = {&a, NULL};
#define REFUSED(p, in, count, out, status, word)                                                   \
    assert_refused(tenon_concat(test_stream, p, in, count, out, NULL), status, op, word)
    assert_refused(tenon_concat(NULL, &params, inputs, 2, &y, NULL), invalid, op, "stream");
    REFUSED(&params, NULL, 2, &y, invalid, "inputs is NULL");
    REFUSED(&params, inputs, 0, &y, invalid, "count is 0");
    REFUSED(&params, inputs, 2, NULL, invalid, "y is NULL");
    v = y, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, inputs, 2, &v, TENON_ERROR_UNSUPPORTED, "y: type f8_e4m3");
    REFUSED(&params, missing, 2, &y, invalid, "inputs[1] is NULL");
    REFUSED(&params, inputs, 1, &y, invalid, "the inputs come to 2");
    v = tenon_tensor_slice(y, 0, 0, 3);
    REFUSED(&params, inputs, 2, &v, invalid, "too short for inputs[1]");
    bad = params, bad.struct_size = 8;
    REFUSED(&bad, inputs, 2, &y, invalid, "struct_size");
    bad = params, bad.flags = 1;
    REFUSED(&bad, inputs, 2, &y, invalid, "flags");
    bad = params, bad.reserved = 1;
    REFUSED(&bad, inputs, 2, &y, invalid, "reserved");
    bad = params, bad.solver = "gemm/plain";
    REFUSED(&bad, inputs, 2, &y, invalid, "gemm/plain");
    bad = params, bad.axis = 2;
    REFUSED(&bad, inputs, 2, &y, invalid, "axis is 2");
    bad = params, bad.axis = 1;
    REFUSED(&bad, inputs, 2, &y, invalid, "inputs[0]: shape is 2x6");
    b.dtype = TENON_DTYPE_I32;
    REFUSED(&params, inputs, 2, &y, TENON_ERROR_UNSUPPORTED, "inputs[1]");
    b = tb.view, b.rank = 1;
    REFUSED(&params, inputs, 2, &y, invalid, "inputs[1]: shape is 2");
    b = tb.view, b.stride[0] += 4000;
    REFUSED(&params, inputs, 2, &y, invalid, "inputs[1]");
    b = tb.view;
    v = y, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, inputs, 2, &v, TENON_ERROR_UNSUPPORTED, "f8_e4m3");
    v = y, v.stride[0] = 0;
    REFUSED(&params, inputs, 2, &v, invalid, "y");
    const tenon_sync sync = {.wait_list = NULL, .wait_count = 2};
    assert_refused(tenon_concat(test_stream, &params, inputs, 2, &y, &sync), invalid, op,
                   "wait_list");
    assert_untouched(&ty);
    test_tensor_destroy(&ta);
    test_tensor_destroy(&tb);
    test_tensor_destroy(&ty);
#undef REFUSED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(in_place),
        cmocka_unit_test(nothing_to_copy),
        cmocka_unit_test(bad_input),
    };
    return TEST_MAIN(tests);
}
