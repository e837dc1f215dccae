/* tenon_mse_forward and _backward against their references: any axes and strides, in place, special
 * values, large. */
#include "support.h"

#include "ops/loss/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct mse_case {
    bool backward, sum, wide, keeps, without_dloss;
    int same; /* backward: 1 + the operand that is dx, or 0 */
    double scale;
    uint32_t rank, axes; /* a bit for each axis; none for all */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[MSE_BACKWARD_OPERANDS][TENON_MAX_RANK]; /* the loss's are not used */
    test_layout loss_layout;
    int64_t offset;
    test_judge judge;
} mse_case;

typedef struct mse_data {
    mse_case problem;
    tenon_dtype dtype;
    uint32_t count;
    test_tensor operands[MSE_BACKWARD_OPERANDS];
    tn_bounded *expected;
} mse_data;

static const char *describe(const void *user)
{
    static char text[1024];
    const mse_data *data = user;
    const mse_case *p = &data->problem;
    char shape[160], x[160], t[160];
    snprintf(text, sizeof text,
             "%s squared error %s, axes %#x of %s, strides %s and %s, same %d, scale %g%s%s%s%s",
             tenon_dtype_string(data->dtype), p->backward ? "backward" : "forward", p->axes,
             tn_shape_text(p->rank, p->shape, shape), tn_shape_text(p->rank, p->stride[0], x),
             tn_shape_text(p->rank, p->stride[1], t), p->same, p->scale, p->sum ? ", sum" : "",
             p->wide ? ", wide" : "", p->keeps ? ", keeps axes" : "",
             p->without_dloss ? ", without dloss" : "");
    return text;
}

static tenon_mse_params params_of(const mse_case *p)
{
    tenon_mse_params params = TENON_MSE_PARAMS_INIT;
    params.flags = p->sum ? 0 : TENON_MSE_MEAN;
    params.scale = p->scale;
    for (uint32_t d = 0; d < p->rank; d++)
        if ((p->axes >> d & 1) != 0)
            params.axes[params.axis_count++] = (int32_t)d - (int32_t)p->rank;
    return params;
}

static test_tensor *operand(mse_data *data, uint32_t i)
{
    return &data->operands[(int)i + 1 == data->problem.same ? MSE_DX : i];
}

static const tenon_tensor *dloss_of(const mse_data *data, bool host)
{
    const test_tensor *dloss = &data->operands[MSE_DLOSS];
    return data->problem.without_dloss ? NULL : host ? &dloss->host : &dloss->view;
}

static tenon_status call(const void *user, const char *solver)
{
    mse_data *data = (mse_data *)(uintptr_t)user;
    tenon_mse_params params = params_of(&data->problem);
    const tenon_tensor *x = &operand(data, MSE_X)->view, *t = &operand(data, MSE_T)->view;
    params.solver = solver;
    return data->problem.backward
               ? test_call(&tn_operation_mse_backward, &params, x, t, dloss_of(data, false),
                           &data->operands[MSE_DX].view)
               : test_call(&tn_operation_mse, &params, x, t, &data->operands[MSE_LOSS].view);
}

static void make_loss(mse_data *data)
{
    const mse_case *p = &data->problem;
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK];
    bool wide = p->wide && !p->backward && tenon_dtype_size(data->dtype) == 2;
    uint32_t rank = 0;
    for (uint32_t d = 0; d < p->rank; d++) {
        bool reduced = p->axes == 0 || (p->axes >> d & 1) != 0;
        if (!reduced || p->keeps)
            shape[rank++] = reduced ? 1 : p->shape[d];
    }
    test_strides(p->loss_layout, false, rank, shape, stride);
    test_tensor_create(&data->operands[MSE_LOSS], wide ? TENON_DTYPE_F32 : data->dtype, rank, shape,
                       stride, p->offset);
}

static void make(mse_data *data, const mse_case *p, tenon_dtype dtype, test_random *random)
{
    *data = (mse_data){.problem = *p, .dtype = dtype};
    data->count = p->backward ? MSE_BACKWARD_OPERANDS : MSE_OPERANDS;
    for (uint32_t i = 0; i < data->count; i++)
        if (i != MSE_LOSS && (int)i + 1 != p->same)
            test_tensor_create(&data->operands[i], dtype, p->rank, p->shape, p->stride[i],
                               p->offset);
    if (!p->without_dloss)
        make_loss(data);
    test_fill(operand(data, MSE_X), p->judge, random);
    test_fill(operand(data, MSE_T), p->judge, random);
    if (p->backward && !p->without_dloss)
        test_fill(&data->operands[MSE_DLOSS], p->judge, random);
}

