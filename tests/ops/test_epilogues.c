/* Tests every activation in the epilogues of GEMM and convolution. One solver of each suffices,
 * since all share the functions; other tests cover each solver's own epilogue with the cheap
 * activations. */
#include "conv_case.h"
#include "gemm_case.h"

#include <math.h>

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

/* Returns the bits of d by a solver, with a NaN and a zero in c. */
static unsigned char *bits_of(const gemm_case *p, tenon_dtype dtype, const char *solver)
{
    test_random random = test_random_for(433);
    test_fixture f;
    make_gemm(&f, p, dtype, TEST_BOUND, &random);
    if (p->c_form != FORM_NONE) {
        test_set(test_operand(&f, GEMM_C), 3, (double)NAN);
        test_set(test_operand(&f, GEMM_C), 4, -0.0);
        test_expect(&f);
    }
    assert_true(test_solver(&f, solver));
    unsigned char *bits = test_left_out() ? NULL : test_download_bits(&f.operands[GEMM_D]);
    test_release(&f);
    return bits;
}

static void compare_layouts(const gemm_case *like, tenon_dtype dtype, const char *solver)
{
    gemm_case p = *like;
    p.d = TEST_PITCH;
    unsigned char *vectors = bits_of(&p, dtype, solver);
    p.d = TEST_STRIDED;
    unsigned char *elements = bits_of(&p, dtype, solver);
    const size_t bytes = (size_t)(p.m * p.n) * tenon_dtype_size(dtype);
    if (vectors != NULL && elements != NULL && memcmp(vectors, elements, bytes) != 0)
        fail_msg("%s: other bits if d is strided: %s", solver, test_repeat(false));
    free(vectors);
    free(elements);
}

/* On CPUs complete tiles of a d with contiguous rows are finished in registers, all others element
 * by element. The bits are the same, for any number of blocks of K. */
TEST(layouts_of_d_have_the_same_bits)
{
    static const char *const solvers[] = {"gemm/cpu_direct", "gemm/cpu_packed", "gemm_packed/cpu"};
    static const int64_t depths[] = {41, 1091, 64, 2200, 0};
    static const uint32_t kinds[] = {TENON_ACTIVATION_IDENTITY, TENON_ACTIVATION_RELU,
                                     TENON_ACTIVATION_HARD_SWISH, TENON_ACTIVATION_RELU,
                                     TENON_ACTIVATION_GELU};
    static const gemm_form c_forms[] = {FORM_NONE, FORM_FULL, FORM_SAME};
    static const gemm_form bias_forms[] = {FORM_ROWS, FORM_COLUMNS, FORM_NONE, FORM_FULL};
    for (int i = 0; i < 36; i++) {
        const int solver = i % 3;
        gemm_case p = gemm_like(.m = 37, .n = 67, .k = depths[i % 5], .alpha = -0.75, .beta = 1.25,
                                .c_form = c_forms[i / 3 % 3], .bias_form = bias_forms[i / 9],
                                .activation = tn_activation_tried(kinds[(i + i / 5) % 5]),
                                .pack = solver == 2 ? IN_PANELS : NOT_PACKED);
        if (p.c_form == FORM_NONE)
            p.beta = 0;
        compare_layouts(
            &p, test_has(TENON_CAPABILITY_F64) && i % 4 == 0 ? TENON_DTYPE_F64 : TENON_DTYPE_F32,
            solvers[solver]);
    }
}
