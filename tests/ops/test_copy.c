/* Tests tenon_copy: every pair of types against the host's conversion bit for bit, with any
 * strides. */
#include "fixture.h"

#include "base/dtype.h"
#include "dispatch/plan.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>

static void begin(test_fixture *f, tenon_tensor x, tenon_tensor y)
{
    test_begin(f, &tn_operation_copy);
    f->c.views[COPY_X] = x;
    f->c.views[COPY_Y] = y;
}

static void run_integers(test_fixture *f, int64_t most, test_random *random)
{
    test_make(f);
    f->judge = TEST_EXACT;
    test_fill_integers(test_operand(f, COPY_X), random, most);
    test_finish(f, TEST_ALL);
}

/* Returns true if the device supports the type. */
static bool has(tenon_dtype dtype)
{
    return dtype != TENON_DTYPE_F64 || test_has(TENON_CAPABILITY_F64);
}

/* Returns values at and around ties, ends of ranges, and values that double rounding would get
 * wrong; after these, random values. */
static double awkward(int64_t i, test_random *random)
{
    static const double values[][5] = {
        {0, -0.0, NAN, INFINITY, -INFINITY},
        {0.5, 1.5, 2.5, -0.5, -1.5},
        {126.5, 127.5, -128.5, -129, 254.5},
        {255.5, 65504, 65519.99, 65520, 2147483646.5},
        {2147483647, 2147483648.0, -2147483648.0, -2147483649.0, 2147483520},
        {1e300, -1e300, 1e-300, 0x1p-24, 0x1p-25},
        {0x1.0000001p-25, 0x1.002p0, 0x1.0020000001p0, 0x1.006p0, 0x1.0060000001p0},
        {0x1.01p0, 0x1.0100000001p0, 0x1.03p0, 0x1.02ffffffffp0, 0x1.ffffffp127},
        {0x1.fefp127, 0x1.ff8p127, 0x1p-133, 0x1p-134, 0x1.0000000001p-134},
        {16777217, 16908289, 16908287, -16908289, 33816577}};
    const int64_t count = sizeof values / sizeof **values;
    if (i < count)
        return values[i / 5][i % 5];
    double magnitude = ldexp(1, (int)test_between(random, -30, 34));
    return test_real(random, -1, 1) * magnitude;
}

TEST(every_pair_of_types)
{
    static const int64_t count = 997;
    test_random random = test_random_for(511);
    for (int from = TENON_DTYPE_F64; from <= TENON_DTYPE_I32; from++)
        for (int to = TENON_DTYPE_F64; to <= TENON_DTYPE_I32; to++) {
            const tenon_dtype x = (tenon_dtype)from, y = (tenon_dtype)to;
            test_fixture f;
            if (x != y && (!has(x) || !has(y)))
                continue;
            begin(&f, test_view(x, TEST_ROW, false, 1, &count, 0),
                  test_view(y, TEST_ROW, false, 1, &count, 1));
            test_make(&f);
            f.judge = TEST_EXACT;
            for (int64_t i = 0; i < count; i++)
                test_set(&f.operands[COPY_X], i, awkward(i, &random));
            test_finish(&f, TEST_ALL);
        }
}

/* Converts all 65536 values of a 16-bit type to f32 and back; all but NaNs must keep their bits. */
TEST(every_half)
{
    static const int64_t shape[] = {65536};
    static uint16_t bits[65536], back[65536];
    for (int type = TENON_DTYPE_F16; type <= TENON_DTYPE_BF16; type++) {
        tenon_dtype dtype = (tenon_dtype)type;
        tenon_tensor half = test_dense(dtype, 1, shape, NULL);
        tenon_tensor wide = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
        for (int i = 0; i < 65536; i++)
            bits[i] = (uint16_t)i;
        assert_ok(tenon_tensor_upload(test_stream, bits, sizeof bits, &half, NULL));
        assert_ok(tenon_copy(test_stream, NULL, &half, &wide, NULL));
        assert_ok(tenon_copy(test_stream, NULL, &wide, &half, NULL));
        assert_ok(tenon_tensor_download(test_stream, &half, back, sizeof back, NULL));
        for (int i = 0; i < 65536; i++)
            if (bits[i] != back[i] && !isnan(tn_dtype_load(dtype, &bits[i])))
                fail_msg("%s %#x comes back as %#x", tenon_dtype_string(dtype), bits[i], back[i]);
        test_destroy(&half, &wide);
    }
}

