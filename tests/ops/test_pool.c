/* Tests tenon_pool_forward and tenon_pool_backward: one to three dimensions, borders, ties and NaN,
 * every layout, and gradients by finite differences. */
#include "pool_case.h"

#include <math.h>

/* Computed by hand: 2×2 windows of a 3×4 image, padded by one on each side. */
TEST(known_values)
{
    static const float x[] = {1, 5, 5, 2, -1, -7, 3, 0, 9, 9, 9, -4};
    static const float y[3][6] = {
        {1, 5, 2, 9, 9, 0}, {0.25F, 2.5F, 0.5F, 2, 3.5F, -1}, {1, 5, 2, 4, 3.5F, -2}};
    static const int32_t places[] = {0, 1, 3, 8, 9, 7};
    const int64_t x_shape[] = {1, 1, 3, 4}, y_shape[] = {1, 1, 2, 3};
    tenon_tensor image = test_dense(TENON_DTYPE_F32, 4, x_shape, x);
    tenon_tensor pooled = test_dense(TENON_DTYPE_F32, 4, y_shape, NULL);
    tenon_tensor indices = test_dense(TENON_DTYPE_I32, 4, y_shape, NULL);
    for (uint32_t kind = 0; kind < 3; kind++) {
        float got[6];
        int32_t where[6];
        tenon_pool_params params = tenon_pool_params(.kind = kind);
        for (int d = 0; d < 2; d++) {
            params.window[d] = params.geometry.stride[d] = 2;
            params.geometry.pad_begin[d] = params.geometry.pad_end[d] = 1;
        }
        assert_ok(tenon_pool_forward(test_stream, &params, &image, &pooled,
                                     kind == TENON_POOL_MAX ? &indices : NULL, NULL));
        assert_ok(tenon_tensor_download(test_stream, &pooled, got, sizeof got, NULL));
        assert_memory_equal(got, y[kind], sizeof got);
        if (kind == TENON_POOL_MAX) {
            assert_ok(tenon_tensor_download(test_stream, &indices, where, sizeof where, NULL));
            assert_memory_equal(where, places, sizeof where);
        }
    }
    test_destroy(&image, &pooled, &indices);
}

