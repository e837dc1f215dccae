/* Tests tenon_reduce and tenon_moments against their reference: every kind, any axes and strides,
 * special values, large tensors. */
#include "fixture.h"

#include "base/dtype.h"

#include "ops/reduce/internal.h"
#include "ops/registry.h"

#include <math.h>

#define REDUCE_KINDS TN_REDUCE_KINDS

typedef struct reduce_case {
    uint32_t kind, correction;
    bool moments, wide, keeps; /* `keeps`: y has the reduced axes with size 1 */
    uint32_t rank;
    uint32_t axes; /* bit mask; 0 for all */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_MAX_RANK]; /* of x */
    test_layout y_layout;
    int64_t offset;
    test_judge judge;
} reduce_case;

static tenon_dtype result_type(const reduce_case *p, tenon_dtype dtype)
{
    const tenon_dtype usual = tn_reduce_result(p->kind, dtype);
    return usual == dtype && p->wide && tenon_dtype_size(dtype) == 2 ? TENON_DTYPE_F32 : usual;
}

static void begin(test_fixture *f, const reduce_case *p, tenon_dtype dtype)
{
    int64_t shape[TENON_MAX_RANK];
    uint32_t rank = 0;
    test_begin(f, p->moments ? &tn_operation_moments : &tn_operation_reduce);
    tenon_reduce_params *params = test_params(f, tenon_reduce_params);
    params->kind = p->kind;
    params->correction = p->correction;
    for (uint32_t d = p->rank; d-- > 0;) /* in descending order, some counted from the end */
        if ((p->axes >> d & 1) != 0)
            params->axes[params->axis_count++] = (int32_t)d - (d % 2 == 0 ? (int32_t)p->rank : 0);
    f->c.views[REDUCE_X] = test_view(dtype, TEST_ROW, false, p->rank, p->shape, p->offset);
    memcpy(f->c.views[REDUCE_X].stride, p->stride, sizeof p->stride);
    for (uint32_t d = 0; d < p->rank; d++) {
        const bool reduced = p->axes == 0 || (p->axes >> d & 1) != 0;
        if (!reduced || p->keeps)
            shape[rank++] = reduced ? 1 : p->shape[d];
    }
    for (uint32_t i = 1; i < f->c.operation->operand_count; i++)
        f->c.views[i] =
            test_view(result_type(p, dtype), p->y_layout, false, rank, shape, p->offset);
}

static void check_type(const reduce_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_run_fixture(&f, p->judge, TEST_ALL, random);
}

/* Begins a case and fills the inputs, for tests that then set special values in x. */
static test_tensor *begin_filled(test_fixture *f, const reduce_case *p, tenon_dtype dtype,
                                 test_random *random)
{
    begin(f, p, dtype);
    test_make(f);
    test_fill_inputs(f, p->judge, random);
    return &f->operands[REDUCE_X];
}

static bool sums_exactly(uint32_t kind)
{
    return kind != TENON_REDUCE_MEAN && kind != TENON_REDUCE_NORM &&
           kind != TENON_REDUCE_VARIANCE && kind != TENON_REDUCE_PRODUCT &&
           kind != TENON_REDUCE_LOG_SUM_EXP;
}

/* Checks every kind in one type: on reals, and on integers if the kind is exact for them. */
static void check_kinds(reduce_case p, tenon_dtype dtype, test_random *random)
{
    int64_t size = 1;
    for (uint32_t d = 0; d < p.rank; d++)
        size *= p.axes == 0 || (p.axes >> d & 1) != 0 ? p.shape[d] : 1;
    for (p.kind = 0; p.kind < REDUCE_KINDS; p.kind++)
        for (int exact = 0; exact < 2; exact++) {
            if (exact != 0 && !sums_exactly(p.kind))
                continue;
            p.judge = exact != 0 ? TEST_EXACT : TEST_BOUND;
            p.correction = p.kind == TENON_REDUCE_VARIANCE && size > 1 ? (uint32_t)(size % 2) : 0;
            p.moments = p.kind == TENON_REDUCE_VARIANCE && p.shape[0] % 2 == 1;
            check_type(&p, dtype, random);
        }
}

static void check(const reduce_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_kinds(*p, *type, random);
}

TEST(sizes_around_vectors)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 33, 63, 64, 65, 129};
    static const int64_t others[] = {1, 3, 8, 17};
    test_random random = test_random_for(1501);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t axis = 0; axis < 2; axis++) {
            reduce_case p = {.rank = 2, .axes = 1u << axis, .offset = (int64_t)i % 5};
            p.shape[axis] = sizes[i];
            p.shape[1 - axis] = others[(i + axis) % 4];
            p.keeps = i % 2 == 0;
            p.wide = i % 3 == 0;
            test_strides(TEST_ROW, false, 2, p.shape, p.stride);
            check(&p, &random);
        }
}

