/*
 * Tests the family conv_packed: convolutions of any window with filters in panels and images with
 * their channels last, by every solver, against the reference of tenon_conv_forward.
 */
#include "packed_case.h"
#include "quick.h"

#include "dispatch/plan.h"

#include <math.h>
#include <string.h>

/* A small problem with channels last, and the same with other members. */
#define PACKED_CONV      SIMPLE_CONV, .c = 19, .size = {7, 6, 1}, .k = 37, .x = NHWC, .y = NHWC
#define packed_conv(...) TENON_LITERAL(conv_case, PACKED_CONV, __VA_ARGS__)

/* Inserts gaps between the pixels, the rows and the images of an image with channels last. */
static void widen(tenon_tensor *view)
{
    int64_t step = view->shape[1] + 3;
    for (uint32_t d = view->rank - 1; d >= 2; d--) {
        view->stride[d] = step;
        step = step * view->shape[d] + 1;
    }
    view->stride[0] = step;
}

/* Runs the automatic choice and every solver, on reals and, if results can be exact, on integers.
 */
static void check_typed(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    const bool exact = p->activation.kind <= TENON_ACTIVATION_CLIPPED_RELU;
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        packed_make(&f, p, dtype, &tn_conv_packed_family, (test_judge)judge, random);
        test_finish(&f, TEST_ALL);
    }
}

static void check_all(const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_typed(p, *type, random);
}

TEST(sizes_around_tile_edges)
{
    static const int64_t pixels[] = {1, 3, 4, 5, 11, 12, 13, 25},
                         filters[] = {1, 2, 31, 32, 33, 65, 300}, channels[] = {1, 2, 3, 16, 33};
    test_random random = test_random_for(901);
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        conv_case p = packed_conv(.n = 1 + (int64_t)i % 2, .size = {3, pixels[i] + 2, 1});
        check_all(&p, &random);
    }
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        conv_case p = packed_conv(.k = filters[i], .w = (image_layout)(i % IMAGE_LAYOUTS));
        conv_pad(&p, 1, 1, 1, 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
    }
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        conv_case p = packed_conv(.c = channels[i], .offset = 3, .bias = true);
        conv_pad(&p, 2, 1, 2, 1);
        check_all(&p, &random);
    }
}

/* Several blocks of K, between which sums are stored, or kept in local memory. */
TEST(blocks_of_the_sum)
{
    test_random random = test_random_for(902);
    for (int i = 0; i < 3; i++) {
        conv_case p =
            packed_conv(.c = 360, .k = 45, .size = {4, 5, 1}, .bias = true, .residual = IN_PLACE,
                        .beta = 0.5, .activation = {.kind = TENON_ACTIVATION_RELU});
        p.groups = i == 1 ? 3 : 1;
        p.geometry.dilation[1] = i == 2 ? 2 : 1;
        conv_pad(&p, 1, 1, 1, 1);
        check_all(&p, &random);
    }
}

/* In one to three spatial dimensions. */
TEST(strides_dilations_and_ranks)
{
    test_random random = test_random_for(903);
    for (uint32_t spatial = 1; spatial <= 3; spatial++)
        for (int64_t stride = 1; stride <= 3; stride++) {
            conv_case p = packed_conv(.spatial = spatial, .size = {9, 8, 7}, .filter = {3, 2, 3},
                                      .bias = stride == 2);
            for (uint32_t d = 0; d < spatial; d++) {
                p.geometry.stride[d] = stride - (stride > 1 && d == 1);
                p.geometry.dilation[d] = d == spatial - 1 ? 1 + stride / 2 : 1;
                p.geometry.pad_begin[d] = 1 + d % 2;
                p.geometry.pad_end[d] = 2 - d % 2;
            }
            check_typed(&p, test_float_type((uint32_t)stride), &random);
            check_typed(&p, TENON_DTYPE_F32, &random);
        }
}

/* Groups that begin and end inside panels, and groups of one channel with one or several filters.
 */