/* Draws windows, strides, dilations and padding that the operation accepts. */
static void spoil_geometry(pool_case *p, test_random *random)
{
    for (uint32_t d = 0; d < p->rank - 2; d++) {
        tenon_conv_geometry *g = &p->params.geometry;
        int64_t size = p->x[2 + d], window = test_between(random, 1, 4), dilation = 1;
        if (window > 1 && size >= 2)
            dilation = test_between(random, 1, size < 3 ? size : 3);
        int64_t reach = (window - 1) * dilation + 1;
        g->stride[d] = test_between(random, 1, 3);
        g->dilation[d] = dilation;
        g->pad_begin[d] = test_between(random, 0, reach - 1);
        g->pad_end[d] = test_between(random, 0, reach - 1);
        if (size + g->pad_begin[d] + g->pad_end[d] < reach)
            g->pad_end[d] = reach - 1;
        p->params.window[d] = window;
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(701);
    for (int i = 0; i < 3 * test_problems(40); i++) {
        pool_case p = {.rank = (uint32_t)test_between(&random, 3, 5),
                       .params = TENON_POOL_PARAMS_INIT};
        p.x[0] = test_between(&random, 1, 3);
        p.x[1] = test_between(&random, 1, 19);
        for (uint32_t d = 2; d < p.rank; d++)
            p.x[d] = test_between(&random, 1, p.rank == 3 ? 70 : p.rank == 4 ? 14 : 6);
        p.params.kind = (uint32_t)i / 3 % 3; /* every kind with every type */
        p.no_indices = test_one_in(&random, 2);
        p.x_layout = (pool_layout)test_between(&random, 0, LAYOUTS - 1);
        p.y_layout = (pool_layout)test_between(&random, 0, LAYOUTS - 1);
        spoil_geometry(&p, &random);
        if (test_one_in(&random, 8))
            p.params.flags = TENON_POOL_GLOBAL;
        pool_check_type(&p, test_float_type((uint32_t)i), TEST_BOUND, &random);
        if (test_has(TENON_CAPABILITY_F64))
            pool_check_type(&p, TENON_DTYPE_F64, TEST_BOUND, &random);
    }
}

/* Sizes by ONNX's and PyTorch's rule: rounded up, but no window begins after the image. */
TEST(output_sizes)
{
    static const struct {
        int64_t size, window, stride, dilation, begin, end, floor, ceil;
    } cases[] = {{4, 3, 2, 1, 0, 0, 1, 2}, {2, 1, 2, 1, 0, 0, 1, 1}, {3, 2, 2, 1, 0, 0, 1, 2},
                 {5, 3, 2, 1, 1, 1, 3, 3}, {6, 3, 2, 1, 1, 1, 3, 4}, {1, 3, 5, 1, 1, 1, 1, 1},
                 {7, 2, 3, 3, 0, 0, 2, 2}, {8, 2, 3, 3, 0, 0, 2, 3}, {2, 3, 2, 1, 0, 0, 0, 0},
                 {3, 1, 4, 1, 2, 2, 2, 2}, {6, 1, 4, 1, 2, 0, 2, 2}, {7, 1, 4, 1, 2, 0, 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_pool_params params = tenon_pool_params(.window[0] = cases[i].window);
        params.geometry.stride[0] = cases[i].stride;
        params.geometry.dilation[0] = cases[i].dilation;
        params.geometry.pad_begin[0] = cases[i].begin;
        params.geometry.pad_end[0] = cases[i].end;
        assert_int_equal(tenon_pool_output_size(&params, 0, cases[i].size), cases[i].floor);
        params.flags = TENON_POOL_CEIL;
        assert_int_equal(tenon_pool_output_size(&params, 0, cases[i].size), cases[i].ceil);
        params.flags = TENON_POOL_GLOBAL;
        assert_int_equal(tenon_pool_output_size(&params, 0, cases[i].size), 1);
        params.flags = TENON_POOL_ADAPTIVE;
        assert_int_equal(tenon_pool_output_size(&params, 0, cases[i].size), -1);
    }
    assert_int_equal(tenon_pool_output_size(NULL, 0, 3), -1);
}

/* Computed by hand: a last window that ends beyond the image, and one that ends in the padding;
 * halves of 5 elements, which overlap; and norms. */
TEST(known_special_windows)
{
    static const float x[] = {1, 2, 3, 4, 5}, beyond[] = {1.5F, 3.5F, 5},
                       padded[] = {1.5F, 3.5F, 2.5F};
    static const float greatest[] = {2, 4, 5}, halves[] = {2, 4}, maxima[] = {3, 5};
    static const float signs[] = {3, -4, 0}, euclidean[] = {5, 4}, absolute[] = {7, 4};
    TEST_KNOWN("pool x=f32:1x1x5 y=f32:1x1x3 kind=average window=2 stride=2 flags=2", x, beyond,
               NULL);
    TEST_KNOWN("pool x=f32:1x1x5 y=f32:1x1x3 kind=average window=2 stride=2 pad_end=1", x, padded,
               NULL);
    TEST_KNOWN("pool x=f32:1x1x5 y=f32:1x1x3 window=2 stride=2 flags=2", x, greatest, NULL);
    TEST_KNOWN("pool x=f32:1x1x5 y=f32:1x1x2 kind=average flags=4", x, halves, NULL);
    TEST_KNOWN("pool x=f32:1x1x5 y=f32:1x1x2 flags=4", x, maxima, NULL);
    TEST_KNOWN("pool x=f32:1x1x3 y=f32:1x1x2 kind=lp window=2", signs, euclidean, NULL);
    TEST_KNOWN("pool x=f32:1x1x3 y=f32:1x1x2 kind=lp window=2 p=1", signs, absolute, NULL);
}

/* Norms, adaptive windows, and last windows that end beyond the padding, in every kind. */
TEST(special_windows)
{
    static const double exponents[] = {1, 2, 3, 2.5};
    test_random random = test_random_for(717);
    for (uint32_t i = 0; i < 4 * (uint32_t)test_problems(12); i++) {
        pool_case p = {.rank = (uint32_t)test_between(&random, 3, 5),
                       .params = TENON_POOL_PARAMS_INIT};
        p.x[0] = test_between(&random, 1, 2);
        p.x[1] = test_between(&random, 1, 19);
        for (uint32_t d = 2; d < p.rank; d++) {
            p.x[d] = test_between(&random, 1, p.rank == 3 ? 70 : p.rank == 4 ? 14 : 6);
            p.y[d] = test_between(&random, 1, p.rank == 3 ? 40 : p.rank == 4 ? 9 : 4);
        }
        p.params.kind = i % 4; /* every kind with every type */
        p.params.p = exponents[test_between(&random, 0, 3)];
        p.no_indices = test_one_in(&random, 2);
        p.x_layout = (pool_layout)test_between(&random, 0, LAYOUTS - 1);
        p.y_layout = (pool_layout)test_between(&random, 0, LAYOUTS - 1);
        spoil_geometry(&p, &random);
        p.params.flags = test_one_in(&random, 2) ? TENON_POOL_CEIL : TENON_POOL_ADAPTIVE;
        pool_check_type(&p, test_float_type(i / 4), TEST_BOUND, &random);
    }
}

/* Small integers have many ties, and sums and divisions by four are exact. */
TEST(integers)
{
    test_random random = test_random_for(702);
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int i = 0; i < 6; i++) {
            pool_case p = pool_plain(4, 2, 18, 9 + 3 * i, i % 3 == 0 ? 2 : 3);
            p.params.kind = i % 3 == 0 ? TENON_POOL_AVERAGE : TENON_POOL_MAX;
            p.params.geometry.stride[1] = 1 + i % 2;
            p.params.geometry.pad_begin[0] = p.params.geometry.pad_end[1] = 1;
            p.x_layout = p.y_layout = (pool_layout)layout;
            p.no_indices = i % 2 == 0;
            pool_check(&p, TEST_EXACT, &random);
        }
}

TEST(special_values)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0, -0.0, 1};
    test_random random = test_random_for(703);
    for (int n = 0; n < 24; n++) {
        const int i = n % 12;
        pool_case p = pool_plain(4, 1, 17, 11, 2);
        pool_pair pair;
        p.no_indices = n >= 12;
        p.x_layout = p.y_layout = i % 2 == 0 ? NCHW : NHWC;
        p.params.kind = (uint32_t)(i / 2) % 3;
        p.params.geometry.pad_begin[1] = 1;
        pool_begin(&pair, &p, test_float_type((uint32_t)i));
        pool_fill(&pair, TEST_BOUND, &random);
        test_tensor *x = test_operand(&pair.forward, POOL_X);
        for (int64_t e = 0; e < tenon_tensor_elements(&x->view); e++)
            test_set(x, e, values[test_between(&random, i < 6 ? 0 : 2, i < 6 ? 5 : 2)]);
        pool_finish(&pair);
    }
}

