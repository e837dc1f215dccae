/*
 * Tests GEMM on emulated matrix units: every unit and type, every path into local memory, edges of
 * blocks and of K, aligned and unaligned factors, K cut into slices, and epilogues. A device's own
 * units run the same kernel in all other tests of GEMM.
 */
#include "gemm_case.h"

#include "runtime/context/context.h"

/* Sizes around blocks of two by two units and 32 steps of K, which are 64 bytes. */
static const struct {
    int64_t m, n, k, offset;
} sizes[] = {
    {65, 130, 5, 0},  {33, 72, 72, 8},  {64, 64, 64, 0}, {31, 17, 33, 3},
    {40, 48, 136, 0}, {72, 56, 100, 4}, {7, 9, 1, 0},
};

/* Runs a solver and compares with its own bound. */
static void run_solver(const gemm_case *p, tenon_dtype dtype, const char *solver,
                       test_random *random)
{
    for (int judge = TEST_BOUND; judge <= (gemm_is_exact(p) ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        make_gemm(&f, p, dtype, (test_judge)judge, random);
        f.by_solver = true;
        if (!test_solver(&f, solver))
            fail_msg("%s cannot serve: %s", solver, tenon_last_error());
        test_release(&f);
    }
}

/* Runs all sizes. Types and layouts require a build, sizes do not. */
static void run_sizes(const char *solver, tenon_dtype dtype, test_layout a, test_layout b,
                      test_random *random)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gemm_case p = gemm_like(.m = sizes[i].m, .n = sizes[i].n, .k = sizes[i].k,
                                .offset = sizes[i].offset, .a = a, .b = b);
        run_solver(&p, dtype, solver, random);
    }
}

/* Returns true if the largest blocks fit; OpenCL's minimum of local memory is too small for them.
 */
static bool has_room(void)
{
    return test_context->device.info.local_memory >= 48 << 10;
}

TEST(every_unit)
{
    static const struct {
        const char *solver;
        tenon_dtype dtype;
        test_layout a, b;
    } units[] = {
        {"gemm/mma:em1", TENON_DTYPE_F16, TEST_ROW, TEST_ROW},
        {"gemm/mma:em1", TENON_DTYPE_BF16, TEST_COL, TEST_COL},
        {"gemm/mfma:em1", TENON_DTYPE_F16, TEST_ROW, TEST_COL},
        {"gemm/wmma:em1", TENON_DTYPE_BF16, TEST_COL, TEST_ROW},
        {"gemm/wmma:em2", TENON_DTYPE_F16, TEST_ROW, TEST_ROW},
        {"gemm/xmx:em1", TENON_DTYPE_F16, TEST_ROW, TEST_COL},
        /* Directly from global memory where sizes allow it. */
        {"gemm/xmx:em1", TENON_DTYPE_BF16, TEST_ROW, TEST_ROW},
        {"gemm/xmx:em1,mb32,nb64,wm2,wn2", TENON_DTYPE_F16, TEST_ROW, TEST_ROW},
        {"gemm/xmx:em2", TENON_DTYPE_BF16, TEST_ROW, TEST_ROW},
        {"gemm/wgmma:em1", TENON_DTYPE_F16, TEST_ROW, TEST_ROW},
    };
    test_random random = test_random_for(841);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        run_sizes(units[i].solver, units[i].dtype, units[i].a, units[i].b, &random);
    if (has_room())
        run_sizes("gemm/wgmma:em1,mb128,wm2", TENON_DTYPE_BF16, TEST_COL, TEST_COL, &random);
}

/* Through registers or by asynchronous copies, with factors contiguous along K, across K, or
 * neither. */
