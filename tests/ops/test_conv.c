/*
 * Tests tenon_conv_forward against its reference, and the reference against the definition: every
 * solver by name and the automatic choice, reals within the bound and integers exactly.
 */
#include "conv_case.h"
#include "emulation.h"

/* Returns the row-major number of the element of x under a tap, or -1 in the padding; out and tap
 * are indices of y and of w. */
static int64_t under(const conv_case *c, const int64_t *out, int64_t channel, const int64_t *tap)
{
    const tenon_conv_geometry *g = &c->geometry;
    int64_t number = out[0] * c->c + channel;
    for (uint32_t d = 0; d < c->spatial; d++) {
        int64_t at = out[2 + d] * g->stride[d] - g->pad_begin[d] + tap[2 + d] * g->dilation[d];
        if (at < 0 || at >= c->size[d])
            return -1;
        number = number * c->size[d] + at;
    }
    return number;
}

/* Computes the sum in the header's formula with plain loops over logical indices. */
static double by_definition(const conv_case *c, const test_fixture *f, const int64_t *out)
{
    const test_tensor *x = &f->operands[CONV_X], *w = &f->operands[CONV_W];
    int64_t channels = c->c / c->groups, group = out[1] / (c->k / c->groups);
    int64_t shape[CONV_RANK], tap[CONV_RANK] = {0}, number = out[1];
    double sum = 0;
    memcpy(shape, w->view.shape, sizeof shape);
    shape[0] = 1;
    for (uint32_t d = 1; d < w->view.rank; d++)
        number *= shape[d];
    do {
        int64_t at = under(c, out, group * channels + tap[1], tap);
        if (at >= 0)
            sum += test_get(x, at) * test_get(w, number);
        number++;
    } while (tn_next_index(tap, shape, w->view.rank));
    return sum;
}

TEST(the_reference_is_the_definition)
{
    test_random random = test_random_for(201);
    for (int n = 0; n < 60; n++) {
        conv_case p = random_conv(&random);
        char text[TN_CASE_TEXT_SIZE];
        int64_t out[CONV_RANK] = {0};
        test_fixture f;
        p.activation.kind = 0;
        p.residual = NO_RESIDUAL;
        p.beta = 0;
        p.bias = false;
        conv_make(&f, FORWARD, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        test_expect(&f);
        const tenon_tensor *y = &f.operands[CONV_Y].view;
        for (int64_t i = 0; i < tenon_tensor_elements(y); i++) {
            if (f.expected[i].value != by_definition(&p, &f, out))
                fail_msg("element %lld of %s", (long long)i, tn_case_text(&f.c, text));
            tn_next_index(out, y->shape, y->rank);
        }
        test_release(&f);
    }
}

TEST(output_sizes)
{
    tenon_conv_geometry g = TENON_CONV_GEOMETRY_INIT;
    assert_int_equal(tenon_conv_output_size(&g, 0, 5, 3), 3);
    assert_int_equal(tenon_conv_output_size(&g, 0, 3, 3), 1);
    assert_int_equal(tenon_conv_output_size(&g, 0, 2, 3), 0);
    assert_int_equal(tenon_conv_output_size(&g, 2, 5, 1), 5);
    g.stride[1] = 2;
    g.dilation[1] = 3;
    g.pad_begin[1] = 1;
    g.pad_end[1] = 2;
    assert_int_equal(tenon_conv_output_size(&g, 1, 10, 3), 4);
    assert_int_equal(tenon_conv_output_size(&g, 1, 0, 3), 0);
    assert_int_equal(tenon_conv_output_size(&g, 1, 4, 3), 1);
    assert_int_equal(tenon_conv_output_size(NULL, 0, 5, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 3, 5, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 0, -1, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 0, 5, 0), -1);
    assert_int_equal(tenon_conv_output_size(&g, 1, INT64_MAX, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 1, 5, INT64_MAX), -1);
    g.stride[0] = 0;
    assert_int_equal(tenon_conv_output_size(&g, 0, 5, 3), -1);
}

TEST(every_layout)
{
    test_random random = test_random_for(202);
    for (int i = 0; i < 2 * IMAGE_LAYOUTS * IMAGE_LAYOUTS; i++) {
        conv_case p = conv_like(.x = (image_layout)(i % IMAGE_LAYOUTS),
                                .y = (image_layout)(i / IMAGE_LAYOUTS % IMAGE_LAYOUTS));
        p.w = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
        p.offset = i % 3;
        p.geometry.pad_begin[0] = p.geometry.pad_end[1] = 1;
        conv_check_once(FORWARD, &p, &random);
        p.filter[0] = p.filter[1] = 1; /* a matrix product if there is no padding */
        p.geometry = no_geometry;
        conv_check_once(FORWARD, &p, &random);
    }
}

TEST(strides_dilations_and_padding)
{
    test_random random = test_random_for(203);
    for (int i = 0; i < 16; i++) {
        conv_case p =
            conv_like(.geometry.stride[0] = 1 + i % 2, .geometry.stride[1] = 1 + i / 2 % 3,
                      .geometry.dilation[0] = 1 + i / 4 % 2, .geometry.dilation[1] = 1 + i / 8,
                      .geometry.pad_begin[0] = i % 3, .geometry.pad_end[0] = (i + 1) % 4,
                      .geometry.pad_begin[1] = i / 3 % 3, .geometry.pad_end[1] = i % 2,
                      .filter[0] = 2 + i % 2);
        conv_check(FORWARD, &p, &random);
    }
}

TEST(groups)
{
    static const int64_t cases[][3] = {{2, 6, 4}, {3, 3, 3}, {4, 8, 4}, {5, 5, 10}, {1, 1, 1}};
    test_random random = test_random_for(204);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p =
                conv_like(.groups = cases[i][0], .c = cases[i][1], .k = cases[i][2],
                          .x = (image_layout)layout, .y = (image_layout)layout,
                          .geometry.pad_begin[0] = 1, .geometry.pad_begin[1] = 1, .bias = true);
            conv_check(FORWARD, &p, &random);
            p.filter[0] = p.filter[1] = 1;
            conv_check(FORWARD, &p, &random);
        }
}

