/* Tests tenon_sort against its reference: every type, with indices and payloads of every size, any
 * strides; ties, NaN and zeros; rows of one and of several pieces; bits of equal elements; invalid
 * input. */
#include "quick.h"
#include "sort_case.h"

#include "ops/registry.h"
#include "ops/sort/internal.h"

#include <math.h>
#include <string.h>

typedef struct sort_case {
    bool descending, indices;
    tenon_dtype payload; /* invalid: none */
    uint32_t axis, rank;
    int64_t shape[TENON_MAX_RANK];
    test_layout layout[SORT_CALL_OPERANDS];
    bool gap;
    int64_t offset;
    test_keys keys;
} sort_case;

static tenon_tensor view_of(const sort_case *p, int operand, tenon_dtype dtype)
{
    return test_view(dtype, p->layout[operand], p->gap, p->rank, p->shape, p->offset + operand);
}

static void begin(test_fixture *f, const sort_case *p, tenon_dtype dtype)
{
    test_begin(f, &tn_operation_sort);
    test_params(f, tenon_sort_params)->axis = (int32_t)p->axis;
    test_params(f, tenon_sort_params)->flags = p->descending ? TENON_SORT_DESCENDING : 0;
    f->c.views[SORT_CALL_X] = view_of(p, SORT_CALL_X, dtype);
    f->c.views[SORT_CALL_Y] = view_of(p, SORT_CALL_Y, dtype);
    if (p->indices)
        f->c.views[SORT_CALL_INDICES] =
            view_of(p, SORT_CALL_INDICES, p->offset % 2 != 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32);
    if (p->payload != TENON_DTYPE_INVALID) {
        f->c.views[SORT_CALL_PAYLOAD] = view_of(p, SORT_CALL_PAYLOAD, p->payload);
        f->c.views[SORT_CALL_MOVED] = view_of(p, SORT_CALL_MOVED, p->payload);
    }
}

static void check(const sort_case *p, tenon_dtype dtype, test_random *random, test_extent extent)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_make(&f);
    test_fill_inputs(&f, TEST_EXACT, random);
    test_fill_keys(test_operand(&f, SORT_CALL_X), p->keys, random);
    test_finish(&f, extent);
}

/* Returns one of all types, cycling by number. */
static tenon_dtype type_of(int number)
{
    static const tenon_dtype integers[] = {TENON_DTYPE_I32, TENON_DTYPE_I8,  TENON_DTYPE_U16,
                                           TENON_DTYPE_I64, TENON_DTYPE_U8,  TENON_DTYPE_I16,
                                           TENON_DTYPE_U32, TENON_DTYPE_BOOL};
    return number % 2 == 0 ? test_float_type((uint32_t)number / 2) : integers[number / 2 % 8];
}

TEST(sizes_and_values)
{
    static const int64_t sizes[] = {1, 2, 3, 17, 255, 256, 257, 600, 2050};
    test_random random = test_random_for(821);
    int number = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int keys = 0; keys < TEST_KEYS_KINDS; keys++, number++) {
            const sort_case p = {.descending = number % 2 != 0,
                                 .indices = number % 3 != 0,
                                 .rank = 2,
                                 .axis = 1,
                                 .shape = {3, sizes[i]},
                                 .keys = (test_keys)keys};
            check(&p, type_of(number), &random, TEST_ALL);
        }
}

/* Rows of several pieces. */
TEST(long_rows)
{
    test_random random = test_random_for(822);
    for (int keys = 0; keys < TEST_KEYS_KINDS; keys++) {
        const sort_case p = {.descending = keys % 2 != 0,
                             .indices = keys % 2 == 0,
                             .rank = 1,
                             .shape = {65536 + keys - 2},
                             .offset = keys / 2,
                             .keys = (test_keys)keys};
        check(&p, type_of(keys), &random, TEST_ONCE);
    }
}

/* Rows that sort/buckets cannot divide evenly: most elements have different keys within a small
 * part of the range. In others most elements are equal, and a few that a sample will not have are
 * close to them. */
TEST(uneven_rows)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_F32};
    static const char *const on_cpus[] = {"buckets", "radix", NULL};
    static const char *const on_gpus[] = {"radix", NULL};
    test_random random = test_random_for(825);
    for (int n = 0; n < 6; n++) {
        const sort_case p = {.descending = n % 2 != 0,
                             .indices = n % 3 != 0,
                             .payload = n % 4 == 3 ? TENON_DTYPE_BF16 : TENON_DTYPE_INVALID,
                             .rank = 2,
                             .axis = 1,
                             .shape = {2, 40000 + n},
                             .gap = n % 5 == 4,
                             .offset = n};
        test_fixture f;
        begin(&f, &p, types[n % 3]);
        test_make(&f);
        test_fill_inputs(&f, TEST_EXACT, &random);
        test_tensor *x = test_operand(&f, SORT_CALL_X);
        for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++) {
            const double part = (double)test_between(&random, -32767, 32767) / 8388608;
            const double exponent = (double)test_between(&random, -120, 120);
            const double wide = test_one_in(&random, 2) ? exp2(exponent) : -exp2(exponent);
            const double close = (i / 19000 % 2 != 0 ? 5000 : 4223) * exp2(-149);
            const double equal = i % 19000 == 18000 ? close : 0;
            const double narrow = n % 3 == 2 ? equal : 2 + part;
            test_set(x, i, test_one_in(&random, 8) ? wide * (1 + part) : narrow);
        }
        test_finish_by(&f, test_context->device.is_cpu ? on_cpus : on_gpus);
    }
}

/* A row in which some values are so frequent that their buckets exceed the caches. Whether such a
 * bucket is sorted in y or the row is left to sort/radix depends on the device. */
