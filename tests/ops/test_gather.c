/* tenon_gather_forward and _backward against their references: any axis and strides, indices that
 * repeat and that are out of range, every type, large. */
#include "support.h"

#include "ops/gather/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct gather_case {
    bool backward;
    uint32_t axis, rank, index_rank;
    int64_t shape[TENON_MAX_RANK], index_shape[TENON_MAX_RANK]; /* of the table and the indices */
    test_layout layout[GATHER_OPERANDS];
    bool gap, repeats; /* between dimensions; an input with stride 0 */
    int64_t offset;
    int64_t spread; /* indices are from -1 to spread; 0: to the size of the axis */
    test_judge judge;
} gather_case;

typedef struct gather_data {
    gather_case problem;
    tenon_dtype dtype;
    test_tensor operands[GATHER_OPERANDS];
} gather_data;

static const char *describe(const void *user)
{
    static char text[1024];
    const gather_data *data = user;
    const tenon_tensor *from = &data->operands[GATHER_FROM].view,
                       *indices = &data->operands[GATHER_INDICES].view,
                       *to = &data->operands[GATHER_TO].view;
    char f[160], i[160], t[160], fs[160], is[160], ts[160];
    snprintf(text, sizeof text, "%s %s axis %u, shapes %s %s %s, strides %s %s %s",
             tenon_dtype_string(data->dtype), data->problem.backward ? "gather_backward" : "gather",
             data->problem.axis, tn_shape_text(from->rank, from->shape, f),
             tn_shape_text(indices->rank, indices->shape, i), tn_shape_text(to->rank, to->shape, t),
             tn_shape_text(from->rank, from->stride, fs),
             tn_shape_text(indices->rank, indices->stride, is),
             tn_shape_text(to->rank, to->stride, ts));
    return text;
}

static tenon_gather_params params_of(const gather_case *p)
{
    tenon_gather_params params = TENON_GATHER_PARAMS_INIT;
    params.axis = (int32_t)p->axis;
    return params;
}

static tenon_status call(const void *user, const char *solver)
{
    const gather_data *data = user;
    const test_tensor *o = data->operands;
    tenon_gather_params params = params_of(&data->problem);
    params.solver = solver;
    return test_call(data->problem.backward ? &tn_operation_gather_backward : &tn_operation_gather,
                     &params, &o[0].view, &o[1].view, &o[2].view);
}

/* The shape of y. Returns its rank. */
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

static void make_operand(gather_data *data, int which, uint32_t rank, const int64_t *shape)
{
    const gather_case *p = &data->problem;
    int64_t stride[TENON_MAX_RANK];
    test_strides(p->layout[which], p->gap, rank, shape, stride);
    if (p->repeats && which != GATHER_TO && rank > 0)
        stride[(uint32_t)p->offset % rank] = 0;
    test_tensor_create(&data->operands[which],
                       which == GATHER_INDICES ? TENON_DTYPE_I32 : data->dtype, rank, shape, stride,
                       p->offset + which);
}

static void make(gather_data *data, const gather_case *p, tenon_dtype dtype)
{
    int64_t picked[2 * TENON_MAX_RANK];
    uint32_t rank = picked_shape(p, picked);
    *data = (gather_data){.problem = *p, .dtype = dtype};
    make_operand(data, GATHER_FROM, p->backward ? rank : p->rank, p->backward ? picked : p->shape);
    make_operand(data, GATHER_INDICES, p->index_rank, p->index_shape);
    make_operand(data, GATHER_TO, p->backward ? p->rank : rank, p->backward ? p->shape : picked);
}

static void fill(gather_data *data, test_random *random)
{
    const gather_case *p = &data->problem;
    test_tensor *indices = &data->operands[GATHER_INDICES];
    int64_t most = p->spread > 0 ? p->spread : p->shape[p->axis];
    for (int64_t i = 0; i < tenon_tensor_elements(&indices->view); i++)
        test_set(indices, i,
                 (double)(test_one_in(random, 50)
                              ? test_between(random, INT32_MIN, INT32_MAX)
                              : test_between(random, test_one_in(random, 20) ? -1 : 0, most)));
    test_fill(&data->operands[GATHER_FROM], p->judge, random);
}

