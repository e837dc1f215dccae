/* Tests every activation in the epilogues of GEMM and convolution. One solver of each suffices,
 * since all share the functions; other tests cover each solver's own epilogue with the cheap
 * activations. */
#include "conv_case.h"
#include "gemm_case.h"

TEST(gemm)
{
    test_random random = test_random_for(431);
    for (uint32_t kind = 0; kind < TN_ACTIVATION_KINDS; kind++) {
        test_fixture f;
        gemm_case p = gemm_like(.activation = tn_activation_tried(kind), .bias_form = FORM_COLUMNS);
        make_gemm(&f, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        assert_true(test_solver(&f, "gemm/plain"));
        if (kind % 4 == 0) /* the vector functions; only on CPUs */
            test_solver(&f, "gemm/cpu_direct");
        test_release(&f);
    }
}

TEST(conv)
{
    static const char *const solvers[] = {"direct", NULL};
    test_random random = test_random_for(432);
    for (uint32_t kind = 0; kind < TN_ACTIVATION_KINDS; kind++) {
        test_fixture f;
        conv_case p = conv_like(.activation = tn_activation_tried(kind), .bias = true);
        conv_make(&f, FORWARD, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        test_finish_by(&f, solvers);
    }
}
