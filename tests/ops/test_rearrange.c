/* Tests tenon_rearrange, tenon_triangle, tenon_reverse_lengths and tenon_one_hot against their
 * references bit for bit: every type, any strides; known values, empty tensors, invalid input. */
#include "fixture.h"

#include "ops/rearrange/internal.h"
#include "ops/registry.h"

#include <math.h>

static tenon_dtype any_type(test_random *random)
{
    tenon_dtype type = TENON_DTYPE_F64;
    for (int64_t n = test_between(random, 0, 11); n > 0; n--)
        type = test_next_moved_type(type);
    return type != TENON_DTYPE_INVALID ? type : TENON_DTYPE_F32;
}

static tenon_dtype index_type(test_random *random)
{
    return test_one_in(random, 3) ? TENON_DTYPE_I64 : TENON_DTYPE_I32;
}

/* Draws a shape of at least `least` dimensions, some of them long. */
static uint32_t draw_shape(test_random *random, uint32_t least, int64_t *shape)
{
    const uint32_t rank = (uint32_t)test_between(random, least, 5);
    for (uint32_t d = 0; d < rank; d++)
        shape[d] = test_between(random, 1, test_one_in(random, 3) ? 40 : 4);
    return rank;
}

static tenon_tensor draw_view(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape)
{
    return test_view(dtype, (test_layout)test_between(random, 0, TEST_LAYOUTS - 1),
                     test_one_in(random, 2), rank, shape, test_between(random, 0, 7));
}

static void run(test_fixture *f, test_random *random)
{
    test_run_fixture(f, TEST_EXACT, TEST_ALL, random);
}

TEST(random_rearrangements)
{
    test_random random = test_random_for(571);
    for (int n = test_problems(30); n > 0; n--) {
        int64_t shape[TENON_MAX_RANK], to[TENON_MAX_RANK];
        const uint32_t rank = draw_shape(&random, 0, shape);
        const tenon_dtype dtype = any_type(&random);
        test_fixture f;
        test_begin(&f, &tn_operation_rearrange);
        tenon_rearrange_params *params = test_params(&f, tenon_rearrange_params);
        for (uint32_t d = 0; d < rank; d++) {
            const bool other = test_one_in(&random, 3);
            params->shift[d] = test_one_in(&random, 2) ? 0 : test_between(&random, -50, 50);
            params->flip |= (uint32_t)test_one_in(&random, 3) << d;
            to[d] = other ? test_between(&random, 1, 3 * shape[d]) : shape[d];
        }
        f.c.views[REARRANGE_OPERAND_X] = draw_view(&random, dtype, rank, shape);
        f.c.views[REARRANGE_OPERAND_Y] = draw_view(&random, dtype, rank, to);
        if (rank > 0 && test_one_in(&random, 5))
            f.c.views[REARRANGE_OPERAND_X].stride[0] = 0;
        run(&f, &random);
    }
}

TEST(random_triangles)
{
    test_random random = test_random_for(572);
    for (int n = test_problems(40); n > 0; n--) {
        int64_t shape[TENON_MAX_RANK];
        const uint32_t rank = draw_shape(&random, 2, shape);
        const tenon_dtype dtype = any_type(&random);
        test_fixture f;
        test_begin(&f, &tn_operation_triangle);
        *test_params(&f, tenon_triangle_params) =
            tenon_triangle_params(.flags = (uint32_t)test_between(&random, 0, 1),
                                  .diagonal = test_one_in(&random, 9)
                                                  ? INT64_MIN
                                                  : test_between(&random, -20, 20),
                                  .value = (double)test_between(&random, 0, 9));
        f.c.views[REARRANGE_OPERAND_Y] = draw_view(&random, dtype, rank, shape);
        if (n % 3 == 0)
            f.c.same[REARRANGE_OPERAND_X] = 1 + REARRANGE_OPERAND_Y;
        f.c.views[REARRANGE_OPERAND_X] =
            n % 3 == 0 ? f.c.views[REARRANGE_OPERAND_Y] : draw_view(&random, dtype, rank, shape);
        run(&f, &random);
    }
}

