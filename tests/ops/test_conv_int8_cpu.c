/*
 * conv_int8/implicit_dot and conv_int8/depthwise: each form of the first (plain OpenCL C, and each
 * instruction that the processor has, in vectors of every width), each variant of the second, and
 * when they are chosen.
 */
#include "gemm_case.h"
#include "instructions.h"
#include "runtime.h"
#include "runtime/context/context.h"

#include "ops/conv/int8/int8.h"
#include "ops/registry.h"

#include <string.h>

/* Images that are read in place and copies, with and without merged taps; several panels and
 * blocks, and images that end within a block; filters of each order; results along filters and
 * along pixels. */
static const char *const products[] = {
    "x=u8:2x8x7x9/504,1,72,8 w=i8:70x8x3x3 y=i32:2x70x7x9/4410,1,630,70 pad_begin=1,1 pad_end=1,1 "
    "zero_point_of_x=u8: zero_point_of_w=i8:70",
    "x=u8:3x36x7x7/1764,1,252,36 w=u8:19x36x3x3/324,1,108,36 y=u8:3x19x4x4/304,1,76,19 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1 zero_point_of_x=u8: scale_of_w=f32:19 scale_of_y=f32:19 bias=f32:19",
    "x=i8:2x14x8x21 w=u8:38x7x3x2 y=f32:2x38x4x20 groups=2 stride=2,1 pad_begin=1,0 "
    "zero_point_of_x=i8: scale_of_w=f32:38 bias=f32:38",
    "x=u8:1x3x31x29/2697,1,87,3 w=i8:17x3x7x7 y=f32:1x17x16x15/4080,1,255,17 stride=2,2 "
    "pad_begin=3,3 pad_end=3,3 scale_of_x=f32: zero_point_of_x=u8: bias=i32:17",
    "x=u8:2x64x9x5/2880,1,320,64 w=i8:33x64x1x1 y=bf16:2x33x5x3 stride=2,2 zero_point_of_w=i8:",
    "x=u8:1x32x11x10/3520,1,320,32 w=i8:9x32x3x3/9,1,864,288 y=i32:1x9x9x8/648,1,72,9 "
    "dilation=1,2 pad_end=0,2",
    "x=i8:2x5x3x6x7 w=i8:4x5x2x3x3 y=i8:2x4x4x6x7 pad_begin=1,1,1 pad_end=1,1,1 scale_of_y=f32: "
    "zero_point_of_y=i8:",
    "x=u8:1x400x3x3/3600,9,3,1 w=i8:3x400x3x3 y=i32:1x3x1x1",
};

/* Vectors along channels, with the loops of each window and stride unrolled, and of others; vectors
 * along rows of each stride, with several filters and depths. */
