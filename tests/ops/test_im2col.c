/* Tests tenon_im2col, which only moves elements and must be exact, and its adjoint tenon_col2im,
 * against their references. */
#include "conv_case.h"
#include "dispatch/self_check.h"
#include "dispatch/state.h"

#include "ops/conv/problem/gradient.h"
#include "ops/registry.h"
#include "runtime/context/validation.h"

#include <math.h>

typedef struct columns_case {
    uint32_t spatial; /* number of spatial dimensions */
    int64_t n, c, size[3], filter[3];
    tenon_conv_geometry geometry;
    int x; /* a test_layout, or TEST_LAYOUTS plus an image_layout */
    test_layout col;
    bool gap;
    int64_t offset;
} columns_case;
#define X_LAYOUTS (TEST_LAYOUTS + IMAGE_LAYOUTS)

static const columns_case simple = {.spatial = 2,
                                    .n = 2,
                                    .c = 3,
                                    .size = {7, 9, 1},
                                    .filter = {3, 2, 1},
                                    .geometry = TENON_CONV_GEOMETRY_INIT};

static tenon_tensor view_of_x(const columns_case *p, tenon_dtype dtype)
{
    int64_t shape[CONV_RANK] = {p->n, p->c};
    memcpy(shape + 2, p->size, sizeof p->size);
    return p->x < TEST_LAYOUTS
               ? test_view(dtype, (test_layout)p->x, p->gap, p->spatial + 2, shape, p->offset)
               : image_view(dtype, (image_layout)(p->x - TEST_LAYOUTS), p->spatial, p->n, p->c,
                            p->size, p->offset);
}

/* Begins tenon_im2col of x and col, or tenon_col2im of col and x if `folds`. */
static void begin(test_fixture *f, bool folds, const columns_case *p, tenon_dtype dtype)
{
    int64_t col[] = {p->n, p->c, 1};
    for (uint32_t d = 0; d < p->spatial; d++) {
        col[1] *= p->filter[d];
        col[2] *= tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]);
    }
    test_begin(f, folds ? &tn_operation_col2im : &tn_operation_im2col);
    test_params(f, tenon_im2col_params)->geometry = p->geometry;
    memcpy(test_params(f, tenon_im2col_params)->filter, p->filter, sizeof p->filter);
    f->c.views[folds ? 1 : 0] = view_of_x(p, dtype);
    f->c.views[folds ? 0 : 1] = test_view(dtype, p->col, p->gap, 3, col, p->offset);
}

/* Checks tenon_col2im on reals and on integers, and tenon_im2col on reals, NaN and an infinity. */
static void check_typed(const columns_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        begin(&f, true, p, dtype);
        test_run_fixture(&f, (test_judge)judge, TEST_ALL, random);
    }
    begin(&f, false, p, dtype);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, random);
    f.judge = TEST_EXACT;
    if (tenon_tensor_elements(&f.operands[0].view) > 3) {
        test_set(&f.operands[0], 0, NAN);
        test_set(&f.operands[0], 2, -INFINITY);
    }
    test_finish(&f, TEST_ALL);
}

static void check(const columns_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_typed(p, *type, random);
}

static columns_case random_case(test_random *random)
{
    static const int64_t most[] = {200, 30, 9}, most_filter[] = {15, 5, 3};
    columns_case p = simple;
    p.spatial = (uint32_t)test_between(random, 1, 3);
    p.n = test_between(random, 1, 3);
    p.c = test_between(random, 1, 19);
    for (uint32_t d = 0; d < p.spatial; d++) {
        p.size[d] = test_between(random, 1, most[p.spatial - 1]);
        p.filter[d] = test_between(random, 1, most_filter[p.spatial - 1]);
        p.geometry.stride[d] = test_between(random, 1, 4);
        p.geometry.dilation[d] = test_between(random, 1, 4);
        p.geometry.pad_begin[d] = test_between(random, 0, 6);
        p.geometry.pad_end[d] = test_between(random, 0, 6);
    }
    p.x = (int)test_between(random, 0, X_LAYOUTS - 1);
    p.col = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.gap = test_one_in(random, 2);
    p.offset = test_between(random, 0, 3);
    return p;
}

