/* Tests tenon_square_sum and tenon_clip. */
#include "lines_case.h"

#include "ops/optimizer/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Begin calls whose x has no shape yet; give the sum its single element. */
static void begin_sum(test_fixture *f, const tenon_square_sum_params *params, tenon_dtype dtype)
{
    const tenon_dtype types[] = {[SQUARE_SUM_X] = dtype, [SQUARE_SUM_SUM] = tn_state_dtype(dtype)};
    lines_begin(f, &tn_operation_square_sum, params, types);
}

static void begin_clip(test_fixture *f, const tenon_clip_params *params, tenon_dtype dtype)
{
    const tenon_dtype types[] = {[CLIP_SUM] = tn_state_dtype(dtype), [CLIP_X] = dtype};
    lines_begin(f, &tn_operation_clip, params, types);
}

static void lay_one(test_fixture *f, uint32_t number, int64_t offset)
{
    static const int64_t one[] = {1};
    tenon_tensor *view = &f->c.views[number];
    *view = test_view(view->dtype, TEST_ROW, false, 1, one, offset);
}

static void check_sum(test_fixture *f, test_judge judge, test_random *random, test_extent extent)
{
    lay_one(f, SQUARE_SUM_SUM, 2);
    test_make(f);
    test_fill_inputs(f, judge, random);
    if (test_params(f, tenon_square_sum_params)->flags != 0)
        test_set(test_operand(f, SQUARE_SUM_SUM), 0, (double)test_between(random, 0, 1000));
    else
        test_fill_poison(test_operand(f, SQUARE_SUM_SUM));
    test_finish(f, extent);
}

static void check_clip(test_fixture *f, double sum, test_random *random, test_extent extent)
{
    lay_one(f, CLIP_SUM, 3);
    test_make(f);
    test_fill_inputs(f, TEST_BOUND, random);
    test_set(test_operand(f, CLIP_SUM), 0, sum);
    test_finish(f, extent);
}

/* Sizes around vectors, pieces and the partial sums of GPUs. */
static const int64_t sizes[] = {0,    1,    2,    3,    7,    15,    16,    17,    33,    127,
                                2047, 2049, 8191, 8192, 8193, 16385, 65535, 65537, 70001, 600000};

TEST(sizes_around_pieces)
{
    test_random random = test_random_for(931);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            tenon_square_sum_params square = TENON_SQUARE_SUM_PARAMS_INIT;
            tenon_clip_params clip = TENON_CLIP_PARAMS_INIT;
            test_fixture f;
            if (sizes[i] > 70000 && *type != TENON_DTYPE_F32)
                continue;
            square.flags = i % 2 == 0 ? 0 : TENON_SQUARE_SUM_ADD;
            for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
                begin_sum(&f, &square, *type);
                lines_dense(&f, sizes[i], (int64_t)i % 5);
                check_sum(&f, (test_judge)judge, &random, TEST_ALL);
            }
            begin_clip(&f, &clip, *type);
            lines_dense(&f, sizes[i], 0);
            check_clip(&f, test_real(&random, 0, 4), &random, TEST_ALL);
        }
}