TEST(sizes)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 65};
    test_random random = test_random_for(704);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            pool_case p = pool_plain(4, 1, layout == NCHW ? 2 : lengths[i],
                                     layout == NCHW ? lengths[i] : 3, 2);
            p.x_layout = p.y_layout = (pool_layout)layout;
            p.params.kind = (uint32_t)i % 3;
            pool_check_type(&p, TENON_DTYPE_F32, TEST_BOUND, &random);
        }
}

/* Rows of fewer columns than a vector, of several vectors, and longer than a work-item's private
 * array, with every loop of pool/values along w. */
TEST(long_rows_without_indices)
{
    static const int64_t lengths[] = {5, 20, 33, 100, 131, 1100};
    test_random random = test_random_for(711);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int step = 1; step <= 3; step++) {
            pool_case p = pool_plain(4, 1, 2, 3, 3);
            p.no_indices = true;
            p.x[3] = lengths[i];
            p.params.kind = (uint32_t)((int)i + step) % 3;
            p.params.geometry.stride[1] = step;
            p.params.geometry.dilation[1] = 1 + (int)i % 2;
            p.params.geometry.pad_begin[1] = 1 + (int)i % 2;
            p.params.geometry.pad_end[0] = p.params.geometry.pad_end[1] = 2;
            p.x_layout = i % 4 == 3 ? GAPS : NCHW;
            pool_check_type(&p, test_float_type((uint32_t)i), TEST_BOUND, &random);
        }
}

