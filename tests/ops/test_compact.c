/* Tests tenon_compact against its reference: every type, indices and coordinates, any strides, too
 * little and too much room; empty masks; invalid input. */
#include "fixture.h"

#include "ops/compact/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct compact_case {
    bool has_x, has_indices, coordinates;
    tenon_dtype mask, x;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t capacity;
    test_layout layout[COMPACT_OPERANDS];
    bool gap;
    int64_t offset;
} compact_case;

static void begin(test_fixture *f, const compact_case *p)
{
    const int64_t outputs[] = {p->capacity, p->rank};
    test_begin(f, &tn_operation_compact);
    f->c.views[COMPACT_MASK] =
        test_view(p->mask, p->layout[COMPACT_MASK], p->gap, p->rank, p->shape, p->offset);
    f->c.views[COMPACT_COUNT] = test_view(TENON_DTYPE_I32, TEST_ROW, false, 0, outputs, 1);
    if (p->has_x) {
        f->c.views[COMPACT_X] =
            test_view(p->x, p->layout[COMPACT_X], p->gap, p->rank, p->shape, p->offset + 1);
        f->c.views[COMPACT_Y] = test_view(p->x, p->layout[COMPACT_Y], p->gap, 1, outputs, 2);
    }
    if (p->has_indices || !p->has_x)
        f->c.views[COMPACT_INDICES] = test_view(TENON_DTYPE_I32, p->layout[COMPACT_INDICES], p->gap,
                                                p->coordinates ? 2 : 1, outputs, 3);
}

static void check(const compact_case *p, test_random *random, test_extent extent)
{
    test_fixture f;
    begin(&f, p);
    test_make(&f);
    test_fill_inputs(&f, TEST_EXACT, random);
    if (test_one_in(random, 3) && tenon_tensor_elements(&f.c.views[COMPACT_MASK]) > 0)
        test_set(test_operand(&f, COMPACT_MASK), 0, NAN);
    test_finish(&f, extent);
}

static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_BOOL, TENON_DTYPE_F16,
                                    TENON_DTYPE_I32, TENON_DTYPE_BF16, TENON_DTYPE_I8,
                                    TENON_DTYPE_F64};
#define TYPES 7

TEST(sizes)
{
    static const int64_t sizes[] = {0, 1, 2, 63, 64, 65, 8191, 16384, 20001};
    test_random random = test_random_for(841);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t room = 0; room < 3; room++) {
            const compact_case p = {.has_x = room != 1,
                                    .has_indices = room != 0,
                                    .mask = types[i % 4],
                                    .x = types[(i + (size_t)room) % 4],
                                    .rank = 1,
                                    .shape = {sizes[i]},
                                    .capacity = sizes[i] * room / 2};
            check(&p, &random, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(842);
    for (int n = test_problems(40); n > 0; n--) {
        compact_case p = {.has_x = test_one_in(&random, 2),
                          .has_indices = test_one_in(&random, 2),
                          .coordinates = test_one_in(&random, 2),
                          .mask = types[n % TYPES],
                          .x = types[test_between(&random, 0, TYPES - 1)],
                          .gap = test_one_in(&random, 2),
                          .offset = test_between(&random, 0, 7)};
        p.rank = (uint32_t)test_between(&random, p.coordinates ? 1 : 0, 4);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, test_one_in(&random, 30) ? 0 : 1,
                                      test_one_in(&random, 3) ? 50 : 6);
        p.capacity = test_between(&random, 0, 300);
        for (int v = 0; v < COMPACT_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, &random, test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "compact mask=f32:4x5 count=i32:", .text = "y: is absent"},
        {.line = "compact mask=f32:4x5 x=f32:4x5 indices=i32:3 count=i32:", .text = "y: is absent"},
        {.line = "compact mask=f32:4x5 y=f32:4 count=i32:", .text = "x: is absent"},
        {.line = "compact mask=f32:4x5 x=f32:4x6 y=f32:4 count=i32:", .text = "x: shape is 4x6"},
        {.line = "compact mask=f32:4x5 x=f32:4x5 y=f32:4x5 count=i32:", .text = "y: rank is 2"},
        {.line = "compact mask=f32:4x5 x=f32:4x5 y=f16:4 count=i32:",
         .text = "y",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "compact mask=f32:4x5 indices=i32:4x3 count=i32:",
         .text = "indices: shape is 4x3"},
        {.line = "compact mask=f32:4x5 x=f32:4x5 y=f32:4 indices=i32:3 count=i32:",
         .text = "indices: first size is 3"},
        {.line = "compact mask=f32:4x5 indices=f32:4 count=i32:",
         .text = "indices: type is f32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "compact mask=f32:4x5 indices=i32:4 count=f32:",
         .text = "count: type is f32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "compact mask=f32:4x5 indices=i32:4 count=i32:2", .text = "count: shape is 2"}};
    TEST_REFUSE(refusals);
}
