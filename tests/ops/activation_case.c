#include "activation_case.h"

static const tenon_activation others[] = {
    {TENON_ACTIVATION_LEAKY_RELU, 0, 0.01, 0},    {TENON_ACTIVATION_LEAKY_RELU, 0, -3, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 0.5, 0},   {TENON_ACTIVATION_ELU, 0, -2.3, 0},
    {TENON_ACTIVATION_CELU, 0, 1.3, 0},           {TENON_ACTIVATION_CELU, 0, 0.1, 0},
    {TENON_ACTIVATION_HARD_SIGMOID, 0, 0.2, 0.5}, {TENON_ACTIVATION_HARD_SIGMOID, 0, -1.0 / 6, 0.3},
    {TENON_ACTIVATION_HARD_TANH, 0, 0, 6},        {TENON_ACTIVATION_HARD_TANH, 0, -1, 1.1},
};
const size_t test_activations = TN_ACTIVATION_KINDS + sizeof others / sizeof *others;

tenon_activation test_activation(size_t index)
{
    return index < TN_ACTIVATION_KINDS ? tn_activation_tried((uint32_t)index)
                                       : others[index - TN_ACTIVATION_KINDS];
}

void activation_begin(test_fixture *f, const tn_operation *operation, tenon_activation activation,
                      tenon_dtype dtype, int64_t size)
{
    test_begin(f, operation);
    test_params(f, tenon_activation_params)->activation = activation;
    for (uint32_t i = 0; i < operation->operand_count; i++)
        f->c.views[i] = test_view(dtype, TEST_ROW, false, 1, &size, 0);
    test_make(f);
}

bool test_takes_turn(uint32_t kind, tenon_dtype dtype)
{
    return !tn_activation_is_build(kind) || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F64 ||
           (dtype == TENON_DTYPE_F16) == (kind % 2 == 0);
}