TEST(layouts)
{
    test_random random = test_random_for(932);
    for (int n = 0; n < 3 * TEST_LAYOUTS; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            tenon_square_sum_params square = TENON_SQUARE_SUM_PARAMS_INIT;
            tenon_clip_params clip = TENON_CLIP_PARAMS_INIT;
            test_fixture f;
            const int64_t shape[] = {5, n % 3 == 0 ? 300 : 11, n % 3 == 1 ? 3 : 67};
            const test_layout layout = (test_layout)(n % TEST_LAYOUTS);
            for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
                begin_sum(&f, &square, *type);
                lines_lay(&f, 3, shape, layout, n % 2 == 0, 0);
                if (n % 4 == 3)
                    f.c.views[SQUARE_SUM_X].stride[n % 3] = 0;
                check_sum(&f, (test_judge)judge, &random, TEST_ALL);
            }
            begin_clip(&f, &clip, *type);
            lines_lay(&f, 3, shape, layout, n % 2 == 0, 0);
            check_clip(&f, test_real(&random, 0, 100), &random, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(933);
    const int count = test_problems(20);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < count; n++) {
            tenon_square_sum_params square = TENON_SQUARE_SUM_PARAMS_INIT;
            tenon_clip_params clip = TENON_CLIP_PARAMS_INIT;
            test_fixture f;
            square.flags = (uint32_t)test_between(&random, 0, 1);
            clip.flags = (uint32_t)test_between(&random, 0, 1);
            clip.max_norm = test_real(&random, 0.1, 3);
            clip.epsilon = test_real(&random, 0, 0.1);
            begin_sum(&f, &square, *type);
            lines_draw(&f, &random, 30000);
            check_sum(&f, TEST_BOUND, &random, TEST_ONCE);
            begin_clip(&f, &clip, *type);
            lines_draw(&f, &random, 10000);
            check_clip(&f, test_real(&random, 0, 8), &random, TEST_ONCE);
        }
}

/* Effect of each norm, with and without the flag. */
TEST(norms_that_are_no_numbers)
{
    static const struct {
        double sum, x, y, skipped;
    } cases[] = {{NAN, 2, NAN, 2},
                 {INFINITY, 2, 0, 2},
                 {INFINITY, INFINITY, NAN, INFINITY},
                 {0, 2, 2, 2},
                 {0.25, 2, 2, 2},
                 {4, NAN, NAN, NAN},
                 {1, 2, 2, 2},
                 {16, INFINITY, INFINITY, INFINITY},
                 {16, 4, 1, 1}};
    const int64_t shape[] = {3};
    tenon_tensor sum = test_dense(TENON_DTYPE_F32, 0, NULL, NULL);
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t flags = 0; flags < 2; flags++) {
            float got[3];
            const double want = flags == 0 ? cases[i].y : cases[i].skipped;
            tenon_clip_params params = tenon_clip_params(.flags = flags, .epsilon = 0);
            assert_ok(tenon_tensor_fill(test_stream, &sum, cases[i].sum, NULL));
            assert_ok(tenon_tensor_fill(test_stream, &x, cases[i].x, NULL));
            assert_ok(tenon_clip(test_stream, &params, &sum, &x, NULL));
            assert_ok(tenon_tensor_download(test_stream, &x, got, sizeof got, NULL));
            for (int n = 0; n < 3; n++)
                if (!(isnan(want) ? isnan(got[n]) : (double)got[n] == want))
                    fail_msg("case %zu, flags %u: %g, expected %g", i, flags, (double)got[n], want);
        }
    test_destroy(&sum, &x);
}

TEST(nan_in_a_sum)
{
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int i = 0; i < 3; i++) {
            static const double values[] = {NAN, INFINITY, -INFINITY};
            const tenon_square_sum_params params = TENON_SQUARE_SUM_PARAMS_INIT;
            test_random random = test_random_for(934);
            test_fixture f;
            begin_sum(&f, &params, *type);
            lines_dense(&f, 20000, 0);
            lay_one(&f, SQUARE_SUM_SUM, 0);
            test_make(&f);
            test_fill_inputs(&f, TEST_BOUND, &random);
            test_set(test_operand(&f, SQUARE_SUM_X), 19999 - 7000 * i, values[i]);
            test_finish(&f, TEST_ALL);
        }
}

