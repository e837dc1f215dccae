/* Tests tenon_masked_put against its reference: every type and any strides, a source that is too
 * short, long enough, or broadcast; masks of one block and of several; empty tensors; invalid
 * input.
 */
#include "fixture.h"
#include "quick.h"

#include "ops/compact/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct put_case {
    tenon_dtype mask, y;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t source;
    test_layout layout[PUT_OPERANDS];
    bool gap, broadcast;
    int64_t offset;
} put_case;

static void check(const put_case *p, test_random *random, test_extent extent)
{
    test_fixture f;
    test_begin(&f, &tn_operation_masked_put);
    f.c.views[PUT_MASK] =
        test_view(p->mask, p->layout[PUT_MASK], p->gap, p->rank, p->shape, p->offset);
    f.c.views[PUT_SOURCE] = test_view(p->y, p->layout[PUT_SOURCE], p->gap, 1, &p->source, 1);
    f.c.views[PUT_Y] = test_view(p->y, p->layout[PUT_Y], p->gap, p->rank, p->shape, 2);
    if (p->broadcast)
        f.c.views[PUT_SOURCE].stride[0] = 0;
    test_make(&f);
    test_fill_inputs(&f, TEST_EXACT, random);
    if (test_one_in(random, 3) && tenon_tensor_elements(&f.c.views[PUT_MASK]) > 0)
        test_set(test_operand(&f, PUT_MASK), 0, NAN);
    test_finish(&f, extent);
}

static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_BOOL, TENON_DTYPE_F16,
                                    TENON_DTYPE_I32, TENON_DTYPE_BF16, TENON_DTYPE_U8,
                                    TENON_DTYPE_F64};
#define TYPES 7

TEST(sizes)
{
    static const int64_t sizes[] = {0, 1, 2, 65, 8191, 16384, 20001};
    test_random random = test_random_for(901);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t room = 0; room < 3; room++) {
            const put_case p = {.mask = types[i % 4],
                                .y = types[(i + (size_t)room) % 4],
                                .rank = 1,
                                .shape = {sizes[i]},
                                .source = sizes[i] * room / 2};
            check(&p, &random, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(902);
    for (int n = test_problems(40); n > 0; n--) {
        put_case p = {.mask = types[n % TYPES],
                      .y = types[test_between(&random, 0, TYPES - 1)],
                      .rank = (uint32_t)test_between(&random, 0, 4),
                      .gap = test_one_in(&random, 2),
                      .broadcast = test_one_in(&random, 4),
                      .offset = test_between(&random, 0, 7)};
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, test_one_in(&random, 30) ? 0 : 1,
                                      test_one_in(&random, 3) ? 50 : 6);
        p.source = test_between(&random, 0, 300);
        for (int v = 0; v < PUT_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, &random, test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE);
    }
}

/* Sizes around 2^24; only in the full test. */
TEST(large)
{
    test_random random = test_random_for(903);
    for (int64_t n = quick_is_on() ? 2 : -1; n <= 1; n += 2) {
        const put_case p = {.mask = TENON_DTYPE_U8,
                            .y = TENON_DTYPE_F32,
                            .rank = 1,
                            .shape = {(INT64_C(1) << 24) + n},
                            .source = INT64_C(1) << 22};
        check(&p, &random, TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "masked_put mask=f32:4x5 source=f32:3 y=f32:4x6", .text = "y: shape is 4x6"},
        {.line = "masked_put mask=f32:4x5 source=f32:3x1 y=f32:4x5", .text = "source: rank is 2"},
        {.line = "masked_put mask=f32:4x5 source=f16:3 y=f32:4x5",
         .text = "source",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "masked_put mask=f32:4x5 source=f32:3 y=f32:4x5 flags=1", .text = "flags"},
        {.line = "masked_put/blocks mask=f32:4x5 source=f32:3 y=f32:4x5",
         .text = "too few elements",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
