/* Tests the Winograd solvers, which transform sets of tiles or multiply matrices, around the edges
 * of tiles, runs of tiles, sets, vectors of channels and panels of filters, and with small
 * workspaces. test_conv.c covers other problems. */
#include "conv_case.h"

static const char *const solvers[] = {"winograd2", "winograd4", "winograd2_gemm", "winograd4_gemm",
                                      NULL};
/* The solvers that transform sets of tiles. */
static const char *const in_sets[] = {"winograd2", "winograd4", NULL};

/* Outputs from one element to two tiles and one element in each dimension, with and without
 * padding. */
TEST(tile_edges)
{
    test_random random = test_random_for(1201);
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
            conv_check_by(FORWARD, &p, TENON_DTYPE_F32, solvers, &random);
        }
}

/* Padding wider than the filter: some tiles read only zeros. */
TEST(wide_padding)
{
    test_random random = test_random_for(1202);
    for (int layout = NCHW; layout <= NHWC; layout++) {
        conv_case p = conv_like(.x = (image_layout)layout, .y = (image_layout)layout, .size[0] = 3,
                                .size[1] = 3, .geometry.pad_begin[0] = 7, .geometry.pad_end[1] = 11,
                                .bias = true);
        conv_check_by(FORWARD, &p, TENON_DTYPE_F32, solvers, &random);
    }
}

/* Channels around vectors and around the block that is transformed at a time, filters around
 * vectors and panels, with and without groups. */
TEST(channels_and_filters)
{
    static const int64_t cases[][3] = {{1, 15, 15},  {1, 16, 17}, {1, 17, 31},  {1, 32, 64},
                                       {1, 33, 65},  {1, 65, 63}, {1, 1, 129},  {2, 34, 70},
                                       {3, 51, 201}, {1, 70, 1},  {1, 31, 127}, {5, 10, 5}};
    test_random random = test_random_for(1203);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int w = NCHW; w <= NHWC; w++) {
            conv_case p =
                conv_like(.groups = cases[i][0], .c = cases[i][1], .k = cases[i][2],
                          .w = (image_layout)w, .x = (image_layout)(i % 2),
                          .y = (image_layout)(i % 2), .geometry.pad_begin[0] = 1,
                          .geometry.pad_begin[1] = 1, .residual = FULL_RESIDUAL, .beta = 0.5);
            /* GEMM's own tests cover the edges of its tiles. */
            conv_check_by(FORWARD, &p, TENON_DTYPE_F32,
                          i % 4 == 0 || p.groups > 1 ? solvers : in_sets, &random);
        }
}

/* Rows around a run of tiles, and several images with more tiles than a set. */
TEST(runs_and_sets)
{
    static const int64_t columns[] = {59, 60, 61, 62, 63, 64, 65, 124, 125};
    test_random random = test_random_for(1204);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        conv_case p = conv_like(.n = 3, .size[0] = 14, .size[1] = columns[i] + 2, .k = 18,
                                .x = (image_layout)(i % 2), .y = (image_layout)(i % 2),
                                .activation.kind = TENON_ACTIVATION_RELU);
        conv_check_by(FORWARD, &p, TENON_DTYPE_F32, solvers, &random);
    }
}

/* Tile counts with every remainder of the number multiplied at once, and two blocks of channels.
 * Tiles that are processed in pairs must not overwrite those of another point of the transform. */
TEST(tiles_left_over)
{
    test_random random = test_random_for(1208);
    for (int side = 2; side <= 4; side += 2) {
        char name[64];
        const char *const one[] = {name, NULL};
        const int mr =
            (int)test_between(&random, 1, 2) * 2 + 1; /* 3 or 5 (the largest that fits) */
        snprintf(name, sizeof name, "winograd%d:mr%d", side, mr);
        for (int tiles = mr; tiles <= 2 * mr + 1; tiles++) {
            conv_case p = conv_like(.c = 35, .k = 40, .size[0] = side + 2,
                                    .size[1] = (int64_t)side * tiles + 2);
            conv_check_by(FORWARD, &p, TENON_DTYPE_F32, one, &random);
        }
    }
}

