/* Tests tenon_search_sorted against its reference: both sides, every type, any strides, one row for
 * all and a row each; ties and NaN; invalid input. */
#include "fixture.h"

#include "ops/registry.h"
#include "ops/sort/internal.h"

#include <math.h>

static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_U8,   TENON_DTYPE_F16,
                                    TENON_DTYPE_I64, TENON_DTYPE_BF16, TENON_DTYPE_U16};

TEST(random_problems)
{
    test_random random = test_random_for(851);
    for (int n = test_problems(40); n > 0; n--) {
        const tenon_dtype dtype = n % 7 == 6 ? test_float_type((uint32_t)n) : types[n % 6];
        const uint32_t rank = (uint32_t)test_between(&random, 1, 4);
        const bool single = test_one_in(&random, 2), gap = test_one_in(&random, 2);
        int64_t values[TENON_MAX_RANK], sorted[TENON_MAX_RANK];
        for (uint32_t d = 0; d < rank; d++)
            values[d] = sorted[d] = test_between(&random, d == rank - 1 ? 0 : 1, 6);
        values[rank - 1] = test_between(&random, 0, 700);
        sorted[rank - 1] = test_between(&random, 0, 120);
        test_fixture f;
        test_begin(&f, &tn_operation_search_sorted);
        test_params(&f, tenon_search_sorted_params)->flags =
            test_one_in(&random, 2) ? TENON_SEARCH_RIGHT : 0;
        f.c.views[SEARCH_SORTED] =
            single ? test_view(dtype, TEST_STRIDED, gap, 1, sorted + rank - 1, 1)
                   : test_view(dtype, (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), gap,
                               rank, sorted, 2);
        f.c.views[SEARCH_VALUES] = test_view(
            dtype, (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), gap, rank, values, 0);
        f.c.views[SEARCH_INDICES] = test_view(rank % 2 == 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                                              TEST_ROW, gap, rank, values, 3);
        test_make(&f);
        test_fill_inputs(&f, TEST_EXACT, &random);
        if (tenon_tensor_elements(&f.c.views[SEARCH_VALUES]) > 2) {
            test_set(test_operand(&f, SEARCH_VALUES), 0, NAN);
            test_set(test_operand(&f, SEARCH_VALUES), 1, -INFINITY);
            test_set(test_operand(&f, SEARCH_VALUES), 2, -0.0);
        }
        test_finish(&f, TEST_ALL);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "search_sorted sorted=f32: values=f32:5 indices=i32:5",
         .text = "sorted: rank is 0"},
        {.line = "search_sorted sorted=f32:4 values=f32: indices=i32:",
         .text = "values: rank is 0"},
        {.line = "search_sorted sorted=f32:4 values=f16:5 indices=i32:5",
         .text = "values",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "search_sorted sorted=f32:4 values=f32:5 indices=f32:5",
         .text = "indices: type is f32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "search_sorted sorted=f32:4 values=f32:5 indices=i32:6",
         .text = "indices: shape is 6"},
        {.line = "search_sorted sorted=f32:3x4 values=f32:2x5 indices=i32:2x5", .text = "sorted"},
        {.line = "search_sorted sorted=f32:4 values=f32:5 indices=i32:5 flags=2", .text = "flags"}};
    TEST_REFUSE(refusals);
}