/* A window that is longer than the private array of pool/values, and one that almost fills it. */
TEST(long_windows_without_indices)
{
    static const int64_t windows[] = {900, 1010, 1024, 1500};
    test_random random = test_random_for(712);
    for (size_t i = 0; i < 2 * sizeof windows / sizeof *windows; i++) {
        pool_case p = pool_plain(3, 1, 2, 1600, windows[i / 2]);
        p.no_indices = true;
        p.params.kind = i % 2 == 0 ? TENON_POOL_MAX : TENON_POOL_AVERAGE_INSIDE;
        p.params.geometry.stride[0] = 7;
        p.params.geometry.pad_begin[0] = 500;
        pool_check_type(&p, TENON_DTYPE_F32, TEST_BOUND, &random);
    }
}

/* Windows of whole rows: of all rows, of some, and with gaps between them. */
TEST(whole_rows_without_indices)
{
    static const int64_t lengths[] = {2, 7, 8, 16, 21, 49, 100};
    test_random random = test_random_for(715);
    for (size_t i = 0; i < 3 * sizeof lengths / sizeof *lengths; i++) {
        pool_case p = pool_plain(4, 2, 5, 5, 3);
        p.no_indices = true;
        p.x[3] = p.params.window[1] = lengths[i / 3];
        p.x_layout = i % 2 == 0 ? NCHW : GAPS;
        p.params.kind = (uint32_t)(i / 2) % 3;
        p.params.geometry.pad_begin[0] = 1;
        p.params.geometry.dilation[0] = 1 + (int)i % 3 / 2;
        if (i % 3 == 0)
            p.params.flags = TENON_POOL_GLOBAL;
        pool_check_type(&p, test_float_type((uint32_t)i), TEST_BOUND, &random);
    }
}

/* Channels that do not fill the last vector, or that are shared by work-items. */
TEST(channels_without_indices)
{
    static const int64_t channels[] = {8, 15, 20, 33, 70, 4099};
    test_random random = test_random_for(713);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        pool_case p = pool_plain(4, 2, channels[i], 2, 3);
        p.no_indices = true;
        p.x_layout = p.y_layout = NHWC;
        p.params.kind = (uint32_t)i % 3;
        p.params.geometry.pad_begin[1] = p.params.geometry.pad_end[0] = 1;
        pool_check(&p, TEST_BOUND, &random);
    }
}

/* Every position of a window can hold the NaN or the maximum. */
TEST(maximum_at_each_tap)
{
    test_random random = test_random_for(714);
    for (int n = 0; n < 2 * 15; n++) {
        pool_case p = pool_plain(4, 1, 16, 1, 3);
        pool_pair pair;
        p.no_indices = true;
        p.x[2] = p.params.window[0] = 3;
        p.x[3] = 24;
        p.params.window[1] = 5;
        p.params.geometry.stride[1] = 1 + n / 2 % 2;
        p.x_layout = p.y_layout = n % 2 == 0 ? NCHW : NHWC;
        pool_begin(&pair, &p, TENON_DTYPE_F32);
        pool_fill(&pair, TEST_BOUND, &random);
        test_tensor *x = test_operand(&pair.forward, POOL_X);
        for (int64_t e = 0; e < tenon_tensor_elements(&x->view); e++)
            test_set(x, e,
                     e % 72 / 24 == n / 2 / 5 && e % 5 == n / 2 % 5 ? (double)NAN
                     : e % 7 == 0                                   ? 2
                                                                    : -1);
        test_finish(&pair.forward, TEST_ALL);
        test_release(&pair.backward);
    }
}

/* Planes of dx that pool_backward/scatter divides into slabs, with windows in two of them, in both
 * layouts; and an incomplete vector of channels. */