TEST(sizes)
{
    static const int64_t cases[][7] = {{1, 1, 1, 1, 1, 1, 1},   {1, 1, 5, 1, 1, 5, 1},
                                       {1, 3, 1, 7, 2, 1, 7},   {3, 1, 8, 8, 65, 3, 3},
                                       {1, 33, 8, 8, 13, 3, 3}, {1, 2, 33, 31, 3, 5, 5},
                                       {1, 129, 3, 3, 7, 3, 3}, {1, 16, 17, 19, 64, 1, 1}};
    test_random random = test_random_for(205);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const conv_case p = conv_of_sizes(cases[i]);
        conv_check(FORWARD, &p, &random);
    }
}

/* No images, filters, channels or pixels, and a filter that does not fit. */
TEST(empty)
{
    test_random random = test_random_for(206);
    for (int i = 0; i < 5; i++) {
        conv_case p = simple_conv;
        *(i == 0   ? &p.n
          : i == 1 ? &p.k
          : i == 2 ? &p.c
          : i == 3 ? &p.size[0]
                   : &p.filter[0]) = i == 4 ? 10 : 0;
        p.bias = i == 2;
        conv_check(FORWARD, &p, &random);
    }
    conv_case padded = simple_conv;
    padded.size[0] = 0; /* the filter sees only padding */
    padded.geometry.pad_begin[0] = 2;
    padded.geometry.pad_end[0] = 2;
    padded.bias = true;
    conv_check(FORWARD, &padded, &random);
}

TEST(epilogues)
{
    static const tenon_activation activations[] = {
        {TENON_ACTIVATION_IDENTITY, 0, 0, 0},      {TENON_ACTIVATION_RELU, 0, 0, 0},
        {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0}, {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0},
        {TENON_ACTIVATION_SIGMOID, 0, 0, 0},       {TENON_ACTIVATION_TANH, 0, 0, 0}};
    test_random random = test_random_for(207);
    for (int i = 0; i < 24; i++) {
        conv_case p =
            conv_like(.activation = activations[i % 6], .residual = (conv_residual)(i / 6));
        p.beta = p.residual != NO_RESIDUAL && i % 5 != 0 ? -2 : 0;
        p.alpha = i % 7 == 3 ? 0 : 0.5;
        p.bias = i % 2 == 0;
        p.y = i % 3 == 0 ? NHWC : NCHW;
        conv_check_once(FORWARD, &p, &random);
    }
}

/* Without a workspace or with a small one the result must be the same, whatever the method. */
TEST(small_workspaces)
{
    static const uint64_t limits[] = {0, 1, 128, 4096, 20000};
    test_random random = test_random_for(209);
    conv_case p = conv_like(.bias = true, .geometry.pad_begin[1] = 1);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        test_limit_workspace(limits[i]);
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            test_fixture f;
            conv_make(&f, FORWARD, &p, TENON_DTYPE_F32, (test_judge)judge, &random);
            test_finish(&f, TEST_ONCE);
        }
        test_usual_stream();
    }
}

/* Sizes beyond the direct kernel, with several tiles. */
TEST(larger_problems)
{
    test_random random = test_random_for(210);
    conv_case p =
        conv_like(.c = 16, .size[0] = 40, .size[1] = 40, .k = 33, .geometry.pad_begin[0] = 1,
                  .geometry.pad_end[0] = 1, .bias = true, .activation.kind = TENON_ACTIVATION_RELU);
    conv_check_typed(FORWARD, &p, TENON_DTYPE_F32, &random);
    p.x = p.y = NHWC;
    conv_check_typed(FORWARD, &p, TENON_DTYPE_F32, &random);
}

TEST(every_unit_has_served)
{
    static const int types[] = {MATRIX_F16, MATRIX_BF16, 0};
    assert_emulated("conv", types);
}
