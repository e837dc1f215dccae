#include "optimizer_case.h"

void optimizer_begin(test_fixture *f, const tn_operation *operation, const void *params,
                     tenon_dtype dtype, int way)
{
    const tenon_dtype state = tn_state_dtype(dtype);
    const uint32_t master = operation->operand_count - 1;
    const bool has_state = operation == &tn_operation_adam || (way & WITH_VELOCITY) != 0;
    const bool has_master = (way & WITH_MASTER) != 0 && dtype != state;
    tenon_dtype types[TN_MAX_OPERANDS] = {(way & WIDE_GRADIENT) != 0 ? state : dtype, dtype};
    for (uint32_t i = OPTIMIZER_PARAMETER + 1; i < master; i++)
        types[i] = has_state ? state : TENON_DTYPE_INVALID;
    types[master] = has_master ? state : TENON_DTYPE_INVALID;
    lines_begin(f, operation, params, types);
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

void optimizer_lay(test_fixture *f, test_random *random, int number)
{
    const int64_t shape[] = {3, number % 2 == 0 ? 7 : 41, number % 3 == 0 ? 5 : 37};
    lines_lay(f, 3, shape, TEST_ROW, false, 0);
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), number % 4 < 2, 3,
                     shape, f->c.views[i].stride);
    if (number % 5 == 4)
        f->c.views[OPTIMIZER_GRADIENT].stride[number % 3] = 0;
}