TEST(every_way_into_local_memory)
{
    static const test_layout layouts[][2] = {
        {TEST_ROW, TEST_COL}, {TEST_COL, TEST_ROW}, {TEST_STRIDED, TEST_STRIDED}};
    test_random random = test_random_for(842);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (i > 0)
            run_sizes("gemm/mma:em1", TENON_DTYPE_F16, layouts[i][0], layouts[i][1], &random);
        run_sizes("gemm/mma:em1,st3", TENON_DTYPE_F16, layouts[i][0], layouts[i][1], &random);
    }
    run_sizes("gemm/mma:em1,st2", TENON_DTYPE_BF16, TEST_ROW, TEST_ROW, &random);
    /* Vectors of a work-item at varying distances: VECTORS_ALIGN in gemm/matrix_async.clh. */
    run_sizes("gemm/mma:em1,st2,mb64,nb256,wm2,wn2", TENON_DTYPE_F16, TEST_ROW, TEST_ROW, &random);
    run_sizes("gemm/mfma:em1,lb1", TENON_DTYPE_F16, TEST_ROW, TEST_COL, &random);
    run_sizes("gemm/wmma:em2,lb1", TENON_DTYPE_BF16, TEST_STRIDED, TEST_ROW, &random);
    if (has_room())
        run_sizes("gemm/wgmma:em1,st2,kb64", TENON_DTYPE_F16, TEST_ROW, TEST_COL, &random);
    run_sizes("gemm/wgmma:em1,st4,kb16", TENON_DTYPE_F16, TEST_STRIDED, TEST_STRIDED, &random);
    run_sizes("gemm/wgmma:em1", TENON_DTYPE_F16, TEST_COL, TEST_ROW, &random);
}

/* AMD's units multiply f32 in full precision, NVIDIA's round it to TF32 if the caller allows it. */
TEST(products_of_f32)
{
    test_random random = test_random_for(847);
    for (size_t i = 0; i < 4; i++) {
        gemm_case p = gemm_of(&simple_gemm, sizes[i].m, sizes[i].n, sizes[i].k);
        run_solver(&p, TENON_DTYPE_F32, "gemm/mfma:em1", &random);
        p.flags = TENON_GEMM_ALLOW_TF32;
        run_solver(&p, TENON_DTYPE_F32, "gemm/mma:em1", &random);
        run_solver(&p, TENON_DTYPE_F32, "gemm/mma:em1,st2", &random);
        run_solver(&p, TENON_DTYPE_F32, NULL, &random);
    }
}

/* Each combination of signs, with and without zero points; all use the same build. */
TEST(products_of_bytes)
{
    static const struct {
        const char *solver;
        test_layout a, b;
    } units[] = {
        {"gemm_int8/mma:em1", TEST_ROW, TEST_COL},  {"gemm_int8/mfma:em1", TEST_ROW, TEST_ROW},
        {"gemm_int8/wmma:em1", TEST_COL, TEST_ROW}, {"gemm_int8/wmma:em2", TEST_COL, TEST_COL},
        {"gemm_int8/xmx:em1", TEST_ROW, TEST_ROW},  {"gemm_int8/xmx:em2", TEST_COL, TEST_ROW}};
    static const tenon_dtype results[] = {TENON_DTYPE_I32, TENON_DTYPE_U8, TENON_DTYPE_F32};
    test_random random = test_random_for(848);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            gemm_case p = gemm_of(&simple_int8, sizes[s].m, sizes[s].n, sizes[s].k);
            p.a = units[i].a;
            p.b = units[i].b;
            p.offset = 2 * sizes[s].offset;
            p.a_type = s % 2 == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
            p.b_type = s / 2 % 2 == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
            p.d_type = results[(s + i) % 3];
            p.vectors = s < 2 ? 0 : ALL_VECTORS;
            run_solver(&p, p.d_type, units[i].solver, &random);
        }
}

/* Other grids of warps and depths, with vector counts that are no multiple of the work-items. */
TEST(other_blocks)
{
    static const char *const solvers[] = {
        "gemm/mma:em1,mb64,nb16,wm4,wn1,kb16",     "gemm/mma:em1,mb16,nb48,wm1,wn3,kb64,st3",
        "gemm/wmma:em2,mb48,nb32,wm3,wn1",         "gemm/xmx:em2,mb8,nb24,wm1,wn3,kb16",
        "gemm/wgmma:em1,mb128,nb256,wm1,wn1",      "gemm/mma:em1,mb16,nb48,wm1,wn3,kb64,st4",
        "gemm/mma:em1,mb16,nb64,wm1,wn4,kb64,st4", "gemm/mma:em1,mb64,nb64,wm1,wn1,st3"};
    const size_t count = sizeof solvers / sizeof *solvers - (has_room() ? 0 : 4);
    test_random random = test_random_for(843);
    for (size_t i = 0; i < count; i++)
        run_sizes(solvers[i], TENON_DTYPE_F16, i % 2 == 0 ? TEST_ROW : TEST_COL, TEST_ROW, &random);
}

/* wgmma's blocks for devices on which a work-group may use all local memory, 192 KiB, and several
 * stages of products are in flight: factors contiguous along K and across it, with more and fewer
 * steps of K than stages. */
