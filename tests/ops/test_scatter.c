/* Tests tenon_scatter, and gather and its gradient in all index modes, against their references:
 * random problems with every operation and type, known values, equal bits of all solvers, large
 * tensors, gradients, invalid input. */
#include "index_case.h"

#include "base/dtype.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

#include <math.h>

static tenon_dtype draw_type(test_random *random)
{
    static const tenon_dtype types[] = {TENON_DTYPE_I8,  TENON_DTYPE_U8,  TENON_DTYPE_I32,
                                        TENON_DTYPE_I64, TENON_DTYPE_I16, TENON_DTYPE_U16,
                                        TENON_DTYPE_U32};
    return test_one_in(random, 2)
               ? test_float_type((uint32_t)test_between(random, 0, 7))
               : types[test_between(random, 0, sizeof types / sizeof *types - 1)];
}

static void check(const tn_operation *operation, const index_case *p, uint32_t op,
                  tenon_dtype dtype, test_extent extent, test_random *random)
{
    test_fixture f;
    const bool is_exact = !tn_dtype_is_float(dtype) || op == TENON_SCATTER_SET ||
                          (op == TENON_SCATTER_ADD && test_one_in(random, 2));
    begin_index_case(&f, operation, p, op, dtype, random);
    test_run_fixture(&f, is_exact ? TEST_EXACT : TEST_BOUND, extent, random);
}

TEST(random_scatters)
{
    test_random random = test_random_for(561);
    for (int n = test_problems(30); n > 0; n--) {
        const index_case p = draw_index_case(&random);
        check(&tn_operation_scatter, &p, (uint32_t)test_between(&random, 0, TENON_SCATTER_MAX),
              draw_type(&random), n % 4 == 0 ? TEST_ALL : TEST_ONCE, &random);
    }
}

/* All operations, in one type of each kernel build. */
TEST(every_operation)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_I32, TENON_DTYPE_BF16};
    test_random random = test_random_for(562);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t op = 0; op <= TENON_SCATTER_MAX; op++)
            for (int n = 0; n < 4; n++) {
                const index_case p = draw_index_case(&random);
                check(&tn_operation_scatter, &p, op, types[t], TEST_ALL, &random);
            }
}

TEST(random_gathers)
{
    test_random random = test_random_for(563);
    for (int n = test_problems(40); n > 0; n--) {
        const index_case p = draw_index_case(&random);
        check(&tn_operation_gather, &p, TENON_SCATTER_SET, draw_type(&random), TEST_ALL, &random);
        check(&tn_operation_gather_backward, &p, TENON_SCATTER_ADD, TENON_DTYPE_F32, TEST_ALL,
              &random);
    }
}

/* Sizes that occupy several work-items and digits of the sort. */
TEST(large)
{
    static const char *const lines[] = {
        "scatter updates=f32:4104x65 indices=i32:4104 y=f32:3011x65 op=add",
        "scatter updates=f32:64x2053 indices=i32:2053 y=f32:64x3001 axis=1 op=max",
        "scatter updates=f32:50021 indices=i32:50021 y=f32:1003 op=add",
        "scatter updates=f32:100003 indices=i32:100003 y=f32:100003 flags=1",
        "scatter updates=f32:1030x257 indices=i32:1030x257 y=f32:300x257 mode=elements op=add",
        "scatter updates=f32:257x1030 indices=i32:257x1030 y=f32:257x300 axis=1 mode=elements",
        ("scatter updates=f32:5x9001x3 indices=i32:5x9001x2 y=f32:5x37x41x3 axis=1 mode=tuples "
         "op=add"),
        "gather x=f32:257x3000 indices=i32:257x1030 y=f32:257x1030 axis=1 mode=elements",
        "gather x=f32:5x37x41x3 indices=i32:5x9001x2 y=f32:5x9001x3 axis=1 mode=tuples",
        "gather_backward dy=f32:257x1030 indices=i32:257x1030 dx=f32:257x300 axis=1 mode=elements"};
    test_random random = test_random_for(564);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        test_fixture f;
        test_begin_line(&f, lines[i], TENON_DTYPE_F32);
        test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
    }
}

/* Duplicates are combined in the order of the indices, with the same bits by each solver. */
TEST(equal_bits)
{
    static const char *const lines[] = {
        "scatter updates=f32:300x37 indices=i32:300 y=f32:11x37 op=add",
        "scatter updates=f32:300x37 indices=i32:300 y=f32:11x37 op=multiply",
        "scatter updates=f32:40x300 indices=i32:40x300 y=f32:40x7 axis=1 mode=elements op=add",
        "scatter updates=f32:900 indices=i32:900x2 y=f32:5x7 mode=tuples op=set"};
    static const char *const solvers[] = {"scatter/scan", "scatter/sorted", "scatter/ordered"};
    test_random random = test_random_for(565);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        test_fixture f;
        unsigned char *first = NULL;
        test_begin_line(&f, lines[i], TENON_DTYPE_F32);
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        test_expect(&f);
        for (int s = 0; s < 3; s++) {
            if (!test_solver(&f, solvers[s]) || test_left_out())
                continue;
            const test_tensor *y = test_operand(&f, GATHER_TO);
            unsigned char *bits = test_download_bits(y);
            const size_t size = (size_t)tenon_tensor_elements(&y->view) * sizeof(float);
            if (first == NULL) {
                first = bits;
                continue;
            }
            assert_memory_equal(first, bits, size);
            free(bits);
        }
        free(first);
        test_release(&f);
    }
}