/* Sizes around the blocks of sums and around the pieces of rows. */
TEST(sizes_around_blocks)
{
    static const int64_t sizes[] = {127, 128, 511, 513, 2047, 2048, 2049, 4097, 16385};
    test_random random = test_random_for(1502);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t axis = 0; axis < 2; axis++) {
            reduce_case p = {.rank = 2, .axes = 1u << axis};
            p.shape[axis] = sizes[i];
            p.shape[1 - axis] = 1 + (int64_t)i % 3;
            test_strides(TEST_ROW, false, 2, p.shape, p.stride);
            check_kinds(p, i % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_BF16, &random);
        }
}

TEST(every_set_of_axes)
{
    test_random random = test_random_for(1503);
    for (uint32_t axes = 0; axes < 16; axes++) {
        reduce_case p = {.rank = 4, .axes = axes, .shape = {3, 5, 4, 19}, .keeps = axes % 2 == 1};
        p.y_layout = (test_layout)(axes % TEST_LAYOUTS);
        test_strides(TEST_PITCH, axes % 3 != 0, 4, p.shape, p.stride);
        check_kinds(p, axes % 4 == 1 ? TENON_DTYPE_F16 : TENON_DTYPE_F32, &random);
    }
}

/* Up to eight dimensions, reduced and kept alternately, so that none can be merged. */
TEST(every_rank)
{
    test_random random = test_random_for(1504);
    for (uint32_t rank = 0; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 2; n++) {
            reduce_case p = {.rank = rank, .axes = n == 0 ? 0x55 : 0xaa, .wide = true};
            p.axes &= (1u << rank) - 1;
            for (uint32_t d = 0; d < rank; d++)
                p.shape[d] = test_between(&random, 1, rank > 5 ? 3 : 7);
            p.y_layout = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), n == 0, rank,
                         p.shape, p.stride);
            check_kinds(p, n == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_BF16, &random);
        }
}

TEST(broadcast_inputs)
{
    test_random random = test_random_for(1505);
    for (int mask = 1; mask < 8; mask++)
        for (uint32_t axes = 1; axes < 8; axes += 2) {
            reduce_case p = {.rank = 3, .axes = axes, .shape = {3, 9, 20}};
            test_strides(TEST_ROW, false, 3, p.shape, p.stride);
            for (int d = 0; d < 3; d++)
                if ((mask >> d & 1) != 0)
                    p.stride[d] = 0;
            check_kinds(p, TENON_DTYPE_F32, &random);
        }
}

/* Each special value in every position of a row, alone and with another one. */
TEST(special_values)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 6e4, -0.0, 0x1p-120, 1e-30, -3e4};
    const int64_t values = sizeof specials / sizeof *specials;
    test_random random = test_random_for(1506);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (uint32_t kind = 0; kind < REDUCE_KINDS; kind++)
            for (uint32_t axis = 0; axis < 2; axis++) {
                /* Rows longer than one step of vectors. */
                const int64_t size = axis == 1 ? 83 : 19;
                reduce_case p = {.kind = kind, .rank = 2, .axes = 1u << axis};
                test_fixture f;
                p.wide = true;
                p.shape[axis] = size;
                p.shape[1 - axis] = values * size;
                test_strides(TEST_ROW, false, 2, p.shape, p.stride);
                test_tensor *x = begin_filled(&f, &p, *type, &random);
                for (int64_t v = 0; v < values; v++)
                    for (int64_t i = 0; i < size; i++) {
                        int64_t row = v * size + i, other = (i + 7) % size;
                        int64_t row_step = axis == 1 ? size : 1;
                        int64_t step = axis == 1 ? 1 : values * size;
                        test_set(x, row * row_step + i * step, specials[v]);
                        if (i % 3 == 0)
                            test_set(x, row * row_step + other * step,
                                     specials[(v + (int64_t)i / 3) % values]);
                    }
                test_finish(&f, TEST_ALL);
            }
}

/* If all values of a row are equal, the index of the first (or the last) is returned, also for -inf
 * and NaN. */
TEST(equal_elements)
{
    static const double values[] = {2, -INFINITY, INFINITY, NAN, 0};
    test_random random = test_random_for(1507);
    for (uint32_t kind = TENON_REDUCE_MAX; kind < REDUCE_KINDS; kind++)
        for (uint32_t axis = 0; axis < 2; axis++)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                reduce_case p = {.kind = kind, .rank = 2, .axes = 1u << axis, .shape = {150, 150}};
                test_fixture f;
                if (kind > TENON_REDUCE_ARGMIN && !tn_reduce_is_place(kind))
                    break;
                test_strides(TEST_ROW, false, 2, p.shape, p.stride);
                test_tensor *x = begin_filled(&f, &p, TENON_DTYPE_F32, &random);
                test_fill_value(x, values[v]);
                test_set(x, 149, 1);
                test_finish(&f, TEST_ALL);
            }
}

/* Elements that are not zero are counted in every type: also denormals, NaN and the extremes of
 * integers. */