TEST(largest_blocks)
{
    static const struct {
        const char *solver;
        tenon_dtype dtype;
        test_layout a, b;
        int64_t k;
    } cases[] = {
        {"gemm/wgmma:em1,mb128,nb256,wm2,wn1,kb64,st4", TENON_DTYPE_F16, TEST_ROW, TEST_ROW, 330},
        {"gemm/wgmma:em1,mb128,nb256,wm2,wn1,kb64,st3", TENON_DTYPE_BF16, TEST_COL, TEST_COL, 200},
        {"gemm/wgmma:em1,mb128,nb256,wm2,wn1,kb64,st4", TENON_DTYPE_F16, TEST_COL, TEST_COL, 64},
    };
    test_random random = test_random_for(849);
    if (test_context->device.info.local_memory < 192 << 10)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gemm_case p =
            gemm_like(.m = 130, .n = 264, .k = cases[i].k, .a = cases[i].a, .b = cases[i].b);
        run_solver(&p, cases[i].dtype, cases[i].solver, &random);
    }
}

TEST(slices_and_epilogues)
{
    static const char *const solvers[] = {"gemm/mma:em1,ks3", "gemm/mma:em1,ks64",
                                          "gemm/mma:em1",     "gemm/mma:em1,ks2,rs1",
                                          "gemm/xmx:em1,ks2", "gemm/wgmma:em1,ks2"};
    test_random random = test_random_for(844);
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
        for (int activation = 0; activation < (i == 0 ? GEMM_ACTIVATIONS - 1 : 2); activation++) {
            gemm_case p =
                gemm_like(.m = 37, .n = 41, .k = 523, .alpha = 2, .beta = -0.5,
                          .c_form = activation == 0 ? FORM_SAME : FORM_COLUMNS,
                          .bias_form = FORM_ROWS, .activation = gemm_activations[activation],
                          .batch_rank = 2, .gap = true, .b_once = 1,
                          .d = activation == 1 ? TEST_STRIDED : TEST_ROW);
            run_solver(&p, TENON_DTYPE_F16, solvers[i], &random);
        }
}

/* More blocks than a band contains. */
TEST(many_blocks)
{
    test_random random = test_random_for(845);
    gemm_case p = gemm_of(&simple_gemm, 331, 83, 40);
    run_solver(&p, TENON_DTYPE_F16, "gemm/mma:em1", &random);
    p.k = 0;
    p.bias_form = FORM_COLUMNS;
    run_solver(&p, TENON_DTYPE_F16, "gemm/mma:em1", &random);
    run_solver(&p, TENON_DTYPE_F16, "gemm/mma:em1,st2", &random);
}

/* The number of prefetched blocks is reduced until they fit local memory. */
TEST(little_local_memory)
{
    static const char *const lines[] = {"gemm/wgmma:em1 a=f16:65x72 b=f16:72x130 d=f16:65x130",
                                        NULL};
    assert_int_equal(test_with_local_memory(32 << 10, lines), 1);
}

#define F32 "a=f32:13x37 b=f32:37x41 d=f32:13x41"
#define F16 "a=f16:13x37 b=f16:37x41 d=f16:13x41"

TEST(what_cannot_be_served)
{
    static const test_refusal refusals[] = {
        {"gemm/mma:em1 " F32, "would round it", TENON_ERROR_UNSUPPORTED},
        {"gemm/mma:em1 " F16 " flags=1", "batch-invariant", TENON_ERROR_UNSUPPORTED},
        {"gemm/mma:em1,mb24 " F16, "unit's rows"},
        {"gemm/mma:em1,kb8 " F16, "unit's depth"},
        {"gemm/wgmma:em1,st1 " F16, "at least 2"},
        {"gemm/wgmma:em1,kb128 " F16, "32, 64 or 128 bytes"},
        {"gemm/wmma:em1,st2 " F16, "cp.async"},
    };
    static const test_refusal of_cpus[] = {
        {"gemm/mma " F16, "no such matrix units", TENON_ERROR_UNSUPPORTED}};
    static const test_refusal without_wgmma[] = {
        {"gemm/wgmma " F16, "no such matrix units", TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
    if (test_context->device.is_cpu)
        TEST_REFUSE(of_cpus);
    if (!tn_context_has(test_context, TENON_CAPABILITY_NVIDIA_WGMMA))
        TEST_REFUSE(without_wgmma);
}