TEST(gradients_in_slabs)
{
    test_random random = test_random_for(716);
    for (uint32_t i = 0; i < 24; i++) {
        pool_case p =
            pool_plain(i % 4 == 3 ? 5 : 4, 1, i % 2 == 0 ? 21 : 1, i % 4 == 3 ? 9 : 38, 3);
        p.no_indices = i % 8 < 4;
        p.x_layout = p.y_layout = i % 2 == 0 ? NHWC : NCHW;
        p.params.kind = i / 2 % 3;
        p.params.geometry.stride[0] = p.params.geometry.stride[1] = 1 + i / 8;
        p.params.geometry.dilation[1] = 1 + i / 4 % 2;
        p.params.geometry.pad_begin[0] = p.params.geometry.pad_end[1] = 1;
        pool_check_type(&p, TENON_DTYPE_F32, TEST_BOUND, &random);
    }
}

TEST(large)
{
    test_random random = test_random_for(705);
    for (int i = 0; i < 3; i++) {
        pool_case p = pool_plain(i == 0 ? 3 : 4, 2, 67, i == 0 ? 9001 : 54, 3);
        p.params.kind = (uint32_t)i;
        p.x_layout = p.y_layout = i == 1 ? NHWC : NCHW;
        p.params.geometry.stride[0] = p.params.geometry.stride[1] = 2;
        p.params.geometry.pad_begin[0] = 1;
        pool_check_type(&p, TENON_DTYPE_F32, TEST_BOUND, &random);
        p.params.flags = TENON_POOL_GLOBAL;
        pool_check_type(&p, TENON_DTYPE_F32, TEST_BOUND, &random);
    }
}

/* An image shorter than the dilation that still overlaps each window, and an image without pixels.
 */
TEST(short_images)
{
    test_random random = test_random_for(706);
    pool_case p = pool_plain(3, 2, 3, 1, 3);
    p.x[2] = 1;
    p.params.geometry.dilation[0] = p.params.geometry.pad_begin[0] = p.params.geometry.pad_end[0] =
        2;
    pool_check(&p, TEST_BOUND, &random);
    p.params.geometry.dilation[0] = INT64_MAX;
    p.params.window[0] = 1;
    p.params.kind = TENON_POOL_AVERAGE;
    pool_check(&p, TEST_BOUND, &random);
    p.params.geometry.dilation[0] = 1;
    p.params.window[0] = 3;
    p.params.geometry.pad_begin[0] = 4; /* the average of a window of only padding is 0 */
    pool_check(&p, TEST_BOUND, &random);
    p.x[2] = 0;
    pool_check(&p, TEST_BOUND, &random);
    for (int d = 0; d < 2; d++) {
        p = pool_plain(4, 2, 3, 4, 2);
        p.x[d] = 0;
        pool_check(&p, TEST_BOUND, &random);
    }
}

/* Returns the sum of dy · y in double. */
static double objective(pool_pair *pair)
{
    const test_tensor *dy = test_operand(&pair->backward, POOL_BACKWARD_DY);
    double sum = 0;
    test_expect(&pair->forward);
    for (int64_t i = 0; i < tenon_tensor_elements(&dy->view); i++)
        sum += test_get(dy, i) * pair->forward.expected[i].value;
    return sum;
}

