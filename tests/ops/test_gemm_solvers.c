/*
 * Tests GEMM's solvers on the problems that they are made for: K cut into slices, thin factors,
 * CLBlast; and batches in which every operand repeats along any dimension.
 */
#include "gemm_case.h"

#include "runtime/context/context.h"

/* K around the edges of slices, with small and batched d, by the automatic choice and all solvers.
 */
TEST(long_sums)
{
    static const int64_t depths[] = {63, 64, 65, 127, 512, 1000, 4099};
    test_random random = test_random_for(821);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        gemm_case p = gemm_of(&simple_gemm, 5 + (int64_t)i, i % 2 == 0 ? 35 : 6, depths[i]);
        p.a = p.b = i % 3 == 0 ? TEST_COL : TEST_ROW; /* each pair requires a build */
        p.offset = (int64_t)i;
        p.bias_form = FORM_COLUMNS;
        p.batch_rank = (uint32_t)(i % 3);
        p.gap = true;
        p.b_once = i == 4 ? 1 : 0;
        if (i % 3 == 0)
            check_gemm(&p, &random);
        else
            check_gemm_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Any number of slices gives the correct result, with an epilogue. */
TEST(slices_by_name)
{
    static const char *const names[] = {
        "cpu_split_k:ks2", "cpu_split_k:ks7,pb1", "cpu_split_k:ks7,pb2", "cpu_split_k:ks64,pb2",
        "split_k:ks2",     "split_k:ks13",        "split_k:ks64",        NULL};
    test_random random = test_random_for(822);
    gemm_case p =
        gemm_like(.m = 9, .n = 75, .k = 1003, .batch_rank = 1, .alpha = 2, .beta = -0.5,
                  .c_form = FORM_SAME, .bias_form = FORM_ROWS, .activation = gemm_activations[1]);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            test_fixture f;
            make_gemm(&f, &p, *type, (test_judge)judge, &random);
            test_finish_by(&f, names);
        }
}

/* Either factor thin, in both layouts of the other, around the edges of strips, tiles and blocks.
 */
TEST(thin_factors)
{
    static const int64_t thin[] = {2, 3, 4, 5, 8, 9, 16};
    static const int64_t wide[] = {95, 96, 97, 131, 513, 2049, 31};
    static const int64_t depths[] = {8, 17, 1, 63, 65, 130, 1025};
    test_random random = test_random_for(823);
    for (size_t i = 0; i < sizeof thin / sizeof *thin; i++)
        for (int side = 0; side < 2; side++) {
            gemm_case p = side == 0 ? gemm_of(&simple_gemm, thin[i], wide[i], depths[i])
                                    : gemm_of(&simple_gemm, wide[i], thin[i], depths[i]);
            p.a = p.b = i % 2 == 0 ? TEST_PITCH : TEST_COL;
            p.d = i == 3 ? TEST_STRIDED : TEST_ROW;
            p.bias_form = FORM_FULL;
            p.c_form = FORM_SAME;
            p.beta = 0.5;
            p.batch_rank = (uint32_t)(i % 2);
            if (i == 1 || i == 4)
                check_gemm(&p, &random);
            else
                check_gemm_typed(&p, TENON_DTYPE_F32, &random);
        }
}

/* Tiles of GPUs, with vector loads: around the edges of blocks of K and of d, with aligned factors
 * and factors that end within a vector, in each pair of layouts. */
TEST(tiles_by_name)
{
    static const char *const names[] = {"tiled:mb32,nb64,kb8,mr8,nr8,vw4,lb2",
                                        "tiled:mb32,nb32,kb16,mr4,nr2,vw2,lb1", NULL};
    static const test_layout layouts[][2] = {
        {TEST_ROW, TEST_ROW}, {TEST_ROW, TEST_COL}, {TEST_COL, TEST_ROW}, {TEST_COL, TEST_COL}};
    static const int64_t sizes[][3] = {{32, 64, 16}, {36, 68, 20}, {33, 65, 17}, {64, 128, 8}};
    test_random random = test_random_for(829);
    for (size_t i = 0; i < 16; i++) {
        const int64_t *size = sizes[i / 4];
        test_fixture f;
        gemm_case p = gemm_like(.m = size[0], .n = size[1], .k = size[2], .a = layouts[i % 4][0],
                                .b = layouts[i % 4][1], .offset = i % 4 == 1 ? 1 : 0,
                                .batch_rank = i % 3 == 0);
        make_gemm(&f, &p, TENON_DTYPE_F32, i % 2 == 0 ? TEST_EXACT : TEST_BOUND, &random);
        test_finish_by(&f, names);
    }
}

/* Widths for which devices with 16 lanes use tiles of three vectors, and heights around these
 * tiles. */
