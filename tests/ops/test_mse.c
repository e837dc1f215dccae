/* Tests tenon_mse_forward and _backward against their references: any axes and strides, in place,
 * special values, large tensors. */
#include "fixture.h"

#include "ops/loss/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct mse_case {
    bool backward, sum, wide, keeps, without_dloss;
    int same; /* backward: 1 + the operand that is dx, or 0 */
    double scale;
    uint32_t rank, axes; /* bit mask of axes; 0 for all */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[MSE_BACKWARD_OPERANDS][TENON_MAX_RANK]; /* the loss has loss_layout instead */
    test_layout loss_layout;
    int64_t offset;
    test_judge judge;
} mse_case;

static void begin(test_fixture *f, const mse_case *p, tenon_dtype dtype)
{
    const bool wide = p->wide && !p->backward && tenon_dtype_size(dtype) == 2;
    int64_t shape[TENON_MAX_RANK];
    uint32_t rank = 0;
    test_begin(f, p->backward ? &tn_operation_mse_backward : &tn_operation_mse);
    tenon_mse_params *params = test_params(f, tenon_mse_params);
    params->flags = p->sum ? 0 : TENON_MSE_MEAN;
    params->scale = p->scale;
    for (uint32_t d = 0; d < p->rank; d++) {
        const bool reduced = p->axes == 0 || (p->axes >> d & 1) != 0;
        if ((p->axes >> d & 1) != 0)
            params->axes[params->axis_count++] = (int32_t)d - (int32_t)p->rank;
        if (!reduced || p->keeps)
            shape[rank++] = reduced ? 1 : p->shape[d];
    }
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        f->c.views[i] = test_view(dtype, TEST_ROW, false, p->rank, p->shape, p->offset);
        memcpy(f->c.views[i].stride, p->stride[i], sizeof p->stride[i]);
    }
    f->c.views[MSE_LOSS] = test_view(p->without_dloss ? TENON_DTYPE_INVALID
                                     : wide           ? TENON_DTYPE_F32
                                                      : dtype,
                                     p->loss_layout, false, rank, shape, p->offset);
    if (p->same != 0)
        f->c.same[p->same - 1] = 1 + MSE_DX;
}

static void check_type(const mse_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_run_fixture(&f, p->judge, TEST_ALL, random);
}

/* Checks forward and backward, on reals and on integers, for which both are exact. */
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

TEST(sizes_around_vectors)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 33, 129};
    test_random random = test_random_for(1601);
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

TEST(every_rank)
{
    test_random random = test_random_for(1602);
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

TEST(broadcast_inputs)
{
    test_random random = test_random_for(1603);
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

TEST(special_values)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 6e4, -0.0, 1e-30};
    test_random random = test_random_for(1604);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 8; way++) {
            mse_case p = {
                .backward = way >= 4, .rank = 2, .axes = 1u << way % 2, .shape = {20, 19}};
            test_fixture f;
            p.scale = 0.5;
            p.wide = true;
            lay_out(&p, TEST_ROW, false);
            begin(&f, &p, *type);
            test_make(&f);
            test_fill_inputs(&f, TEST_BOUND, &random);
            for (int64_t i = 0; i < 6; i++)
                test_set(&f.operands[way / 2 % 2], i * 21, specials[i]);
            test_finish(&f, TEST_ALL);
        }
}

TEST(large)
{
    static const int64_t shapes[][2] = {{1, 400009}, {3001, 10}, {3, 50021}, {10007, 7}};
    test_random random = test_random_for(1605);
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

TEST(random_problems)
{
    test_random random = test_random_for(1606);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            mse_case p = {.rank = (uint32_t)test_between(&random, 1, 5)};
            test_fixture f;
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
            begin(&f, &p, *type);
            test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
        }
}
