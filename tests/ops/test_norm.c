/* Tests tenon_norm_forward and tenon_norm_inference against their reference: every kind, any
 * strides, in place, special values, sums in pieces, random problems. */
#include "norm_case.h"

#include <math.h>

TEST(sizes_around_vectors)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 64};
    test_random random = test_random_for(701);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 2; way++) {
            const int64_t rows[] = {sizes[(i * 5 + 3) % 11], sizes[i], 0};
            norm_case p = norm_case_of(way == 0 ? TENON_NORM_LAYER : TENON_NORM_RMS, rows);
            p.layout[0] = p.layout[3] = i % 2 == 0 ? TEST_ROW : TEST_COL;
            p.offset = (int64_t)i % 5;
            norm_check_types(&p, &random);
            const int64_t images[] = {2, sizes[(i * 3 + 1) % 11], sizes[i] + 1, 0};
            p = norm_case_of(way == 0 ? TENON_NORM_BATCH : TENON_NORM_INSTANCE, images);
            p.layout[0] = p.layout[3] = i % 2 == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
            norm_check_types(&p, &random);
        }
}

TEST(every_layout)
{
    test_random random = test_random_for(702);
    norm_check_layouts(false, &random);
}

TEST(ranks)
{
    test_random random = test_random_for(703);
    for (uint32_t rank = 1; rank <= TENON_MAX_RANK; rank++)
        for (uint32_t dimensions = 1; dimensions <= rank; dimensions += 2) {
            int64_t shape[TENON_MAX_RANK] = {0};
            for (uint32_t d = 0; d < rank; d++)
                shape[d] = test_between(&random, 2, 4);
            norm_case p =
                norm_case_of(dimensions % 2 == 0 ? TENON_NORM_RMS : TENON_NORM_LAYER, shape);
            p.params.dimensions = dimensions;
            p.gap = true;
            p.layout[0] = TEST_STRIDED;
            norm_check(&p, TENON_DTYPE_F32, &random);
        }
    const int64_t flat[] = {6, 8, 0};
    for (int kind = TENON_NORM_GROUP; kind <= TENON_NORM_BATCH; kind += 2) {
        norm_case p = norm_case_of((tenon_norm_kind)kind, flat);
        p.params.groups = 2;
        norm_check(&p, TENON_DTYPE_F32, &random);
    }
}

TEST(optional_operands)
{
    static const int64_t shape[] = {4, 6, 7, 0};
    test_random random = test_random_for(704);
    for (uint32_t mask = 0; mask < 32; mask++) {
        norm_case p = norm_case_of(TENON_NORM_BATCH, shape);
        p.absent =
            (mask & 1 ? 2u : 0) | (mask & 2 ? 4u : 0) | (mask & 28) << 2 | (mask & 4 ? 128u : 0);
        norm_check(&p, TENON_DTYPE_F32, &random);
        p.params.kind = TENON_NORM_BATCH;
        p.given = true;
        p.absent &= 6;
        norm_check(&p, mask % 2 != 0 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, &random);
    }
}

TEST(in_place_and_repeated)
{
    static const int64_t shape[] = {3, 8, 9, 0};
    test_random random = test_random_for(705);
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (int layout = 0; layout < 2; layout++) {
            norm_case p = norm_case_of((tenon_norm_kind)kind, shape);
            p.params.groups = 2;
            p.params.dimensions = 2;
            p.layout[3] = layout == 0 ? TEST_PITCH : NORM_CHANNELS_LAST;
            p.same = 1;
            norm_check(&p, TENON_DTYPE_F32, &random);
            p.given = kind == TENON_NORM_BATCH;
            norm_check(&p, TENON_DTYPE_F16, &random);
            p.same = 0;
            p.given = false;
            p.repeats = layout == 0 ? 1 : 6;
            norm_check(&p, TENON_DTYPE_F32, &random);
        }
}

/* Contiguous sets, which are read four whole vectors at a time: sizes around these four, around the
 * block that is summed at once, and enough lines for a sum of several blocks. */
TEST(lines_of_neighbors)
{
    static const int64_t sizes[] = {63, 64, 65, 79, 80, 81, 127, 129, 4095, 4096, 4113, 4163};
    static const int64_t image[] = {2, 260, 3, 27, 0};
    static const uint32_t absent[] = {0, 2, 4, 6};
    test_random random = test_random_for(719);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t rows[] = {3, sizes[i], 0};
        norm_case p = norm_case_of(i % 4 == 3 ? TENON_NORM_RMS : TENON_NORM_LAYER, rows);
        p.absent = p.params.kind == TENON_NORM_RMS ? p.absent : absent[i % 4];
        p.offset = (int64_t)i % 5;
        p.same = i % 2 == 0;
        norm_check(&p, i % 3 == 0 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, &random);
    }
    for (int kind = TENON_NORM_GROUP; kind <= TENON_NORM_BATCH; kind++) {
        norm_case p = norm_case_of((tenon_norm_kind)kind, image);
        p.params.groups = 2;
        norm_check(&p, TENON_DTYPE_F32, &random);
        p.gap = true;
        norm_check(&p, TENON_DTYPE_F16, &random);
    }
}

