/* conv/winograd2 and conv/winograd4, and the same by matrix products, at the edges of what they cut
 * a convolution into: tiles, runs of tiles, sets, vectors of channels, panels of filters, and the
 * workspace. test_conv tries them on everything else. */
#include "conv_case.h"

#include <math.h>

static const char *const solvers[] = {"conv/winograd2", "conv/winograd4", "conv/winograd2_gemm",
                                      "conv/winograd4_gemm"};
#define SOLVERS 4

/* By solvers [first, last). */
static void check_some(const conv_case *p, tenon_dtype dtype, int first, int last,
                       test_random *random)
{
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        conv_data data;
        make_conv(&data, p, dtype, (test_judge)judge, random);
        compute_conv_reference(&data);
        const test_subject subject = conv_subject(&data);
        for (int operand = 0; operand < CONV_Y; operand++)
            if (data.operands[operand].image != NULL)
                test_upload(&data.operands[operand]);
        for (int i = first; i < last; i++)
            if (!test_run(&subject, solvers[i]))
                fail_msg("%s does not serve %s", solvers[i], describe_conv(&data));
        destroy_conv(&data);
    }
}

static void check(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    check_some(p, dtype, 0, SOLVERS, random);
}

/* Outputs from one to two tiles and one in each dimension, padded on either side or not. */
static void tile_edges(void **state)
{
    test_random random = test_random_for(1201);
    (void)state;
    for (int64_t rows = 1; rows <= 9; rows++)
        for (int64_t columns = 1; columns <= 9; columns++) {
            conv_case p = simple_conv;
            tenon_conv_geometry *g = &p.geometry;
            g->pad_begin[0] = test_between(&random, 0, rows > 2 ? 2 : 0);
            g->pad_end[0] = test_between(&random, 0, rows > 4 ? 2 : 0);
            g->pad_begin[1] = test_between(&random, 0, columns > 2 ? 2 : 0);
            g->pad_end[1] = test_between(&random, 0, columns > 4 ? 2 : 0);
            p.size[0] = rows + 2 - g->pad_begin[0] - g->pad_end[0];
            p.size[1] = columns + 2 - g->pad_begin[1] - g->pad_end[1];
            p.x = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
            p.y = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
            p.w = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
            p.offset = test_between(&random, 0, 3);
            check(&p, TENON_DTYPE_F32, &random);
        }
}

/* Padding wider than the filter: tiles that read nothing but zeros. */
static void wide_padding(void **state)
{
    test_random random = test_random_for(1202);
    (void)state;
    for (int layout = NCHW; layout <= NHWC; layout++) {
        conv_case p = simple_conv;
        p.x = p.y = (image_layout)layout;
        p.size[0] = p.size[1] = 3;
        p.geometry.pad_begin[0] = 7;
        p.geometry.pad_end[1] = 11;
        p.bias = true;
        check(&p, TENON_DTYPE_F32, &random);
    }
}

/* Channels around vectors and around the block that is transformed on the way, filters around
 * vectors and panels, in groups and not. */
static void channels_and_filters(void **state)
{
    static const int64_t cases[][3] = {{1, 15, 15},  {1, 16, 17}, {1, 17, 31},  {1, 32, 64},
                                       {1, 33, 65},  {1, 65, 63}, {1, 1, 129},  {2, 34, 70},
                                       {3, 51, 201}, {1, 70, 1},  {1, 31, 127}, {5, 10, 5}};
    test_random random = test_random_for(1203);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int w = NCHW; w <= NHWC; w++) {
            conv_case p = simple_conv;
            p.groups = cases[i][0];
            p.c = cases[i][1];
            p.k = cases[i][2];
            p.w = (image_layout)w;
            p.x = p.y = (image_layout)(i % 2);
            p.geometry.pad_begin[0] = p.geometry.pad_begin[1] = 1;
            p.residual = FULL_RESIDUAL;
            p.beta = 0.5;
            /* Of the product's tiles GEMM's own tests see the edges. */
            check_some(&p, TENON_DTYPE_F32, 0, i % 4 == 0 || p.groups > 1 ? SOLVERS : 2, &random);
        }
}

/* Rows around a run of tiles, and more tiles than a set has, over several images. */
static void runs_and_sets(void **state)
{
    static const int64_t columns[] = {59, 60, 61, 62, 63, 64, 65, 124, 125};
    test_random random = test_random_for(1204);
    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        conv_case p = simple_conv;
        p.n = 3;
        p.size[0] = 14;
        p.size[1] = columns[i] + 2;
        p.k = 18;
        p.x = p.y = (image_layout)(i % 2);
        p.activation.kind = TENON_ACTIVATION_RELU;
        check(&p, TENON_DTYPE_F32, &random);
    }
}

static void every_type(void **state)
{
    test_random random = test_random_for(1205);
    conv_case p = simple_conv;
    (void)state;
    p.c = 35;
    p.k = 40;
    p.size[0] = p.size[1] = 13;
    p.bias = true;
    p.geometry.pad_begin[0] = p.geometry.pad_end[1] = 1;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check(&p, *type, &random);
}