TEST(random_reversals)
{
    test_random random = test_random_for(573);
    for (int n = test_problems(40); n > 0; n--) {
        int64_t shape[TENON_MAX_RANK];
        const uint32_t rank = draw_shape(&random, 2, shape);
        const tenon_dtype dtype = any_type(&random);
        test_fixture f;
        test_begin(&f, &tn_operation_reverse_lengths);
        tenon_reverse_lengths_params *params = test_params(&f, tenon_reverse_lengths_params);
        params->axis = (int32_t)test_between(&random, 0, rank - 1);
        params->batch_axis =
            (params->axis + (int32_t)test_between(&random, 1, rank - 1)) % (int32_t)rank;
        f.c.views[REVERSE_X] = draw_view(&random, dtype, rank, shape);
        f.c.views[REVERSE_Y] = draw_view(&random, dtype, rank, shape);
        f.c.views[REVERSE_LENGTHS] =
            draw_view(&random, index_type(&random), 1, &shape[params->batch_axis]);
        run(&f, &random);
    }
}

TEST(random_one_hots)
{
    test_random random = test_random_for(574);
    for (int n = test_problems(40); n > 0; n--) {
        int64_t shape[TENON_MAX_RANK], indices[TENON_MAX_RANK];
        const uint32_t rank = draw_shape(&random, 1, shape);
        test_fixture f;
        test_begin(&f, &tn_operation_one_hot);
        tenon_one_hot_params *params = test_params(&f, tenon_one_hot_params);
        params->flags = (uint32_t)test_between(&random, 0, 1);
        params->axis = (int32_t)test_between(&random, 0, rank - 1);
        params->on = (double)test_between(&random, 1, 9);
        params->off = (double)test_between(&random, 0, 1);
        for (uint32_t d = 0; d + 1 < rank; d++)
            indices[d] = shape[d < (uint32_t)params->axis ? d : d + 1];
        f.c.views[ONE_HOT_INDICES] = draw_view(&random, index_type(&random), rank - 1, indices);
        f.c.views[ONE_HOT_Y] = draw_view(&random, any_type(&random), rank, shape);
        run(&f, &random);
    }
}

TEST(random_blocks)
{
    test_random random = test_random_for(576);
    for (int n = test_problems(30); n > 0; n--) {
        const int64_t block = test_between(&random, 1, 4);
        int64_t depth[4], space[4];
        for (uint32_t d = 0; d < 4; d++)
            depth[d] = test_between(&random, 1, 9);
        for (uint32_t d = 0; d < 4; d++)
            space[d] = d < 2 ? depth[d] : depth[d] * block;
        depth[1] *= block * block;
        const bool to_space = n % 2 == 0;
        test_fixture f;
        test_begin(&f, to_space ? &tn_operation_depth_to_space : &tn_operation_space_to_depth);
        *test_params(&f, tenon_blocks_params) =
            tenon_blocks_params(.block = block,
                                .mode = (uint32_t)test_between(&random, 0, TENON_BLOCKS_CRD));
        const tenon_dtype dtype = any_type(&random);
        f.c.views[to_space ? 0 : 1] = draw_view(&random, dtype, 4, depth);
        f.c.views[to_space ? 1 : 0] = draw_view(&random, dtype, 4, space);
        run(&f, &random);
    }
}

