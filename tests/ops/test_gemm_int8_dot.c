/*
 * gemm_int8/cpu_dot: its groups of steps in plain OpenCL C, each instruction that the processor
 * has, in vectors of every width, and processors that lack instructions.
 */
#include "gemm_case.h"
#include "instructions.h"
#include "runtime.h"
#include "runtime/context/context.h"
#include "runtime/probe/capability_trials.h"

/* Layouts, types, and sizes on either side of vectors, tiles and blocks of 64 steps. */
static const struct shape {
    int64_t m, n, k;
    test_layout a, b;
    int pair; /* bit 0: a is u8; bit 1: b is u8 */
    uint32_t vectors, many;
    bool batched;
} shapes[] = {
    {13, 37, 41, TEST_ROW, TEST_ROW, 0, 0, 0, false},
    {7, 65, 64, TEST_ROW, TEST_COL, 1, ALL_VECTORS, 0, false},
    {49, 17, 131, TEST_COL, TEST_ROW, 2, ALL_VECTORS, ALL_VECTORS, false},
    {51, 130, 259, TEST_COL, TEST_COL, 3, ALL_VECTORS, ALL_VECTORS, false},
    {18, 33, 66, TEST_STRIDED, TEST_STRIDED, 0, ALL_VECTORS, 0, true},
    {3, 16, 1, TEST_ROW, TEST_COL, 3, 0, 0, false},
    {2, 64, 200, TEST_STRIDED, TEST_COL, 1, 0, 0, true},
    {5, 3, 0, TEST_ROW, TEST_ROW, 3, ALL_VECTORS, 0, false},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static gemm_case case_of(const struct shape *s, size_t number)
{
    gemm_case p = gemm_of(&simple_int8, s->m, s->n, s->k);
    p.a = s->a;
    p.b = s->b;
    p.a_type = (s->pair & 1) != 0 ? TENON_DTYPE_U8 : TENON_DTYPE_I8;
    p.b_type = (s->pair & 2) != 0 ? TENON_DTYPE_U8 : TENON_DTYPE_I8;
    p.d_type = int8_results[number % INT8_RESULTS];
    p.vectors = s->vectors;
    p.many = s->many;
    p.batch_rank = s->batched ? 1 : 0;
    p.offset = (int64_t)number;
    p.bias_form = number % 2 == 0 ? FORM_COLUMNS : FORM_NONE;
    return p;
}

/* Runs a solver on every shape, with random bytes and with small integers. */
static void run_shapes(const char *solver, test_random *random)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (int exact = 0; exact < 2; exact++) {
            const gemm_case p = case_of(&shapes[i], i);
            test_fixture f;
            make_gemm(&f, &p, p.d_type, exact != 0 ? TEST_EXACT : TEST_BOUND, random);
            test_expect(&f);
            assert_true(test_solver(&f, solver));
            test_release(&f);
        }
}

TEST(plain_groups)
{
    static const char *const solvers[] = {
        "gemm_int8/cpu_dot:gs2,kc64,mr3,nr16,np2", "gemm_int8/cpu_dot:gs4,kc64,mr3,nr16,np2",
        "gemm_int8/cpu_dot:gs4,kc128,mr1,nr16,np1", "gemm_int8/cpu_dot:gs2,kc64,mr2,nr32,np1"};
    test_random random = test_random_for(1231);
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
        run_shapes(solvers[i], &random);
}

static void run_with_instruction(test_random *random)
{
    run_shapes("gemm_int8/cpu_dot:kc64", random);
}

TEST(each_instruction)
{
    test_random random = test_random_for(1232);
    test_each_instruction(run_with_instruction, &random);
}

/* The largest sums of products: extremes of both types, with K beyond a block. */
TEST(extremes)
{
    static const double values[][2] = {{-128, 127}, {0, 255}};
    test_random random = test_random_for(1233);
    for (int pair = 0; pair < 4; pair++)
        for (int choice = 0; choice < 4; choice++) {
            gemm_case p = gemm_of(&simple_int8, 7, 19, 3001);
            test_fixture f;
            p.a_type = pair % 2 != 0 ? TENON_DTYPE_U8 : TENON_DTYPE_I8;
            p.b_type = pair / 2 != 0 ? TENON_DTYPE_U8 : TENON_DTYPE_I8;
            p.d_type = TENON_DTYPE_I32;
            p.vectors = 0;
            make_gemm(&f, &p, p.d_type, TEST_EXACT, &random);
            test_fill_value(&f.operands[GEMM_A], values[pair % 2][choice % 2]);
            test_fill_value(&f.operands[GEMM_B], values[pair / 2][choice / 2]);
            test_expect(&f);
            assert_true(test_solver(&f, "gemm_int8/cpu_dot:gs4"));
            assert_true(test_solver(&f, "gemm_int8/cpu_dot:gs2"));
            if (tn_context_has(test_context, TENON_CAPABILITY_X86_DOT))
                assert_true(test_solver(&f, "gemm_int8/cpu_dot"));
            test_release(&f);
        }
}

/* A processor without the instructions neither tries them nor gets the solver. */
TEST(processor_without_instructions)
{
    test_random random = test_random_for(1234);
    const gemm_case p = gemm_of(&simple_int8, 128, 128, 128);
    char name[TN_SOLVER_NAME_SIZE];
    uint32_t available;
    char reason[256];
    test_fixture f;
    test_begin_processor("sse2 sse4_2 avx avx512f avx512_vnn avx512_vnni_ AVX2", 0);
    assert_ok(tenon_context_capability(test_context, TENON_CAPABILITY_X86_DOT, &available, reason,
                                       sizeof reason));
    assert_int_equal(available, 0);
    if (test_context->device.is_host && !test_context->device.miscompiles_at_random)
        assert_string_equal(reason, "the processor does not have the instructions");
    make_gemm(&f, &p, p.d_type, TEST_BOUND, &random);
    test_expect(&f);
    assert_false(test_solver(&f, "gemm_int8/cpu_dot"));
    assert_non_null(strstr(tenon_last_error(), "no instruction that adds products"));
    test_name_solver(&f, NULL, name);
    assert_null(strstr(name, "cpu_dot"));
    assert_true(test_solver(&f, NULL));
    test_release(&f);
    test_end_processor();
}

/* On a processor with VNNI it is selected for a product without other advantages. */
TEST(processor_with_vnni)
{
    test_random random = test_random_for(1235);
    const gemm_case p = gemm_of(&simple_int8, 256, 256, 256);
    char name[TN_SOLVER_NAME_SIZE];
    test_fixture f;
    if (tn_capability_form(test_context, TENON_CAPABILITY_X86_DOT) != 0)
        skip();
    make_gemm(&f, &p, p.d_type, TEST_BOUND, &random);
    test_name_solver(&f, NULL, name);
    assert_non_null(strstr(name, "gemm_int8/cpu_dot"));
    test_release(&f);
}

/* The instructions of another host's processor are not known. */
TEST(device_of_another_host)
{
    tenon_context *other = test_new_context(NULL);
    other->device.is_host = false;
    other->capabilities.processor_features = "avx512_vnni avx512vl avx512bw avx_vnni avx2";
    assert_false(tn_context_has(other, TENON_CAPABILITY_X86_DOT));
    tenon_context_release(other);
}
