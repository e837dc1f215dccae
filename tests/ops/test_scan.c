/* Tests tenon_scan against its reference: every operation, direction and type, any strides; blocks
 * and pieces; in place; NaN and infinity; invalid input. */
#include "fixture.h"

#include "ops/registry.h"
#include "ops/scan/internal.h"

#include <math.h>

typedef struct scan_case {
    uint32_t kind, flags, axis, rank;
    int64_t shape[TENON_MAX_RANK];
    test_layout layout[SCAN_OPERANDS];
    bool gap, in_place;
    int64_t offset;
} scan_case;

static void begin(test_fixture *f, const scan_case *p, tenon_dtype dtype)
{
    test_begin(f, &tn_operation_scan);
    tenon_scan_params *params = test_params(f, tenon_scan_params);
    params->kind = p->kind;
    params->flags = p->flags;
    params->axis = (int32_t)p->axis;
    for (int v = 0; v < SCAN_OPERANDS; v++)
        f->c.views[v] = test_view(dtype, p->layout[p->in_place ? 0 : v], p->gap, p->rank, p->shape,
                                  p->in_place ? p->offset : p->offset + v);
    if (p->in_place)
        f->c.same[SCAN_X] = 1 + SCAN_Y;
}

static void check(const scan_case *p, tenon_dtype dtype, test_random *random, test_extent extent)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_run_fixture(&f, TEST_BOUND, extent, random);
}

/* Returns an integer type, or one of the floating-point types. */
static tenon_dtype type_of(int number)
{
    static const tenon_dtype integers[] = {TENON_DTYPE_I32, TENON_DTYPE_I64, TENON_DTYPE_U32};
    return number % 3 == 2 ? integers[number / 3 % 3] : test_float_type((uint32_t)number);
}

TEST(sizes_around_vectors_and_blocks)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 1023, 1024, 1025, 1033, 2049};
    test_random random = test_random_for(811);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        scan_case p = {.kind = (uint32_t)i % 4,
                       .flags = (uint32_t)(i / 2) % 4,
                       .rank = 2,
                       .axis = 1,
                       .shape = {3, sizes[i]},
                       .offset = (int64_t)i % 3};
        check(&p, type_of((int)i), &random, TEST_ALL);
        p = (scan_case){.kind = (uint32_t)i % 4,
                        .flags = (uint32_t)i % 4,
                        .rank = 2,
                        .shape = {sizes[i], 13},
                        .in_place = i % 2 == 0};
        check(&p, type_of((int)i + 1), &random, TEST_ALL);
    }
}

/* Every operation in both directions, inclusive and exclusive, on rows that are split. */
TEST(pieces)
{
    test_random random = test_random_for(812);
    for (uint32_t n = 0; n < 16; n++) {
        scan_case p = {.kind = n / 4,
                       .flags = n % 4,
                       .rank = 2,
                       .axis = 1,
                       .shape = {2, 32768 + (int64_t)n % 3 - 1},
                       .in_place = n % 5 == 0};
        check(&p, type_of((int)n), &random, TEST_ALL);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(813);
    for (int n = test_problems(40); n > 0; n--) {
        scan_case p = {.kind = (uint32_t)test_between(&random, 0, 3),
                       .flags = (uint32_t)test_between(&random, 0, 3),
                       .gap = test_one_in(&random, 2),
                       .in_place = test_one_in(&random, 4),
                       .offset = test_between(&random, 0, 7)};
        p.rank = (uint32_t)test_between(&random, 1, 4);
        p.axis = (uint32_t)test_between(&random, 0, p.rank - 1);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, test_one_in(&random, 30) ? 0 : 1,
                                      test_one_in(&random, 3) ? 60 : 6);
        for (int v = 0; v < SCAN_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, type_of(n), &random, test_one_in(&random, 3) ? TEST_ALL : TEST_ONCE);
    }
}

/* Fills with integers whose sums are exact, so that the order of additions does not matter. */
TEST(exact_sums)
{
    test_random random = test_random_for(814);
    for (int type = 0; type < 4; type++) {
        scan_case p = {.flags = (uint32_t)type, .rank = 2, .axis = 1, .shape = {2, 40001}};
        test_fixture f;
        begin(&f, &p, test_float_type((uint32_t)type));
        test_make(&f);
        /* 0 and 1 in turn, mostly, so that f16 holds the sums. */
        for (int64_t i = 0; i < 2 * 40001; i++)
            test_set(test_operand(&f, SCAN_X), i, i % 2 == 0 ? 1 : -1);
        f.judge = TEST_EXACT;
        test_finish(&f, TEST_ALL);
    }
    (void)random;
}