TEST(counts)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F64,  TENON_DTYPE_F32, TENON_DTYPE_F16,
                                        TENON_DTYPE_BF16, TENON_DTYPE_I8,  TENON_DTYPE_U16,
                                        TENON_DTYPE_I32,  TENON_DTYPE_I64, TENON_DTYPE_BOOL};
    static const double values[] = {0, 1, -0.0, 127, 0x1p-24, 0, 64, NAN};
    test_random random = test_random_for(1511);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t kind = TENON_REDUCE_ANY; kind <= TENON_REDUCE_COUNT; kind++)
            for (uint32_t axis = 0; axis < 2; axis++) {
                reduce_case p = {.kind = kind, .rank = 2, .axes = 1u << axis, .offset = 1};
                test_fixture f;
                if (types[t] == TENON_DTYPE_F64 && !test_has(TENON_CAPABILITY_F64))
                    continue;
                p.shape[axis] = 301;
                p.shape[1 - axis] = 67;
                test_strides(t % 2 == 0 ? TEST_ROW : TEST_PITCH, false, 2, p.shape, p.stride);
                test_tensor *x = begin_filled(&f, &p, types[t], &random);
                const bool is_real = tn_dtype_is_float(types[t]);
                for (int64_t i = 0; i < 67 * 301; i++) {
                    const int64_t row =
                        i / p.shape[1] * (axis == 0 ? 0 : 1) + i % p.shape[1] * (axis == 0 ? 1 : 0);
                    test_set(x, i,
                             row % 3 == 0   ? 0
                             : row % 3 == 1 ? 1
                                            : values[i % (is_real ? 8 : 4)]);
                }
                test_finish(&f, TEST_ALL);
            }
}

/* Indices and numbers of elements in i64. */
TEST(wide_places)
{
    static const char *const lines[] = {
        "reduce x=T:5x301 y=i64:5 kind=argmax axis_count=1 axes=1",
        "reduce x=T:301x37 y=i64:37 kind=argmin_last axis_count=1 axes=0",
        "reduce x=T:3x70001 y=i64:3 kind=argmin axis_count=1 axes=1",
        "reduce x=T:5x301 y=i64:5 kind=count axis_count=1 axes=1",
        "reduce x=u8:301x37 y=i64:37 kind=count axis_count=1 axes=0"};
    test_random random = test_random_for(1512);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        test_fixture f;
        test_begin_line(&f, lines[i], test_float_type((uint32_t)i));
        test_run_fixture(&f, TEST_EXACT, TEST_ALL, &random);
    }
}

/* A mean much larger than the deviation, for which the mean of squares would lose all digits. */
TEST(large_means)
{
    test_random random = test_random_for(1508);
    for (uint32_t axis = 0; axis < 2; axis++) {
        reduce_case p = {.kind = TENON_REDUCE_VARIANCE,
                         .correction = 1,
                         .rank = 2,
                         .axes = 1u << axis,
                         .shape = {300, 300},
                         .moments = true};
        test_fixture f;
        test_strides(TEST_ROW, false, 2, p.shape, p.stride);
        test_tensor *x = begin_filled(&f, &p, TENON_DTYPE_F32, &random);
        for (int64_t i = 0; i < 300 * 300; i++)
            test_set(x, i, 10000 + test_get(x, i));
        test_finish(&f, TEST_ALL);
    }
}

TEST(large)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1000003}, {3, 7, 30011}, {50021, 3, 5}, {61, 1009, 17}, {2, 100003, 3}};
    static const uint32_t axes[] = {7, 4, 1, 5, 2};
    test_random random = test_random_for(1509);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        reduce_case p = {.rank = 3, .axes = axes[i]};
        memcpy(p.shape, shapes[i], sizeof shapes[i]);
        test_strides(TEST_ROW, false, 3, p.shape, p.stride);
        for (p.kind = i % 2; p.kind < REDUCE_KINDS; p.kind += 2) {
            p.moments = p.kind == TENON_REDUCE_VARIANCE;
            p.judge = i % 2 == 0 && sums_exactly(p.kind) ? TEST_EXACT : TEST_BOUND;
            check_type(&p, TENON_DTYPE_F32, &random);
        }
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(1510);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            reduce_case p = {.rank = (uint32_t)test_between(&random, 1, 5)};
            test_fixture f;
            p.axes = (uint32_t)test_between(&random, 0, (1 << p.rank) - 1);
            p.kind = (uint32_t)test_between(&random, 0, REDUCE_KINDS - 1);
            p.moments = p.kind == TENON_REDUCE_VARIANCE && test_one_in(&random, 2);
            p.wide = test_one_in(&random, 2);
            p.keeps = test_one_in(&random, 2);
            p.y_layout = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            p.offset = test_between(&random, 0, 9);
            for (uint32_t d = 0; d < p.rank; d++)
                p.shape[d] = test_between(&random, 1, test_one_in(&random, 3) ? 70 : 9);
            test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1),
                         test_one_in(&random, 2), p.rank, p.shape, p.stride);
            if (test_one_in(&random, 5))
                p.stride[test_between(&random, 0, p.rank - 1)] = 0;
            begin(&f, &p, *type);
            test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
        }
}
