/* Tests single instructions of matrix units against plain products: emulated on every device, and
 * on the device's own units if it has any. */
#include "runtime.h"

#include "base/dtype.h"
#include "capability/args.h"
#include "matrix/layout.h"
#include "matrix/layout_test_args.h"
#include "runtime/context/context.h"
#include "runtime/queue/launch.h"

#include <math.h>

/* As in matrix/layout_test.cl: warps, and products of a warp in each dimension. */
enum { WARPS = 2, TILES = 2, STEPS = 3, MOST_M = 128, MOST_N = 64, MOST_K = 96 };

typedef struct unit_case {
    int unit, type;
    const char *options; /* in addition to the unit and the type */
    bool emulated;
    bool transposed;
    bool reals;                  /* random reals in place of small integers */
    tenon_capability capability; /* of the device's own unit, if not emulated */
} unit_case;

typedef union word {
    float f;
    int32_t i;
    uint32_t bits;
} word;

static const char *const type_names[] = {"", "f16", "bf16", "tf32", "i8", "f32"};
static const char *const unit_names[] = {
    "", "mma", "mfma", "wmma (gfx11)", "wmma (gfx12)", "xmx of 16", "xmx of 8"};

/* Elements as the kernel reads them, and the values that the unit multiplies. */
typedef struct factor {
    unsigned char bytes[MOST_M * MOST_K * 4];
    double values[MOST_M * MOST_K];
} factor;

/* Reduces the fraction to 10 bits: truncated, or rounded with ties away from zero. */
static float to_tf32(float value, bool rounded)
{
    word w = {.f = value};
    w.bits = (w.bits + (rounded ? 0x1000 : 0)) & 0xffffe000;
    return w.f;
}

static void put(factor *to, const unit_case *c, int i, double value)
{
    const uint16_t f16 = tn_f16_from_double(value), bf16 = tn_bf16_from_double(value);
    const float f32 = (float)value;
    const int8_t i8 = c->type == MATRIX_I8 ? (int8_t)value : 0;
    switch (c->type) {
    case MATRIX_F16:
        memcpy(to->bytes + 2 * (size_t)i, &f16, 2);
        to->values[i] = tn_f16_to_double(f16);
        break;
    case MATRIX_BF16:
        memcpy(to->bytes + 2 * (size_t)i, &bf16, 2);
        to->values[i] = tn_bf16_to_double(bf16);
        break;
    case MATRIX_I8:
        memcpy(to->bytes + i, &i8, 1);
        to->values[i] = i8;
        break;
    default:
        memcpy(to->bytes + 4 * (size_t)i, &f32, 4);
        to->values[i] = c->type == MATRIX_F32
                            ? f32
                            : to_tf32(f32, strstr(c->options, "-DTENON_ROUND_TF32=1") != NULL);
    }
}

static void fill(factor *to, const unit_case *c, int count, test_random *random)
{
    for (int i = 0; i < count; i++)
        put(to, c, i,
            c->reals && c->type != MATRIX_I8
                ? test_real(random, -2, 2)
                : (double)test_between(random, c->reals ? -128 : -8, c->reals ? 127 : 8));
}

/* Adds the products to `sum`, rounding after each like the emulation. Sums of small integers are
 * exact. */
static word plain_product(const unit_case *c, const double *row, const double *column, int depth,
                          word sum)
{
    for (int k = 0; k < depth; k++) {
        if (c->type == MATRIX_I8)
            sum.bits += (uint32_t)((int32_t)row[k] * (int32_t)column[k]);
        else if (c->type == MATRIX_F32)
            sum.f = fmaf((float)row[k], (float)column[k], sum.f);
        else
            sum.f = (float)((double)sum.f + row[k] * column[k]);
    }
    return sum;
}

static void upload_bytes(tenon_tensor *tensor, tenon_dtype dtype, const void *bytes, size_t size)
{
    const int64_t shape[] = {(int64_t)size / (dtype == TENON_DTYPE_I8 ? 1 : 4)};
    assert_ok(tenon_tensor_create(test_context, dtype, 1, shape, tensor));
    assert_ok(tenon_tensor_upload(test_stream, bytes, size, tensor, NULL));
}

