/* Tests tenon_gather_forward and _backward against their references: any axis and strides, repeated
 * and out-of-range indices, every type, large tensors. */
#include "fixture.h"

#include "ops/gather/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct gather_case {
    bool backward;
    uint32_t axis, rank, index_rank;
    int64_t shape[TENON_MAX_RANK], index_shape[TENON_MAX_RANK]; /* of the table and the indices */
    test_layout layout[GATHER_OPERANDS];
    bool gap, repeats; /* gaps between dimensions; an input with stride 0 */
    int64_t offset;
    int64_t spread; /* indices are from -1 to spread; if 0, to the size of the axis */
    test_judge judge;
} gather_case;

/* Derives the shape of y; returns its rank. */
static uint32_t picked_shape(const gather_case *p, int64_t *shape)
{
    uint32_t rank = 0;
    for (uint32_t d = 0; d < p->axis; d++)
        shape[rank++] = p->shape[d];
    for (uint32_t d = 0; d < p->index_rank; d++)
        shape[rank++] = p->index_shape[d];
    for (uint32_t d = p->axis + 1; d < p->rank; d++)
        shape[rank++] = p->shape[d];
    return rank;
}

static tenon_tensor operand_view(const gather_case *p, int which, tenon_dtype dtype, uint32_t rank,
                                 const int64_t *shape)
{
    tenon_tensor view = test_view(dtype, p->layout[which], p->gap, rank, shape, p->offset + which);
    if (p->repeats && which != GATHER_TO && rank > 0)
        view.stride[(uint32_t)p->offset % rank] = 0;
    return view;
}

static void begin(test_fixture *f, const gather_case *p, tenon_dtype dtype)
{
    const int table = p->backward ? GATHER_TO : GATHER_FROM;
    const int picked = p->backward ? GATHER_FROM : GATHER_TO;
    int64_t shape[2 * TENON_MAX_RANK];
    const uint32_t rank = picked_shape(p, shape);
    test_begin(f, p->backward ? &tn_operation_gather_backward : &tn_operation_gather);
    test_params(f, tenon_gather_params)->axis = (int32_t)p->axis;
    f->c.views[table] = operand_view(p, table, dtype, p->rank, p->shape);
    f->c.views[picked] = operand_view(p, picked, dtype, rank, shape);
    f->c.views[GATHER_INDICES] =
        operand_view(p, GATHER_INDICES, TENON_DTYPE_I32, p->index_rank, p->index_shape);
}

/* Draws indices: mostly valid, some just out of range, a few arbitrary. */
static void fill(test_fixture *f, const gather_case *p, test_random *random)
{
    test_tensor *indices = test_operand(f, GATHER_INDICES);
    int64_t most = p->spread > 0 ? p->spread : p->shape[p->axis];
    test_fill_inputs(f, p->judge, random);
    for (int64_t i = 0; i < tenon_tensor_elements(&indices->view); i++)
        test_set(indices, i,
                 (double)(test_one_in(random, 50)
                              ? test_between(random, INT32_MIN, INT32_MAX)
                              : test_between(random, test_one_in(random, 20) ? -1 : 0, most)));
}

static void check_type(const gather_case *p, tenon_dtype dtype, test_random *random,
                       test_extent extent)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_make(&f);
    fill(&f, p, random);
    test_finish(&f, extent);
}

/* Checks forward, which is exact, in every type, and the gradient on reals and on integers. */
static void check(gather_case p, test_random *random, test_extent extent)
{
    p.backward = false;
    p.judge = TEST_EXACT;
    for (int type = TENON_DTYPE_F64; type <= TENON_DTYPE_I32; type++)
        check_type(&p, (tenon_dtype)type, random, extent);
    p.backward = true;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            p.judge = (test_judge)judge;
            check_type(&p, *type, random, extent);
        }
}

TEST(sizes_around_vectors)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 130};
    test_random random = test_random_for(531);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gather_case p = {.rank = 2,
                         .shape = {5, sizes[i]},
                         .index_rank = 1,
                         .index_shape = {11},
                         .offset = (int64_t)i % 5};
        check(p, &random, TEST_ALL);
    }
}

/* Sizes that need 0, 1 and 2 digits of the radix sort, and several of its work-items. */
TEST(sizes_around_digits)
{
    static const int64_t rows[] = {1, 254, 255, 256, 257, 65535, 65536};
    test_random random = test_random_for(532);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int n = 0; n < 2; n++) {
            gather_case p = {.backward = true,
                             .rank = 2,
                             .shape = {rows[i], 3},
                             .index_rank = 1,
                             .index_shape = {n == 0 ? 300 : 12289},
                             .spread = n == 0 ? 0 : rows[i] / 7,
                             .judge = i % 2 == 0 ? TEST_BOUND : TEST_EXACT};
            check_type(&p, TENON_DTYPE_F32, &random,
                       n == 0 || rows[i] < 1000 ? TEST_ALL : TEST_ONCE);
        }
}

static gather_case random_case(test_random *random)
{
    gather_case p = {.rank = (uint32_t)test_between(random, 1, 5),
                     .index_rank = (uint32_t)test_between(random, 0, 3),
                     .gap = test_one_in(random, 2),
                     .repeats = test_one_in(random, 5),
                     .offset = test_between(random, 0, 7)};
    p.axis = (uint32_t)test_between(random, 0, p.rank - 1);
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, test_one_in(random, 4) ? 40 : 6);
    for (uint32_t d = 0; d < p.index_rank; d++)
        p.index_shape[d] = test_between(random, test_one_in(random, 9) ? 0 : 1, 9);
    for (int i = 0; i < GATHER_OPERANDS; i++)
        p.layout[i] = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    return p;
}

TEST(random_problems)
{
    test_random random = test_random_for(533);
    for (int n = test_problems(20); n > 0; n--)
        check(random_case(&random), &random, TEST_ONCE);
}

TEST(every_solver_on_any_strides)
{
    test_random random = test_random_for(534);
    for (int n = 0; n < 12; n++)
        check(random_case(&random), &random, TEST_ALL);
}

TEST(large)
{
    static const gather_case cases[] = {
        {.rank = 2, .shape = {30011, 64}, .index_rank = 2, .index_shape = {4, 513}},
        {.rank = 2, .shape = {64, 30011}, .axis = 1, .index_rank = 1, .index_shape = {2053}},
        {.rank = 3, .shape = {3, 1031, 257}, .axis = 1, .index_rank = 1, .index_shape = {501}},
        {.rank = 1, .shape = {100003}, .index_rank = 1, .index_shape = {50021}, .spread = 3}};
    test_random random = test_random_for(535);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 2; way++) {
            gather_case p = cases[i];
            p.backward = way == 1;
            p.judge = way == 0 ? TEST_EXACT : TEST_BOUND;
            check_type(&p, TENON_DTYPE_F32, &random, TEST_ONCE);
        }
}

/* NaN and infinity appear only where their element is requested. */
TEST(special_values)
{
    test_random random = test_random_for(536);
    for (int way = 0; way < 2; way++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            gather_case p = {.backward = way == 1,
                             .rank = 2,
                             .shape = {7, 19},
                             .index_rank = 1,
                             .index_shape = {13}};
            test_fixture f;
            begin(&f, &p, *type);
            test_make(&f);
            fill(&f, &p, &random);
            test_set(test_operand(&f, GATHER_FROM), 20, NAN);
            test_set(test_operand(&f, GATHER_FROM), 40, INFINITY);
            test_set(test_operand(&f, GATHER_FROM), 60, -INFINITY);
            test_finish(&f, TEST_ALL);
        }
}
