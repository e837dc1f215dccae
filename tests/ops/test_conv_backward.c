/*
 * Tests the gradients of convolutions against their references, and those against the definition:
 * by the adjoint identities, which hold exactly for integers, and by finite differences. Also
 * covers the gradients of transposed convolutions. test_conv_backward_shapes.c tests shapes.
 */
#include "conv_case.h"

/* Computed by hand: a filter of 3 with stride 2 over 5 pixels, padded by one on the left. */
TEST(known_values)
{
    static const float x[] = {1, 2, 3, 4, 5}, w[] = {1, -1, 2}, dy[] = {3, 5};
    static const float dx[] = {-3, 6 + 5, -5, 10, 0}, dw[] = {5 * 2, 3 * 1 + 5 * 3, 3 * 2 + 5 * 4},
                       db[] = {8};
    TEST_KNOWN("conv_backward_filter x=T:1x1x5 dy=T:1x1x2 dw=T:1x1x3 stride=2 pad_begin=1", x, dy,
               dw);
    TEST_KNOWN("conv_backward_data dy=T:1x1x2 w=T:1x1x3 dx=T:1x1x5 stride=2 pad_begin=1", dy, w,
               dx);
    TEST_KNOWN("conv_backward_bias dy=T:1x1x2 db=T:1", dy, db);
}

static void copy_elements(test_tensor *to, const test_tensor *from)
{
    for (int64_t i = 0; i < tenon_tensor_elements(&to->view); i++)
        test_set(to, i, test_get(from, i));
}

/* For integers ⟨conv(x, w), dy⟩ = ⟨x, dx⟩ = ⟨w, dw⟩ exactly, which ties the references of the
 * gradients to that of the convolution. */
