/* Every activation in the epilogues of GEMM and of convolution: a solver of each, since all share
 * the functions. The solvers' own epilogues have their tests with the cheap kinds. */
#include "conv_case.h"
#include "gemm_case.h"

static const tenon_activation activations[] = {
    {TENON_ACTIVATION_HARD_SIGMOID, 0, 0.2, 0.5},
    {TENON_ACTIVATION_HARD_SWISH, 0, 0, 0},
    {TENON_ACTIVATION_HARD_TANH, 0, -1, 1.1},
    {TENON_ACTIVATION_SOFTSIGN, 0, 0, 0},
    {TENON_ACTIVATION_ABS, 0, 0, 0},
    {TENON_ACTIVATION_SQUARE, 0, 0, 0},
    {TENON_ACTIVATION_SIGMOID, 0, 0, 0},
    {TENON_ACTIVATION_TANH, 0, 0, 0},
    {TENON_ACTIVATION_ELU, 0, -2.3, 0},
    {TENON_ACTIVATION_SELU, 0, 0, 0},
    {TENON_ACTIVATION_CELU, 0, 1.3, 0},
    {TENON_ACTIVATION_GELU, 0, 0, 0},
    {TENON_ACTIVATION_GELU_TANH, 0, 0, 0},
    {TENON_ACTIVATION_SILU, 0, 0, 0},
    {TENON_ACTIVATION_MISH, 0, 0, 0},
    {TENON_ACTIVATION_SOFTPLUS, 0, 0, 0},
    {TENON_ACTIVATION_EXP, 0, 0, 0},
};
#define ACTIVATIONS (sizeof activations / sizeof *activations)

TEST(gemm)
{
    test_random random = test_random_for(431);
    for (size_t i = 0; i < ACTIVATIONS; i++) {
        gemm_case p = simple_gemm;
        test_fixture f;
        p.activation = activations[i];
        p.bias_form = FORM_COLUMNS;
        make_gemm(&f, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        assert_true(test_solver(&f, "gemm/plain"));
        if (i % 4 == 0) /* with vectors; on CPUs alone */
            test_solver(&f, "gemm/cpu_direct");
        test_release(&f);
    }
}

TEST(conv)
{
    static const char *const solvers[] = {"direct", NULL};
    test_random random = test_random_for(432);
    for (size_t i = 0; i < ACTIVATIONS; i++) {
        conv_case p = simple_conv;
        test_fixture f;
        p.activation = activations[i];
        p.bias = true;
        conv_make(&f, FORWARD, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        test_finish_by(&f, solvers);
    }
}
