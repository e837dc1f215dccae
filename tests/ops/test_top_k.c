/* Tests tenon_top_k against its reference: every k, type and stride; ties and NaN; invalid input.
 */
#include "sort_case.h"

#include "ops/registry.h"
#include "ops/sort/internal.h"

typedef struct top_k_case {
    bool smallest, indices;
    uint32_t axis, rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t k;
    test_layout layout[TOP_K_OPERANDS];
    bool gap;
    test_keys keys;
} top_k_case;

static void check(const top_k_case *p, tenon_dtype dtype, test_random *random, test_extent extent)
{
    test_fixture f;
    int64_t results[TENON_MAX_RANK];
    memcpy(results, p->shape, sizeof results);
    results[p->axis] = p->k;
    test_begin(&f, &tn_operation_top_k);
    test_params(&f, tenon_top_k_params)->axis = (int32_t)p->axis - (int32_t)p->rank;
    test_params(&f, tenon_top_k_params)->flags = p->smallest ? TENON_TOP_K_SMALLEST : 0;
    f.c.views[TOP_K_X] = test_view(dtype, p->layout[0], p->gap, p->rank, p->shape, 1);
    f.c.views[TOP_K_Y] = test_view(dtype, p->layout[1], p->gap, p->rank, results, 0);
    if (p->indices)
        f.c.views[TOP_K_INDICES] = test_view(p->k % 2 != 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                                             p->layout[2], p->gap, p->rank, results, 3);
    test_make(&f);
    test_fill_inputs(&f, TEST_EXACT, random);
    test_fill_keys(test_operand(&f, TOP_K_X), p->keys, random);
    test_finish(&f, extent);
}

static tenon_dtype type_of(int number)
{
    return number % 3 == 2 ? TENON_DTYPE_I32 : test_float_type((uint32_t)number);
}

TEST(every_k)
{
    static const int64_t ks[] = {0, 1, 2, 9, 98, 99};
    test_random random = test_random_for(831);
    for (int n = 0; n < 6 * TEST_KEYS_KINDS; n++) {
        const top_k_case p = {.smallest = n % 2 != 0,
                              .indices = n % 5 != 0,
                              .rank = 2,
                              .axis = 1,
                              .shape = {4, 99},
                              .k = ks[n % 6],
                              .keys = (test_keys)(n / 6)};
        check(&p, type_of(n), &random, TEST_ALL);
    }
}

/* CPUs select few results of several rows together. */
TEST(many_rows)
{
    static const int64_t sizes[] = {1, 5, 16, 33, 64, 150};
    test_random random = test_random_for(834);
    for (int n = 0; n < 6 * TEST_KEYS_KINDS; n++) {
        const int64_t size = sizes[n % 6], k = test_between(&random, 1, 40);
        const bool across = n % 4 == 3;
        const top_k_case p = {.smallest = test_one_in(&random, 2),
                              .indices = n % 5 != 0,
                              .rank = 2,
                              .axis = across ? 0 : 1,
                              .shape = {across ? size : 43, across ? 43 : size},
                              .k = k < size ? k : size,
                              .keys = (test_keys)(n / 6)};
        check(&p, type_of(n), &random, TEST_ALL);
    }
}

TEST(long_rows)
{
    test_random random = test_random_for(832);
    for (int n = 0; n < 4; n++) {
        const top_k_case p = {.smallest = n % 2 != 0,
                              .indices = true,
                              .rank = 2,
                              .axis = 1,
                              .shape = {2, 50257},
                              .k = n < 2 ? 50 : 20000,
                              .keys = (test_keys)(n % 3)};
        check(&p, type_of(n), &random, TEST_ONCE);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(833);
    for (int n = test_problems(30); n > 0; n--) {
        top_k_case p = {.smallest = test_one_in(&random, 2),
                        .indices = test_one_in(&random, 2),
                        .gap = test_one_in(&random, 2),
                        .keys = (test_keys)test_between(&random, 0, TEST_KEYS_FEW)};
        p.rank = (uint32_t)test_between(&random, 1, 4);
        p.axis = (uint32_t)test_between(&random, 0, p.rank - 1);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, 1, d == p.axis ? 200 : 5);
        p.k = test_between(&random, 0, p.shape[p.axis]);
        for (int v = 0; v < TOP_K_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, type_of(n), &random, test_one_in(&random, 3) ? TEST_ALL : TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:4x6",
         .text = "y: axis 1 has size 6, must be at most the size of that of x, 5"},
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:3x2", .text = "y: shape is 3x2"},
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:4", .text = "y: shape is 4"},
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:4x2 indices=i32:4x3", .text = "indices: shape"},
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:4x2 indices=u8:4x2",
         .text = "indices: type is u8",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:4x2 axis=5", .text = "axis is 5"},
        {.line = "sort tenon_top_k x=f32:4x5 y=f32:4x2 flags=2", .text = "flags"}};
    TEST_REFUSE(refusals);
}
