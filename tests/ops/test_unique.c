/* Tests tenon_unique against its reference: every type, sorted and by runs, any outputs and
 * strides, too little and too much room; equal elements, zeros and NaN; empty x; invalid input. */
#include "fixture.h"
#include "quick.h"

#include "ops/registry.h"
#include "ops/unique/internal.h"

#include <math.h>
#include <string.h>

typedef struct unique_case {
    uint32_t outputs; /* UNIQUE_HAS_... */
    uint32_t flags;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t capacity;
    test_layout layout[UNIQUE_OPERANDS];
    bool gap;
    int64_t offset;
} unique_case;

static void begin(test_fixture *f, const unique_case *p, tenon_dtype dtype)
{
    const int64_t room[] = {p->capacity};
    const tenon_dtype i32 = TENON_DTYPE_I32;
    test_begin(f, &tn_operation_unique);
    test_params(f, tenon_unique_params)->flags = p->flags;
    f->c.views[UNIQUE_X] =
        test_view(dtype, p->layout[UNIQUE_X], p->gap, p->rank, p->shape, p->offset);
    f->c.views[UNIQUE_COUNT] = test_view(i32, TEST_ROW, false, 0, room, 1);
    if (p->outputs & UNIQUE_HAS_Y)
        f->c.views[UNIQUE_Y] = test_view(dtype, p->layout[UNIQUE_Y], p->gap, 1, room, 1);
    if (p->outputs & UNIQUE_HAS_FIRST)
        f->c.views[UNIQUE_FIRST] = test_view(i32, p->layout[UNIQUE_FIRST], p->gap, 1, room, 2);
    if (p->outputs & UNIQUE_HAS_INVERSE)
        f->c.views[UNIQUE_INVERSE] =
            test_view(i32, p->layout[UNIQUE_INVERSE], p->gap, p->rank, p->shape, p->offset);
    if (p->outputs & UNIQUE_HAS_COUNTS)
        f->c.views[UNIQUE_COUNTS] = test_view(i32, p->layout[UNIQUE_COUNTS], p->gap, 1, room, 3);
}

static void check(const unique_case *p, tenon_dtype dtype, test_random *random, test_extent extent)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_run_fixture(&f, TEST_EXACT, extent, random);
}

static tenon_dtype type_of(int number)
{
    static const tenon_dtype integers[] = {TENON_DTYPE_I32, TENON_DTYPE_U8,   TENON_DTYPE_I64,
                                           TENON_DTYPE_I16, TENON_DTYPE_BOOL, TENON_DTYPE_U32,
                                           TENON_DTYPE_I8,  TENON_DTYPE_U16};
    return number % 2 == 0 ? test_float_type((uint32_t)number / 2) : integers[number / 2 % 8];
}

TEST(sizes)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 64, 1023, 8192, 8193, 20001};
    test_random random = test_random_for(861);
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (uint32_t runs = 0; runs < 2; runs++) {
            const unique_case p = {.outputs = i % 3 == 2 ? UNIQUE_HAS_COUNTS : 15,
                                   .flags = runs,
                                   .rank = 1,
                                   .shape = {sizes[i]},
                                   .capacity = i % 2 == 0 ? sizes[i] + 3 : sizes[i] / 2};
            check(&p, type_of(i + (int)runs), &random, sizes[i] < 9000 ? TEST_ALL : TEST_ONCE);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(862);
    for (int n = test_problems(40); n > 0; n--) {
        unique_case p = {.outputs = (uint32_t)test_between(&random, 0, 15),
                         .flags = (uint32_t)test_between(&random, 0, 1),
                         .rank = (uint32_t)test_between(&random, 0, 4),
                         .gap = test_one_in(&random, 2),
                         .offset = test_between(&random, 0, 7)};
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = test_between(&random, test_one_in(&random, 30) ? 0 : 1,
                                      test_one_in(&random, 3) ? 40 : 6);
        p.capacity = test_between(&random, 0, 200);
        for (int v = 0; v < UNIQUE_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, type_of(n), &random, test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE);
    }
}

