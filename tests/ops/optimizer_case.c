#include "optimizer_case.h"
#include "ops/registry.h"

#include <math.h>

static void describe_sgd(const void *user, char *text, size_t size)
{
    const tenon_sgd_params *p = user;
    snprintf(text, size, "flags %u, rate %.17g, momentum %.17g, dampening %.17g, decay %.17g",
             p->flags, p->learning_rate, p->momentum, p->dampening, p->weight_decay);
}

static void describe_adam(const void *user, char *text, size_t size)
{
    const tenon_adam_params *p = user;
    snprintf(text, size,
             "flags %u, rate %.17g, beta %.17g %.17g, epsilon %g, decay %.17g, step %llu", p->flags,
             p->learning_rate, p->beta1, p->beta2, p->epsilon, p->weight_decay,
             (unsigned long long)p->step);
}

lines_case optimizer_sgd(const tenon_sgd_params *params, tenon_dtype dtype, int way)
{
    const tenon_dtype state = tn_state_dtype(dtype);
    const bool master = (way & WITH_MASTER) != 0 && dtype != state;
    return (lines_case){.of = &tn_operation_sgd,
                        .dtype = {(way & WIDE_GRADIENT) != 0 ? state : dtype, dtype,
                                  (way & WITH_VELOCITY) != 0 ? state : TENON_DTYPE_INVALID,
                                  master ? state : TENON_DTYPE_INVALID},
                        .params = params,
                        .describe = describe_sgd};
}

lines_case optimizer_adam(const tenon_adam_params *params, tenon_dtype dtype, int way)
{
    const tenon_dtype state = tn_state_dtype(dtype);
    const bool master = (way & WITH_MASTER) != 0 && dtype != state;
    return (lines_case){.of = &tn_operation_adam,
                        .dtype = {(way & WIDE_GRADIENT) != 0 ? state : dtype, dtype, state, state,
                                  master ? state : TENON_DTYPE_INVALID},
                        .params = params,
                        .describe = describe_adam};
}

tenon_sgd_params optimizer_draw_sgd(test_random *random, int way)
{
    tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
    params.flags = (uint32_t)test_between(random, 0, 7);
    params.learning_rate = test_real(random, 0, 1);
    params.momentum = (way & WITH_VELOCITY) != 0 ? test_real(random, 0, 1) : 0;
    params.dampening = test_one_in(random, 2) ? 0 : test_real(random, 0, 1);
    params.weight_decay = test_one_in(random, 2) ? 0 : test_real(random, 0, 0.1);
    return params;
}

tenon_adam_params optimizer_draw_adam(test_random *random)
{
    tenon_adam_params params = TENON_ADAM_PARAMS_INIT;
    params.flags = (uint32_t)test_between(random, 0, 3);
    params.learning_rate = test_real(random, 0, 0.1);
    params.beta1 = test_real(random, 0, 1);
    params.beta2 = test_real(random, 0, 1);
    params.epsilon = test_one_in(random, 2) ? 1e-8 : test_real(random, 0, 1e-3);
    params.weight_decay = test_one_in(random, 2) ? 0 : test_real(random, 0, 0.1);
    params.step = (uint64_t)test_between(random, 1, test_one_in(random, 2) ? 10 : 100000);
    return params;
}

void optimizer_fill(lines_run *run, test_judge judge, test_random *random)
{
    for (uint32_t i = 0; i < run->problem.of->operand_count; i++) {
        test_tensor *operand = &run->operands[i];
        if (operand->image == NULL)
            continue;
        test_fill(operand, judge, random);
        if (run->problem.of != &tn_operation_adam || i != ADAM_SECOND)
            continue;
        for (int64_t e = 0; e < tenon_tensor_elements(&operand->view); e++)
            test_set(operand, e, fabs(test_get(operand, e)));
    }
}

void optimizer_lay(lines_case *p, test_random *random, int number)
{
    p->rank = 3;
    p->shape[0] = 3;
    p->shape[1] = number % 2 == 0 ? 7 : 41;
    p->shape[2] = number % 3 == 0 ? 5 : 37;
    for (uint32_t i = 0; i < p->of->operand_count; i++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), number % 4 < 2, 3,
                     p->shape, p->stride[i]);
    if (number % 5 == 4)
        p->stride[OPTIMIZER_GRADIENT][number % 3] = 0;
}
