/* Tests tenon_random: numbers against the reference with any strides, intervals, plans, refusals.
 */
#include "lines_case.h"

#include "base/dtype.h"
#include "ops/common/philox.h"
#include "ops/random/internal.h"
#include "ops/registry.h"

#include <math.h>

static void begin(test_fixture *f, const tenon_random_params *params, tenon_dtype dtype)
{
    lines_begin(f, &tn_operation_random, params, &dtype);
}

static tenon_random_params draw_params(test_random *random)
{
    tenon_random_params params = TENON_RANDOM_PARAMS_INIT;
    params.kind = (uint32_t)test_between(random, 0, TENON_RANDOM_BERNOULLI);
    params.seed = test_next(random);
    params.sequence = test_next(random);
    params.low = test_real(random, -3, 0);
    params.high = test_real(random, 1, 100);
    params.mean = test_real(random, -2, 2);
    params.deviation = test_real(random, 0, 3);
    params.probability = test_real(random, 0, 1);
    return params;
}

/* Runs a fixture, which has no inputs. */
static void check(test_fixture *f, test_extent extent)
{
    test_make(f);
    test_finish(f, extent);
}

/* The first block of the published test vectors on the device, whose words determine elements 0,
 * 16, 32 and 48. */
TEST(words_on_the_device)
{
    static const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const int64_t shape[] = {64};
    float got[64];
    double wide[64];
    tenon_tensor y = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_random(test_stream, NULL, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, got, sizeof got, NULL));
    for (int w = 0; w < 4; w++)
        assert_true((double)got[16 * w] == (words[w] >> 8) * 0x1p-24);
    tenon_memory_destroy(&y.memory);
    if (!test_has(TENON_CAPABILITY_F64))
        return;
    y = test_dense(TENON_DTYPE_F64, 1, shape, NULL);
    assert_ok(tenon_random(test_stream, NULL, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, wide, sizeof wide, NULL));
    for (int w = 0; w < 2; w++) {
        uint64_t word = words[2 * w] | (uint64_t)words[2 * w + 1] << 32;
        assert_true(wide[16 * w] == (double)(word >> 11) * 0x1p-53);
    }
    tenon_memory_destroy(&y.memory);
}

TEST(sizes_around_groups)
{
    static const int64_t sizes[] = {0,  1,  2,  3,   15,  16,  17,   31,   32,   33,
                                    63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 8193};
    test_random random = test_random_for(902);
    for (uint32_t kind = 0; kind <= TENON_RANDOM_BERNOULLI; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                tenon_random_params params = draw_params(&random);
                test_fixture f;
                params.kind = kind;
                begin(&f, &params, *type);
                lines_dense(&f, sizes[i], (int64_t)i % 5);
                check(&f, TEST_ALL);
            }
}

/* Lines of any length that begin anywhere within a group. */
TEST(layouts)
{
    test_random random = test_random_for(903);
    for (int layout = 0; layout < TEST_LAYOUTS; layout++)
        for (int n = 0; n < 4; n++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                const int64_t shape[] = {3, n < 2 ? 11 : 67, n % 2 == 0 ? 5 : 201};
                const tenon_random_params params = draw_params(&random);
                test_fixture f;
                begin(&f, &params, *type);
                lines_lay(&f, 3, shape, (test_layout)layout, n % 2 == 0, 0);
                check(&f, TEST_ALL);
            }
}

TEST(integers)
{
    static const tenon_dtype types[] = {TENON_DTYPE_U8, TENON_DTYPE_I32};
    const int64_t shape[] = {19, 133};
    test_random random = test_random_for(904);
    for (int i = 0; i < 2; i++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++) {
            tenon_random_params params = draw_params(&random);
            test_fixture f;
            params.kind = TENON_RANDOM_BERNOULLI;
            begin(&f, &params, types[i]);
            lines_lay(&f, 2, shape, (test_layout)layout, false, 0);
            check(&f, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(905);
    const int count = test_problems(20);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < count; n++) {
            const tenon_random_params params = draw_params(&random);
            test_fixture f;
            begin(&f, &params, *type);
            lines_draw(&f, &random, 20000);
            check(&f, TEST_ONCE);
        }
}

TEST(large)
{
    tenon_random_params params = TENON_RANDOM_PARAMS_INIT;
    for (params.kind = 0; params.kind <= TENON_RANDOM_BERNOULLI; params.kind++) {
        test_fixture f;
        begin(&f, &params, TENON_DTYPE_F32);
        lines_dense(&f, (1 << 19) + 7, 0);
        check(&f, TEST_ONCE);
    }
}

/* Returns dense random numbers as doubles; the caller frees them. */
static double *generate(const tenon_random_params *params, tenon_dtype dtype, int64_t size)
{
    test_fixture f;
    begin(&f, params, dtype);
    lines_dense(&f, size, 0);
    test_make(&f);
    assert_ok(tenon_random(test_stream, params, &f.operands[RANDOM_Y].view, NULL));
    double *values = test_download(&f.operands[RANDOM_Y]);
    test_release(&f);
    return values;
}

/* Narrow intervals, whose results plain rounding would move outside. */
TEST(intervals)
{
    static const double limits[][2] = {{1, 2},        {-2, -1},    {0, 0x1p-20}, {1, 1.02},
                                       {0.999, 1.01}, {-1e-4, 30}, {1000, 1001}, {-5, 0}};
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            double least, most;
            tenon_random_params params =
                tenon_random_params(.low = limits[i][0], .high = limits[i][1]);
            assert_true(tn_random_limits(*type, params.low, params.high, &least, &most));
            assert_true(least >= params.low && most < params.high && least <= most);
            double *x = generate(&params, *type, 20000);
            for (int n = 0; n < 20000; n++)
                if (!(x[n] >= params.low && x[n] < params.high))
                    fail_msg("%s: %.17g is not in [%g, %g)", tenon_dtype_string(*type), x[n],
                             params.low, params.high);
            free(x);
        }
}