TEST(adjoint)
{
    test_random random = test_random_for(1201);
    for (int n = 0; n < 60; n++) {
        conv_case p = random_conv(&random);
        test_fixture forward, image, filter;
        char text[TN_CASE_TEXT_SIZE];
        p.activation.kind = 0;
        p.residual = NO_RESIDUAL;
        p.beta = 0;
        p.bias = false;
        conv_make(&forward, FORWARD, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        conv_make(&image, OF_IMAGE, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        conv_make(&filter, OF_FILTER, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        copy_elements(&image.operands[1], &forward.operands[CONV_W]);
        copy_elements(&filter.operands[0], &forward.operands[CONV_X]);
        copy_elements(&filter.operands[1], &image.operands[0]);
        test_expect(&forward);
        test_expect(&image);
        test_expect(&filter);
        double by_y = test_dot(forward.expected, &image.operands[0]);
        double by_x = test_dot(image.expected, &forward.operands[CONV_X]);
        double by_w = test_dot(filter.expected, &forward.operands[CONV_W]);
        if (by_y != by_x || by_y != by_w)
            fail_msg("the product is %g by y, %g by x, %g by w: %s", by_y, by_x, by_w,
                     tn_case_text(&forward.c, text));
        test_release(&forward);
        test_release(&image);
        test_release(&filter);
    }
}

/* Differences of the sum of y · dy by the references. */
TEST(finite_differences)
{
    test_random random = test_random_for(1202);
    test_fixture y, dx, dw;
    conv_case p =
        conv_like(.n = 1, .size[0] = 5, .size[1] = 6, .groups = 2, .geometry.stride[0] = 2,
                  .geometry.dilation[1] = 2, .geometry.pad_begin[0] = 1, .geometry.pad_end[1] = 1);
    conv_make(&y, FORWARD, &p, TENON_DTYPE_F64, TEST_BOUND, &random);
    conv_make(&dx, OF_IMAGE, &p, TENON_DTYPE_F64, TEST_BOUND, &random);
    conv_make(&dw, OF_FILTER, &p, TENON_DTYPE_F64, TEST_BOUND, &random);
    copy_elements(&dx.operands[1], &y.operands[CONV_W]);
    copy_elements(&dw.operands[0], &y.operands[CONV_X]);
    copy_elements(&dw.operands[1], &dx.operands[0]);
    test_expect(&dx);
    test_expect(&dw);
    test_slopes(&y, CONV_X, &dx.operands[0], dx.expected, 1e-8, 0);
    test_slopes(&y, CONV_W, &dx.operands[0], dw.expected, 1e-8, 0);
    test_release(&y);
    test_release(&dx);
    test_release(&dw);
}

/* In every direction. dx sums only over existing elements; the padding's zeros count in y, in dw
 * and in dx of the transposed convolution. */
TEST(nan_and_infinity_propagate)
{
    test_random random = test_random_for(1207);
    for (int i = 0; i < 24; i++)
        for (int d = FORWARD; d < DIRECTIONS; d++) {
            test_fixture f;
            conv_case p =
                conv_like(.geometry.pad_begin[0] = i / 3 % 2, .geometry.pad_end[1] = i / 3 % 2,
                          .geometry.stride[1] = 1 + i / 6 % 2, .x = i < 12 ? NCHW : NHWC,
                          .y = i < 12 ? NCHW : NHWC);
            conv_make(&f, (conv_direction)d, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            conv_spoil(&f, d == OF_BIAS ? 0 : (uint32_t)i % 2, i, &random);
            test_finish(&f, TEST_ALL);
        }
}

/* Includes the solver that works in blocks, if its smallest block fits. */
static void check_blocks(tenon_dtype dtype, test_random *random)
{
    static const conv_direction directions[] = {OF_IMAGE, OF_FILTER, OF_BIAS};
    static const char *const solvers[] = {"conv_backward_data/col2im_gemm",
                                          "conv_backward_filter/im2col_gemm",
                                          "conv_backward_bias/parts"};
    for (int i = 0; i < 12; i++) {
        test_fixture f;
        conv_case p =
            conv_like(.groups = 1 + i / 3 % 2, .x = i < 6 ? NCHW : NHWC, .y = i < 6 ? NCHW : NHWC);
        p.w = p.x;
        p.beta = i % 2;
        p.geometry.pad_begin[1] = 1;
        conv_make(&f, directions[i % 3], &p, dtype, TEST_EXACT, random);
        test_check(&f, TEST_ONCE);
        const test_subject subject = test_subject_of(&f);
        tenon_status status = subject.call(&f, solvers[i % 3]);
        if (status == TENON_OK)
            test_run(&subject, solvers[i % 3]);
        else
            assert_true(status == TENON_ERROR_WORKSPACE_TOO_SMALL ||
                        status == TENON_ERROR_UNSUPPORTED);
        test_release(&f);
    }
}

/* Without a workspace or with a small one the result must be the same, whatever the method. */
TEST(small_workspaces)
{
    static const struct {
        uint64_t limit;
        tenon_dtype dtype;
    } cases[] = {{0, TENON_DTYPE_F32},    {3000, TENON_DTYPE_F32},   {12000, TENON_DTYPE_F32},
                 {9000, TENON_DTYPE_F16}, {24000, TENON_DTYPE_BF16}, {40000, TENON_DTYPE_F16}};
    test_random random = test_random_for(1208);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_limit_workspace(cases[i].limit);
        check_blocks(cases[i].dtype, &random);
        test_usual_stream();
    }
}

/* Inputs with stride 0. */
TEST(broadcast_inputs)
{
    test_random random = test_random_for(1209);
    for (uint32_t d = 0; d < 4; d++)
        for (size_t g = 0; g < GRADIENTS; g++) {
            test_fixture f;
            conv_case p = conv_like(.geometry.pad_begin[0] = 1);
            conv_begin(&f, conv_gradients[g], &p, TENON_DTYPE_F32);
            for (uint32_t i = 0; i + 1 < f.c.operation->operand_count; i++)
                f.c.views[i].stride[d] = 0;
            conv_fill(&f, conv_gradients[g], &p, TEST_BOUND, &random);
            test_finish(&f, TEST_ALL);
        }
}

/* Invalid shapes that the tests of all operations do not cover: the output has one dimension. */
TEST(refused_biases)
{
    static const test_refusal refusals[] = {
        {"conv_backward_bias dy=T:2x4x3x3 db=T:2x4x3x3", "db: shape is 2x4x3x3, must be 4"},
        {"conv_backward_bias dy=T:4 db=T:4", "dy: rank is 1"},
        {"conv_backward_bias dy=T:2x4x3x3 db=T:3", "db: shape is 3, must be 4"},
        {"conv_backward_bias dy=T:2x4x3x3 db=f16:4", "db", TENON_ERROR_UNSUPPORTED},
        {"conv_backward_bias dy=T:2x4x3x3 db=T:4 flags=1", "flags"},
    };
    TEST_REFUSE(refusals);
}

TEST(random_problems)
{
    test_random random = test_random_for(1211);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(25); n++)
            for (size_t g = 0; g < GRADIENTS; g++) {
                conv_case p = random_conv(&random);
                p.beta = n % 3 == 0 ? 0.5 : 0;
                conv_run_once(conv_gradients[g], &p, *type, &random);
            }
}