/* Scatters rows of two elements to a table of three rows of ones. */
static void scatter_rows(tenon_dtype dtype, const tenon_scatter_params *params, int64_t count,
                         const void *updates, const int32_t *indices, const void *old, void *y)
{
    const int64_t table[] = {3, 2}, picked[] = {count, 2};
    tenon_tensor tu = test_dense(dtype, 2, picked, updates),
                 ti = test_dense(TENON_DTYPE_I32, 1, &count, indices),
                 ty = test_dense(dtype, 2, table, old);
    assert_ok(tenon_scatter(test_stream, params, &tu, &ti, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, 6 * tenon_dtype_size(dtype), NULL));
    test_destroy(&tu, &ti, &ty);
}

TEST(known_values)
{
    static const float updates[] = {2, 3, 5, 7, -1, -2, 9, 9, 4, 4}, old[] = {1, 1, 1, 1, 1, 1};
    static const int32_t indices[] = {2, 0, 2, -4, -3};
    static const float results[][6] = {{4, 4, 1, 1, -1, -2},
                                       {10, 12, 1, 1, 2, 2},
                                       {20, 28, 1, 1, -2, -6},
                                       {1, 1, 1, 1, -1, -2},
                                       {5, 7, 1, 1, 2, 3}};
    float y[6];
    for (uint32_t op = 0; op <= TENON_SCATTER_MAX; op++) {
        const tenon_scatter_params params =
            tenon_scatter_params(.flags = TENON_INDEX_FROM_END, .op = op);
        scatter_rows(TENON_DTYPE_F32, &params, 5, updates, indices, old, y);
        assert_memory_equal(y, results[op], sizeof y);
    }
}

/* Negative indices are out of range without the flag; NaN remains; integers wrap around and are
 * compared by their sign. */
TEST(special_values)
{
    static const float updates[] = {2, NAN, 5, 7}, old[] = {1, 1, NAN, 1, 1, 1};
    static const int32_t indices[] = {1, -1}, rows[] = {1, 1};
    static const int8_t small[] = {127, -128, 100, -1}, zeros[6] = {1, 0, 1, 0, 1, 0};
    static const int8_t sums[] = {1, 0, -28, 127, 1, 0}, least[] = {1, 0, 1, -128, 1, 0};
    int8_t bytes[6];
    float y[6];
    for (uint32_t op = TENON_SCATTER_ADD; op <= TENON_SCATTER_MAX; op++) {
        const tenon_scatter_params params = tenon_scatter_params(.op = op);
        scatter_rows(TENON_DTYPE_F32, &params, 2, updates, indices, old, y);
        assert_true(y[0] == 1 && y[1] == 1 && isnan(y[2]) && isnan(y[3]) && y[4] == 1 && y[5] == 1);
    }
    const tenon_scatter_params add = tenon_scatter_params(.op = TENON_SCATTER_ADD),
                               min = tenon_scatter_params(.op = TENON_SCATTER_MIN);
    scatter_rows(TENON_DTYPE_I8, &add, 2, small, rows, zeros, bytes);
    assert_memory_equal(bytes, sums, sizeof bytes);
    scatter_rows(TENON_DTYPE_I8, &min, 2, small, rows, zeros, bytes);
    assert_memory_equal(bytes, least, sizeof bytes);
}

/* Sums of f16 are rounded once: 2048 + 1 + 1. */
TEST(halves_are_summed_in_floats)
{
    static const uint16_t updates[] = {0x3C00, 0x3C00, 0x3C00, 0x3C00},
                          old[] = {0x6800, 0x6800, 0, 0, 0, 0};
    static const int32_t indices[] = {0, 0};
    const tenon_scatter_params params = tenon_scatter_params(.op = TENON_SCATTER_ADD);
    uint16_t y[6];
    scatter_rows(TENON_DTYPE_F16, &params, 2, updates, indices, old, y);
    assert_int_equal(y[0], 0x6801);
    assert_int_equal(y[1], 0x6801);
}