TEST(certain_and_impossible)
{
    tenon_random_params params = tenon_random_params(.kind = TENON_RANDOM_BERNOULLI);
    for (int p = 0; p < 2; p++) {
        params.probability = p;
        double *x = generate(&params, TENON_DTYPE_F32, 5000);
        for (int i = 0; i < 5000; i++)
            assert_true(x[i] == p);
        free(x);
    }
}

TEST(seeds_share_a_plan)
{
    tenon_random_params params = TENON_RANDOM_PARAMS_INIT;
    const int64_t shape[] = {100};
    tenon_tensor y = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_random(test_stream, &params, &y, NULL));
    const uint32_t before = lines_plans();
    for (uint64_t i = 0; i < 10; i++) {
        params.seed = UINT64_MAX - i;
        params.sequence = i << 40;
        params.low = -1;
        params.high = 2 + (double)i;
        assert_ok(tenon_random(test_stream, &params, &y, NULL));
    }
    assert_int_equal(lines_plans(), before);
    tenon_memory_destroy(&y.memory);
}

TEST(plans)
{
    tenon_random_params params = TENON_RANDOM_PARAMS_INIT;
    const int64_t shape[] = {100};
    tenon_tensor y, none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tenon_plan *plan;
    float planned[100], direct[100];
    params.seed = UINT64_C(0xfff8dead0000beef); /* would be NaNs if converted to doubles */
    params.sequence = UINT64_C(0x7ff0000000000001);
    y = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_random(test_stream, &params, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, direct, sizeof direct, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &y, 0, NULL));
    assert_ok(tenon_random_plan(test_context, &params, &none, &plan));
    assert_ok(tenon_plan_run(test_stream, plan, &y.memory, 1, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &y, planned, sizeof planned, NULL));
    assert_memory_equal(planned, direct, sizeof planned);
    assert_true((double)direct[0] ==
                (tn_philox_word(params.seed, params.sequence, 0) >> 8) * 0x1p-24);
    tenon_memory_destroy(&y.memory);
}

TEST(bad_input)
{
    static const char op[] = "tenon_random";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const tenon_random_params sound = TENON_RANDOM_PARAMS_INIT;
    const int64_t shape[] = {7}, stride[] = {1};
    tenon_random_params bad;
    test_tensor t;
    test_tensor_create(&t, TENON_DTYPE_F16, 1, shape, stride, 0);
    test_upload(&t);
#define REFUSED(change, status, word)                                                              \
    do {                                                                                           \
        bad = sound;                                                                               \
        change;                                                                                    \
        assert_refused(tenon_random(test_stream, &bad, &t.view, NULL), status, op, word);          \
    } while (0)
    REFUSED(bad.kind = 3, invalid, "kind is 3");
    REFUSED(bad.reserved = 1, invalid, "reserved");
    REFUSED(bad.low = 1, invalid, "low is 1");
    REFUSED(bad.low = (double)NAN, invalid, "low");
    REFUSED(bad.high = (double)INFINITY, invalid, "high");
    REFUSED((bad.low = -70000, bad.high = 70000), invalid, "range of f16");
    REFUSED((bad.low = 1.0001, bad.high = 1.0002), invalid, "no f16");
    REFUSED((bad.kind = 1, bad.deviation = -1), invalid, "deviation is -1");
    REFUSED((bad.kind = 1, bad.mean = 1e39), invalid, "mean");
    REFUSED((bad.kind = 2, bad.probability = 1.5), invalid, "probability is 1.5");
    REFUSED((bad.kind = 2, bad.probability = (double)NAN), invalid, "probability");
    assert_untouched(&t);
    tenon_tensor v = t.view;
    v.dtype = TENON_DTYPE_U8;
    assert_refused(tenon_random(test_stream, &sound, &v, NULL), TENON_ERROR_UNSUPPORTED, op, "u8");
    test_tensor_destroy(&t);
#undef REFUSED
}
