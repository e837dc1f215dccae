/* Tests tenon_histogram against its reference: every type, bins of equal width, by edges and by
 * index, with and without weights, any strides; NaN, infinity and elements at edges; empty x;
 * invalid input. */
#include "fixture.h"
#include "quick.h"

#include "base/dtype.h"
#include "ops/histogram/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef enum bin_kind { BY_WIDTH, BY_EDGES, BY_INDEX } bin_kind;

typedef struct histogram_case {
    bin_kind kind;
    tenon_dtype x, y;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t bins;
    test_layout layout[HISTOGRAM_OPERANDS];
    bool gap;
    int64_t offset;
} histogram_case;

static void begin(test_fixture *f, const histogram_case *p)
{
    const int64_t bins[] = {p->bins}, edges[] = {p->bins + 1};
    tenon_histogram_params *params;
    test_begin(f, &tn_operation_histogram);
    params = test_params(f, tenon_histogram_params);
    params->flags = p->kind == BY_INDEX ? TENON_HISTOGRAM_INDICES : 0;
    params->low = tn_dtype_is_float(p->x) ? -0.75 : 1;
    params->high = tn_dtype_is_float(p->x) ? 0.6 : 11;
    f->c.views[HISTOGRAM_X] =
        test_view(p->x, p->layout[HISTOGRAM_X], p->gap, p->rank, p->shape, p->offset);
    f->c.views[HISTOGRAM_Y] = test_view(p->y, p->layout[HISTOGRAM_Y], p->gap, 1, bins, 1);
    if (p->kind == BY_EDGES)
        f->c.views[HISTOGRAM_EDGES] =
            test_view(p->x, p->layout[HISTOGRAM_EDGES], p->gap, 1, edges, 2);
    if (tn_dtype_is_float(p->y))
        f->c.views[HISTOGRAM_WEIGHTS] =
            test_view(p->y, p->layout[HISTOGRAM_WEIGHTS], p->gap, p->rank, p->shape, 3);
}

static void check(const histogram_case *p, test_random *random, test_extent extent)
{
    test_fixture f;
    begin(&f, p);
    test_run_fixture(&f, tn_dtype_is_float(p->y) ? TEST_BOUND : TEST_EXACT, extent, random);
}

static tenon_dtype integer_type(int number)
{
    static const tenon_dtype types[] = {TENON_DTYPE_I32, TENON_DTYPE_U8,  TENON_DTYPE_I64,
                                        TENON_DTYPE_U16, TENON_DTYPE_U32, TENON_DTYPE_I8,
                                        TENON_DTYPE_I16};
    return types[number % 7];
}

static tenon_dtype sum_type(int number)
{
    static const tenon_dtype types[] = {TENON_DTYPE_I32, TENON_DTYPE_F32, TENON_DTYPE_I64};
    return number % 7 == 6 ? test_float_type(3) : types[number % 3];
}

/* Returns a kind of bins and fitting types, by number. */
static histogram_case typed(int number)
{
    histogram_case p = {.kind = (bin_kind)(number % 3), .bins = 1};
    p.x = p.kind == BY_INDEX || number % 4 == 3 ? integer_type(number / 3)
                                                : test_float_type((uint32_t)number / 3);
    p.y = sum_type(number);
    if (p.y != TENON_DTYPE_I32 && p.y != TENON_DTYPE_I64 && p.y != TENON_DTYPE_F64)
        p.y = TENON_DTYPE_F32;
    return p;
}

TEST(sizes)
{
    static const int64_t sizes[] = {0, 1, 2, 63, 8191, 16384, 16385, 40001};
    test_random random = test_random_for(871);
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int kind = 0; kind < 3; kind++) {
            histogram_case p = typed(3 * i + kind);
            p.rank = 1;
            p.shape[0] = sizes[i];
            p.bins = kind == 0 ? 1 : 61;
            check(&p, &random, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(872);
    for (int n = test_problems(40); n > 0; n--) {
        histogram_case p = typed(n);
        p.rank = (uint32_t)test_between(&random, 0, 4);
        p.gap = test_one_in(&random, 2);
        p.offset = test_between(&random, 0, 7);
        p.bins = test_between(&random, 1, test_one_in(&random, 4) ? 3000 : 40);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, test_one_in(&random, 30) ? 0 : 1,
                                      test_one_in(&random, 3) ? 50 : 6);
        for (int v = 0; v < HISTOGRAM_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, &random, test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE);
    }
}

TEST(known_values)
{
    TEST_KNOWN("histogram x=f32:9 y=i32:4 low=0 high=2",
               (const float[]){0, 0.5F, 0.49F, 2, 1.99F, NAN, -0.1F, 2.1F, INFINITY}, NULL, NULL,
               (const float[]){2, 1, 0, 2});
    TEST_KNOWN("histogram x=f32:6 edges=f32:4 weights=f32:6 y=f32:3",
               (const float[]){1, 2, 3, 9, -0.0F, 10}, (const float[]){0, 2, 3, 9},
               (const float[]){1, 2, 4, 8, 16, 32}, (const float[]){17, 2, 12});
    TEST_KNOWN("histogram x=i32:6 y=i64:3 flags=1", (const float[]){0, 2, 2, -1, 3, 2}, NULL, NULL,
               (const float[]){1, 0, 3});
}

/* Sizes around 2^24; only in the full test. */
TEST(large)
{
    test_random random = test_random_for(873);
    for (int64_t n = quick_is_on() ? 2 : -1; n <= 1; n++) {
        histogram_case p = typed((int)n + 1);
        p.rank = 1;
        p.shape[0] = (INT64_C(1) << 24) + n;
        p.bins = 100;
        check(&p, &random, TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "histogram x=f32:4 y=i32:4 low=1 high=1", .text = "range is 1 to 1"},
        {.line = "histogram x=f32:4 y=i32:4 low=0 high=inf", .text = "high is inf"},
        {.line = "histogram x=f32:4 y=i32:4 low=1 high=1.00000001", .text = "wide enough for f32"},
        {.line = "histogram x=f32:4 y=i32:0", .text = "y: size is 0"},
        {.line = "histogram x=f32:4 y=i32:2x2", .text = "y: rank is 2"},
        {.line = "histogram x=f32:4 edges=f32:4 y=i32:4", .text = "edges: shape is 4"},
        {.line = "histogram x=i32:4 edges=i32:5 y=i32:4 flags=1", .text = "edges: are present"},
        {.line = "histogram x=f32:4 weights=f32:5 y=f32:4", .text = "weights: shape is 5"},
        {.line = "histogram x=f32:4 y=i32:4 flags=2", .text = "flags"},
        {.line = "histogram x=f32:4 y=f32:4",
         .text = "y: type is f32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "histogram x=f32:4 weights=i32:4 y=i32:4",
         .text = "weights: type is i32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "histogram x=bool:4 y=i32:4",
         .text = "x: type is bool",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "histogram x=f32:4 y=i32:4 flags=1",
         .text = "x: type is f32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "histogram/blocks x=f32:100 y=i32:4",
         .text = "too few elements",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