static void run(mse_data *data, bool automatic)
{
    tenon_mse_params params = params_of(&data->problem);
    const bool backward = data->problem.backward;
    const tenon_tensor *x = &operand(data, MSE_X)->host, *t = &operand(data, MSE_T)->host,
                       *output = &data->operands[data->count - 1].host;
    data->expected = calloc((size_t)tenon_tensor_elements(output) + 1, sizeof *data->expected);
    assert_non_null(data->expected);
    assert_true(backward
                    ? tn_mse_backward_reference(
                          &params, (const tenon_tensor *const[]){x, t, dloss_of(data, true)},
                          data->expected)
                    : tn_mse_forward_reference(&params, (const tenon_tensor *const[]){x, t, output},
                                               data->expected));
    const test_subject subject = {.family = backward ? &tn_mse_backward_family : &tn_mse_family,
                                  .call = call,
                                  .describe = describe,
                                  .data = data,
                                  .operands = data->operands,
                                  .operand_count = data->count,
                                  .expected = data->expected,
                                  .judge = data->problem.judge};
    if (automatic) {
        for (uint32_t i = 0; i + 1 < data->count; i++)
            if (data->operands[i].image != NULL)
                test_upload(&data->operands[i]);
        test_run(&subject, NULL);
    } else {
        test_run_all(&subject);
    }
    for (uint32_t i = 0; i < data->count; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static void check_type(const mse_case *p, tenon_dtype dtype, test_random *random)
{
    mse_data data;
    make(&data, p, dtype, random);
    run(&data, false);
}

/* Forward and backward, on reals and on integers, where the sum and its gradient are exact. */
static void check(mse_case p, test_random *random)
{
    const int same = p.same;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 4; way++) {
            p.backward = way >= 2;
            p.judge = way % 2 == 1 ? TEST_EXACT : TEST_BOUND;
            p.sum = p.judge == TEST_EXACT || p.rank % 2 == 0;
            p.scale = p.judge == TEST_EXACT ? 2 : 0.7;
            p.same = p.backward ? same : 0;
            p.without_dloss = p.backward && p.shape[0] % 2 == 0;
            check_type(&p, *type, random);
        }
}

static void lay_out(mse_case *p, test_layout layout, bool gap)
{
    for (int i = 0; i < MSE_BACKWARD_OPERANDS; i++)
        test_strides(layout, gap, p->rank, p->shape, p->stride[i]);
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 33, 129};
    test_random random = test_random_for(1601);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t axes = 0; axes < 3; axes++) {
            mse_case p = {.rank = 2, .axes = axes, .same = (int)i % 3, .offset = (int64_t)i % 5};
            p.shape[i % 2] = sizes[i];
            p.shape[1 - i % 2] = sizes[(i + axes + 3) % 9];
            p.wide = i % 3 == 1;
            lay_out(&p, TEST_ROW, false);
            check(p, &random);
        }
}

static void every_rank(void **state)
{
    test_random random = test_random_for(1602);
    (void)state;
    for (uint32_t rank = 0; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 3; n++) {
            mse_case p = {.rank = rank, .keeps = n == 1, .same = n};
            p.axes = (uint32_t)test_between(&random, 0, (1 << rank) - 1);
            for (uint32_t d = 0; d < rank; d++)
                p.shape[d] = test_between(&random, 1, rank > 5 ? 3 : 6);
            p.loss_layout = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            for (int i = 0; i < MSE_BACKWARD_OPERANDS; i++)
                test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), n == 0, rank,
                             p.shape, p.stride[i]);
            check(p, &random);
        }
}

static void broadcast_inputs(void **state)
{
    test_random random = test_random_for(1603);
    (void)state;
    for (int mask = 1; mask < 8; mask++)
        for (int i = 0; i < 2; i++) {
            mse_case p = {.rank = 3, .axes = (uint32_t)mask, .shape = {3, 9, 20}};
            lay_out(&p, TEST_ROW, false);
            for (int d = 0; d < 3; d++)
                if ((mask >> d & 1) != 0)
                    p.stride[i][d] = 0;
            check(p, &random);
        }
}

static void special_values(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 6e4, -0.0, 1e-30};
    test_random random = test_random_for(1604);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 8; way++) {
            mse_case p = {
                .backward = way >= 4, .rank = 2, .axes = 1u << way % 2, .shape = {20, 19}};
            mse_data data;
            p.scale = 0.5;
            p.wide = true;
            lay_out(&p, TEST_ROW, false);
            make(&data, &p, *type, &random);
            for (int64_t i = 0; i < 6; i++)
                test_set(&data.operands[way / 2 % 2], i * 21, specials[i]);
            run(&data, false);
        }
}

static void large(void **state)
{
    static const int64_t shapes[][2] = {{1, 400009}, {3001, 10}, {3, 50021}, {10007, 7}};
    test_random random = test_random_for(1605);
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint32_t way = 0; way < 4; way++) {
            mse_case p = {.rank = 2, .axes = way, .backward = i % 2 == 0, .scale = 3};
            memcpy(p.shape, shapes[i], sizeof shapes[i]);
            p.sum = true;
            p.judge = way % 2 == 0 ? TEST_EXACT : TEST_BOUND;
            lay_out(&p, TEST_ROW, false);
            check_type(&p, TENON_DTYPE_F32, &random);
            p.backward = !p.backward;
            check_type(&p, TENON_DTYPE_F32, &random);
        }
}

static void random_problems(void **state)
{
    test_random random = test_random_for(1606);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            mse_case p = {.rank = (uint32_t)test_between(&random, 1, 5)};
            mse_data data;
            p.backward = test_one_in(&random, 2);
            p.sum = test_one_in(&random, 2);
            p.wide = test_one_in(&random, 2);
            p.keeps = test_one_in(&random, 2);
            p.without_dloss = p.backward && test_one_in(&random, 3);
            p.same = p.backward ? (int)test_between(&random, 0, 2) : 0;
            p.scale = test_real(&random, -2, 2);
            p.axes = (uint32_t)test_between(&random, 0, (1 << p.rank) - 1);
            p.loss_layout = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            p.offset = test_between(&random, 0, 9);
            for (uint32_t d = 0; d < p.rank; d++)
                p.shape[d] = test_between(&random, 1, test_one_in(&random, 3) ? 60 : 8);
            for (int i = 0; i < MSE_BACKWARD_OPERANDS; i++)
                test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1),
                             test_one_in(&random, 2), p.rank, p.shape, p.stride[i]);
            make(&data, &p, *type, &random);
            run(&data, true);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(every_rank),
        cmocka_unit_test(broadcast_inputs),
        cmocka_unit_test(special_values),
        cmocka_unit_test(large),
        cmocka_unit_test(random_problems),
    };
    return TEST_MAIN(tests);
}