/* Computed by hand. */
TEST(known_values)
{
    static const float pixels[] = {1, 2, 3, 4};
    static const float unfolded[] = {0, 1, 0, 3, 1, 2, 3, 4, 0, 3, 0, 0, 3, 4, 0, 0};
    static const float columns[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const float folded[] = {2 + 5, 6, 4 + 7 + 10 + 13, 8 + 14};
    TEST_KNOWN("im2col x=T:1x1x2x2 col=T:1x4x4 filter=2,2 pad_begin=0,1 pad_end=1,0", pixels,
               unfolded);
    TEST_KNOWN("col2im col=T:1x4x4 x=T:1x1x2x2 filter=2,2 pad_begin=0,1 pad_end=1,0", columns,
               folded);
}

/* ⟨im2col(x), col⟩ = ⟨x, col2im(col)⟩ on integers, which ties the two references together. */
TEST(adjoint)
{
    test_random random = test_random_for(1301);
    for (int i = 0; i < 60; i++) {
        const columns_case p = random_case(&random);
        test_fixture unfolds, folds;
        char text[TN_CASE_TEXT_SIZE];
        begin(&unfolds, false, &p, TENON_DTYPE_F32);
        begin(&folds, true, &p, TENON_DTYPE_F32);
        test_make(&unfolds);
        test_make(&folds);
        test_fill_inputs(&unfolds, TEST_EXACT, &random);
        test_fill_inputs(&folds, TEST_EXACT, &random);
        test_expect(&unfolds);
        test_expect(&folds);
        const double by_col = test_dot(unfolds.expected, &folds.operands[0]);
        const double by_x = test_dot(folds.expected, &unfolds.operands[0]);
        if (by_col != by_x)
            fail_msg("%g by col, %g by x: %s", by_col, by_x, tn_case_text(&folds.c, text));
        test_release(&unfolds);
        test_release(&folds);
    }
}

TEST(every_layout)
{
    test_random random = test_random_for(1302);
    for (int i = 0; i < X_LAYOUTS * TEST_LAYOUTS * 2; i++) {
        columns_case p = simple;
        p.x = i / 2 % X_LAYOUTS;
        p.col = (test_layout)(i / 2 / X_LAYOUTS);
        p.gap = i % 2 == 1;
        p.offset = i % 3;
        p.geometry.pad_begin[0] = i % 2;
        check(&p, &random);
    }
}

/* Sizes around vectors, with strides and dilations that have a common divisor or not. */
TEST(lengths)
{
    static const int64_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 49};
    test_random random = test_random_for(1303);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            columns_case p = simple;
            p.spatial = 1;
            p.x = TEST_LAYOUTS + layout;
            p.c = layout == NHWC ? sizes[i] : 2;
            p.size[0] = layout == NHWC ? 5 : sizes[i];
            p.geometry.stride[0] = 1 + (int64_t)i % 4;
            p.geometry.dilation[0] = 1 + (int64_t)i % 3;
            p.geometry.pad_begin[0] = 2;
            p.geometry.pad_end[0] = 4;
            check(&p, &random);
        }
}

TEST(empty)
{
    test_random random = test_random_for(1304);
    for (int i = 0; i < 4; i++) {
        columns_case p = simple;
        *(i == 0 ? &p.n : i == 1 ? &p.c : i == 2 ? &p.size[0] : &p.filter[1]) = i == 3 ? 20 : 0;
        check(&p, &random);
        p.geometry.pad_begin[0] = 3;
        p.geometry.pad_end[0] = 1;
        check(&p, &random);
    }
}

/* tenon_col2im sums NaN and infinities. Every check of tenon_im2col includes them. */
TEST(nan_and_infinity_propagate)
{
    test_random random = test_random_for(1305);
    for (int i = 0; i < 12; i++) {
        columns_case p = simple;
        test_fixture f;
        p.x = TEST_LAYOUTS + (i % 2 == 0 ? NCHW : NHWC);
        p.geometry.pad_begin[1] = i / 2 % 2;
        begin(&f, true, &p, test_float_type((uint32_t)i % 3));
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int s = 0; s < 3; s++)
            conv_spoil(&f, 0, s, &random);
        test_finish(&f, TEST_ALL);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(1306);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            const columns_case p = random_case(&random);
            check_typed(&p, *type, &random);
        }
}

/* Checks that the self-check covers the paths of the problem and distinguishes correct from wrong
 * solvers. */
static void check_folding(const col2im_problem *problem)
{
    tenon_stream *validation;
    assert_ok(tn_validation_enter(test_context, &validation));
    for (uint32_t s = 0; s < tn_col2im_family.solver_count; s++) {
        tn_solver mutant = *tn_col2im_family.solvers[s];
        tn_choice choice = {.solver = tn_col2im_family.solvers[s]};
        char why[256] = "";
        bool right = false;
        tn_dispatch_of(validation->context)->paths = 0;
        assert_ok(tn_self_check_once(validation, &tn_col2im_family, &problem->head, &choice, &right,
                                     why));
        if (!right)
            fail_msg("%s: %s", mutant.name, why);
        assert_true((tn_col2im_family.paths(&problem->head) &
                     ~tn_dispatch_of(validation->context)->paths) == 0);
        mutant.copy_of = choice.solver;
        mutant.launch = test_launch_nothing;
        choice.solver = &mutant;
        assert_ok(tn_self_check_once(validation, &tn_col2im_family, &problem->head, &choice, &right,
                                     why));
        assert_false(right);
    }
    tn_validation_leave(test_context);
}

/* Within a convolution there are an epilogue and columns in the accumulator's type, which no public
 * call has. */
TEST(self_checks_within_a_convolution)
{
    static const uint32_t flags[] = {0, CONV_HAS_C, CONV_HAS_BIAS, CONV_HAS_C | CONV_HAS_BIAS,
                                     CONV_SKIP_XW | CONV_HAS_C};
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
            const col2im_problem problem = {.head = {.size = sizeof problem, .forced = -1},
                                            .dtype = *type,
                                            .activation = i % 2 == 0 ? TENON_ACTIVATION_CLIPPED_RELU
                                                                     : TENON_ACTIVATION_TANH,
                                            .flags = flags[i],
                                            .col_acc = tn_conv_is_converted(*type)};
            check_folding(&problem);
        }
}
