/* Tests tenon_segment_scan against its reference: every operation, direction and type, any strides
 * and broadcast segments; blocks and pieces; in place; segments of one element and a single one;
 * NaN; invalid input. */
#include "fixture.h"
#include "quick.h"

#include "ops/registry.h"
#include "ops/segment/internal.h"

#include <math.h>

typedef struct scan_case {
    uint32_t kind, flags, axis, rank;
    int64_t shape[TENON_MAX_RANK];
    test_layout layout[SEGMENT_SCAN_OPERANDS];
    bool broadcast, gap, in_place;
    int64_t offset;
    bool is_long; /* segments are i64 */
} scan_case;

static void begin(test_fixture *f, const scan_case *p, tenon_dtype dtype)
{
    int64_t segments[TENON_MAX_RANK];
    test_begin(f, &tn_operation_segment_scan);
    tenon_segment_scan_params *params = test_params(f, tenon_segment_scan_params);
    params->kind = p->kind;
    params->flags = p->flags;
    params->axis = (int32_t)p->axis;
    for (uint32_t d = 0; d < p->rank; d++)
        segments[d] = p->broadcast && d != p->axis ? 1 : p->shape[d];
    for (int v = 0; v < SEGMENT_SCAN_OPERANDS; v++) {
        const bool is_list = v == SEGMENT_SCAN_SEGMENTS;
        f->c.views[v] =
            test_view(is_list ? (p->is_long ? TENON_DTYPE_I64 : TENON_DTYPE_I32) : dtype,
                      p->layout[p->in_place && !is_list ? 0 : v], p->gap, p->rank,
                      is_list ? segments : p->shape, p->in_place ? p->offset : p->offset + v);
    }
    if (p->in_place)
        f->c.same[SEGMENT_SCAN_X] = 1 + SEGMENT_SCAN_Y;
}

static void check(const scan_case *p, tenon_dtype dtype, test_random *random, test_extent extent)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_run_fixture(&f, TEST_BOUND, extent, random);
}

static tenon_dtype type_of(int number)
{
    static const tenon_dtype integers[] = {TENON_DTYPE_I32, TENON_DTYPE_I64, TENON_DTYPE_U32};
    return number % 3 == 2 ? integers[number / 3 % 3] : test_float_type((uint32_t)number);
}

/* Every operation in both directions, inclusive and exclusive, on rows that are split and not. */
TEST(pieces)
{
    test_random random = test_random_for(891);
    for (uint32_t n = 0; n < 32; n++) {
        const scan_case p = {.kind = n / 4 % 4,
                             .flags = n % 4,
                             .is_long = n % 5 == 2,
                             .rank = 2,
                             .axis = 1,
                             .shape = {2, n < 16 ? 32768 + (int64_t)n % 3 - 1 : 1023 + n % 3},
                             .in_place = n % 5 == 0};
        check(&p, type_of((int)n), &random, TEST_ALL);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(892);
    for (int n = test_problems(40); n > 0; n--) {
        scan_case p = {.kind = (uint32_t)test_between(&random, 0, 3),
                       .flags = (uint32_t)test_between(&random, 0, 3),
                       .gap = test_one_in(&random, 2),
                       .broadcast = test_one_in(&random, 2),
                       .in_place = test_one_in(&random, 4),
                       .offset = test_between(&random, 0, 7)};
        p.rank = (uint32_t)test_between(&random, 1, 4);
        p.axis = (uint32_t)test_between(&random, 0, p.rank - 1);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, test_one_in(&random, 30) ? 0 : 1,
                                      test_one_in(&random, 3) ? 60 : 6);
        for (int v = 0; v < SEGMENT_SCAN_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, type_of(n), &random, test_one_in(&random, 3) ? TEST_ALL : TEST_ONCE);
    }
}

/* A NaN and an infinity do not leave their segment. */
TEST(known_values)
{
    TEST_KNOWN("segment_scan x=f32:7 segments=i32:7 y=f32:7",
               (const float[]){1, 2, NAN, 4, INFINITY, 6, 7}, (const float[]){3, 3, 3, 1, 1, 3, 3},
               (const float[]){1, 3, NAN, 4, INFINITY, 6, 13});
    TEST_KNOWN("segment_scan x=f32:6 segments=i32:6 y=f32:6 flags=3",
               (const float[]){1, 2, 3, 4, 5, 6}, (const float[]){0, 0, 0, 2, 1, 1},
               (const float[]){5, 3, 0, 0, 6, 0});
    TEST_KNOWN("segment_scan x=f32:2x3 segments=i32:2x1 y=f32:2x3 axis=0 kind=max flags=1",
               (const float[]){1, 2, 3, 4, 5, 6}, (const float[]){0, 0},
               (const float[]){-INFINITY, -INFINITY, -INFINITY, 1, 2, 3});
    TEST_KNOWN("segment_scan x=f32:3 segments=i32:3 y=f32:3 kind=product", (const float[]){2, 3, 4},
               (const float[]){0, 1, 2}, (const float[]){2, 3, 4});
}

/* All elements are in one segment, or each in its own. */
TEST(extremes)
{
    test_random random = test_random_for(893);
    for (uint32_t n = 0; n < 8; n++) {
        const scan_case p = {.flags = n % 4, .rank = 1, .shape = {40001}};
        test_fixture f;
        begin(&f, &p, TENON_DTYPE_F32);
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; i < p.shape[0]; i++)
            test_set(test_operand(&f, SEGMENT_SCAN_SEGMENTS), i, n < 4 ? 5 : (double)i);
        test_finish(&f, TEST_ALL);
    }
}

/* Sizes around 2^24; only in the full test. */
TEST(large)
{
    test_random random = test_random_for(894);
    for (int64_t n = quick_is_on() ? 2 : -1; n <= 1; n += 2) {
        const scan_case p = {.flags = n > 0, .rank = 1, .shape = {(INT64_C(1) << 24) + n}};
        check(&p, TENON_DTYPE_F32, &random, TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "segment_scan x=f32:4x5 segments=i32:5 y=f32:4x5 kind=mean", .text = "kind is 4"},
        {.line = "segment_scan x=f32:4x5 segments=i32:5 y=f32:4x5 axis=2", .text = "axis is 2"},
        {.line = "segment_scan x=f32:4x5 segments=i32:4 y=f32:4x5", .text = "segments: "},
        {.line = "segment_scan x=f32:4x5 segments=i32:5 y=f32:4x6", .text = "y: shape is 4x6"},
        {.line = "segment_scan x=f32:4x5 segments=i32:5 y=f32:4x5 flags=4", .text = "flags"},
        {.line = "segment_scan x=f32:4x5 segments=i32:5 y=f16:4x5",
         .text = "y",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_scan x=f32:4x5 segments=i16:5 y=f32:4x5",
         .text = "segments: type is i16",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_scan x=u8:4x5 segments=i32:5 y=u8:4x5",
         .text = "x: type",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_scan/pieces x=f32:4x5 segments=i32:5 y=f32:4x5",
         .text = "too short",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