static const char *const depthwise[] = {
    "x=u8:2x37x9x19/6327,1,703,37 w=i8:37x1x3x3 y=f32:2x37x9x19/6327,1,703,37 groups=37 "
    "pad_begin=1,1 pad_end=1,1 zero_point_of_x=u8: zero_point_of_w=i8:37 bias=f32:37",
    "x=i8:1x32x11x18/6336,1,576,32 w=u8:32x1x3x3 y=i8:1x32x6x9/1728,1,288,32 groups=32 stride=2,2 "
    "pad_begin=1,1 pad_end=1,0 scale_of_y=f32:32 zero_point_of_x=i8:",
    "x=u8:1x16x12x13/2496,1,208,16 w=i8:16x1x5x5 y=i32:1x16x12x13/2496,1,208,16 groups=16 "
    "pad_begin=2,2 pad_end=2,2 zero_point_of_x=u8:",
    "x=i8:1x19x17x21/6783,1,399,19 w=i8:19x1x5x5 y=bf16:1x19x7x9/1197,1,171,19 groups=19 "
    "stride=2,2",
    "x=u8:2x21x8x9/1512,1,189,21 w=u8:21x1x2x4 y=f32:2x21x8x1/168,1,21,21 groups=21 stride=1,3 "
    "dilation=1,2 pad_begin=1,0",
    "x=u8:2x5x13x40 w=i8:5x1x3x3 y=f32:2x5x13x40 groups=5 pad_begin=1,1 pad_end=1,1 "
    "zero_point_of_x=u8: scale_of_w=f32:5 bias=i32:5",
    "x=i8:1x3x15x37 w=i8:6x1x3x3 y=u8:1x6x8x19 groups=3 stride=2,2 pad_begin=1,1 pad_end=1,1 "
    "scale_of_y=f32:6 zero_point_of_y=u8:6 zero_point_of_x=i8: c=f32:1x6x8x19 beta=1",
    "x=u8:1x2x9x200 w=u8:2x1x3x5 y=i32:1x2x9x64 groups=2 stride=1,3 dilation=1,2 pad_begin=1,0 "
    "pad_end=1,0",
    "x=u8:1x4x3x6x7 w=i8:4x1x1x3x3 y=i32:1x4x2x6x7 groups=4 stride=2,1,1 pad_begin=0,1,1 "
    "pad_end=0,1,1 zero_point_of_w=i8:",
    "x=u8:1x1x20x600 w=i8:1x1x16x16 y=i32:1x1x5x585",
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static void begin(test_fixture *f, const char *line, test_judge judge, test_random *random)
{
    char text[512];
    snprintf(text, sizeof text, "conv_int8 %s", line);
    test_begin_line(f, text, TENON_DTYPE_INVALID);
    test_make(f);
    f->judge = judge;
    for (uint32_t i = 0; i < INT8_OPERANDS; i++)
        if (test_operand(f, i) != NULL && i != CONV_Y)
            fill_int8_operand(test_operand(f, i), i, judge, random);
    test_expect(f);
}

/* Runs a solver on every line, with random bytes and with small integers. */
static void run_lines(const char *const *lines, size_t count, const char *solver,
                      test_random *random)
{
    for (size_t i = 0; i < count; i++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            test_fixture f;
            begin(&f, lines[i], (test_judge)judge, random);
            assert_true(test_solver(&f, solver));
            test_release(&f);
        }
}

TEST(plain_groups)
{
    static const char *const solvers[] = {
        "conv_int8/implicit_dot:gs2,mr3,nr16", "conv_int8/implicit_dot:gs4,mr1,nr16",
        "conv_int8/implicit_dot:gs4,mr2,nr32", "conv_int8/implicit_dot:gs2"};
    test_random random = test_random_for(1621);
    for (size_t i = 0; i < COUNT(solvers); i++)
        run_lines(products, COUNT(products), solvers[i], &random);
}

static void run_with_instruction(test_random *random)
{
    run_lines(products, COUNT(products), "conv_int8/implicit_dot", random);
}

TEST(each_instruction)
{
    test_random random = test_random_for(1622);
    test_each_instruction(run_with_instruction, &random);
}

TEST(depthwise_in_vectors_of_every_width)
{
    const uint32_t widest = test_context->device.info.vector_width_f32;
    test_random random = test_random_for(1623);
    run_lines(depthwise, COUNT(depthwise), "conv_int8/depthwise", &random);
    for (uint32_t lanes = 4; lanes < widest; lanes *= 2) {
        test_begin_processor("", lanes);
        run_lines(depthwise, COUNT(depthwise), "conv_int8/depthwise", &random);
        test_end_processor();
    }
}

/* Sums of the largest products stay exact in floats for the largest windows. */
TEST(largest_sums_of_depthwise)
{
    static const double extremes[] = {0, 255};
    test_random random = test_random_for(1624);
    for (int i = 0; i < 4; i++) {
        test_fixture f;
        begin(&f,
              "x=u8:1x2x20x40 w=u8:2x1x16x16 y=i32:1x2x5x25 groups=2 zero_point_of_x=u8: "
              "zero_point_of_w=u8:",
              TEST_EXACT, &random);
        test_fill_value(&f.operands[CONV_X], extremes[i % 2]);
        test_fill_value(&f.operands[CONV_W], extremes[i / 2]);
        test_fill_value(&f.operands[INT8_VECTOR(INT8_ZERO_A)], extremes[1 - i % 2]);
        test_fill_value(&f.operands[INT8_VECTOR(INT8_ZERO_B)], extremes[1 - i / 2]);
        test_expect(&f);
        assert_true(test_solver(&f, "conv_int8/depthwise"));
        test_release(&f);
    }
}

static void refuse(const char *line, const char *solver, const char *message)
{
    test_random random = test_random_for(1625);
    test_fixture f;
    begin(&f, line, TEST_BOUND, &random);
    if (test_solver(&f, solver))
        assert_true(test_left_out()); /* by the quick set */
    else
        assert_non_null(strstr(tenon_last_error(), message));
    test_release(&f);
}

TEST(unsupported_problems)
{
    refuse("x=u8:1x1x20x600 w=i8:1x1x16x17 y=i32:1x1x5x584", "conv_int8/depthwise",
           "the window is too large");
    refuse("x=u8:1x4x5x6 w=i8:4x2x3x3 y=i32:1x4x3x4 groups=2", "conv_int8/depthwise",
           "a group has more than one channel");
    test_begin_processor("sse2 avx512f", 0);
    refuse(products[0], "conv_int8/implicit_dot", "no instruction that adds products");
    test_end_processor();
}

/* Solvers that are chosen on a processor with VNNI. */
TEST(choices)
{
    static const char *const expected[][2] = {
        {"x=u8:1x64x56x56/200704,1,3584,64 w=i8:64x64x3x3 y=i32:1x64x56x56/200704,1,3584,64 "
         "pad_begin=1,1 pad_end=1,1",
         "conv_int8/implicit_dot"},
        {"x=u8:1x64x28x28 w=i8:64x64x3x3 y=f32:1x64x28x28 pad_begin=1,1 pad_end=1,1",
         "conv_int8/implicit_dot"},
        {"x=u8:1x64x28x28 w=i8:64x1x3x3 y=f32:1x64x28x28 pad_begin=1,1 pad_end=1,1 groups=64",
         "conv_int8/depthwise"},
        {"x=u8:1x64x28x28/50176,1,1792,64 w=i8:64x1x3x3 y=f32:1x64x28x28/50176,1,1792,64 "
         "pad_begin=1,1 pad_end=1,1 groups=64",
         "conv_int8/depthwise"},
    };
    test_random random = test_random_for(1626);
    if (tn_capability_form(test_context, TENON_CAPABILITY_X86_DOT) != 0)
        skip();
    for (size_t i = 0; i < COUNT(expected); i++) {
        char name[TN_SOLVER_NAME_SIZE];
        test_fixture f;
        begin(&f, expected[i][0], TEST_BOUND, &random);
        test_name_solver(&f, NULL, name);
        if (strncmp(name, expected[i][1], strlen(expected[i][1])) != 0)
            fail_msg("%s is computed by %s", expected[i][0], name);
        test_release(&f);
    }
}