/* Special values in some sets must not affect other sets. */
TEST(special_values)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-30, 3e4, -3e4};
    static const int64_t shape[] = {8, 9, 11, 0};
    test_random random = test_random_for(706);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++) {
            norm_case p = norm_case_of((tenon_norm_kind)kind, shape);
            test_fixture f;
            p.params.groups = 3;
            p.layout[0] = kind % 2 == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
            norm_make(&f, &p, *type, &random);
            for (int64_t n = 0; n < 8; n++)
                test_set(test_operand(&f, NORM_FORWARD_X), n * 99 + n * 12 % 99, specials[n]);
            test_finish(&f, TEST_ALL);
        }
}

/* x - m is only the rounding error of m. */
TEST(constant_sets)
{
    static const double values[] = {0, 1, 0.1, -1000.7};
    static const int64_t shape[] = {4, 5, 67, 0};
    test_random random = test_random_for(707);
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++)
        for (int v = 0; v < 4; v++) {
            norm_case p = norm_case_of((tenon_norm_kind)kind, shape);
            test_fixture f;
            norm_make(&f, &p, v % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_F16, &random);
            test_fill_value(test_operand(&f, NORM_FORWARD_X), values[v]);
            test_finish(&f, TEST_ALL);
        }
}

/* A mean much larger than the deviation, for which E[x²] - E[x]² would lose all digits. */
TEST(far_from_zero)
{
    static const int64_t shape[] = {3, 4, 1000, 0};
    test_random random = test_random_for(708);
    for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++) {
        norm_case p = norm_case_of((tenon_norm_kind)kind, shape);
        p.low = 999;
        p.high = 1001;
        p.params.groups = 2;
        norm_check(&p, TENON_DTYPE_F32, &random);
        norm_check(&p, TENON_DTYPE_F16, &random);
    }
}

/* Few sets of many elements, which are summed in pieces. */
TEST(large)
{
    static const struct {
        tenon_norm_kind kind;
        int64_t shape[6];
    } sizes[] = {
        {TENON_NORM_BATCH, {4, 3, 101, 103, 0}},  {TENON_NORM_BATCH, {3, 70, 1501, 0}},
        {TENON_NORM_LAYER, {3, 30011, 0}},        {TENON_NORM_RMS, {2000, 37, 0}},
        {TENON_NORM_GROUP, {2, 6, 70, 61, 0}},    {TENON_NORM_INSTANCE, {1, 2, 50021, 0}},
        {TENON_NORM_BATCH, {300, 5, 3, 7, 5, 0}}, {TENON_NORM_LAYER, {100003, 0}},
        {TENON_NORM_BATCH, {2, 1100, 3, 5, 0}},   {TENON_NORM_INSTANCE, {2, 600, 5, 3, 0}}};
    test_random random = test_random_for(709);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int layout = 0; layout < 2; layout++) {
            norm_case p = norm_case_of(sizes[i].kind, sizes[i].shape);
            p.params.groups = 3;
            p.layout[0] = p.layout[3] = layout == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
            norm_check(&p, i % 3 == 2 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, &random);
        }
}

/* Tightens the bounds of a forward call's means, which follow y. */
static void tighten_means(test_fixture *f)
{
    const test_tensor *y = &f->operands[NORM_FORWARD_Y], *mean = &f->operands[NORM_FORWARD_MEAN];
    tn_bounded *expected = f->expected + tenon_tensor_elements(&y->view);
    for (int64_t i = 0; mean->image != NULL && i < tenon_tensor_elements(&mean->view); i++)
        expected[i].bound = 12 * tn_roundoff(y->view.dtype) * fabs(expected[i].value);
}

/* A sum of small integers is exact, so the mean is rounded only once. A bound that grows with the
 * count would not detect a missing element. The same holds for the variance if the mean is an
 * integer. */
TEST(integer_means)
{
    static const int64_t shape[] = {2, 3, 16411, 0};
    test_random random = test_random_for(710);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int kind = TENON_NORM_LAYER; kind <= TENON_NORM_BATCH; kind++) {
            norm_case p = norm_case_of((tenon_norm_kind)kind, shape);
            test_fixture f;
            p.judge = TEST_EXACT;
            p.params.groups = 3;
            p.layout[0] = kind % 2 == 0 ? TEST_ROW : NORM_CHANNELS_LAST;
            norm_make(&f, &p, *type, &random);
            f.tighten = tighten_means;
            test_finish(&f, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(711);
    const int count = test_problems(20);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = 0; i < count; i++) {
            const norm_case p = norm_random_case(&random, false);
            test_fixture f;
            norm_make(&f, &p, *type, &random);
            test_finish(&f, TEST_ONCE);
        }
}