TEST(any_strides)
{
    static const tenon_dtype types[][2] = {{TENON_DTYPE_F32, TENON_DTYPE_F32},
                                           {TENON_DTYPE_U8, TENON_DTYPE_U8},
                                           {TENON_DTYPE_F32, TENON_DTYPE_BF16},
                                           {TENON_DTYPE_I8, TENON_DTYPE_I32}};
    test_random random = test_random_for(512);
    for (uint32_t rank = 0; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 16; n++) {
            test_fixture f;
            int64_t shape[TENON_MAX_RANK];
            for (uint32_t d = 0; d < rank; d++)
                shape[d] = test_between(&random, n == 7 ? 0 : 1, rank > 5 ? 3 : 6);
            begin(&f, test_random_view(&random, types[n % 4][0], rank, shape),
                  test_random_view(&random, types[n % 4][1], rank, shape));
            if (rank > 1 && n % 5 == 0)
                f.c.views[COPY_X].stride[test_between(&random, 0, rank - 1)] = 0;
            if (n % 4 < 2 && n > 11)
                f.c.same[COPY_X] = 1 + COPY_Y;
            run_integers(&f, 100, &random);
        }
}

static tenon_dtype random_type(test_random *random)
{
    tenon_dtype type;
    do
        type = (tenon_dtype)test_between(random, TENON_DTYPE_F64, TENON_DTYPE_I32);
    while (!has(type));
    return type;
}

static void random_copy(test_random *random)
{
    const tenon_dtype from = random_type(random), to = random_type(random);
    int64_t shape[TENON_MAX_RANK];
    const uint32_t rank = test_random_shape(random, shape);
    test_fixture f;
    begin(&f, test_random_view(random, from, rank, shape),
          test_random_view(random, to, rank, shape));
    for (uint32_t d = 0; d < rank; d++)
        if (test_one_in(random, 5))
            f.c.views[COPY_X].stride[d] = 0;
    if (from == to && test_one_in(random, 2))
        f.c.same[COPY_X] = 1 + COPY_Y;
    test_make(&f);
    f.judge = TEST_EXACT;
    test_tensor *x = test_operand(&f, COPY_X);
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++)
        test_set(x, i, awkward(test_between(random, 0, 100), random));
    test_finish(&f, TEST_ONCE);
}

TEST(random_problems)
{
    test_random random = test_random_for(514);
    for (int n = 0; n < 4 * test_problems(30); n++)
        random_copy(&random);
}

TEST(large_transposes)
{
    static const int64_t shape[] = {1031, 1021};
    test_random random = test_random_for(513);
    for (int n = 0; n < 2; n++) {
        test_fixture f;
        begin(&f, test_view(TENON_DTYPE_F32, n == 0 ? TEST_COL : TEST_PITCH, false, 2, shape, 0),
              test_view(n == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_I32, n == 0 ? TEST_PITCH : TEST_COL,
                        false, 2, shape, 0));
        run_integers(&f, 1000000, &random);
    }
}

/* Sizes around the squares and blocks that are transposed at once, with a batch and elements of
 * every size. */