/* The maximum is linear between ties, which values that are far apart avoid. */
TEST(finite_differences)
{
    test_random random = test_random_for(707);
    for (uint32_t n = 0; n < 7; n++) {
        const uint32_t kind = n < 3 ? n : TENON_POOL_LP;
        pool_case p = pool_plain(4, 1, 2, 5, 3);
        pool_pair pair;
        p.params.kind = kind;
        p.params.p = n == 4 ? 1 : n == 5 ? 3 : 2;
        p.params.flags = n == 6 ? TENON_POOL_ADAPTIVE : 0;
        p.y[2] = p.y[3] = 3;
        p.params.geometry.stride[0] = 2;
        p.params.geometry.dilation[1] = 2;
        p.params.geometry.pad_begin[0] = p.params.geometry.pad_begin[1] = 1;
        pool_begin(&pair, &p, TENON_DTYPE_F32);
        pool_fill(&pair, TEST_BOUND, &random);
        test_tensor *x = test_operand(&pair.forward, POOL_X);
        const int64_t elements = tenon_tensor_elements(&x->view);
        for (int64_t i = 0; i < elements;
             i++) /* 37 and `elements` are coprime, so all values differ */
            test_set(x, i, (double)(i * 37 % elements) / 64);
        pool_link(&pair);
        test_expect(&pair.backward);
        for (int64_t i = 0; i < elements; i++) {
            const double value = test_get(x, i), step = 0x1p-8,
                         dx = pair.backward.expected[i].value;
            test_set(x, i, value + step);
            double above = objective(&pair);
            test_set(x, i, value - step);
            double below = objective(&pair);
            test_set(x, i, value);
            if (fabs((above - below) / (2 * step) - dx) > (kind == TENON_POOL_LP ? 2e-3 : 1e-5))
                fail_msg("kind %u: dx[%lld] is %g, the differences say %g", kind, (long long)i, dx,
                         (above - below) / (2 * step));
        }
        pool_finish(&pair);
    }
}

/* Indices may be arbitrary: they are compared, but never used as addresses. */
TEST(wild_indices)
{
    static const double values[] = {-1, -2147483648.0, 2147483647, 30, 0};
    test_random random = test_random_for(708);
    pool_case p = pool_plain(4, 1, 17, 3, 2);
    pool_pair pair;
    pool_begin(&pair, &p, TENON_DTYPE_F32);
    pool_fill(&pair, TEST_BOUND, &random);
    test_tensor *indices = test_operand(&pair.backward, POOL_BACKWARD_INDICES);
    for (int64_t i = 0; i < tenon_tensor_elements(&indices->view); i++)
        test_set(indices, i, values[i % 5]);
    test_finish(&pair.backward, TEST_ALL);
    test_release(&pair.forward);
}

/* dy with stride 0, and x with stride 0. */
TEST(broadcast_inputs)
{
    test_random random = test_random_for(709);
    pool_case p = pool_plain(4, 2, 5, 6, 3);
    for (int n = 0; n < 8; n++) {
        pool_pair pair;
        p.no_indices = n % 2 != 0;
        pool_begin(&pair, &p, TENON_DTYPE_F32);
        pair.forward.c.views[POOL_X].stride[n / 2] = 0;
        pair.backward.c.views[POOL_BACKWARD_X].stride[n / 2] = 0;
        pair.backward.c.views[POOL_BACKWARD_DY].stride[n / 2] = 0;
        pool_fill(&pair, TEST_BOUND, &random);
        pool_finish(&pair);
    }
}

TEST(plans)
{
    test_random random = test_random_for(710);
    pool_case p = pool_plain(4, 2, 5, 6, 3);
    pool_pair pair;
    tenon_plan *plan;
    char why[256];
    pool_begin(&pair, &p, TENON_DTYPE_F32);
    pool_fill(&pair, TEST_BOUND, &random);
    test_expect(&pair.forward);
    const test_tensor *o = pair.forward.operands;
    tenon_tensor x = o[POOL_X].view, y = o[POOL_Y].view, indices = o[POOL_INDICES].view;
    test_upload(&o[POOL_X]);
    test_upload(&o[POOL_Y]);
    assert_ok(tenon_pool_forward_plan(test_context, &p.params, &x, &y, NULL, &plan));
    const tenon_memory memories[] = {x.memory, y.memory, {0}};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 3, NULL));
    tenon_plan_release(plan);
    assert_true(test_result(&o[POOL_Y], pair.forward.expected, TEST_BOUND, why));
    const tenon_memory twice[] = {x.memory, y.memory, y.memory};
    x.memory = y.memory = indices.memory = (tenon_memory){0};
    assert_ok(tenon_pool_forward_plan(test_context, &p.params, &x, &y, &indices, &plan));
    test_upload(&o[POOL_Y]);
    assert_refused(tenon_plan_run(test_stream, plan, twice, 3, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_pool_forward_plan", "overlaps the output");
    assert_untouched(&o[POOL_Y]);
    tenon_plan_release(plan);
    pool_dismiss(&pair);
}