TEST(every_type)
{
    test_random random = test_random_for(1205);
    conv_case p = conv_like(.c = 35, .k = 40, .size[0] = 13, .size[1] = 13, .bias = true,
                            .geometry.pad_begin[0] = 1, .geometry.pad_end[1] = 1);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        conv_check_by(FORWARD, &p, *type, solvers, &random);
}

/* Smaller and smaller workspaces: fewer slices, smaller sets, filters transformed on the fly, and
 * for the solvers that multiply matrices several sets, the last of them partial. */
TEST(workspaces)
{
    static const uint64_t limits[] = {4 << 20, 1 << 20, 650000, 400000, 300000, 250000};
    test_random random = test_random_for(1206);
    conv_case p = conv_like(.c = 20, .k = 70, .size[0] = 40, .size[1] = 40);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        test_limit_workspace(limits[i]);
        conv_check_by(FORWARD, &p, TENON_DTYPE_F32, i < 3 ? solvers : in_sets, &random);
        test_usual_stream();
    }
}

static void plan_name(uint32_t flags, char name[TN_SOLVER_NAME_SIZE])
{
    test_fixture f;
    test_begin_line(&f, "conv x=f32:1x64x56x56 w=f32:64x64x3x3 y=f32:1x64x54x54", 0);
    test_params(&f, tenon_conv_params)->flags = flags;
    test_make(&f);
    test_name_solver(&f, NULL, name);
    test_release(&f);
}

/* TENON_CONV_EXACT excludes all Winograd solvers; without it they are chosen if they are fastest.
 */
TEST(exact)
{
    static const test_refusal refusals[] = {
        {"conv/winograd2 x=T:1x4x9x9 w=T:8x4x3x3 y=T:1x8x7x7 flags=1", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
        {"conv/winograd4 x=T:1x4x9x9 w=T:8x4x3x3 y=T:1x8x7x7 flags=1", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
        {"conv/winograd2_gemm x=T:1x4x9x9 w=T:8x4x3x3 y=T:1x8x7x7 flags=1", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
        {"conv/winograd4_gemm x=T:1x4x9x9 w=T:8x4x3x3 y=T:1x8x7x7 flags=1", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
        {"conv x=T:1x4x9x9 w=T:8x4x3x3 y=T:1x8x7x7 flags=2", "flags"},
    };
    char name[TN_SOLVER_NAME_SIZE];
    TEST_REFUSE(refusals);
    plan_name(TENON_CONV_EXACT, name);
    assert_null(strstr(name, "winograd"));
    plan_name(0, name);
    if (test_context->device.is_cpu)
        assert_non_null(strstr(name, "winograd"));
}

/* Returns true if the values of f->expected are within the given bounds. */
static bool are_within(const test_fixture *f, const tn_bounded *bounds)
{
    const int64_t count = tenon_tensor_elements(&f->operands[CONV_Y].view);
    double *got = calloc((size_t)count, sizeof *got);
    char why[256];
    assert_non_null(got);
    for (int64_t i = 0; i < count; i++)
        got[i] = f->expected[i].value;
    const bool within = test_compare(got, bounds, count, TENON_DTYPE_F32, TEST_BOUND, why);
    free(got);
    return within;
}

/* The bounds must detect a missing channel. */
TEST(bounds_are_sharp)
{
    test_random random = test_random_for(1207);
    conv_case p = conv_like(.c = 40);
    for (const char *const *solver = solvers; *solver != NULL; solver++) {
        char name[TN_SOLVER_NAME_SIZE];
        test_fixture f;
        snprintf(name, sizeof name, "conv/%s", *solver);
        conv_make(&f, FORWARD, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        test_expect(&f);
        test_expect_of(&f, name, f.own);
        if (f.own[0].bound == f.expected[0].bound)
            fail_msg("%s has no bounds of its own", name);
        assert_true(are_within(&f, f.own));
        for (int64_t i = 0; i < 9; i++) /* clears the last channel of the first filter */
            test_set(&f.operands[CONV_W], 39 * 9 + i, 0);
        test_expect(&f);
        assert_false(are_within(&f, f.own));
        test_release(&f);
    }
}