TEST(transposes)
{
    static const int64_t sizes[] = {2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 257};
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_U8, TENON_DTYPE_F16,
                                        TENON_DTYPE_F64};
    const int count = sizeof sizes / sizeof *sizes;
    test_random random = test_random_for(515);
    for (int n = 0; n < 4 * count; n++) {
        const int64_t shape[] = {2, sizes[n % count], sizes[n * 4 % count]};
        const test_layout x_layout = n % 2 == 0 ? TEST_COL : TEST_COL_PITCH,
                          y_layout = n % 3 == 0 ? TEST_PITCH : TEST_ROW;
        test_fixture f;
        begin(&f, test_view(types[n % 4], x_layout, n % 5 == 0, 3, shape, n % 7),
              test_view(types[n % 4], y_layout, n % 5 == 0, 3, shape, n % 7));
        for (int i = 0; i < COPY_OPERANDS; i++) {
            const int along = i == COPY_X ? 1 : 2;
            int64_t *stride = f.c.views[i].stride;
            if ((i == COPY_X ? x_layout : y_layout) != (i == COPY_X ? TEST_COL : TEST_ROW))
                for (int d = 0; d < 3; d++) /* gaps between lines, but not between elements */
                    stride[d] = d == along ? 1 : d == 0 ? 300 * 300 : shape[along] + 3;
        }
        run_integers(&f, 100, &random);
    }
}

TEST(bad_input)
{
    static const char op[] = "tenon_copy";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, strides[] = {6, 1};
    tenon_copy_params params = TENON_COPY_PARAMS_INIT, bad;
    test_tensor tx, ty;
    test_tensor_create(&tx, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_tensor_create(&ty, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_upload(&ty);
    const tenon_tensor x = tx.view, y = ty.view;
    tenon_tensor v;
#define REFUSED(p, a, b, status, word)                                                             \
    assert_refused(tenon_copy(test_stream, p, a, b, NULL), status, op, word)
    assert_invalid(tenon_copy(NULL, &params, &x, &y, NULL), "stream");
    assert_invalid(tenon_copy_plan(test_context, &params, &x, &y, NULL), "plan");
    REFUSED(&params, NULL, &y, invalid, "x ");
    REFUSED(&params, &x, NULL, invalid, "y ");
    bad = params, bad.struct_size = 8;
    REFUSED(&bad, &x, &y, invalid, "struct_size");
    bad = params, bad.flags = 1;
    REFUSED(&bad, &x, &y, invalid, "flags");
    bad = params, bad.solver = "elementwise/rows";
    REFUSED(&bad, &x, &y, invalid, "elementwise/rows");
    v = tenon_tensor_slice(x, 1, 0, 5);
    REFUSED(&params, &v, &y, invalid, "y: shape is 4x6");
    v = x, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, &v, &y, TENON_ERROR_UNSUPPORTED, "x: type f8_e4m3");
    v = y, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, &x, &v, TENON_ERROR_UNSUPPORTED, "y: type f8_e4m3");
    v = y, v.stride[0] = 0;
    REFUSED(&params, &x, &v, invalid, "y");
    REFUSED(&params, &v, &y, invalid, "x");
    v = y, v.dtype = TENON_DTYPE_I32; /* the same memory as other elements */
    REFUSED(&params, &v, &y, invalid, "x");
    assert_untouched(&ty);
    test_tensor_destroy(&tx);
    test_tensor_destroy(&ty);
#undef REFUSED
}

/* Returns true if the automatic choice copies this many bytes with non-temporal stores. Planning
 * needs no memory. */
static bool streams(uint64_t bytes)
{
    const int64_t elements[] = {(int64_t)(bytes / sizeof(float))};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 1, elements);
    tenon_plan *plan;
    assert_ok(tenon_copy_plan(test_context, NULL, &view, &view, &plan));
    const bool past = strstr(plan->name, ":nt2") != NULL;
    assert_true(past || strstr(plan->name, ":nt1") != NULL);
    tenon_plan_release(plan);
    return past;
}

/* Non-temporal stores are chosen for copies larger than the caches only. */
TEST(stores_pass_the_caches)
{
    const uint64_t cache = test_context->device.model.cache_size;
    const bool can =
        test_context->device.is_cpu && cache > 0 && test_has(TENON_CAPABILITY_NONTEMPORAL_STORE);
    assert_false(streams(4096));
    if (cache > 0)
        assert_false(streams(cache / 4));
    assert_int_equal(streams(cache + 4096), can);
}