/* All elements are equal, or all are different. */
TEST(extremes)
{
    test_random random = test_random_for(863);
    for (int n = 0; n < 4; n++) {
        const unique_case p = {
            .outputs = 15, .flags = (uint32_t)n % 2, .rank = 1, .shape = {9001}, .capacity = 9001};
        test_fixture f;
        begin(&f, &p, TENON_DTYPE_F32);
        test_make(&f);
        test_fill_inputs(&f, TEST_EXACT, &random);
        for (int64_t i = 0; i < 9001; i++)
            test_set(test_operand(&f, UNIQUE_X), i, n < 2 ? 7 : (double)(i * 4099 % 9001) / 8);
        test_finish(&f, n % 2 == 0 ? TEST_ONCE : TEST_ALL);
    }
}

TEST(known_values)
{
    TEST_KNOWN("unique x=f32:7 y=f32:5 first=i32:5 inverse=i32:7 counts=i32:5 count=i32:",
               (const float[]){3, -1, NAN, 3, 0, -1, NAN}, (const float[]){-1, 0, 3, NAN, 0},
               (const float[]){1, 4, 0, 2, -1}, (const float[]){2, 0, 3, 2, 1, 0, 3},
               (const float[]){2, 1, 2, 2, 0}, (const float[]){4});
    TEST_KNOWN("unique x=f32:2x3 y=f32:2 counts=i32:2 count=i32: flags=1",
               (const float[]){5, 5, 2, 2, 2, 5}, (const float[]){5, 2}, NULL, NULL,
               (const float[]){2, 3}, (const float[]){3});
}

/* The bits of the first of several equal elements: a zero of either sign, and a NaN. */
TEST(bits)
{
    enum { N = 6 };
    static const uint32_t x[N] = {0x80000000, 0x7fc00123, 0, 0xffc00001, 0xbf800000, 0x80000000};
    static const uint32_t wanted[N] = {0xbf800000, 0x80000000, 0x7fc00123, 0, 0, 0};
    static const char *const solvers[] = {"unique/serial", "unique/blocks"};
    const int64_t shape[] = {N};
    test_tensor in, out, count;
    test_tensor_create(&in, TENON_DTYPE_F32, 1, shape, (const int64_t[]){1}, 0);
    test_tensor_create(&out, TENON_DTYPE_F32, 1, shape, (const int64_t[]){1}, 0);
    test_tensor_create(&count, TENON_DTYPE_I32, 0, shape, shape, 0);
    memcpy(in.image + in.host.offset, x, sizeof x);
    test_upload(&in);
    for (int n = 0; n < 2; n++) {
        const tenon_unique_params params = tenon_unique_params(.solver = solvers[n]);
        uint32_t y[N];
        test_upload(&out);
        assert_ok(tenon_unique(test_stream, &params, &in.view, &out.view, NULL, NULL, NULL,
                               &count.view, NULL));
        assert_ok(tenon_tensor_download(test_stream, &out.view, y, sizeof y, NULL));
        assert_ok(tenon_stream_finish(test_stream));
        assert_memory_equal(y, wanted, sizeof y);
    }
    test_tensor_destroy(&in);
    test_tensor_destroy(&out);
    test_tensor_destroy(&count);
}

/* Sizes around 2^24; only in the full test. */
TEST(large)
{
    test_random random = test_random_for(864);
    for (int64_t n = quick_is_on() ? 2 : -1; n <= 1; n += 2) {
        const unique_case p = {.outputs = 15,
                               .flags = n > 0,
                               .rank = 1,
                               .shape = {(INT64_C(1) << 24) + n},
                               .capacity = 1000};
        check(&p, TENON_DTYPE_F32, &random, TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "unique x=f32:4 y=f32:2x2 count=i32:", .text = "y: rank is 2"},
        {.line = "unique x=f32:4 y=f32:4 counts=i32:3 count=i32:", .text = "counts: size is 3"},
        {.line = "unique x=f32:4x5 inverse=i32:20 count=i32:", .text = "inverse: shape is 20"},
        {.line = "unique x=f32:4 count=i32:2", .text = "count: shape is 2"},
        {.line = "unique x=f32:4 y=f32:4 count=i32: flags=2", .text = "flags"},
        {.line = "unique x=f32:4 y=f16:4 count=i32:",
         .text = "y",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "unique x=f32:4 first=f32:4 count=i32:",
         .text = "first: type is f32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "unique/blocks x=f32:0 count=i32:",
         .text = "x is empty",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
