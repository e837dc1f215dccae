/* tenon_col2im against its reference, and that against tenon_im2col's: the two are adjoint. */
#include "conv_case.h"

#include "ops/conv/gradient.h"
#include "ops/registry.h"

#include <math.h>

typedef struct col2im_case {
    uint32_t spatial;
    int64_t n, c, size[3], filter[3];
    tenon_conv_geometry geometry;
    image_layout x;
    test_layout col;
    bool gap;
    int64_t offset;
} col2im_case;

static const col2im_case simple = {.spatial = 2,
                                   .n = 2,
                                   .c = 3,
                                   .size = {7, 9, 1},
                                   .filter = {3, 2, 1},
                                   .geometry = TENON_CONV_GEOMETRY_INIT};

typedef struct col2im_data {
    col2im_case problem;
    test_tensor operands[2]; /* col, x */
    tn_bounded *expected;
} col2im_data;

static const char *describe(const void *user)
{
    static char text[1024];
    const col2im_data *data = user;
    const col2im_case *p = &data->problem;
    const tenon_conv_geometry *g = &p->geometry;
    char x[160], w[160], s[160], d[160], b[160], e[160];
    uint32_t n = p->spatial;
    snprintf(text, sizeof text,
             "%s x %s filter %s stride %s dilation %s padding %s + %s, layouts x %d col %s%s, "
             "offset %lld",
             tenon_dtype_string(data->operands[0].view.dtype),
             tn_shape_text(n + 2, data->operands[1].view.shape, x), tn_shape_text(n, p->filter, w),
             tn_shape_text(n, g->stride, s), tn_shape_text(n, g->dilation, d),
             tn_shape_text(n, g->pad_begin, b), tn_shape_text(n, g->pad_end, e), (int)p->x,
             test_layout_string(p->col), p->gap ? " with gaps" : "", (long long)p->offset);
    return text;
}

static tenon_im2col_params params_of(const col2im_case *p, const char *solver)
{
    tenon_im2col_params params = TENON_IM2COL_PARAMS_INIT;
    params.solver = solver;
    params.geometry = p->geometry;
    memcpy(params.filter, p->filter, sizeof p->filter);
    return params;
}

static tenon_status call(const void *user, const char *solver)
{
    const col2im_data *data = user;
    tenon_im2col_params params = params_of(&data->problem, solver);
    return test_call(&tn_operation_col2im, &params, &data->operands[0].view,
                     &data->operands[1].view);
}

static void create(col2im_data *data, tenon_dtype dtype)
{
    const col2im_case *p = &data->problem;
    int64_t col[] = {p->n, p->c, 1}, stride[3];
    for (uint32_t d = 0; d < p->spatial; d++) {
        col[1] *= p->filter[d];
        col[2] *= tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]);
    }
    test_strides(p->col, p->gap, 3, col, stride);
    test_tensor_create(&data->operands[0], dtype, 3, col, stride, p->offset);
    create_conv_tensor(&data->operands[1], dtype, p->x, p->spatial, p->n, p->c, p->size, p->offset);
}

static void destroy(col2im_data *data)
{
    test_tensor_destroy(&data->operands[0]);
    test_tensor_destroy(&data->operands[1]);
    free(data->expected);
}