TEST(random_shuffles)
{
    test_random random = test_random_for(577);
    for (int n = test_problems(20); n > 0; n--) {
        int64_t shape[TENON_MAX_RANK] = {0};
        const uint32_t rank = draw_shape(&random, 2, shape);
        const int64_t groups = test_between(&random, 1, 5);
        const tenon_dtype dtype = any_type(&random);
        test_fixture f;
        shape[1] *= groups;
        test_begin(&f, &tn_operation_channel_shuffle);
        test_params(&f, tenon_channel_shuffle_params)->groups = groups;
        f.c.views[0] = draw_view(&random, dtype, rank, shape);
        f.c.views[1] = draw_view(&random, dtype, rank, shape);
        run(&f, &random);
    }
}

TEST(large)
{
    static const char *const lines[] = {
        "rearrange x=f32:300x1031 y=f32:300x1031 shift=17,500",
        "rearrange x=f32:300x1031 y=f32:300x1031 flip=3",
        "rearrange x=f16:7x1031 y=f16:70x4124",
        "rearrange tenon_triangle x=f32:3x301x1031 y=f32:3x301x1031 diagonal=100",
        "rearrange tenon_reverse_lengths x=f32:31x300x65 lengths=i32:300 y=f32:31x300x65",
        "rearrange tenon_one_hot indices=i32:301 y=f32:301x1031"};
    test_random random = test_random_for(575);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        test_fixture f;
        test_begin_line(&f, lines[i], TENON_DTYPE_F32);
        test_run_fixture(&f, TEST_EXACT, TEST_ONCE, &random);
    }
}

TEST(known_values)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    TEST_KNOWN("rearrange x=f32:6 y=f32:6 shift=2", x, ((const float[]){5, 6, 1, 2, 3, 4}));
    TEST_KNOWN("rearrange x=f32:6 y=f32:6 shift=-1", x, ((const float[]){2, 3, 4, 5, 6, 1}));
    TEST_KNOWN("rearrange x=f32:2x3 y=f32:2x3 flip=2", x, ((const float[]){3, 2, 1, 6, 5, 4}));
    TEST_KNOWN("rearrange x=f32:2 y=f32:5", x, ((const float[]){1, 2, 1, 2, 1}));
    TEST_KNOWN("rearrange tenon_triangle x=f32:2x3 y=f32:2x3 value=9", x,
               ((const float[]){1, 9, 9, 4, 5, 9}));
    TEST_KNOWN("rearrange tenon_triangle x=f32:2x3 y=f32:2x3 flags=1 diagonal=1", x,
               ((const float[]){0, 2, 3, 0, 0, 6}));
    TEST_KNOWN("copy tenon_channel_shuffle x=f32:1x6 y=f32:1x6 groups=2", x,
               ((const float[]){1, 4, 2, 5, 3, 6}));
    /* The example of ONNX's DepthToSpace: channels 0, 9, 18, … of one pixel. */
    static const float pixel[] = {0, 9, 18, 27, 36, 45, 54, 63};
    TEST_KNOWN("copy tenon_depth_to_space x=f32:1x8x1x1 y=f32:1x2x2x2 block=2", pixel,
               ((const float[]){0, 18, 36, 54, 9, 27, 45, 63}));
    TEST_KNOWN("copy tenon_depth_to_space x=f32:1x8x1x1 y=f32:1x2x2x2 block=2 mode=crd", pixel,
               ((const float[]){0, 9, 18, 27, 36, 45, 54, 63}));
}

/* Negative lengths count as 0, and lengths beyond the axis as its size; classes out of range are
 * off. */