TEST(special_values)
{
    test_random random = test_random_for(815);
    for (uint32_t n = 0; n < 16; n++) {
        scan_case p = {.kind = n / 4,
                       .flags = n % 4,
                       .rank = 2,
                       .axis = n % 2,
                       .shape = {n % 2 == 0 ? 5 : 1300, n % 2 == 0 ? 1300 : 5}};
        test_fixture f;
        begin(&f, &p, test_float_type(n));
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        test_set(test_operand(&f, SCAN_X), 700, NAN);
        test_set(test_operand(&f, SCAN_X), 2100, INFINITY);
        test_set(test_operand(&f, SCAN_X), 2600, -INFINITY);
        test_set(test_operand(&f, SCAN_X), 3000, -INFINITY);
        test_set(test_operand(&f, SCAN_X), 4000, 0);
        test_finish(&f, TEST_ALL);
    }
}

TEST(known_values)
{
    TEST_KNOWN("scan x=f32:5 y=f32:5", (const float[]){1, 2, 3, 4, 5},
               (const float[]){1, 3, 6, 10, 15});
    TEST_KNOWN("scan x=f32:5 y=f32:5 flags=1", (const float[]){1, 2, 3, 4, 5},
               (const float[]){0, 1, 3, 6, 10});
    TEST_KNOWN("scan x=f32:5 y=f32:5 flags=2 kind=product", (const float[]){1, 2, 3, 4, 5},
               (const float[]){120, 120, 60, 20, 5});
    TEST_KNOWN("scan x=f32:2x3 y=f32:2x3 axis=0 kind=min flags=3",
               (const float[]){1, 2, 3, 4, 0, -1},
               (const float[]){4, 0, -1, INFINITY, INFINITY, INFINITY});
    TEST_KNOWN("scan x=f32:4 y=f32:4 kind=max flags=1", (const float[]){1, 3, 2, 4},
               (const float[]){-INFINITY, 1, 3, 3});
}

/* The gradient of a sum is the scan in the other direction, by the header: both are linear, and the
 * matrix of one is the transpose of the other's. */
TEST(gradient)
{
    enum { N = 7 };
    for (uint32_t flags = 0; flags < 4; flags++) {
        double x[N] = {0};
        tn_bounded y[N], dx[N];
        const int64_t shape[] = {N};
        tenon_tensor v = tenon_tensor_view(TENON_DTYPE_F64, 1, shape);
        const tenon_scan_params forward = tenon_scan_params(.flags = flags),
                                backward = tenon_scan_params(.flags = flags ^ TENON_SCAN_REVERSE);
        v.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = x};
        for (int i = 0; i < N * N; i++) {
            x[i / N] = 1;
            assert_true(tn_scan_reference(&forward, (const tenon_tensor *const[]){&v, &v}, y));
            x[i / N] = 0;
            x[i % N] = 1;
            assert_true(tn_scan_reference(&backward, (const tenon_tensor *const[]){&v, &v}, dx));
            x[i % N] = 0;
            assert_true(y[i % N].value == dx[i / N].value);
        }
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "scan x=f32:4x5 y=f32:4x5 kind=4", .text = "kind is 4"},
        {.line = "scan x=f32:4x5 y=f32:4x5 axis=2", .text = "axis is 2"},
        {.line = "scan x=f32: y=f32:", .text = "rank 0"},
        {.line = "scan x=f32:4x5 y=f32:4x6", .text = "y: shape is 4x6"},
        {.line = "scan x=f32:4x5 y=f16:4x5", .text = "y", .status = TENON_ERROR_UNSUPPORTED},
        {.line = "scan x=u8:4x5 y=u8:4x5", .text = "x: type", .status = TENON_ERROR_UNSUPPORTED},
        {.line = "scan x=f32:4x5 y=f32:4x5 flags=4", .text = "flags"},
        {.line = "scan/pieces x=f32:4x5 y=f32:4x5",
         .text = "too short",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