TEST(plans)
{
    const int64_t shape[] = {10000};
    tenon_square_sum_params add = TENON_SQUARE_SUM_PARAMS_INIT;
    tenon_tensor sum, x, no_sum = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL),
                         none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tenon_plan *plan;
    float got;
    add.flags = TENON_SQUARE_SUM_ADD;
    tenon_clip_params params = tenon_clip_params(.max_norm = 50, .epsilon = 0);
    sum = test_dense(TENON_DTYPE_F32, 0, NULL, NULL);
    x = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &sum, 0, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &x, 0.5, NULL));
    assert_ok(tenon_square_sum_plan(test_context, &add, &none, &no_sum, &plan));
    const tenon_memory to_sum[] = {x.memory, sum.memory}, to_clip[] = {sum.memory, x.memory};
    for (int i = 0; i < 4; i++)
        assert_ok(tenon_plan_run(test_stream, plan, to_sum, 2, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &sum, &got, sizeof got, NULL));
    assert_true(got == 10000);
    assert_ok(tenon_clip_plan(test_context, &params, &no_sum, &none, &plan));
    assert_ok(tenon_plan_run(test_stream, plan, to_clip, 2, NULL));
    tenon_plan_release(plan);
    none = tenon_tensor_slice(x, 0, 9999, 1);
    assert_ok(tenon_tensor_download(test_stream, &none, &got, sizeof got, NULL));
    assert_true(got == 0.25F);
    const uint32_t before = lines_plans();
    for (int i = 0; i < 5; i++) {
        params.max_norm = params.epsilon = 1 + i;
        assert_ok(tenon_clip(test_stream, &params, &sum, &x, NULL));
    }
    assert_true(lines_plans() <= before + 1);
    test_destroy(&sum, &x);
}

TEST(bad_input)
{
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, stride[] = {6, 1}, one[] = {1};
    static const double wrong[] = {0, -1, NAN, INFINITY};
    test_tensor x, sum;
    test_tensor_create(&x, TENON_DTYPE_F32, 2, shape, stride, 0);
    test_tensor_create(&sum, TENON_DTYPE_F32, 1, one, one, 0);
    test_upload(&x);
    test_upload(&sum);
#define BOTH_REFUSED(a, b, status, word)                                                           \
    do {                                                                                           \
        assert_refused(tenon_square_sum(test_stream, NULL, a, b, NULL), status,                    \
                       "tenon_square_sum", word);                                                  \
        assert_refused(tenon_clip(test_stream, NULL, b, a, NULL), status, "tenon_clip", word);     \
    } while (0)
    BOTH_REFUSED(NULL, &sum.view, invalid, "x is NULL");
    BOTH_REFUSED(&x.view, NULL, invalid, "sum is NULL");
    BOTH_REFUSED(&x.view, &x.view, invalid, "sum: shape is 4x6");
    tenon_tensor v = x.view;
    v.dtype = TENON_DTYPE_I32;
    BOTH_REFUSED(&v, &sum.view, TENON_ERROR_UNSUPPORTED, "i32");
    v = sum.view;
    v.dtype = TENON_DTYPE_F16;
    BOTH_REFUSED(&x.view, &v, TENON_ERROR_UNSUPPORTED, "sum is f16, must be f32");
    v = tenon_tensor_slice(tenon_tensor_slice(x.view, 0, 2, 1), 1, 3, 1);
    BOTH_REFUSED(&x.view, &v, invalid, "overlap");
    v = sum.view;
    memset(&v.memory, 0, sizeof v.memory);
    BOTH_REFUSED(&x.view, &v, invalid, "sum");
    assert_invalid(tenon_square_sum(NULL, NULL, &x.view, &sum.view, NULL), "stream");
    assert_invalid(tenon_clip(NULL, NULL, &sum.view, &x.view, NULL), "stream");
    for (int i = 0; i < 4; i++) {
        tenon_clip_params bad = tenon_clip_params(.max_norm = wrong[i]);
        assert_invalid(tenon_clip(test_stream, &bad, &sum.view, &x.view, NULL), "max_norm");
        bad = (tenon_clip_params)TENON_CLIP_PARAMS_INIT;
        bad.epsilon = i == 0 ? -1e-9 : wrong[i];
        assert_invalid(tenon_clip(test_stream, &bad, &sum.view, &x.view, NULL), "epsilon");
    }
    assert_untouched(&x);
    assert_untouched(&sum);
    test_tensor_destroy(&x);
    test_tensor_destroy(&sum);
#undef BOTH_REFUSED
}
