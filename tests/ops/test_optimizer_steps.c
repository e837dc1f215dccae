/* Tests tenon_sgd and tenon_adam over many steps: each from the results of the previous one,
 * against the formulas of the papers, and with master copies. */
#include "optimizer_case.h"

#include "base/dtype.h"

#include <math.h>

/* Downloads an operand into its image, as the input of the next step. */
static void take_over(test_tensor *tensor)
{
    double *values = test_download(tensor);
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i, values[i]);
    free(values);
}

/* Makes a call without comparing its results. */
static void step_once(test_fixture *f)
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {0};
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->operands[i].image != NULL)
            views[i] = &f->operands[i].view;
    assert_ok(test_call_views(f->c.operation, &f->c.params, views));
}

static void upload(const test_fixture *f)
{
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->operands[i].image != NULL)
            test_upload(&f->operands[i]);
}

/* Makes six steps, each from the device's results of the previous one. */
static void walk(test_fixture *f, void (*next)(test_fixture *f), test_random *random)
{
    char why[256];
    for (int step = 0; step < 6; step++, next(f)) {
        test_fill_reals(&f->operands[OPTIMIZER_GRADIENT], random);
        test_expect(f);
        upload(f);
        step_once(f);
        const tn_bounded *part = f->expected;
        for (uint32_t i = OPTIMIZER_PARAMETER; i < f->c.operation->operand_count; i++) {
            test_tensor *operand = &f->operands[i];
            if (operand->image == NULL)
                continue;
            if (!test_result(operand, part, TEST_BOUND, why))
                fail_msg("step %d, operand %u: %s", step, i, why);
            part += tenon_tensor_elements(&operand->view);
            take_over(operand);
        }
    }
    test_release(f);
}

static void next_sgd(test_fixture *f)
{
    test_params(f, tenon_sgd_params)->flags &= ~TENON_SGD_FIRST;
}

static void next_adam(test_fixture *f)
{
    test_params(f, tenon_adam_params)->step++;
}

/* Prepares a step. */
static void make(test_fixture *f, const tn_operation *operation, const void *params,
                 tenon_dtype dtype, int way, test_random *random)
{
    optimizer_begin(f, operation, params, dtype, way);
    optimizer_lay(f, random, 1);
    test_make(f);
    test_fill_inputs(f, TEST_BOUND, random);
}

TEST(many_steps)
{
    test_random random = test_random_for(927);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int way = 1; way < WAYS; way += 2) {
            tenon_sgd_params sgd = optimizer_draw_sgd(&random, way);
            tenon_adam_params adam = optimizer_draw_adam(&random);
            test_fixture f;
            sgd.flags |= TENON_SGD_FIRST;
            adam.step = 1;
            make(&f, &tn_operation_sgd, &sgd, *type, way, &random);
            test_fill_poison(&f.operands[SGD_VELOCITY]); /* the first step must not read it */
            walk(&f, next_sgd, &random);
            make(&f, &tn_operation_adam, &adam, *type, way, &random);
            test_fill_value(&f.operands[ADAM_FIRST], 0);
            test_fill_value(&f.operands[ADAM_SECOND], 0);
            walk(&f, next_adam, &random);
        }
}

/* Minimizes (p - 3)² / 2 by the formulas of the papers, with bias-corrected moments. */
static double by_the_paper(bool adam, bool decoupled, double decay, int steps)
{
    double p = 1, m = 0, v = 0;
    for (int t = 1; t <= steps; t++) {
        double g = p - 3 + (decoupled ? 0 : decay * p);
        if (!adam) {
            m = t == 1 ? g : 0.9 * m + g;
            p -= 0.1 * (g + 0.9 * m);
            continue;
        }
        m = 0.9 * m + 0.1 * g;
        v = 0.99 * v + 0.01 * g * g;
        double m_hat = m / (1 - pow(0.9, t)), v_hat = v / (1 - pow(0.99, t));
        p = p - 0.1 * m_hat / (sqrt(v_hat) + 1e-8) - (decoupled ? 0.1 * decay * p : 0);
    }
    return p;
}