TEST(gradients)
{
    static const char *const lines[][2] = {
        {"gather x=T:2x5x3 indices=i32:2x9x3 y=T:2x9x3 axis=1 mode=elements flags=1",
         "gather_backward dy=T:2x9x3 indices=i32:2x9x3 dx=T:2x5x3 axis=1 mode=elements flags=1"},
        {"gather x=T:2x5x3x2 indices=i32:2x9x2 y=T:2x9x2 axis=1 mode=tuples",
         "gather_backward dy=T:2x9x2 indices=i32:2x9x2 dx=T:2x5x3x2 axis=1 mode=tuples"}};
    test_random random = test_random_for(566);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        test_fixture y, dx;
        test_begin_line(&y, lines[i][0], TENON_DTYPE_F64);
        test_begin_line(&dx, lines[i][1], TENON_DTYPE_F64);
        test_fill_gradients(&y, &dx, &random);
        for (int64_t n = 0; n < tenon_tensor_elements(&y.operands[GATHER_INDICES].view); n++)
            test_set(&y.operands[GATHER_INDICES], n, (double)test_between(&random, 0, 2));
        test_check_gradients(&y, &dx, 1e-8, 0);
    }
}

TEST(nothing_to_scatter)
{
    static const float old[] = {1, 2, 3, 4, 5, 6};
    const tenon_scatter_params params = tenon_scatter_params(.op = TENON_SCATTER_ADD);
    float y[6];
    scatter_rows(TENON_DTYPE_F32, &params, 0, NULL, NULL, old, y);
    assert_memory_equal(y, old, sizeof y);
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {"scatter updates=f32:4x2 indices=f32:4 y=f32:3x2",
         "indices: type is f32, must be i32 or i64", TENON_ERROR_UNSUPPORTED},
        {"scatter updates=f16:4x2 indices=i32:4 y=f32:3x2", "y is f32 and updates is f16",
         TENON_ERROR_UNSUPPORTED},
        {"scatter updates=f32:4x2 indices=i32:4 y=f32:3x2 axis=2", "axis is 2", TENON_OK},
        {"scatter updates=f32:4x3 indices=i32:4 y=f32:3x2",
         "updates: shape is 4x3, must be that of y with axis 0 replaced by the shape of indices, "
         "4x2",
         TENON_OK},
        {"scatter updates=f32:4 indices=i32:4 y=f32:3x2 mode=elements",
         "indices: rank is 1, must be that of y, 2", TENON_OK},
        {"scatter updates=f32:4x3 indices=i32:4x3 y=f32:3x2 mode=elements",
         "indices: dimension 1 has size 3, must be at most that of y, 2", TENON_OK},
        {"scatter updates=f32:4x1 indices=i32:4x2 y=f32:3x2 mode=elements",
         "updates: shape is 4x1, must be that of indices, 4x2", TENON_OK},
        {"scatter updates=f32:4 indices=i32:4x3 y=f32:3x2 mode=tuples",
         "indices: last dimension is 3, must be from 1 to 2", TENON_OK},
        {"scatter updates=f32:4 indices=i32:4 y=f32:3x2 axis=1 mode=tuples",
         "indices: rank is 1, must be at least 2", TENON_OK},
        {"scatter updates=f32:4x5 indices=i32:4x5x1 y=f32:3x2 axis=1 mode=tuples",
         "indices: dimension 0 has size 4, must be equal to that of y, 3", TENON_OK},
        {"scatter updates=f32:4x2 indices=i32:4x2 y=f32:3x2 mode=tuples",
         "updates: shape is 4x2, must be those of the tuples in indices and of y after them, 4",
         TENON_OK},
        {"scatter updates=f32:4x2 indices=i32:4 y=f32:3x2 flags=2", "flags", TENON_OK},
        {"scatter updates=bool:4x2 indices=i32:4 y=bool:3x2 op=add", "type is bool, op must be set",
         TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
    const int64_t table[] = {3, 2}, list[] = {4}, picked[] = {4, 2};
    const tenon_tensor y = tenon_tensor_view(TENON_DTYPE_F32, 2, table),
                       i = tenon_tensor_view(TENON_DTYPE_I32, 1, list),
                       u = tenon_tensor_view(TENON_DTYPE_F32, 2, picked);
    tenon_scatter_params params = tenon_scatter_params(.op = 5);
    assert_invalid(tenon_scatter(test_stream, &params, &u, &i, &y, NULL), "op is 5");
    params = tenon_scatter_params(.mode = 3);
    assert_invalid(tenon_scatter(test_stream, &params, &u, &i, &y, NULL), "mode is 3");
    params = tenon_scatter_params(.reserved = 1);
    assert_invalid(tenon_scatter(test_stream, &params, &u, &i, &y, NULL), "reserved");
    tenon_tensor many = y;
    many.shape[0] = INT64_C(1) << 31;
    assert_refused(tenon_scatter(test_stream, NULL, &u, &i, &many, NULL), TENON_ERROR_UNSUPPORTED,
                   "tenon_scatter", "2147483648");
}