TEST(out_of_range)
{
    static const int32_t lengths[] = {-7, 2, INT32_MAX}, classes[] = {1, -1, 3, INT32_MIN};
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const float reversed[] = {1, 5, 9, 4, 2, 6, 7, 8, 3};
    static const float hot[] = {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    const int64_t square[] = {3, 3}, three = 3, four = 4, wide[] = {4, 3};
    const tenon_one_hot_params from_end = tenon_one_hot_params(.flags = TENON_ONE_HOT_FROM_END);
    float y[12];
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, square, x),
                 tl = test_dense(TENON_DTYPE_I32, 1, &three, lengths),
                 ti = test_dense(TENON_DTYPE_I32, 1, &four, classes),
                 ty = test_dense(TENON_DTYPE_F32, 2, square, NULL),
                 th = test_dense(TENON_DTYPE_F32, 2, wide, NULL);
    assert_ok(tenon_reverse_lengths(test_stream, NULL, &tx, &tl, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof reversed, NULL));
    assert_memory_equal(y, reversed, sizeof reversed);
    assert_ok(tenon_one_hot(test_stream, &from_end, &ti, &th, NULL));
    assert_ok(tenon_tensor_download(test_stream, &th, y, sizeof y, NULL));
    assert_memory_equal(y, hot, sizeof hot);
    test_destroy(&tx, &tl, &ti, &ty, &th);
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {"rearrange x=f32:4x2 y=f32:8", "y: rank is 1, must be that of x, 2", TENON_OK},
        {"rearrange x=f32:4x2 y=f32:4x2 flip=4", "flip is 0x4", TENON_OK},
        {"rearrange x=f32:4x2 y=f32:4x2 shift=0,0,3", "shift[2] is 3", TENON_OK},
        {"rearrange x=f32:0x2 y=f32:4x2", "x: dimension 0 has size 0", TENON_OK},
        {"rearrange x=f32:4 y=f16:4", "y is f16 and x is f32", TENON_ERROR_UNSUPPORTED},
        {"rearrange tenon_triangle x=f32:4 y=f32:4", "x: rank is 1, must be at least 2", TENON_OK},
        {"rearrange tenon_triangle x=f32:4x2 y=f32:2x4", "y: shape is 2x4", TENON_OK},
        {"rearrange tenon_triangle x=f32:4x2 y=f32:4x2 flags=2", "flags", TENON_OK},
        {"rearrange tenon_reverse_lengths x=f32:4x2 lengths=i32:3 y=f32:4x2", "lengths: shape is 3",
         TENON_OK},
        {"rearrange tenon_reverse_lengths x=f32:4x2 lengths=f32:2 y=f32:4x2",
         "lengths: type is f32, must be i32 or i64", TENON_ERROR_UNSUPPORTED},
        {"rearrange tenon_reverse_lengths x=f32:4x2 lengths=i32:2 y=f32:4x2 batch_axis=0",
         "axis is 0, batch_axis is 0, must differ", TENON_OK},
        {"rearrange tenon_one_hot indices=i32:4 y=f32:5x2", "y: shape is 5x2, must be 4x2",
         TENON_OK},
        {"rearrange tenon_one_hot indices=i32:4 y=f32:4x2 axis=2", "axis is 2", TENON_OK},
        {"copy tenon_depth_to_space x=f32:1x8x1x1 y=f32:1x2x2x3 block=2",
         "y: shape is 1x2x2x3, must be 1x2x2x2", TENON_OK},
        {"copy tenon_depth_to_space x=f32:1x6x1x1 y=f32:1x2x2x2 block=2",
         "x: number of channels is 6, must be a multiple of the square of block, 2", TENON_OK},
        {"copy tenon_space_to_depth x=f32:2x2 y=f32:1x8x1x1 block=2", "x: shape is 2x2", TENON_OK},
        {"copy tenon_space_to_depth x=f32:1x2x2x2 y=f32:8 block=2", "y: rank is 1, must be 4",
         TENON_OK},
        {"copy tenon_depth_to_space x=f32:1x8x1x1 y=f32:1x2x2x2 block=-2", "block is -2", TENON_OK},
        {"copy tenon_channel_shuffle x=f32:1x8 y=f32:1x8 groups=3", "groups is 3", TENON_OK},
        {"copy tenon_channel_shuffle x=f32:8 y=f32:8", "x: rank is 1", TENON_OK},
        {"rearrange tenon_one_hot indices=u8:4 y=f32:4x2",
         "indices: type is u8, must be i32 or i64", TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}