TEST(tiles_of_three_vectors)
{
    static const int64_t cols[] = {33, 47, 48, 129, 144}, rows[] = {7, 8, 9, 17, 1};
    test_random random = test_random_for(827);
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++) {
        gemm_case p =
            gemm_like(.m = rows[i], .n = cols[i], .k = 385 + (int64_t)i, .offset = (int64_t)i,
                      .bias_form = i % 2 == 0 ? FORM_NONE : FORM_COLUMNS);
        if (i == 0)
            check_gemm(&p, &random);
        else
            check_gemm_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Runs every solver in a context whose device reports shorter vectors. */
static void check_width(uint32_t lanes, test_random *random)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_BF16};
    tenon_stream *usual = test_stream;
    tenon_context *context;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &info));
    assert_ok(tenon_context_import(tenon_context_cl(test_context), info.device, NULL, &context));
    context->device.info.vector_width_f32 = lanes;
    test_stream = test_new_stream(context);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        gemm_case p = gemm_of(&simple_gemm, 13, 4 * (int64_t)lanes + 3, 391);
        p.a = p.b = i == 1 ? TEST_COL : TEST_ROW;
        check_gemm_typed(&p, types[i], random);
    }
    tenon_stream_destroy(test_stream);
    tenon_context_release(context);
    test_stream = usual;
}

TEST(narrow_vectors)
{
    test_random random = test_random_for(828);
    for (uint32_t lanes = 8; lanes >= 4; lanes /= 2)
        check_width(lanes, &random);
}

