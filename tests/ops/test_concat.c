/* Tests tenon_concat: any axis, strides and number of inputs, in-place inputs, empty inputs, events
 * and invalid input. It takes a list and is not an operation, so the fixture is a copy whose result
 * is compared. */
#include "fixture.h"

#include "check/host.h"
#include "ops/registry.h"

#define MOST 20

/* Inputs of the current call. */
static struct {
    uint32_t count;
    int32_t axis;
    test_tensor of[MOST];
} inputs;

static tenon_status call(const void *params, const tenon_tensor *const *v)
{
    const tenon_tensor *views[MOST];
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    tenon_concat_params own =
        tenon_concat_params(.solver = ((const tn_params_head *)params)->solver,
                            .axis = inputs.axis);
    for (uint32_t i = 0; i < inputs.count; i++)
        views[i] = &inputs.of[i].view;
    const tenon_status status = tenon_concat(test_stream, &own, views, inputs.count, v[1], &sync);
    assert_true((event != NULL) == (status == TENON_OK));
    if (event != NULL)
        clReleaseEvent(event);
    return status;
}

/* Creates an input with the elements of the whole from `start` on along the axis. */
static void create(test_tensor *input, const tenon_tensor *whole, uint32_t axis, int64_t start,
                   int64_t size, test_random *random)
{
    const tenon_tensor part = tenon_tensor_slice(*whole, axis, start, size),
                       view = test_random_view(random, whole->dtype, part.rank, part.shape);
    double *values = tn_host_read(&part, part.rank, part.shape);
    test_tensor_create(input, view.dtype, view.rank, view.shape, view.stride,
                       (int64_t)(view.offset / tenon_dtype_size(view.dtype)));
    for (int64_t i = 0; i < tenon_tensor_elements(&view); i++)
        test_set(input, i, values[i]);
    free(values);
    test_upload(input);
}

static void draw(test_fixture *f, test_random *random)
{
    const uint32_t rank = (uint32_t)test_between(random, 1, 5),
                   axis = (uint32_t)test_between(random, 0, rank - 1);
    const tenon_dtype dtype = (tenon_dtype)test_between(random, TENON_DTYPE_F64, TENON_DTYPE_I32);
    int64_t shape[TENON_MAX_RANK], sizes[MOST] = {0}, start = 0;
    inputs.count = (uint32_t)test_between(random, 1, test_one_in(random, 4) ? MOST : 4);
    inputs.axis = (int32_t)axis - (test_one_in(random, 2) ? (int32_t)rank : 0);
    for (uint32_t d = 0; d < rank; d++)
        shape[d] = d == axis ? 0 : test_between(random, 1, test_one_in(random, 4) ? 33 : 6);
    for (uint32_t i = 0; i < inputs.count; i++) {
        sizes[i] = test_one_in(random, 6) ? 0 : test_between(random, 1, 9);
        shape[axis] += sizes[i];
    }
    test_begin(f, &tn_operation_copy);
    f->call = call;
    f->c.views[0] = tenon_tensor_view(dtype, rank, shape);
    f->c.views[1] = test_random_view(random, dtype, rank, shape);
    test_make(f);
    f->judge = TEST_EXACT;
    test_fill_integers(&f->operands[0], random, 100);
    for (uint32_t i = 0; i < inputs.count; start += sizes[i++])
        create(&inputs.of[i], &f->operands[0].host, axis, start, sizes[i], random);
}

TEST(random_problems)
{
    test_random random = test_random_for(561);
    for (int n = 4 * test_problems(20); n > 0; n--) {
        test_fixture f;
        draw(&f, &random);
        test_finish(&f, TEST_ONCE);
        for (uint32_t i = 0; i < inputs.count; i++) {
            assert_untouched(&inputs.of[i]);
            test_tensor_destroy(&inputs.of[i]);
        }
    }
}

