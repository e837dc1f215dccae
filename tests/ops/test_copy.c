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

/* Fills x with such values. Integers are random bits in part, of 64 or fewer. */
static void fill_awkwardly(test_tensor *x, test_random *random)
{
    const tenon_dtype dtype = x->view.dtype;
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++) {
        const int shift = (int)test_between(random, 0, 63);
        const int64_t whole = (int64_t)(test_next(random) << 1 | (uint64_t)(i & 1)) >> shift;
        if (tn_dtype_is_float(dtype) || i % 3 == 0)
            test_set(x, i, awkward(i, random));
        else
            test_set_whole(x, i, dtype == TENON_DTYPE_BOOL ? whole & 1 : whole);
    }
}

/* Converts one row of a type to another, with all flags that differ, and compares. */
static void check_pair(tenon_dtype from, tenon_dtype to, test_random *random)
{
    static const int64_t count = 997;
    const bool to_integer = tn_dtype_is_integer(to);
    for (uint32_t flags = 0; flags <= (to_integer ? 3 : 0); flags++) {
        test_fixture f;
        if (!tn_dtype_is_float(from) && (flags & TENON_COPY_NEAREST) != 0)
            continue;
        begin(&f, test_view(from, TEST_ROW, false, 1, &count, 0),
              test_view(to, TEST_ROW, false, 1, &count, 1));
        f.c.params.head.flags = flags;
        test_make(&f);
        f.judge = TEST_EXACT;
        fill_awkwardly(&f.operands[COPY_X], random);
        test_finish(&f, TEST_ALL);
    }
}

TEST(every_pair_of_types)
{
    test_random random = test_random_for(511);
    for (tenon_dtype x = TENON_DTYPE_F64; x != TENON_DTYPE_INVALID; x = test_next_moved_type(x))
        for (tenon_dtype y = TENON_DTYPE_F64; y != TENON_DTYPE_INVALID; y = test_next_moved_type(y))
            if (x == y || (has(x) && has(y)))
                check_pair(x, y, &random);
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
        type = (tenon_dtype)test_between(random, TENON_DTYPE_F64, TENON_DTYPE_BOOL);
    while (type == TENON_DTYPE_F8_E4M3 || type == TENON_DTYPE_F8_E5M2 || !has(type));
    return type;
}

/* Compares conversions of random types on a row with every flag, also in the quick set, which
 * leaves most pairs to the full run. */
TEST(random_pairs)
{
    static const int64_t count = 517;
    test_random random = test_random_for(516);
    for (int n = 0; n < 6; n++) {
        const tenon_dtype from = random_type(&random), to = random_type(&random);
        const tenon_copy_params params = tenon_copy_params(.flags = (uint32_t)n % 4);
        const int64_t stride = 1;
        test_tensor x, y;
        tn_bounded expected[517];
        char why[256];
        test_tensor_create(&x, from, 1, &count, &stride, n % 3);
        test_tensor_create(&y, to, 1, &count, &stride, n % 2);
        fill_awkwardly(&x, &random);
        test_upload(&x);
        test_upload(&y);
        const tenon_tensor *const views[] = {&x.host, &y.host};
        assert_true(tn_copy_reference(&params, views, expected));
        assert_ok(tenon_copy(test_stream, &params, &x.view, &y.view, NULL));
        if (!test_result(&y, expected, TEST_EXACT, why))
            fail_msg("%s to %s, flags %u: %s", tenon_dtype_string(from), tenon_dtype_string(to),
                     params.flags, why);
        test_tensor_destroy(&x);
        test_tensor_destroy(&y);
    }
}

/* Values whose conversion is known without the reference. */
TEST(known_conversions)
{
    static const struct {
        double x;
        uint32_t flags;
        int64_t i8, u8;
    } cases[] = {{1.5, 0, 1, 1},
                 {-1.5, 0, -1, 0},
                 {1.5, TENON_COPY_NEAREST, 2, 2},
                 {2.5, TENON_COPY_NEAREST, 2, 2},
                 {300, 0, 127, 255},
                 {300, TENON_COPY_WRAP, 44, 44},
                 {-1, TENON_COPY_WRAP, -1, 255},
                 {-300.7, TENON_COPY_WRAP, -44, 212},
                 {-300, 0, -128, 0},
                 {NAN, 0, 0, 0},
                 {NAN, TENON_COPY_WRAP, 0, 0},
                 {INFINITY, 0, 127, 255},
                 {INFINITY, TENON_COPY_WRAP, 0, 0},
                 {0x1p40, TENON_COPY_WRAP, 0, 0}};
    const int64_t one = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float value = (float)cases[i].x;
        tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, &one, &value),
                     s = test_dense(TENON_DTYPE_I8, 1, &one, NULL),
                     u = test_dense(TENON_DTYPE_U8, 1, &one, NULL);
        const tenon_copy_params params = tenon_copy_params(.flags = cases[i].flags);
        int8_t got_s;
        uint8_t got_u;
        assert_ok(tenon_copy(test_stream, &params, &x, &s, NULL));
        assert_ok(tenon_copy(test_stream, &params, &x, &u, NULL));
        assert_ok(tenon_tensor_download(test_stream, &s, &got_s, 1, NULL));
        assert_ok(tenon_tensor_download(test_stream, &u, &got_u, 1, NULL));
        assert_int_equal(got_s, cases[i].i8);
        assert_int_equal(got_u, cases[i].u8);
        test_destroy(&x, &s, &u);
    }
}

/* A byte of a bool that is not 0 is read as true, and kept by a copy to bool. */
TEST(other_truth_values)
{
    static const unsigned char bytes[] = {0, 1, 2, 128, 255};
    static const int32_t expected[] = {0, 1, 1, 1, 1};
    const int64_t five = 5;
    unsigned char same[5];
    int32_t numbers[5];
    tenon_tensor x = test_dense(TENON_DTYPE_BOOL, 1, &five, bytes),
                 y = test_dense(TENON_DTYPE_BOOL, 1, &five, NULL),
                 wide = test_dense(TENON_DTYPE_I32, 1, &five, NULL);
    assert_ok(tenon_copy(test_stream, NULL, &x, &y, NULL));
    assert_ok(tenon_copy(test_stream, NULL, &x, &wide, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, same, sizeof same, NULL));
    assert_ok(tenon_tensor_download(test_stream, &wide, numbers, sizeof numbers, NULL));
    assert_memory_equal(same, bytes, sizeof bytes);
    assert_memory_equal(numbers, expected, sizeof expected);
    test_destroy(&x, &y, &wide);
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
    f.c.params.head.flags = (uint32_t)test_between(random, 0, 3);
    fill_awkwardly(test_operand(&f, COPY_X), random);
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
    bad = params, bad.flags = 4;
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
