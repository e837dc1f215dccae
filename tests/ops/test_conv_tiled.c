/*
 * Tests convolution and its gradients by the GPU kernels that gather one factor from the image:
 * with small blocks, so that small problems reach all block edges, and on emulated matrix units.
 * Other programs run these solvers with the block sizes of a device.
 */
#include "conv_case.h"

#include "runtime/context/context.h"

#define TILED "implicit_tiled:mb16,nb32,kb8,mr2,nr4"
/* Blocks of 32 filters by 16 pixels and 16 steps of K. */
#define MMA   "implicit_matrix:em1,mb32,nb16,kb16"
#define WGMMA "implicit_wgmma:em1"
#define MFMA  "implicit_matrix:em2,mb32,nb32,kb32,wm1,wn1"
/* MMA with images and filters first copied to N H W C. It also supports cp.async, since channels
 * are then contiguous. */
#define COPIED "implicit_matrix:em1,mb32,nb16,kb16,cp2"

/* n, c, image, k, filter, stride, dilation, padding, groups. */
typedef struct shape {
    int64_t n, c, size[2], k, filter[2], stride[2], dilation[2], pad[2], groups;
} shape;

static const shape shapes[] = {
    {1, 1, {1, 1}, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1},
    {3, 8, {5, 7}, 17, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, /* images within a block */
    {1, 16, {8, 31}, 16, {1, 3}, {1, 1}, {1, 1}, {0, 1}, 1},
    {2, 5, {9, 8}, 15, {3, 2}, {2, 2}, {1, 1}, {1, 0}, 1},
    {1, 3, {13, 12}, 33, {7, 7}, {2, 2}, {1, 1}, {3, 3}, 1},
    {2, 16, {11, 10}, 32, {1, 1}, {2, 2}, {1, 1}, {0, 0}, 1},
    {1, 8, {12, 17}, 8, {3, 3}, {2, 3}, {2, 2}, {2, 3}, 1}, /* strides and dilations for which some
                                                               taps never contribute */
    {1, 4, {9, 9}, 8, {3, 3}, {4, 4}, {1, 1}, {1, 1}, 1},
    {2, 12, {6, 5}, 20, {3, 3}, {1, 1}, {1, 2}, {1, 2}, 4},
    {1, 2, {3, 4}, 3, {5, 6}, {1, 1}, {1, 1}, {2, 3}, 1}, /* filters larger than the image */
    {2, 24, {4, 4}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {2, 8, {3, 17}, 8, {1, 8}, {1, 2}, {1, 1}, {0, 0}, 1}, /* 8 taps, every second one in each
                                                              sub-filter */
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static conv_case case_of(const shape *s, image_layout layout, size_t number)
{
    conv_case p = conv_like(.n = s->n, .c = s->c, .k = s->k, .groups = s->groups, .x = layout,
                            .y = layout, .w = number % 2 == 0 ? layout : NCHW,
                            .offset = (int64_t)(number % 3) * (number % 2 == 0 ? 8 : 1));
    for (int d = 0; d < 2; d++) {
        p.size[d] = s->size[d];
        p.filter[d] = s->filter[d];
        p.geometry.stride[d] = s->stride[d];
        p.geometry.dilation[d] = s->dilation[d];
        p.geometry.pad_begin[d] = s->pad[d];
        p.geometry.pad_end[1 - d] = s->pad[1 - d];
    }
    return p;
}

/* Runs one solver on reals and on integers. */
static void run(conv_direction direction, const conv_case *p, tenon_dtype dtype, const char *solver,
                test_random *random)
{
    const char *const solvers[] = {solver, NULL};
    conv_check_by(direction, p, dtype, solvers, random);
}

/* Runs a solver on all shapes and directions; `of_filter` computes the gradient of the filters. */
static void run_shapes(tenon_dtype dtype, const char *solver, const char *of_filter,
                       test_random *random)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p = case_of(&shapes[i], (image_layout)layout, i);
            p.beta = i % 2 == 0 ? 0 : -0.5;
            run(OF_IMAGE, &p, dtype, solver, random);
            run(OF_FILTER, &p, dtype, of_filter, random);
            p.beta = 0;
            p.bias = i % 2 == 0;
            p.activation.kind = i % 3 == 0 ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_IDENTITY;
            run(FORWARD, &p, dtype, solver, random);
        }
}

TEST(tiled)
{
    test_random random = test_random_for(861);
    run_shapes(TENON_DTYPE_F32, TILED, TILED ",ks4", &random);
}

TEST(matrix_units)
{
    test_random random = test_random_for(862);
    run_shapes(TENON_DTYPE_F16, MMA, MMA ",ks3", &random);
    run_shapes(TENON_DTYPE_BF16, MFMA, MFMA ",ks1", &random);
}

/* Channels and filters in multiples of 8, which are loaded as vectors if they are contiguous: in
 * each direction along K or across it, by cp.async or through registers. */
static const shape vector_shapes[] = {
    {1, 8, {1, 1}, 8, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1},
    {3, 8, {5, 7}, 24, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {2, 24, {9, 8}, 40, {3, 2}, {2, 2}, {1, 1}, {1, 0}, 1},
    {1, 8, {12, 17}, 8, {3, 3}, {2, 3}, {2, 2}, {2, 3}, 1},
    {2, 16, {6, 5}, 32, {3, 3}, {1, 1}, {1, 2}, {1, 2}, 2}, /* groups of one and two vectors */
    {1, 72, {4, 4}, 56, {5, 6}, {1, 1}, {1, 1}, {2, 3}, 1},
};

static void run_vectors(const shape *s, size_t number, tenon_dtype dtype, const char *solver,
                        image_layout layout, test_random *random)
{
    char of_filter[64];
    conv_case p = case_of(s, layout, number);
    snprintf(of_filter, sizeof of_filter, "%s,ks%d", solver, 1 + (int)number % 3);
    p.w = layout;
    p.offset = number % 3 == 1 ? 4 : 8; /* vector loads do not require aligned vectors */
    p.beta = number % 2 == 0 ? 0 : -0.5;
    run(OF_IMAGE, &p, dtype, solver, random);
    run(OF_FILTER, &p, dtype, of_filter, random);
    p.beta = 0;
    p.bias = number % 2 == 0;
    run(FORWARD, &p, dtype, solver, random);
}

TEST(vectors_of_channels)
{
    static const char *const solvers[] = {MMA, MMA ",st2", MMA ",st3", MFMA ",lb1", COPIED ",st2"};
    test_random random = test_random_for(866);
    for (size_t v = 0; v < sizeof solvers / sizeof *solvers; v++)
        for (size_t i = 0; i < sizeof vector_shapes / sizeof *vector_shapes; i++)
            run_vectors(&vector_shapes[i], i, v % 2 == 0 ? TENON_DTYPE_F16 : TENON_DTYPE_BF16,
                        solvers[v], NHWC, &random);
}

/* The same shapes by wgmma, whose smallest block has 64 x 128 sums, with all stage counts and
 * depths. */
TEST(vectors_by_wgmma)
{
    static const char *const solvers[] = {WGMMA ",kb16,st2", WGMMA ",kb32,st3", WGMMA ",kb16,st4",
                                          WGMMA ",kb64,st2,cp2"};
    test_random random = test_random_for(868);
    for (size_t i = 0; i < sizeof vector_shapes / sizeof *vector_shapes; i++)
        run_vectors(&vector_shapes[i], i, i % 2 == 0 ? TENON_DTYPE_F16 : TENON_DTYPE_BF16,
                    solvers[i % 4], i % 4 == 3 ? NCHW : NHWC, &random);
}

/* Factors of any layout are copied, unless their vectors are already contiguous. */
TEST(copied_factors)
{
    test_random random = test_random_for(867);
    for (size_t i = 0; i < sizeof vector_shapes / sizeof *vector_shapes; i++)
        for (int layout = 0; layout < IMAGE_LAYOUTS; layout++) {
            const char *solver = layout == NCHW ? COPIED ",st2" : COPIED;
            run_vectors(&vector_shapes[i], i, TENON_DTYPE_F16, solver, (image_layout)layout,
                        &random);
        }
    run_shapes(TENON_DTYPE_BF16, COPIED, COPIED ",ks3", &random);
}

/* The partial sums of slices are f32 in the workspace even for 16-bit results; any layout is
 * gathered. */
TEST(slices_and_layouts)
{
    test_random random = test_random_for(863);
    for (int i = 0; i < 2 * IMAGE_LAYOUTS; i++) {
        conv_case p = case_of(&shapes[i % SHAPES], (image_layout)(i % IMAGE_LAYOUTS), (size_t)i);
        p.w = (image_layout)(i / 2 % IMAGE_LAYOUTS);
        p.y = (image_layout)(i / 3 % IMAGE_LAYOUTS);
        run(OF_FILTER, &p, TENON_DTYPE_F16, TILED ",ks2", &random);
        run(FORWARD, &p, TENON_DTYPE_F32, TILED, &random);
        run(OF_IMAGE, &p, TENON_DTYPE_F32, TILED, &random);
    }
}

/* Complete epilogues, also of the transposed convolution. */
TEST(epilogues)
{
    static const char *const solvers[] = {TILED, MMA};
    test_random random = test_random_for(864);
    for (int i = 0; i < 8; i++) {
        conv_case p = case_of(&shapes[1 + i], (image_layout)(i % 2), (size_t)i);
        const tenon_dtype dtype = i < 4 ? TENON_DTYPE_F32 : TENON_DTYPE_F16;
        p.alpha = 2;
        p.beta = -0.5;
        p.bias = true;
        p.residual = i % 4 < 2 ? FULL_RESIDUAL : i % 4 == 2 ? CHANNEL_RESIDUAL : IN_PLACE;
        p.activation.kind = TENON_ACTIVATION_RELU;
        run(FORWARD, &p, dtype, solvers[i / 4], &random);
        p.residual = FULL_RESIDUAL;
        run(TRANSPOSED, &p, dtype, solvers[i / 4], &random);
    }
}

/* dx sums only over existing elements of dy, although blocks contain zeros in place of the others:
 * an infinite filter element must not be multiplied by these zeros. */
TEST(infinite_filters)
{
    static const char *const solvers[][2] = {{TILED, NULL}, {MMA, NULL}};
    test_random random = test_random_for(865);
    for (int i = 0; i < 8; i++) {
        const conv_case p = case_of(&shapes[1 + i / 2 * 2], (image_layout)(i % 2), 0);
        test_fixture f;
        conv_make(&f, OF_IMAGE, &p, i % 4 < 2 ? TENON_DTYPE_F32 : TENON_DTYPE_F16, TEST_BOUND,
                  &random);
        conv_spoil(&f, 1, i % 3 != 0, &random);
        test_finish_by(&f, solvers[i % 4 / 2]);
    }
}

TEST(what_cannot_be_served)
{
    static const test_refusal refusals[] = {
        {"conv/implicit_matrix x=f32:2x4x9x11 w=f32:6x4x3x3 y=f32:2x6x7x9", "f16 and bf16",
         TENON_ERROR_UNSUPPORTED},
        {"conv/implicit_matrix:em1,st2 x=f16:2x4x9x11 w=f16:6x4x3x3 y=f16:2x6x7x9",
         "st above 1 needs vectors of 8 channels"},
        {"conv/implicit_matrix:em2,st2 x=f16:2x4x9x11 w=f16:6x4x3x3 y=f16:2x6x7x9",
         "st above 1 needs cp.async"},
        {"conv/implicit_wgmma:em1,cp1 x=f16:2x4x9x11 w=f16:6x4x3x3 y=f16:2x6x7x9",
         "wgmma needs vectors of 8 channels"},
        {"conv/implicit_wgmma:em1,st1 x=f16:2x8x9x11/792,1,88,8 w=f16:8x8x3x3/72,1,24,8 "
         "y=f16:2x8x7x9",
         "st must be at least 2"},
        {"conv/implicit_tiled:mb8,nb8,kb16,mr4,nr4 x=f32:2x4x9x11 w=f32:6x4x3x3 y=f32:2x6x7x9",
         "kb"},
        {"conv/implicit_tiled x=f32:2x0x9x11 w=f32:6x0x3x3 y=f32:2x6x7x9", "nothing to multiply",
         TENON_ERROR_UNSUPPORTED},
        {"conv/implicit_matrix x=f16:2x4x9x11 w=f16:6x4x3x3 y=f16:2x6x7x9", "no such matrix units",
         TENON_ERROR_UNSUPPORTED}, /* on CPUs */
    };
    test_refuse(refusals, test_context->device.is_cpu ? 8 : 7);
}