/* An input may already be at its destination in y, but nowhere else in y. */
TEST(in_place)
{
    static const float values[] = {1, 2, 3, 4, 5, 6}, right[] = {1, 2, 5, 6, 5, 6};
    const int64_t shape[] = {3, 2};
    float got[6];
    tenon_tensor y = test_dense(TENON_DTYPE_F32, 2, shape, values);
    tenon_tensor other = test_dense(TENON_DTYPE_F32, 2, shape, values);
    const tenon_tensor parts[] = {tenon_tensor_slice(y, 0, 0, 1),
                                  tenon_tensor_slice(other, 0, 2, 1),
                                  tenon_tensor_slice(y, 0, 2, 1), tenon_tensor_slice(y, 0, 1, 1)};
    const tenon_tensor *good[] = {&parts[0], &parts[1], &parts[2]},
                       *bad[] = {&parts[0], &parts[2], &parts[1]};
    assert_ok(tenon_concat(test_stream, NULL, good, 3, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, got, sizeof got, NULL));
    assert_memory_equal(got, right, sizeof right);
    assert_invalid(tenon_concat(test_stream, NULL, bad, 3, &y, NULL), "inputs[1] overlaps");
    assert_ok(tenon_tensor_download(test_stream, &y, got, sizeof got, NULL));
    assert_memory_equal(got, right, sizeof right);
    test_destroy(&y, &other);
}

TEST(nothing_to_copy)
{
    const int64_t shape[] = {0, 2};
    const tenon_tensor empty = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    const tenon_tensor *nothing[] = {&empty, &empty};
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    assert_ok(tenon_concat(test_stream, NULL, nothing, 2, &empty, &sync));
    assert_non_null(event);
    clReleaseEvent(event);
}

TEST(bad_input)
{
    static const char op[] = "tenon_concat";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, half[] = {2, 6}, strides[] = {6, 1};
    test_tensor ta, tb, ty;
    tenon_concat_params params = TENON_CONCAT_PARAMS_INIT, bad;
    test_tensor_create(&ta, TENON_DTYPE_F32, 2, half, strides, 0);
    test_tensor_create(&tb, TENON_DTYPE_F32, 2, half, strides, 0);
    test_tensor_create(&ty, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_upload(&ty);
    const tenon_tensor a = ta.view, y = ty.view;
    tenon_tensor b = tb.view, v;
    const tenon_tensor *both[] = {&a, &b}, *missing[] = {&a, NULL};
#define REFUSED(p, in, count, out, status, word)                                                   \
    assert_refused(tenon_concat(test_stream, p, in, count, out, NULL), status, op, word)
    assert_invalid(tenon_concat(NULL, &params, both, 2, &y, NULL), "stream");
    REFUSED(&params, NULL, 2, &y, invalid, "inputs is NULL");
    REFUSED(&params, both, 0, &y, invalid, "count is 0");
    REFUSED(&params, both, 2, NULL, invalid, "y is NULL");
    v = y, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, both, 2, &v, TENON_ERROR_UNSUPPORTED, "y: type f8_e4m3");
    REFUSED(&params, missing, 2, &y, invalid, "inputs[1] is NULL");
    REFUSED(&params, both, 1, &y, invalid, "the inputs' sizes add up to 2");
    v = tenon_tensor_slice(y, 0, 0, 3);
    REFUSED(&params, both, 2, &v, invalid, "too short for inputs[1]");
    bad = params, bad.struct_size = 8;
    REFUSED(&bad, both, 2, &y, invalid, "struct_size");
    bad = params, bad.flags = 1;
    REFUSED(&bad, both, 2, &y, invalid, "flags");
    bad = params, bad.reserved = 1;
    REFUSED(&bad, both, 2, &y, invalid, "reserved");
    bad = params, bad.solver = "gemm/plain";
    REFUSED(&bad, both, 2, &y, invalid, "gemm/plain");
    bad = params, bad.axis = 2;
    REFUSED(&bad, both, 2, &y, invalid, "axis is 2");
    bad = params, bad.axis = 1;
    REFUSED(&bad, both, 2, &y, invalid, "inputs[0]: shape is 2x6");
    b.dtype = TENON_DTYPE_I32;
    REFUSED(&params, both, 2, &y, TENON_ERROR_UNSUPPORTED, "inputs[1]");
    b = tb.view, b.rank = 1;
    REFUSED(&params, both, 2, &y, invalid, "inputs[1]: shape is 2");
    b = tb.view, b.stride[0] += 4000;
    REFUSED(&params, both, 2, &y, invalid, "inputs[1]");
    b = tb.view;
    v = y, v.stride[0] = 0;
    REFUSED(&params, both, 2, &v, invalid, "y");
    const tenon_sync sync = {.wait_list = NULL, .wait_count = 2};
    assert_invalid(tenon_concat(test_stream, &params, both, 2, &y, &sync), "wait_list");
    assert_untouched(&ty);
    test_tensor_destroy(&ta);
    test_tensor_destroy(&tb);
    test_tensor_destroy(&ty);
#undef REFUSED
}
