/* Tests tenon_elementwise on integer types: values at the ends of ranges, division by 0, shapes. */
#include "fixture.h"

#include "base/dtype.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

/* The kinds that integers have. */
static const uint32_t kinds[] = {
    TENON_ELEMENTWISE_ADD,    TENON_ELEMENTWISE_SUBTRACT, TENON_ELEMENTWISE_MULTIPLY,
    TENON_ELEMENTWISE_DIVIDE, TENON_ELEMENTWISE_MAX,      TENON_ELEMENTWISE_MIN,
    TENON_ELEMENTWISE_POW,    TENON_ELEMENTWISE_FMOD,     TENON_ELEMENTWISE_REMAINDER};
#define KINDS (sizeof kinds / sizeof *kinds)

static const tenon_dtype types[] = {TENON_DTYPE_I8,  TENON_DTYPE_U8,  TENON_DTYPE_I16,
                                    TENON_DTYPE_U16, TENON_DTYPE_I32, TENON_DTYPE_U32,
                                    TENON_DTYPE_I64};
#define TYPES (sizeof types / sizeof *types)

/* Results by the header, not by the reference. */
TEST(known_values)
{
    static const int64_t least = INT64_MIN, most = INT64_MAX;
    const int64_t a[] = {7, -7, 7, most, least, least, 5, -5}, b[] = {2, 2, -2, 1, -1, 1, 0, 0};
    const int64_t d[KINDS][8] = {{9, -5, 5, least, most, least + 1, 5, -5},
                                 {5, -9, 9, most - 1, least + 1, most, 5, -5},
                                 {14, -14, -14, most, least, least, 0, 0},
                                 {3, -3, -3, most, least, least, 0, 0},
                                 {7, 2, 7, most, -1, 1, 5, 0},
                                 {2, -7, -2, 1, least, least, 0, -5},
                                 {49, 49, 0, most, 0, least, 1, 1},
                                 {1, -1, 1, 0, 0, 0, 0, 0},
                                 {1, 1, -1, 0, 0, 0, 0, 0}};
    const int64_t eight = 8;
    int64_t got[8];
    tenon_tensor at = test_dense(TENON_DTYPE_I64, 1, &eight, a),
                 bt = test_dense(TENON_DTYPE_I64, 1, &eight, b),
                 dt = test_dense(TENON_DTYPE_I64, 1, &eight, NULL);
    for (size_t kind = 0; kind < KINDS; kind++) {
        const tenon_elementwise_params params = tenon_elementwise_params(.kind = kinds[kind]);
        assert_ok(tenon_elementwise(test_stream, &params, &at, &bt, &dt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
        for (int i = 0; i < 8; i++)
            if (got[i] != d[kind][i])
                fail_msg("kind %u, element %d is %lld, must be %lld", kinds[kind], i,
                         (long long)got[i], (long long)d[kind][i]);
    }
    test_destroy(&at, &bt, &dt);
}

/* Every pair of values around 0 and the ends of every range. */
TEST(special_values)
{
    static const int64_t values[] = {0,          1,         -1,         2,         -3,
                                     7,          100,       INT8_MIN,   INT8_MAX,  UINT8_MAX,
                                     INT16_MIN,  INT16_MAX, UINT16_MAX, INT32_MIN, INT32_MAX,
                                     UINT32_MAX, INT64_MIN, INT64_MAX,  46341,     3037000500};
    const int64_t count = sizeof values / sizeof *values, size = count * count;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t t = 0; t < TYPES; t++) {
            test_fixture f;
            test_begin(&f, &tn_operation_elementwise);
            test_params(&f, tenon_elementwise_params)->kind = kinds[kind];
            for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
                f.c.views[i] = test_view(types[t], TEST_ROW, false, 1, &size, i);
            test_make(&f);
            f.judge = TEST_EXACT;
            for (int64_t i = 0; i < size; i++) {
                test_set_whole(&f.operands[ELEMENTWISE_A], i, values[i / count]);
                test_set_whole(&f.operands[ELEMENTWISE_B], i, values[i % count]);
            }
            test_finish(&f, TEST_ALL);
        }
}

static void random_problem(test_random *random)
{
    const tenon_dtype type = types[test_between(random, 0, (int64_t)TYPES - 1)];
    int64_t shape[TENON_MAX_RANK];
    const uint32_t rank = test_random_shape(random, shape);
    test_fixture f;
    test_begin(&f, &tn_operation_elementwise);
    test_params(&f, tenon_elementwise_params)->kind =
        kinds[test_between(random, 0, (int64_t)KINDS - 1)];
    for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
        f.c.views[i] = test_random_view(random, type, rank, shape);
    for (uint32_t d = 0; d < rank; d++)
        if (test_one_in(random, 4))
            f.c.views[ELEMENTWISE_B].stride[d] = 0;
    if (test_one_in(random, 3))
        f.c.same[ELEMENTWISE_A] = 1 + ELEMENTWISE_D;
    test_make(&f);
    f.judge = TEST_EXACT;
    for (int i = 0; i < ELEMENTWISE_D; i++) {
        test_tensor *tensor = test_operand(&f, (uint32_t)i);
        for (int64_t n = 0; n < tenon_tensor_elements(&tensor->view); n++)
            test_set_whole(tensor, n, (int64_t)test_next(random) >> test_between(random, 0, 63));
    }
    test_finish(&f, TEST_ONCE);
}

TEST(random_problems)
{
    test_random random = test_random_for(562);
    for (int n = 0; n < 4 * test_problems(30); n++)
        random_problem(&random);
}