/* Does the same on the device, with tensors of one element. */
static double by_the_device(tenon_dtype dtype, bool adam, bool decoupled, double decay, int steps)
{
    tenon_sgd_params sgd = TENON_SGD_PARAMS_INIT;
    tenon_adam_params moments = TENON_ADAM_PARAMS_INIT;
    tenon_tensor t[4]; /* gradient, parameter, state */
    unsigned char element[8];
    const size_t size = tenon_dtype_size(dtype);
    double p = 1;
    sgd.learning_rate = moments.learning_rate = 0.1;
    sgd.momentum = 0.9;
    sgd.weight_decay = moments.weight_decay = decay;
    moments.beta2 = 0.99;
    moments.flags = decoupled ? TENON_ADAM_DECOUPLED : 0;
    for (int i = 0; i < 4; i++) {
        t[i] = test_dense(dtype, 0, NULL, NULL);
        assert_ok(tenon_tensor_fill(test_stream, &t[i], i == 1 ? 1 : 0, NULL));
    }
    for (int n = 1; n <= steps; n++) {
        assert_ok(tenon_tensor_fill(test_stream, &t[0], p - 3, NULL));
        sgd.flags = TENON_SGD_NESTEROV | (n == 1 ? TENON_SGD_FIRST : 0);
        moments.step = (uint64_t)n;
        assert_ok(adam ? tenon_adam(test_stream, &moments, &t[0], &t[1], &t[2], &t[3], NULL, NULL)
                       : tenon_sgd(test_stream, &sgd, &t[0], &t[1], &t[2], NULL, NULL));
        assert_ok(tenon_tensor_download(test_stream, &t[1], element, size, NULL));
        p = tn_dtype_load(dtype, element);
    }
    for (int i = 0; i < 4; i++)
        tenon_memory_destroy(&t[i].memory);
    return p;
}

/* A step rounds about thirty times, and errors decay in later steps. */
TEST(trajectories)
{
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
        if (*type != TENON_DTYPE_F32 && *type != TENON_DTYPE_F64)
            continue;
        for (int way = 0; way < 6; way++) {
            const bool adam = way % 3 != 0, decoupled = way % 3 == 2;
            const double decay = way < 3 ? 0 : 0.01;
            double want = by_the_paper(adam, decoupled, decay, 20);
            double got = by_the_device(*type, adam, decoupled, decay, 20);
            if (!(fabs(got - want) <= 20 * 30 * tn_roundoff(*type) * 4))
                fail_msg("%s, way %d: %.17g, must be %.17g", tenon_dtype_string(*type), way, got,
                         want);
        }
    }
}

/* The parameter is the rounded master, bit for bit; the master changes even if the parameter does
 * not. */
TEST(parameter_is_the_rounded_master)
{
    test_random random = test_random_for(928);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
        test_fixture f;
        if (tn_state_dtype(*type) == *type)
            continue;
        tenon_sgd_params params = tenon_sgd_params(.learning_rate = 1e-6);
        make(&f, &tn_operation_sgd, &params, *type, WITH_MASTER, &random);
        upload(&f);
        for (int step = 0; step < 3; step++)
            step_once(&f);
        double *parameter = test_download(&f.operands[SGD_PARAMETER]);
        double *master = test_download(&f.operands[SGD_MASTER]);
        int moved = 0;
        for (int64_t i = 0; i < tenon_tensor_elements(&f.operands[SGD_MASTER].view); i++) {
            unsigned char element[8];
            tn_dtype_store(*type, element, master[i]);
            assert_true(tn_dtype_load(*type, element) == parameter[i]);
            moved += master[i] != test_get(&f.operands[SGD_MASTER], i);
        }
        assert_true(moved > 0);
        free(parameter);
        free(master);
        test_release(&f);
    }
}