TEST(groups)
{
    static const int64_t cases[][3] = {{3, 5, 7},  {2, 4, 33}, {4, 3, 16}, {2, 17, 64}, {7, 2, 20},
                                       {40, 1, 1}, {33, 1, 2}, {5, 1, 3},  {3, 1, 17},  {64, 1, 1}};
    test_random random = test_random_for(904);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t groups = cases[i][0];
        conv_case p = packed_conv(.groups = groups, .c = groups * cases[i][1],
                                  .k = groups * cases[i][2], .bias = true);
        conv_pad(&p, 1, 1, 1, 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
        check_typed(&p, test_float_type((uint32_t)i), &random);
    }
}

/* Depthwise windows with unrolled and other loops, around blocks of eight pixels; several parts of
 * a plane and of a row, and rows of the image that several rows of results read. */
TEST(depthwise_windows)
{
    test_random random = test_random_for(905);
    for (int64_t s = 1; s <= 8; s++)
        for (int64_t stride = 1; stride <= 3; stride++) {
            conv_case p = packed_conv(.groups = 37, .c = 37, .filter = {1 + s % 3, s, 1});
            p.size[1] = 3 + 5 * stride + s + test_between(&random, 0, 9);
            p.geometry.stride[1] = stride;
            p.geometry.dilation[1] = s % 4 == 2 ? 2 : 1;
            conv_pad(&p, s % 2, 1, s / 2, s / 3);
            check_typed(&p, s % 3 == 0 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, &random);
        }
    for (int64_t stride = 1; stride <= 3; stride++) {
        conv_case p = packed_conv(.groups = 37, .c = 37, .filter = {3, 3, 1},
                                  .size = {50 + 7 * stride, 190 + 3 * stride, 1}, .bias = true);
        p.geometry.stride[0] = stride;
        p.geometry.stride[1] = 1 + stride % 2;
        conv_pad(&p, 1, 1, 1, 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
    }
    for (int64_t width = 1; width <= 19; width++) {
        conv_case p = packed_conv(.groups = 70, .c = 70, .k = 70, .size = {5, width, 1},
                                  .residual = IN_PLACE, .beta = -0.5);
        conv_pad(&p, 1, 1, 1, 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Filters in whole vectors, whose rows are read in place: every number of pixels in the last block,
 * and padding up to the last tap and beyond it. */
TEST(depthwise_whole_vectors)
{
    test_random random = test_random_for(916);
    for (int64_t s = 3; s <= 7; s += 2)
        for (int64_t stride = 1; stride <= 2; stride++)
            for (int64_t pad = 0; pad <= s; pad += s / 2) {
                conv_case p = packed_conv(.groups = 48, .c = 48, .k = 48,
                                          .filter = {1 + pad % 3, s, 1}, .bias = pad % 2 == 0);
                p.size[1] = s + test_between(&random, 0, 20);
                p.geometry.stride[1] = stride;
                p.geometry.stride[0] = 1 + pad % 2;
                p.geometry.dilation[0] = 1 + s % 2;
                conv_pad(&p, 2, 1, pad, s - pad);
                check_typed(&p,
                            pad == 0 ? test_float_type((uint32_t)(s + stride)) : TENON_DTYPE_F32,
                            &random);
            }
    for (int64_t width = 1; width <= 19; width++) {
        conv_case p = packed_conv(.groups = 96, .c = 96, .k = 96, .size = {5, width, 1},
                                  .residual = IN_PLACE, .beta = -0.5);
        conv_pad(&p, 1, 1, 1, 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
    }
    conv_case deep = packed_conv(.spatial = 3, .groups = 48, .c = 48, .k = 48, .size = {4, 5, 13},
                                 .filter = {2, 3, 3});
    deep.geometry.pad_begin[0] = deep.geometry.pad_end[0] = 1;
    deep.geometry.pad_begin[2] = deep.geometry.pad_end[2] = 1;
    deep.geometry.dilation[0] = 2;
    check_typed(&deep, TENON_DTYPE_F32, &random);
}

TEST(epilogues)
{
    test_random random = test_random_for(906);
    for (uint32_t kind = 0; kind < TN_ACTIVATION_KINDS; kind++) {
        if (quick_is_on() && tn_activation_is_build(kind) && kind != TENON_ACTIVATION_SILU)
            continue; /* each is a kernel build of its own */
        conv_case p = packed_conv(.k = 70, .bias = kind % 2 == 0, .alpha = 0.5, .beta = 0.75,
                                  .residual = (conv_residual)(kind % 4),
                                  .activation = tn_activation_tried(kind));
        p.beta = p.residual == NO_RESIDUAL ? 0 : p.beta;
        conv_pad(&p, 1, 1, 1, 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
        p.groups = p.c = p.k;
        check_typed(&p, kind % 3 == 0 ? test_float_type(kind) : TENON_DTYPE_F32, &random);
    }
    for (int residual = NO_RESIDUAL; residual <= IN_PLACE; residual++) {
        conv_case p = packed_conv(.residual = (conv_residual)residual, .alpha = 0, .bias = true,
                                  .beta = residual == NO_RESIDUAL ? 0 : 1);
        check_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Gaps in x, y and c prevent pixels, or taps, from being merged. */
TEST(gaps_between_pixels)
{
    test_random random = test_random_for(907);
    for (int i = 1; i < 8; i++) {
        test_fixture f;
        conv_case p = packed_conv(.n = 3, .residual = FULL_RESIDUAL, .beta = 1, .offset = i % 3);
        p.groups = i == 5 ? 19 : 1;
        p.k = p.groups == 1 ? p.k : 38;
        conv_pad(&p, 1, 0, 1, 2);
        packed_begin(&f, &p, TENON_DTYPE_F32, &tn_conv_packed_family);
        if (i & 1)
            widen(&f.c.views[CONV_X]);
        if (i & 2)
            widen(&f.c.views[CONV_C]);
        if (i & 4)
            widen(&f.c.views[CONV_Y]);
        conv_fill(&f, FORWARD, &p, TEST_EXACT, &random);
        test_finish(&f, TEST_ALL);
    }
}

/* The solvers that read panels refuse images in other layouts; the dense filters serve. */
TEST(every_layout)
{
    test_random random = test_random_for(908);
    for (int x = 0; x < IMAGE_LAYOUTS; x++)
        for (int y = 0; y < IMAGE_LAYOUTS; y++) {
            conv_case p = packed_conv(.x = (image_layout)x, .y = (image_layout)y, .offset = x,
                                      .w = (image_layout)((x + y) % IMAGE_LAYOUTS));
            conv_pad(&p, 1, 1, 0, 2);
            check_typed(&p, test_float_type((uint32_t)(x + y)), &random);
        }
}

/* Nothing to multiply, or outputs whose windows are all in the padding. */
TEST(empty_images_and_wide_padding)
{
    test_random random = test_random_for(909);
    for (int i = 0; i < 6; i++) {
        conv_case p = packed_conv(.bias = true);
        if (i < 4)
            *(i == 0 ? &p.n : i == 1 ? &p.c : i == 2 ? &p.k : &p.size[1]) = 0;
        if (i == 5)
            p.groups = p.c = p.k;
        conv_pad(&p, 5, 4, 4, 7);
        check_typed(&p, TENON_DTYPE_F32, &random);
    }
}

TEST(nan_and_infinity_propagate)
{
    test_random random = test_random_for(910);
    for (int i = 0; i < 9; i++)
        for (uint32_t operand = CONV_X; operand < CONV_Y; operand++) {
            test_fixture f;
            conv_case p = packed_conv(.residual = FULL_RESIDUAL, .bias = true, .beta = 1);
            p.k = i < 6 ? p.k : 48; /* whole vectors, which have a kernel variant of their own */
            p.groups = i < 3 ? 1 : p.k;
            p.c = i < 3 ? p.c : p.k;
            p.activation.kind = i % 2 == 0 ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_CLIPPED_RELU;
            p.activation.alpha = 6;
            conv_pad(&p, 1, 1, 1, 1);
            packed_make(&f, &p, TENON_DTYPE_F32, &tn_conv_packed_family, TEST_BOUND, &random);
            conv_spoil(&f, operand, i, &random);
            test_finish(&f, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(911);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = test_problems(quick_is_on() ? 12 : 40); i > 0; i--) {
            conv_case p = random_conv(&random);
            p.x = p.y = NHWC;
            if (test_one_in(&random, 4)) {
                p.groups = test_between(&random, 2, 70);
                p.c = p.groups;
                p.k = p.groups * (test_one_in(&random, 3) ? 2 : 1);
            }
            check_typed(&p, *type, &random);
        }
}

/* Returns the bits of the first `filters` channels of a convolution with `k` filters. */
static unsigned char *first_channels(const conv_case *given, int64_t k, int64_t filters)
{
    test_fixture f;
    conv_case p = *given;
    test_random random = test_random_for(912);
    p.k = k;
    packed_begin(&f, &p, TENON_DTYPE_F32, &tn_conv_packed_family);
    conv_fill(&f, FORWARD, &p, TEST_BOUND, &random);
    for (int64_t i = 0; i < p.k * p.c * 9; i++) /* the same filters, whatever k is */
        test_set(&f.operands[CONV_W], i, sin((double)i));
    for (int64_t i = 0; i < p.k; i++)
        test_set(&f.operands[CONV_BIAS], i, cos((double)i));
    assert_true(test_solver(&f, "conv_packed/cpu"));
    unsigned char *bits = test_download_bits(&f.operands[CONV_Y]);
    const int64_t pixels = tenon_tensor_elements(&f.operands[CONV_Y].view) / p.n / p.k;
    unsigned char *first = malloc((size_t)(p.n * filters * pixels) * 4);
    assert_non_null(first);
    for (int64_t n = 0; n < p.n; n++)
        memcpy(first + n * filters * pixels * 4, bits + n * p.k * pixels * 4,
               (size_t)(filters * pixels) * 4);
    free(bits);
    test_release(&f);
    return first;
}

/* Complete tiles are finished in registers, with the bits of the general epilogue, which completes
 * the tile of a partial panel. */
TEST(complete_tiles_have_the_bits_of_partial_ones)
{
    static const uint32_t kinds[] = {TENON_ACTIVATION_IDENTITY, TENON_ACTIVATION_RELU,
                                     TENON_ACTIVATION_CLIPPED_RELU, TENON_ACTIVATION_LEAKY_RELU};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        conv_case p = packed_conv(.bias = true, .size = {8, 9, 1},
                                  .activation = tn_activation_tried(kinds[i]));
        conv_pad(&p, 1, 1, 1, 1);
        unsigned char *whole = first_channels(&p, 64, 7), *partial = first_channels(&p, 7, 7);
        assert_memory_equal(whole, partial, (size_t)(p.n * 7 * 8 * 9) * 4);
        free(whole);
        free(partial);
    }
}

/* Returns the bits of a convolution by a solver, or by the one that tenon_conv_forward selects if
 * it is NULL; NULL if the call is left to the full run. */
static unsigned char *bits_by(test_fixture *f, const char *solver)
{
    if (solver == NULL) {
        f->call = NULL;
        f->plan = NULL;
        f->family = NULL;
    }
    assert_true(test_solver(f, solver));
    return solver == NULL && test_left_out() ? NULL : test_download_bits(&f->operands[CONV_Y]);
}

/* conv_packed/dense runs the solver that tenon_conv_forward selects, also one that transforms. */
TEST(dense_filters_are_convolved_as_usual)
{
    test_random random = test_random_for(913);
    for (int i = 0; i < 2; i++) {
        test_fixture f;
        conv_case p = packed_conv(.n = 1, .c = 64, .k = 64, .size = {24, 24, 1}, .bias = true);
        conv_pad(&p, 1, 1, 1, 1);
        packed_make(&f, &p, TENON_DTYPE_F32, &tn_conv_packed_family, TEST_EXACT, &random);
        test_params(&f, tenon_conv_params)->flags = i == 0 ? 0 : TENON_CONV_EXACT;
        f.judge = TEST_BOUND; /* integers suit the bounds of every solver */
        unsigned char *packed = bits_by(&f, "conv_packed/dense"), *plain = bits_by(&f, NULL);
        if (plain != NULL)
            assert_memory_equal(packed, plain, 64 * 24 * 24 * 4);
        free(packed);
        free(plain);
        test_release(&f);
    }
}