static void check_filled(gather_data *data, bool all)
{
    const gather_case *p = &data->problem;
    const tn_operation *operation =
        p->backward ? &tn_operation_gather_backward : &tn_operation_gather;
    const tenon_tensor *const views[] = {&data->operands[GATHER_FROM].host,
                                         &data->operands[GATHER_INDICES].host,
                                         &data->operands[GATHER_TO].host};
    const tenon_gather_params params = params_of(p);
    tn_bounded *expected =
        calloc((size_t)tenon_tensor_elements(views[GATHER_TO]) + 1, sizeof *expected);
    assert_non_null(expected);
    assert_true(operation->reference(&params, views, expected));
    const test_subject subject = {operation->family, call,     describe, data, data->operands,
                                  GATHER_OPERANDS,   expected, p->judge};
    if (all) {
        test_run_all(&subject);
    } else {
        test_upload(&data->operands[GATHER_FROM]);
        test_upload(&data->operands[GATHER_INDICES]);
        test_run(&subject, NULL);
    }
    for (int i = 0; i < GATHER_OPERANDS; i++)
        test_tensor_destroy(&data->operands[i]);
    free(expected);
}

static void check_type(const gather_case *p, tenon_dtype dtype, test_random *random, bool all)
{
    gather_data data;
    make(&data, p, dtype);
    fill(&data, random);
    check_filled(&data, all);
}

/* Forward, which is exact, in every type; the gradient on reals and on integers. */
static void check(gather_case p, test_random *random, bool all)
{
    p.backward = false;
    p.judge = TEST_EXACT;
    for (int type = TENON_DTYPE_F64; type <= TENON_DTYPE_I32; type++)
        check_type(&p, (tenon_dtype)type, random, all);
    p.backward = true;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            p.judge = (test_judge)judge;
            check_type(&p, *type, random, all);
        }
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 130};
    test_random random = test_random_for(531);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gather_case p = {.rank = 2,
                         .shape = {5, sizes[i]},
                         .index_rank = 1,
                         .index_shape = {11},
                         .offset = (int64_t)i % 5};
        check(p, &random, true);
    }
}

/* Sizes that meet 0, 1 and 2 digits of the sort, and several of its work-items. */
static void sizes_around_digits(void **state)
{
    static const int64_t rows[] = {1, 254, 255, 256, 257, 65535, 65536};
    test_random random = test_random_for(532);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int n = 0; n < 2; n++) {
            gather_case p = {.backward = true,
                             .rank = 2,
                             .shape = {rows[i], 3},
                             .index_rank = 1,
                             .index_shape = {n == 0 ? 300 : 12289},
                             .spread = n == 0 ? 0 : rows[i] / 7,
                             .judge = i % 2 == 0 ? TEST_BOUND : TEST_EXACT};
            if (n == 0 || rows[i] < 1000)
                check_type(&p, TENON_DTYPE_F32, &random, true);
            else
                check_type(&p, TENON_DTYPE_F32, &random, false);
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

static void random_problems(void **state)
{
    test_random random = test_random_for(533);
    (void)state;
    for (int n = test_problems(20); n > 0; n--)
        check(random_case(&random), &random, false);
}

static void every_solver_on_any_strides(void **state)
{
    test_random random = test_random_for(534);
    (void)state;
    for (int n = 0; n < 12; n++)
        check(random_case(&random), &random, true);
}

static void large(void **state)
{
    static const gather_case cases[] = {
        {.rank = 2, .shape = {30011, 64}, .index_rank = 2, .index_shape = {4, 513}},
        {.rank = 2, .shape = {64, 30011}, .axis = 1, .index_rank = 1, .index_shape = {2053}},
        {.rank = 3, .shape = {3, 1031, 257}, .axis = 1, .index_rank = 1, .index_shape = {501}},
        {.rank = 1, .shape = {100003}, .index_rank = 1, .index_shape = {50021}, .spread = 3}};
    test_random random = test_random_for(535);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 2; way++) {
            gather_case p = cases[i];
            p.backward = way == 1;
            p.judge = way == 0 ? TEST_EXACT : TEST_BOUND;
            check_type(&p, TENON_DTYPE_F32, &random, false);
        }
}

/* A NaN and an infinity go where they are asked for, and nowhere else. */
static void special_values(void **state)
{
    test_random random = test_random_for(536);
    (void)state;
    for (int way = 0; way < 2; way++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            gather_case p = {.backward = way == 1,
                             .rank = 2,
                             .shape = {7, 19},
                             .index_rank = 1,
                             .index_shape = {13}};
            gather_data data;
            make(&data, &p, *type);
            fill(&data, &random);
            test_set(&data.operands[GATHER_FROM], 20, NAN);
            test_set(&data.operands[GATHER_FROM], 40, INFINITY);
            test_set(&data.operands[GATHER_FROM], 60, -INFINITY);
            check_filled(&data, true);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(sizes_around_digits),
        cmocka_unit_test(every_solver_on_any_strides),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(special_values),
        cmocka_unit_test(large),
    };
    return TEST_MAIN(tests);
}