static void expect(col2im_data *data)
{
    const tenon_im2col_params params = params_of(&data->problem, NULL);
    int64_t elements = tenon_tensor_elements(&data->operands[1].view);
    data->expected = malloc(((size_t)elements + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    const tenon_tensor *const views[] = {&data->operands[0].host, &data->operands[1].host};
    assert_true(tn_col2im_reference(&params, views, data->expected));
}

static test_subject subject_of(const col2im_data *data, test_judge judge)
{
    return (test_subject){&tn_col2im_family, call, describe,       data,
                          data->operands,    2,    data->expected, judge};
}

static void check_typed(const col2im_case *p, tenon_dtype dtype, test_random *random)
{
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        col2im_data data = {.problem = *p};
        create(&data, dtype);
        test_fill(&data.operands[0], (test_judge)judge, random);
        expect(&data);
        const test_subject subject = subject_of(&data, (test_judge)judge);
        test_run_all(&subject);
        destroy(&data);
    }
}

static void check(const col2im_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_typed(p, *type, random);
}

static col2im_case random_case(test_random *random)
{
    static const int64_t most[] = {80, 14, 6};
    col2im_case p = simple;
    p.spatial = (uint32_t)test_between(random, 1, 3);
    p.n = test_between(random, 1, 3);
    p.c = test_between(random, 1, 19);
    for (uint32_t d = 0; d < p.spatial; d++) {
        p.size[d] = test_between(random, 1, most[p.spatial - 1]);
        p.filter[d] = test_between(random, 1, p.spatial == 3 ? 3 : 5);
        p.geometry.stride[d] = test_between(random, 1, 4);
        p.geometry.dilation[d] = test_between(random, 1, 4);
        p.geometry.pad_begin[d] = test_between(random, 0, 6);
        p.geometry.pad_end[d] = test_between(random, 0, 6);
    }
    p.x = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.col = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.gap = test_one_in(random, 2);
    p.offset = test_between(random, 0, 3);
    return p;
}

/* A small one, written out. */
static void known_image(void **state)
{
    static const float columns[4][4] = {
        {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}};
    static const float pixels[] = {2 + 5, 6, 4 + 7 + 10 + 13, 8 + 14};
    const int64_t x_shape[] = {1, 1, 2, 2}, col_shape[] = {1, 4, 4};
    tenon_im2col_params params = TENON_IM2COL_PARAMS_INIT;
    tenon_tensor x, col;
    float got[4];
    (void)state;
    params.filter[0] = params.filter[1] = 2;
    params.geometry.pad_begin[1] = 1;
    params.geometry.pad_end[0] = 1;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 4, x_shape, &x));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, col_shape, &col));
    assert_ok(tenon_tensor_upload(test_stream, columns, sizeof columns, &col, NULL));
    assert_ok(tenon_col2im(test_stream, &params, &col, &x, NULL));
    assert_ok(tenon_tensor_download(test_stream, &x, got, sizeof got, NULL));
    assert_memory_equal(got, pixels, sizeof got);
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&col.memory);
}

/* ⟨im2col(x), col⟩ = ⟨x, col2im(col)⟩ on integers, which ties one reference to the other. */
static void adjoint(void **state)
{
    test_random random = test_random_for(1301);
    (void)state;
    for (int i = 0; i < 60; i++) {
        const col2im_case p = random_case(&random);
        const tenon_im2col_params params = params_of(&p, NULL);
        col2im_data data = {.problem = p};
        double by_col = 0, by_x = 0;
        create(&data, TENON_DTYPE_F32);
        test_tensor *col = &data.operands[0], *x = &data.operands[1];
        test_fill_integers(col, &random, 3);
        test_fill_integers(x, &random, 3);
        expect(&data);
        int64_t columns = tenon_tensor_elements(&col->view);
        tn_bounded *unfolded = malloc(((size_t)columns + 1) * sizeof *unfolded);
        assert_non_null(unfolded);
        const tenon_tensor *const views[] = {&x->host, &col->host};
        assert_true(tn_im2col_reference(&params, views, unfolded));
        for (int64_t j = 0; j < columns; j++)
            by_col += unfolded[j].value * test_get(col, j);
        for (int64_t j = 0; j < tenon_tensor_elements(&x->view); j++)
            by_x += data.expected[j].value * test_get(x, j);
        if (by_col != by_x)
            fail_msg("%g by col, %g by x: %s", by_col, by_x, describe(&data));
        free(unfolded);
        destroy(&data);
    }
}