/* With less and less workspace: fewer slices, smaller sets, filters transformed on the way; and
 * several sets, the last of them cut, by those that multiply matrices. */
static void workspaces(void **state)
{
    static const uint64_t limits[] = {4 << 20, 1 << 20, 650000, 400000, 300000, 250000};
    test_random random = test_random_for(1206);
    tenon_stream *usual = test_stream;
    tenon_device_info info;
    (void)state;
    assert_ok(tenon_context_device(test_context, &info));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
        tenon_context *context;
        params.workspace_limit = limits[i];
        assert_ok(
            tenon_context_import(tenon_context_cl(test_context), info.device, &params, &context));
        assert_ok(tenon_stream_create(context, NULL, &test_stream));
        conv_case p = simple_conv;
        p.c = 20;
        p.k = 70;
        p.size[0] = p.size[1] = 40;
        check_some(&p, TENON_DTYPE_F32, 0, i < 3 ? SOLVERS : 2, &random);
        tenon_stream_destroy(test_stream);
        tenon_context_release(context);
        test_stream = usual;
    }
}

static void plan_name(uint32_t flags, const char *solver, tenon_status expected,
                      char name[TN_SOLVER_NAME_SIZE])
{
    const int64_t x[] = {1, 64, 56, 56}, w[] = {64, 64, 3, 3}, y[] = {1, 64, 54, 54};
    const tenon_tensor views[] = {tenon_tensor_view(TENON_DTYPE_F32, 4, x),
                                  tenon_tensor_view(TENON_DTYPE_F32, 4, w),
                                  tenon_tensor_view(TENON_DTYPE_F32, 4, y)};
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_plan *plan = NULL;
    params.flags = flags;
    params.solver = solver;
    const tenon_status status = tenon_conv_forward_plan(test_context, &params, &views[0], &views[1],
                                                        NULL, NULL, &views[2], &plan);
    if (status != expected)
        fail_msg("%s: %s", tenon_status_string(status), tenon_last_error());
    if (plan != NULL)
        snprintf(name, TN_SOLVER_NAME_SIZE, "%s", plan->name);
    tenon_plan_release(plan);
}

/* TENON_CONV_EXACT rules both out; without it they are chosen where they pay. */
static void exact(void **state)
{
    char name[TN_SOLVER_NAME_SIZE] = "";
    (void)state;
    plan_name(TENON_CONV_EXACT, NULL, TENON_OK, name);
    assert_null(strstr(name, "winograd"));
    for (int i = 0; i < SOLVERS; i++)
        plan_name(TENON_CONV_EXACT, solvers[i], TENON_ERROR_UNSUPPORTED, name);
    plan_name(0, NULL, TENON_OK, name);
    if (test_context->device.is_cpu)
        assert_non_null(strstr(name, "winograd"));
    plan_name(2, NULL, TENON_ERROR_INVALID_ARGUMENT, name);
}

/* A lost channel, and a NaN that did not come through, must show in what is compared. */
static void bounds_are_sharp(void **state)
{
    test_random random = test_random_for(1207);
    conv_case p = simple_conv;
    (void)state;
    p.c = 40;
    for (int i = 0; i < SOLVERS; i++) {
        conv_data data;
        char why[256];
        test_judge judge = TEST_BOUND;
        make_conv(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        compute_conv_reference(&data);
        const test_subject subject = conv_subject(&data);
        const int64_t count = tenon_tensor_elements(&data.operands[CONV_Y].view);
        const tn_bounded *bounds = subject.expected_of(&data, solvers[i], &judge);
        double *got = calloc((size_t)count, sizeof *got);
        if (got == NULL || bounds == NULL)
            fail_msg("%s: no memory, or no bounds of its own", solvers[i]);
        for (int64_t j = 0; got != NULL && bounds != NULL && j < count; j++)
            got[j] = bounds[j].value;
        assert_true(test_compare(got, bounds, count, TENON_DTYPE_F32, judge, why));
        for (int64_t j = 0; j < 9; j++) /* the last channel of the first filter */
            test_set(&data.operands[CONV_W], 39 * 9 + j, 0);
        free(data.expected);
        compute_conv_reference(&data);
        for (int64_t j = 0; got != NULL && j < count; j++)
            got[j] = data.expected[j].value;
        assert_false(test_compare(got, bounds, count, TENON_DTYPE_F32, judge, why));
        free(got);
        destroy_conv(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_edges),
        cmocka_unit_test(wide_padding),
        cmocka_unit_test(channels_and_filters),
        cmocka_unit_test(runs_and_sets),
        cmocka_unit_test(every_type),
        cmocka_unit_test(workspaces),
        cmocka_unit_test(exact),
        cmocka_unit_test(bounds_are_sharp),
    };
    return TEST_MAIN(tests);
}