TEST(buckets_beyond_the_caches)
{
    static const char *const on_cpus[] = {"buckets", NULL};
    static const char *const on_gpus[] = {"radix", NULL};
    static const double frequent[] = {0.25, -0.5, 0.75};
    test_random random = test_random_for(826);
    for (int n = 0; n < 2; n++) {
        const sort_case p = {
            .descending = n != 0, .indices = n != 0, .rank = 1, .shape = {2000003 + n}};
        test_fixture f;
        begin(&f, &p, TENON_DTYPE_F32);
        test_make(&f);
        test_tensor *x = test_operand(&f, SORT_CALL_X);
        for (int64_t i = 0; i < p.shape[0]; i++) {
            const double other = (double)test_between(&random, -8388607, 8388607) / 8388608;
            test_set(x, i, i % 5 == 0 ? frequent[i / 5 % 3] : other);
        }
        test_finish_by(&f, test_context->device.is_cpu ? on_cpus : on_gpus);
    }
}

TEST(random_problems)
{
    static const tenon_dtype payloads[] = {TENON_DTYPE_INVALID, TENON_DTYPE_U8, TENON_DTYPE_BF16,
                                           TENON_DTYPE_F32, TENON_DTYPE_F64};
    test_random random = test_random_for(823);
    for (int n = test_problems(40); n > 0; n--) {
        sort_case p = {.descending = test_one_in(&random, 2),
                       .indices = test_one_in(&random, 2),
                       .payload = payloads[test_between(&random, 0, 4)],
                       .gap = test_one_in(&random, 2),
                       .offset = test_between(&random, 0, 7),
                       .keys = (test_keys)test_between(&random, 0, TEST_KEYS_FEW)};
        p.rank = (uint32_t)test_between(&random, 1, 4);
        p.axis = (uint32_t)test_between(&random, 0, p.rank - 1);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] =
                test_between(&random, test_one_in(&random, 30) ? 0 : 1, d == p.axis ? 300 : 5);
        for (int v = 0; v < SORT_CALL_OPERANDS; v++)
            p.layout[v] = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
        check(&p, type_of(n), &random, test_one_in(&random, 3) ? TEST_ALL : TEST_ONCE);
    }
}

/* Equal elements keep their bits: zeros of both signs, and NaNs with different payloads. */
TEST(bits)
{
    enum { N = 6 };
    static const uint32_t x[N] = {0x00000000, 0x7fc00123, 0x80000000, 0xffc00001, 0xbf800000, 0};
    static const uint32_t up[N] = {0xbf800000, 0, 0x80000000, 0, 0x7fc00123, 0xffc00001};
    static const uint32_t down[N] = {0, 0x80000000, 0, 0xbf800000, 0x7fc00123, 0xffc00001};
    static const char *const solvers[] = {"sort/rank", "sort/select", "sort/radix", "sort/merge",
                                          "sort/rows"};
    const int count = test_context->device.is_cpu ? 5 : 3; /* the last two are for CPUs */
    const int64_t shape[] = {N};
    test_tensor in, out;
    test_tensor_create(&in, TENON_DTYPE_F32, 1, shape, (const int64_t[]){1}, 0);
    test_tensor_create(&out, TENON_DTYPE_F32, 1, shape, (const int64_t[]){1}, 0);
    memcpy(in.image + in.host.offset, x, sizeof x);
    test_upload(&in);
    for (int n = 0; n < 2 * count; n++) {
        const tenon_sort_params params =
            tenon_sort_params(.flags = n % 2 == 0 ? 0 : TENON_SORT_DESCENDING,
                              .solver = solvers[n / 2]);
        uint32_t y[N];
        test_upload(&out);
        assert_ok(tenon_sort(test_stream, &params, &in.view, NULL, &out.view, NULL, NULL, NULL));
        assert_ok(tenon_tensor_download(test_stream, &out.view, y, sizeof y, NULL));
        assert_ok(tenon_stream_finish(test_stream));
        assert_memory_equal(y, n % 2 == 0 ? up : down, sizeof y);
    }
    test_tensor_destroy(&in);
    test_tensor_destroy(&out);
}

/* Sizes around 2^24; only in the full test. */
TEST(large)
{
    test_random random = test_random_for(824);
    for (int64_t n = quick_is_on() ? 2 : -1; n <= 1; n++) {
        const sort_case p = {.rank = 1, .shape = {(INT64_C(1) << 24) + n}};
        check(&p, TENON_DTYPE_F32, &random, TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "sort x=f32:4x5 y=f32:4x5 axis=2", .text = "axis is 2"},
        {.line = "sort x=f32: y=f32:", .text = "rank 0"},
        {.line = "sort x=f32:4x5 y=f32:4x6", .text = "y: shape is 4x6"},
        {.line = "sort x=f32:4x5 y=f32:4x5 flags=2", .text = "flags"},
        {.line = "sort x=f32:4x5 y=i32:4x5", .text = "y", .status = TENON_ERROR_UNSUPPORTED},
        {.line = "sort x=f32:4x5 y=f32:4x5 indices=f32:4x5",
         .text = "indices: type is f32, must be i32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "sort x=f32:4x5 y=f32:4x5 payload=f32:4x5", .text = "moved: is absent"},
        {.line = "sort x=f32:4x5 y=f32:4x5 moved=f32:4x5", .text = "payload: is absent"},
        {.line = "sort x=f32:4x5 y=f32:4x5 payload=f32:5 moved=f32:4x5", .text = "payload: shape"},
        {.line = "sort x=f32:4x5 y=f32:4x5 payload=f32:4x5 moved=f16:4x5",
         .text = "moved",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "sort/select x=f32:4 payload=f32:4 y=f32:4 moved=f32:4",
         .text = "payload",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
