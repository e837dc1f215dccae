/* Tests tenon_pad_forward against its reference bit for bit: every mode and type, any strides;
 * known values, the gradient as a view, empty tensors, invalid input. */
#include "fixture.h"

#include "ops/pad/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Begins a call on dense operands. */
static void begin(test_fixture *f, const tenon_pad_params *params, tenon_dtype dtype, uint32_t rank,
                  const int64_t *shape)
{
    int64_t padded[TENON_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++)
        padded[d] = shape[d] + params->begin[d] + params->end[d];
    test_begin(f, &tn_operation_pad);
    *test_params(f, tenon_pad_params) = *params;
    f->c.views[PAD_X] = test_view(dtype, TEST_ROW, false, rank, shape, 1);
    f->c.views[PAD_Y] = test_view(dtype, TEST_ROW, false, rank, padded, 2);
}

static void run(test_fixture *f, test_random *random)
{
    test_make(f);
    test_fill_integers(test_operand(f, PAD_X), random, 100);
    f->judge = TEST_EXACT;
    test_finish(f, TEST_ALL);
}

/* Draws a padding that the mode allows. */
static void draw_padding(tenon_pad_params *params, uint32_t d, int64_t size, test_random *random)
{
    int64_t most = test_one_in(random, 3) ? 0 : test_one_in(random, 3) ? 20 : 3;
    if (params->mode == TENON_PAD_REFLECT && most > size - 1)
        most = size - 1;
    params->begin[d] = test_between(random, 0, most);
    params->end[d] = test_between(random, 0, most);
}

static void random_problem(test_random *random, tenon_dtype dtype)
{
    int64_t shape[TENON_MAX_RANK];
    tenon_pad_params params = TENON_PAD_PARAMS_INIT;
    uint32_t rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK - 3);
    test_fixture f;
    params.mode = (uint32_t)test_between(random, 0, TENON_PAD_REFLECT);
    params.value = (double)test_between(random, 0, 9);
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = test_between(random, 1, test_one_in(random, 3) ? 40 : 4);
        draw_padding(&params, d, shape[d], random);
    }
    begin(&f, &params, dtype, rank, shape);
    for (int i = 0; i < PAD_OPERANDS; i++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                     rank, f.c.views[i].shape, f.c.views[i].stride);
    if (rank > 0 && test_one_in(random, 5))
        f.c.views[PAD_X].stride[test_between(random, 0, rank - 1)] = 0;
    run(&f, random);
}

TEST(random_problems)
{
    test_random random = test_random_for(551);
    for (int n = test_problems(20); n > 0; n--)
        for (tenon_dtype type = TENON_DTYPE_F64; type != TENON_DTYPE_INVALID;
             type = test_next_moved_type(type))
            random_problem(&random, type);
}

/* Images padded as in networks, NCHW and NHWC, with widths around vectors. */
TEST(images)
{
    static const int64_t shape[] = {3, 17, 61, 63};
    test_random random = test_random_for(552);
    for (uint32_t mode = 0; mode <= TENON_PAD_REFLECT; mode++)
        for (int64_t width = 0; width < 19; width++) {
            test_fixture f;
            tenon_pad_params params =
                tenon_pad_params(.mode = mode, .value = 7, .begin[2] = 1, .end[2] = 1,
                                 .begin[3] = width, .end[3] = width % 5);
            begin(&f, &params, width % 3 == 0 ? TENON_DTYPE_F16 : TENON_DTYPE_F32, 4, shape);
            for (int i = 0; i < PAD_OPERANDS && width % 2 != 0; i++) { /* NHWC */
                tenon_tensor *view = &f.c.views[i];
                view->stride[1] = 1;
                view->stride[3] = view->shape[1];
                view->stride[2] = view->shape[1] * view->shape[3];
            }
            run(&f, &random);
        }
}

static void pad_line(uint32_t mode, double value, const float *x, int64_t size, float *y,
                     int64_t padded)
{
    tenon_pad_params params =
        tenon_pad_params(.mode = mode, .value = value, .begin[0] = 2, .end[0] = padded - size - 2);
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 1, &size, NULL);
    tenon_tensor ty = test_dense(TENON_DTYPE_F32, 1, &padded, NULL);
    if (size > 0)
        assert_ok(tenon_tensor_upload(test_stream, x, (size_t)size * sizeof *x, &tx, NULL));
    assert_ok(tenon_pad_forward(test_stream, &params, &tx, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, (size_t)padded * sizeof *y, NULL));
    test_destroy(&tx, &ty);
}