static void every_layout(void **state)
{
    test_random random = test_random_for(1302);
    (void)state;
    for (int i = 0; i < IMAGE_LAYOUTS * TEST_LAYOUTS * 2; i++) {
        col2im_case p = simple;
        p.x = (image_layout)(i / 2 % IMAGE_LAYOUTS);
        p.col = (test_layout)(i / 2 / IMAGE_LAYOUTS);
        p.gap = i % 2 == 1;
        p.offset = i % 3;
        p.geometry.pad_begin[0] = i % 2;
        check(&p, &random);
    }
}

/* Around vectors, with strides and dilations that share a divisor and that do not. */
static void lengths(void **state)
{
    static const int64_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 49};
    test_random random = test_random_for(1303);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            col2im_case p = simple;
            p.spatial = 1;
            p.x = (image_layout)layout;
            p.c = layout == NHWC ? sizes[i] : 2;
            p.size[0] = layout == NHWC ? 5 : sizes[i];
            p.geometry.stride[0] = 1 + (int64_t)i % 4;
            p.geometry.dilation[0] = 1 + (int64_t)i % 3;
            p.geometry.pad_begin[0] = 2;
            p.geometry.pad_end[0] = 4;
            check(&p, &random);
        }
}

static void empty(void **state)
{
    test_random random = test_random_for(1304);
    (void)state;
    for (int i = 0; i < 4; i++) {
        col2im_case p = simple;
        *(i == 0 ? &p.n : i == 1 ? &p.c : i == 2 ? &p.size[0] : &p.filter[1]) = i == 3 ? 20 : 0;
        check(&p, &random);
        p.geometry.pad_begin[0] = 3;
        p.geometry.pad_end[0] = 1;
        check(&p, &random);
    }
}

static void nan_and_infinity_propagate(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(1305);
    (void)state;
    for (int i = 0; i < 12; i++) {
        col2im_data data = {.problem = simple};
        data.problem.x = i % 2 == 0 ? NCHW : NHWC;
        data.problem.geometry.pad_begin[1] = i / 2 % 2;
        create(&data, test_float_types()[i % 3]);
        test_tensor *col = &data.operands[0];
        test_fill_reals(col, &random);
        for (int s = 0; s < 3; s++)
            test_set(col, test_between(&random, 0, tenon_tensor_elements(&col->view) - 1),
                     specials[s]);
        expect(&data);
        const test_subject subject = subject_of(&data, TEST_BOUND);
        test_run_all(&subject);
        destroy(&data);
    }
}

static void random_problems(void **state)
{
    test_random random = test_random_for(1306);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(25); n++) {
            col2im_data data = {.problem = random_case(&random)};
            create(&data, *type);
            test_fill_reals(&data.operands[0], &random);
            expect(&data);
            const test_subject subject = subject_of(&data, TEST_BOUND);
            test_upload(&data.operands[0]);
            test_run(&subject, NULL);
            destroy(&data);
            check_typed(&data.problem, *type, &random);
        }
}

/* A self-check in the validation context takes the paths of the problem, and tells right from
 * wrong. */
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
        mutant.launch = test_launch_nothing;
        choice.solver = &mutant;
        assert_ok(tn_self_check_once(validation, &tn_col2im_family, &problem->head, &choice, &right,
                                     why));
        assert_false(right);
    }
    tn_validation_leave(test_context);
}

/* Within a convolution it has an epilogue, and columns in the type of sums, which no call has. */
static void self_checks_within_a_convolution(void **state)
{
    static const uint32_t flags[] = {0, CONV_HAS_C, CONV_HAS_BIAS, CONV_HAS_C | CONV_HAS_BIAS,
                                     CONV_SKIP_XW | CONV_HAS_C};
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_image),     cmocka_unit_test(adjoint),
        cmocka_unit_test(every_layout),    cmocka_unit_test(lengths),
        cmocka_unit_test(empty),           cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(random_problems), cmocka_unit_test(self_checks_within_a_convolution),
    };
    return TEST_MAIN(tests);
}