TEST(every_operand_repeats_in_any_dimension)
{
    test_random random = test_random_for(824);
    for (uint32_t once = 0; once < 64; once++) {
        gemm_case p = gemm_like(.m = 3, .n = 5, .k = 4, .beta = 1, .batch_rank = 3,
                                .a_once = once & 7, .b_once = once >> 3,
                                .c_once = (once * 5 + 1) & 7, .bias_once = (once * 3 + 2) >> 1 & 7,
                                .c_form = FORM_FULL, .bias_form = FORM_FULL, .gap = once % 2 != 0);
        check_gemm_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Draws shapes for which these solvers are chosen: one short side, or a long K. */
static gemm_case random_case(test_random *random)
{
    static const int64_t most[][3] = {{16, 300, 300}, {300, 16, 300}, {40, 40, 3000}};
    const int64_t *size = most[test_between(random, 0, 2)];
    gemm_case p = {.m = test_between(random, 1, size[0]),
                   .n = test_between(random, 1, size[1]),
                   .k = test_between(random, 1, size[2]),
                   .a = test_one_in(random, 2) ? TEST_PITCH : TEST_COL,
                   .c = (test_layout)test_between(random, 0, TEST_STRIDED),
                   .d = (test_layout)test_between(random, 0, TEST_STRIDED),
                   .gap = test_one_in(random, 2),
                   .offset = test_between(random, 0, 9),
                   .c_form = (gemm_form)test_between(random, 0, FORMS - 1),
                   .bias_form = (gemm_form)test_between(random, 0, FORM_SCALAR),
                   .alpha = test_real(random, -2, 2)};
    p.b = p.a;
    p.beta = p.c_form == FORM_NONE ? 0 : 0.5;
    p.batch_rank = (uint32_t)test_between(random, 0, 2);
    p.batch[0] = test_between(random, 1, 2);
    p.batch[1] = test_between(random, 1, 2);
    p.a_once = (uint32_t)test_between(random, 0, 3);
    p.activation = gemm_activations[test_between(random, 0, 2)];
    return p;
}

TEST(random_problems)
{
    static const char *const names[] = {
        NULL,          "gemm/cpu_split_k", "gemm/split_k", "gemm/clblast", "gemm/cpu_skinny",
        "gemm/skinny", "gemm/skinny_split"};
    test_random random = test_random_for(825);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = test_problems(20); n > 0; n--) {
            test_fixture f;
            const gemm_case p = random_case(&random);
            make_gemm(&f, &p, *type, TEST_BOUND, &random);
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                test_solver(&f, names[i]);
            test_release(&f);
        }
}

static tenon_status run_forced(test_fixture *f, tenon_stream *stream, const char *solver,
                               const tenon_sync *sync)
{
    tn_case_params params = f->c.params;
    params.head.solver = solver;
    return tenon_gemm(stream, (const void *)&params, &f->operands[GEMM_A].view,
                      &f->operands[GEMM_B].view, NULL, NULL, &f->operands[GEMM_D].view, sync);
}

TEST(slices_need_workspace)
{
    test_random random = test_random_for(826);
    const gemm_case p = gemm_of(&simple_gemm, 8, 8, 2000);
    test_fixture f;
    make_gemm(&f, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
    test_upload_all(&f);
    tenon_stream *stream = test_new_stream(test_context);
    /* 128 bytes are too small for a single slice. */
    tenon_tensor small = f.operands[GEMM_A].view;
    assert_ok(tenon_stream_set_workspace(stream, &small.memory, 0, 128));
    assert_refused(run_forced(&f, stream, "gemm/split_k", NULL), TENON_ERROR_WORKSPACE_TOO_SMALL,
                   "tenon_gemm", "workspace");
    assert_untouched(&f.operands[GEMM_D]);
    assert_ok(run_forced(&f, stream, NULL, NULL));
    assert_ok(tenon_stream_finish(stream));
    tenon_stream_destroy(stream);
    test_release(&f);
}

static void count_launches(void *user, const tenon_trace_record *record)
{
    int *launches = user;
    assert_non_null(record->event);
    assert_int_equal(strncmp(record->kernel, "CLBlast", 7), 0);
    ++*launches;
}

/* CLBlast accepts no wait list. The call's wait list and event must still work. */
TEST(clblast_keeps_to_the_sync)
{
    test_random random = test_random_for(827);
    test_fixture f;
    cl_event event = NULL;
    cl_int wait_status;
    char why[256];
    int launches = 0;
    gemm_case p = gemm_like(.m = 33, .n = 17, .k = 20, .alpha = 2);
    make_gemm(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    test_expect(&f);
    test_upload_all(&f);
    cl_event gate = test_gate(test_context);
    const tenon_sync sync = {.wait_count = 1, .wait_list = &gate, .event = &event};
    assert_ok(tenon_stream_set_trace(test_stream, count_launches, &launches));
    tenon_status status = run_forced(&f, test_stream, "gemm/clblast", &sync);
    assert_ok(tenon_stream_set_trace(test_stream, NULL, NULL));
    if (status == TENON_OK) {
        assert_int_equal(launches, 1);
        assert_int_equal(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                        sizeof wait_status, &wait_status, NULL),
                         CL_SUCCESS);
        assert_int_not_equal(wait_status, CL_COMPLETE);
    }
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    if (status == TENON_OK) {
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
        if (!test_result(&f.operands[GEMM_D], f.expected, TEST_EXACT, why))
            fail_msg("%s", why);
    }
    clReleaseEvent(gate);
    test_release(&f);
    if (status != TENON_OK) /* CLBlast is not available */
        test_assert_refused(status, TENON_ERROR_UNSUPPORTED, "tenon_gemm", "CLBlast", "tenon_gemm",
                            __FILE__, __LINE__);
}

TEST(clblast_is_never_chosen)
{
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    tenon_plan *plan;
    char line[256];
    test_begin_line(&f, "gemm a=f32:64x64 b=f32:64x64 d=f32:64x64", TENON_DTYPE_F32);
    test_make(&f);
    test_plan(&f, &plan, memories);
    tenon_plan_describe(plan, line, sizeof line);
    assert_null(strstr(line, "clblast"));
    tenon_plan_release(plan);
    test_release(&f);
}

TEST(sizes_that_do_not_match)
{
    static const test_refusal refusals[] = {
        {"gemm a=T:2x3 b=T:4x5 d=T:2x5",
         "they must be … M K, … K N and … M N: K is 3 in a and 4 in b"},
        {"gemm a=T:2x3 b=T:3x5 d=T:4x5", ": M is 2 in a and 4 in d"},
        {"gemm a=T:2x3 b=T:3x5 d=T:2x4", ": N is 5 in b and 4 in d"},
        {"gemm a=T:7x2x3 b=T:4x3 d=T:7x2x4",
         ": K is 3 in a and 4 in b; if b is stored as N K, make its view with "
         "tenon_tensor_transpose"},
        {"gemm a=T:3x2 b=T:3x4 d=T:2x4",
         ": K is 2 in a and 3 in b; if a is stored as K M, make its view with "
         "tenon_tensor_transpose"},
    };
    TEST_REFUSE(refusals);
}

TEST(what_cannot_be_served)
{
    static const test_refusal refusals[] = {
        {"gemm/clblast a=f32:64x64 b=f32:64x64 d=f32:64x64 activation=relu", "CLBlast",
         TENON_ERROR_UNSUPPORTED},
        {"gemm/split_k a=f32:8x2000 b=f32:2000x8 d=f32:8x8 flags=1", "split of K",
         TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}

/* Blocks of K are rounded up to multiples of four, which must not overflow their memory. These
 * solvers serve only CPUs. */
TEST(parameters_that_do_not_go_together)
{
#define WITH "a=f32:13x130 b=f32:130x37 d=f32:13x37"
    static const test_refusal refusals[] = {
        {"gemm/cpu_packed:kc65 " WITH, "kc"},
        {"gemm/cpu_direct:kc130 " WITH, "kc"},
        {"gemm/cpu_packed:nr3 " WITH, "nr"},
        {"gemm/cpu_packed:mr14,nr64 " WITH, "registers"},
        {"gemm/cpu_packed:kc2048,np16 " WITH, "local memory"},
    };
    if (test_context->device.is_cpu)
        TEST_REFUSE(refusals);
}

/* Tiles are reduced until their blocks fit, so that products too large for gemm/plain have a
 * solver. */
TEST(little_local_memory)
{
    static const char *const lines[] = {"gemm a=f16:96x130 b=f16:130x131 d=f16:96x131",
                                        "gemm_int8 a=i8:96x130 b=i8:130x131 d=i32:96x131", NULL};
    assert_int_equal(test_with_local_memory(32 << 10, lines), 2);
}