TEST(known_values)
{
    static const float x[] = {1, 2, 3, 4};
    static const float constant[] = {0.1F, 0.1F, 1, 2, 3, 4, 0.1F, 0.1F, 0.1F};
    static const float edge[] = {1, 1, 1, 2, 3, 4, 4, 4, 4};
    static const float reflect[] = {3, 2, 1, 2, 3, 4, 3, 2, 1};
    float y[9];
    pad_line(TENON_PAD_CONSTANT, 0.1, x, 4, y, 9);
    assert_memory_equal(y, constant, sizeof y);
    pad_line(TENON_PAD_EDGE, 0, x, 4, y, 9);
    assert_memory_equal(y, edge, sizeof y);
    pad_line(TENON_PAD_REFLECT, 0, x, 4, y, 9);
    assert_memory_equal(y, reflect, sizeof y);
    pad_line(TENON_PAD_CONSTANT, (double)NAN, x, 0, y, 9); /* only padding */
    for (int i = 0; i < 9; i++)
        assert_true(isnan(y[i]));
    pad_line(TENON_PAD_CONSTANT, -1e300, x, 0, y, 9);
    assert_true(isinf(y[8]) && y[8] < 0);
}

/* The gradient of the constant mode is a slice of dy, by the header: the sum of w · pad(x) changes
 * accordingly. Since padding is linear, steps need not be small. */
TEST(gradient)
{
    const int64_t shape[] = {3, 4}, padded[] = {5, 7};
    double x[12] = {0}, w[35];
    tn_bounded y[35];
    test_random random = test_random_for(553);
    tenon_tensor vx = tenon_tensor_view(TENON_DTYPE_F64, 2, shape),
                 vy = tenon_tensor_view(TENON_DTYPE_F64, 2, padded), dx = vy;
    vx.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = x};
    tenon_pad_params params =
        tenon_pad_params(.begin[0] = 1, .end[0] = 1, .end[1] = 1, .begin[1] = 2);
    for (uint32_t d = 0; d < 2; d++)
        dx = tenon_tensor_slice(dx, d, params.begin[d], shape[d]);
    for (int i = 0; i < 35; i++)
        w[i] = test_real(&random, -1, 1);
    for (int i = 0; i < 12; i++) {
        double loss = 0;
        x[i] = 1;
        assert_true(tn_pad_reference(&params, (const tenon_tensor *const[]){&vx, &vy}, y));
        x[i] = 0;
        for (int e = 0; e < 35; e++)
            loss += w[e] * y[e].value;
        int64_t at = (int64_t)(dx.offset / sizeof *w) + i / 4 * dx.stride[0] + i % 4 * dx.stride[1];
        assert_true(loss == w[at]);
    }
}

TEST(bad_input)
{
    static const char op[] = "tenon_pad_forward";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, padded[] = {6, 6}, empty[] = {0, 6}, two[] = {2, 6};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, shape),
                       y = tenon_tensor_view(TENON_DTYPE_F32, 2, padded),
                       none = tenon_tensor_view(TENON_DTYPE_F32, 2, empty),
                       half = tenon_tensor_view(TENON_DTYPE_F16, 2, padded),
                       small = tenon_tensor_view(TENON_DTYPE_F32, 2, two),
                       f8 = tenon_tensor_view(TENON_DTYPE_F8_E4M3, 2, shape),
                       f8_padded = tenon_tensor_view(TENON_DTYPE_F8_E4M3, 2, padded);
    tenon_pad_params params = TENON_PAD_PARAMS_INIT, bad;
    params.begin[0] = 2;
#define REFUSED(p, a, b, status, word)                                                             \
    assert_refused(tenon_pad_forward(test_stream, p, a, b, NULL), status, op, word)
    REFUSED(&params, &f8, &f8_padded, TENON_ERROR_UNSUPPORTED, "x: type f8_e4m3");
    bad = params, bad.begin[0] = -1, bad.end[0] = 3;
    REFUSED(&bad, &x, &y, invalid, "begin[0] is -1");
    bad = params, bad.end[2] = 1;
    REFUSED(&bad, &x, &y, invalid, "end[2] is 1");
    bad = params, bad.end[1] = INT64_MAX;
    REFUSED(&bad, &x, &y, invalid, "overflows");
    bad = params, bad.end[1] = 1;
    REFUSED(&bad, &x, &y, invalid, "y: shape is 6x6, must be that of x plus begin and end, 6x7");
    bad = params, bad.mode = 3;
    REFUSED(&bad, &x, &y, invalid, "mode is 3");
    bad = params, bad.reserved = 1;
    REFUSED(&bad, &x, &y, invalid, "reserved");
    bad = params, bad.mode = TENON_PAD_REFLECT, bad.begin[0] = 4;
    REFUSED(&bad, &x, &y, invalid, "begin[0] is 4");
    bad = params, bad.mode = TENON_PAD_EDGE;
    REFUSED(&bad, &none, &small, invalid, "x: dimension 0 has size 0");
    REFUSED(&params, &x, &half, TENON_ERROR_UNSUPPORTED, "y");
#undef REFUSED
}