static void run_kernel(const char *source, const char *kernel, const char *options, size_t items,
                       const void *args, size_t args_size, const tenon_tensor *tensors,
                       uint32_t count)
{
    const tn_launch launch = {.source = source,
                              .options = options,
                              .kernel = kernel,
                              .dimensions = 1,
                              .global = {items},
                              .local = {items},
                              .operands = {0, 1, 2},
                              .operand_count = count,
                              .args = args,
                              .args_size = args_size};
    tn_operand operands[3];
    tn_recording recording = {.context = test_context};
    for (uint32_t i = 0; i < count; i++)
        operands[i] = (tn_operand){tensors[i].memory, 0};
    assert_ok(tn_record("tenon_test", &recording, &launch));
    assert_ok(
        tn_recording_run("tenon_test", source, test_stream, &recording, operands, NULL, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    tn_recording_destroy(&recording);
}

static char *options_of(const unit_case *c, char options[512])
{
    static const char format[] = "-DTENON_UNIT=%d -DTENON_UNIT_TYPE=%d -DTENON_EMULATE=%d %s";
    return c->emulated
               ? tn_build_options(test_context, options, format, c->unit, c->type, 1, c->options)
               : tn_build_options_with(test_context, c->capability, options, format, c->unit,
                                       c->type, 0, c->options);
}

/* Returns the first wrong element, or -1. */
static int first_wrong(const unit_case *c, test_random *random)
{
    static factor a, b;
    static word d[MOST_M * MOST_N], got[MOST_M * MOST_N];
    const int m = WARPS * TILES * MATRIX_M(c->unit), n = TILES * MATRIX_N(c->unit);
    const int depth = STEPS * MATRIX_K(c->unit, c->type);
    const size_t size = (size_t)m * (size_t)n * sizeof *d;
    char options[512];
    tenon_tensor tensors[3];
    assert_true(m <= MOST_M && n <= MOST_N && depth <= MOST_K);
    fill(&a, c, m * depth, random);
    fill(&b, c, n * depth, random);
    for (int i = 0; i < m * n; i++) {
        const int value = (int)test_between(random, -8, 8);
        d[i] = c->type == MATRIX_I8 ? (word){.i = value} : (word){.f = (float)value};
    }
    const size_t element = (size_t)MATRIX_BITS(c->type) / 8;
    upload_bytes(&tensors[0], TENON_DTYPE_I8, a.bytes, (size_t)(m * depth) * element);
    upload_bytes(&tensors[1], TENON_DTYPE_I8, b.bytes, (size_t)(n * depth) * element);
    upload_bytes(&tensors[2], TENON_DTYPE_I32, d, size);
    const layout_test_args args = {STEPS, c->transposed};
    run_kernel("matrix/layout_test", "multiply", options_of(c, options),
               WARPS * (size_t)MATRIX_LANES(c->unit), &args, sizeof args, tensors, 3);
    assert_ok(tenon_tensor_download(test_stream, &tensors[2], got, size, NULL));
    for (int i = 0; i < 3; i++)
        tenon_memory_destroy(&tensors[i].memory);
    for (int i = 0; i < m * n; i++) {
        const word expected =
            plain_product(c, a.values + (size_t)(i / n) * (size_t)depth,
                          b.values + (size_t)(i % n) * (size_t)depth, depth, d[i]);
        if (c->type == MATRIX_I8 ? got[i].i != expected.i : got[i].f != expected.f)
            return i;
    }
    return -1;
}

static void expect_right(const unit_case *c, test_random *random)
{
    const int wrong = first_wrong(c, random), n = TILES * MATRIX_N(c->unit);
    if (wrong >= 0)
        fail_msg("%s %s, %s%s%s %s: element [%d, %d] is wrong", unit_names[c->unit],
                 type_names[c->type], c->emulated ? "emulated" : "the device's own",
                 c->transposed ? ", transposed" : "", c->reals ? ", reals" : "", c->options,
                 wrong / n, wrong % n);
}

/* Bit for bit: small integers, and reals with the emulation's rounding. */
TEST(emulated_units_multiply)
{
    test_random random = test_random_for(1);
    for (int unit = MATRIX_NVIDIA; unit <= MATRIX_XMX_8; unit++)
        for (int type = MATRIX_F16; type <= MATRIX_F32; type++)
            for (int way = 0; way < 4 && MATRIX_HAS(unit, type); way++)
                expect_right(&(unit_case){.unit = unit,
                                          .type = type,
                                          .options = "",
                                          .emulated = true,
                                          .transposed = way % 2,
                                          .reals = way / 2},
                             &random);
}

TEST(loads_may_round)
{
    test_random random = test_random_for(2);
    for (int transposed = 0; transposed < 2; transposed++)
        expect_right(&(unit_case){.unit = MATRIX_NVIDIA,
                                  .type = MATRIX_TF32,
                                  .options = "-DTENON_ROUND_TF32=1",
                                  .emulated = true,
                                  .transposed = transposed,
                                  .reals = true},
                     &random);
}

/* Exchanging the parts of A, B or D of two lanes changes the product. */
TEST(exchanged_lanes_are_found)
{
    static const char *const options[] = {"-DLAYOUT_TEST_EXCHANGE=1", "-DLAYOUT_TEST_EXCHANGE=2",
                                          "-DLAYOUT_TEST_EXCHANGE=3"};
    test_random random = test_random_for(3);
    for (int i = 0; i < 3; i++) {
        const unit_case c = {
            .unit = MATRIX_NVIDIA, .type = MATRIX_F16, .options = options[i], .emulated = true};
        if (first_wrong(&c, &random) < 0)
            fail_msg("%s: no element is wrong", options[i]);
    }
}

/* Tests the device's own unit with each way of loading. */
static void try_unit(tenon_capability capability, int unit, const char *options, const char *types)
{
    test_random random = test_random_for(4);
    if (!test_has(capability))
        return;
    for (; *types != '\0'; types++) {
        for (int transposed = 0; transposed < 2; transposed++)
            expect_right(&(unit_case){.unit = unit,
                                      .type = *types - '0',
                                      .options = options,
                                      .transposed = transposed,
                                      .capability = capability},
                         &random);
        printf("right: %s %s %s, by the device's own unit\n", unit_names[unit],
               type_names[*types - '0'], options);
    }
}

TEST(the_devices_own_units_multiply)
{
    const int wmma = tn_capability_form(test_context, TENON_CAPABILITY_AMD_WMMA);
    const int xmx = tn_capability_form(test_context, TENON_CAPABILITY_INTEL_MATRIX);
    try_unit(TENON_CAPABILITY_NVIDIA_MMA, MATRIX_NVIDIA, "", "1234");
    try_unit(TENON_CAPABILITY_NVIDIA_MMA_TURING, MATRIX_NVIDIA, "-DTENON_UNIT_SPLIT=1", "14");
    if (test_has(TENON_CAPABILITY_NVIDIA_LDMATRIX))
        try_unit(TENON_CAPABILITY_NVIDIA_MMA, MATRIX_NVIDIA, "-DTENON_LDMATRIX=1", "1234");
    try_unit(TENON_CAPABILITY_AMD_MFMA, MATRIX_MFMA, "", "1245");
    try_unit(TENON_CAPABILITY_AMD_WMMA, wmma == 1 ? MATRIX_WMMA_12 : MATRIX_WMMA_11, "", "124");
    try_unit(TENON_CAPABILITY_INTEL_MATRIX, xmx == 1 ? MATRIX_XMX_8 : MATRIX_XMX_16, "", "124");
}

/* The expected sums within the trial's kernel agree with those of a correct unit. */
TEST(trials_compute_rightly)
{
    enum { ITEMS = 64, BESIDE = 256 };
    static const int32_t zeros[ITEMS + BESIDE];
    const trial_args args = {1, 0};
    for (int unit = MATRIX_NVIDIA; unit <= MATRIX_XMX_8; unit++) {
        int32_t results[ITEMS + BESIDE];
        char options[512];
        tenon_tensor tensor;
        upload_bytes(&tensor, TENON_DTYPE_I32, zeros, sizeof zeros);
        tn_build_options(test_context, options, "-DTENON_UNIT=%d -DTENON_UNIT_TYPE=%d%s", unit,
                         unit == MATRIX_MFMA ? MATRIX_I8 : MATRIX_BF16,
                         unit == MATRIX_XMX_16 ? " -DTENON_BLOCK_2D=1" : "");
        run_kernel("capability/matrix", "trial", options, ITEMS, &args, sizeof args, &tensor, 1);
        assert_ok(tenon_tensor_download(test_stream, &tensor, results, sizeof results, NULL));
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(results[i], 1);
        tenon_memory_destroy(&tensor.memory);
    }
}
