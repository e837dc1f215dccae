/*
 * GEMM's solvers where they are at home: K cut into slices, thin factors, CLBlast; and batches in
 * which every operand repeats along any dimension.
 */
#include "gemm_case.h"

#include "runtime/context.h"

/* K around the edges of slices, small and batched d, through the automatic choice and all solvers.
 */
static void long_sums(void **state)
{
    static const int64_t depths[] = {63, 64, 65, 127, 512, 1000, 4099};
    test_random random = test_random_for(821);
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        gemm_case p = simple_gemm;
        p.k = depths[i];
        p.m = 5 + (int64_t)i;
        p.n = i % 2 == 0 ? 35 : 6;
        p.a = p.b = i % 3 == 0 ? TEST_COL : TEST_ROW; /* each pair is a build of its own */
        p.offset = (int64_t)i;
        p.bias_form = FORM_COLUMNS;
        p.batch_rank = (uint32_t)(i % 3);
        p.batch[0] = 2;
        p.batch[1] = 3;
        p.gap = true;
        p.b_once = i == 4 ? 1 : 0;
        if (i % 3 == 0)
            check_gemm(&p, &random);
        else
            check_gemm_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Any number of slices gives what is right, with what follows the sum. */
static void slices_by_name(void **state)
{
    static const char *const names[] = {"gemm/cpu_split_k:ks2",     "gemm/cpu_split_k:ks7,pb1",
                                        "gemm/cpu_split_k:ks7,pb2", "gemm/cpu_split_k:ks64,pb2",
                                        "gemm/split_k:ks2",         "gemm/split_k:ks13",
                                        "gemm/split_k:ks64"};
    test_random random = test_random_for(822);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            gemm_data data;
            gemm_case p = {.m = 9, .n = 75, .k = 1003, .alpha = 2, .beta = -0.5};
            p.c_form = FORM_SAME;
            p.bias_form = FORM_ROWS;
            p.activation = gemm_activations[1];
            p.batch_rank = 1;
            p.batch[0] = 2;
            make_gemm(&data, &p, *type, (test_judge)judge, &random);
            compute_gemm_reference(&data);
            const test_subject subject = gemm_subject(&data);
            for (int i = 0; i < GEMM_OPERANDS; i++)
                if (data.operands[i].image != NULL)
                    test_upload(&data.operands[i]);
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                assert_true(test_run(&subject, names[i]));
            destroy_gemm(&data);
        }
}

/* Either factor thin, either layout of the other, around the edges of strips, tiles and blocks. */
static void thin_factors(void **state)
{
    static const int64_t thin[] = {2, 3, 4, 5, 8, 9, 16};
    static const int64_t wide[] = {95, 96, 97, 131, 513, 2049, 31};
    static const int64_t depths[] = {8, 17, 1, 63, 65, 130, 1025};
    test_random random = test_random_for(823);
    (void)state;
    for (size_t i = 0; i < sizeof thin / sizeof *thin; i++)
        for (int side = 0; side < 2; side++) {
            gemm_case p = simple_gemm;
            p.m = side == 0 ? thin[i] : wide[i];
            p.n = side == 0 ? wide[i] : thin[i];
            p.k = depths[i];
            p.a = p.b = i % 2 == 0 ? TEST_PITCH : TEST_COL;
            p.d = i == 3 ? TEST_STRIDED : TEST_ROW;
            p.bias_form = FORM_FULL;
            p.c_form = FORM_SAME;
            p.beta = 0.5;
            p.batch_rank = (uint32_t)(i % 2);
            p.batch[0] = 2;
            if (i == 1 || i == 4)
                check_gemm(&p, &random);
            else
                check_gemm_typed(&p, TENON_DTYPE_F32, &random);
        }
}

/* Tiles as GPUs have them, by vectors: blocks of K and edges of d around them, factors that are
 * aligned or end within a vector, in each pair of layouts. */
static void tiles_by_name(void **state)
{
    static const char *const names[] = {"gemm/tiled:mb32,nb64,kb8,mr8,nr8,vw4,lb2",
                                        "gemm/tiled:mb32,nb32,kb16,mr4,nr2,vw2,lb1"};
    static const test_layout layouts[][2] = {
        {TEST_ROW, TEST_ROW}, {TEST_ROW, TEST_COL}, {TEST_COL, TEST_ROW}, {TEST_COL, TEST_COL}};
    static const int64_t sizes[][3] = {{32, 64, 16}, {36, 68, 20}, {33, 65, 17}, {64, 128, 8}};
    test_random random = test_random_for(829);
    (void)state;
    for (size_t i = 0; i < 16; i++) {
        gemm_data data;
        const int64_t *size = sizes[i / 4];
        gemm_case p = {.m = size[0], .n = size[1], .k = size[2], .alpha = 1};
        p.a = layouts[i % 4][0];
        p.b = layouts[i % 4][1];
        p.offset = i % 4 == 1 ? 1 : 0;
        p.batch_rank = i % 3 == 0;
        p.batch[0] = 2;
        make_gemm(&data, &p, TENON_DTYPE_F32, i % 2 == 0 ? TEST_EXACT : TEST_BOUND, &random);
        compute_gemm_reference(&data);
        const test_subject subject = gemm_subject(&data);
        for (int x = 0; x < GEMM_OPERANDS; x++)
            if (data.operands[x].image != NULL)
                test_upload(&data.operands[x]);
        for (size_t s = 0; s < sizeof names / sizeof *names; s++)
            assert_true(test_run(&subject, names[s]));
        destroy_gemm(&data);
    }
}

/* Widths for which tiles of three vectors are chosen with 16 lanes, and heights around theirs. */
static void tiles_of_three_vectors(void **state)
{
    static const int64_t cols[] = {33, 47, 48, 129, 144}, rows[] = {7, 8, 9, 17, 1};
    test_random random = test_random_for(827);
    (void)state;
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++) {
        gemm_case p = simple_gemm;
        p.m = rows[i];
        p.n = cols[i];
        p.k = 385 + (int64_t)i;
        p.offset = (int64_t)i;
        p.bias_form = i % 2 == 0 ? FORM_NONE : FORM_COLUMNS;
        if (i == 0)
            check_gemm(&p, &random);
        else
            check_gemm_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Every solver in a context that takes the device's vectors for narrower ones. */
static void check_width(uint32_t lanes, test_random *random)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_BF16};
    tenon_stream *usual = test_stream;
    tenon_context *context;
    tenon_device_info info;
    assert_ok(tenon_context_device(test_context, &info));
    assert_ok(tenon_context_import(tenon_context_cl(test_context), info.device, NULL, &context));
    context->device.info.vector_width_f32 = lanes;
    assert_ok(tenon_stream_create(context, NULL, &test_stream));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        gemm_case p = simple_gemm;
        p.m = 13;
        p.n = 4 * (int64_t)lanes + 3;
        p.k = 391;
        p.a = p.b = i == 1 ? TEST_COL : TEST_ROW;
        check_gemm_typed(&p, types[i], random);
    }
    tenon_stream_destroy(test_stream);
    tenon_context_release(context);
    test_stream = usual;
}

static void narrow_vectors(void **state)
{
    test_random random = test_random_for(828);
    (void)state;
    for (uint32_t lanes = 8; lanes >= 4; lanes /= 2)
        check_width(lanes, &random);
}

static void every_operand_repeats_in_any_dimension(void **state)
{
    test_random random = test_random_for(824);
    (void)state;
    for (uint32_t once = 0; once < 64; once++) {
        gemm_case p = {.m = 3, .n = 5, .k = 4, .alpha = 1, .beta = 1};
        p.batch_rank = 3;
        p.batch[0] = 2;
        p.batch[1] = 3;
        p.batch[2] = 2;
        p.a_once = once & 7;
        p.b_once = once >> 3;
        p.c_once = (once * 5 + 1) & 7;
        p.bias_once = (once * 3 + 2) >> 1 & 7;
        p.c_form = p.bias_form = FORM_FULL;
        p.gap = once % 2 != 0;
        check_gemm_typed(&p, TENON_DTYPE_F32, &random);
    }
}

/* Shapes at which these solvers are chosen: one side short, or a long K. */
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

static void random_problems(void **state)
{
    static const char *const names[] = {
        NULL,          "gemm/cpu_split_k", "gemm/split_k", "gemm/clblast", "gemm/cpu_skinny",
        "gemm/skinny", "gemm/skinny_split"};
    test_random random = test_random_for(825);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = test_problems(20); n > 0; n--) {
            gemm_data data;
            gemm_case p = random_case(&random);
            make_gemm(&data, &p, *type, TEST_BOUND, &random);
            compute_gemm_reference(&data);
            const test_subject subject = gemm_subject(&data);
            for (int i = 0; i < GEMM_OPERANDS; i++)
                if (data.operands[i].image != NULL)
                    test_upload(&data.operands[i]);
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                test_run(&subject, names[i]);
            destroy_gemm(&data);
        }
}

static tenon_status run_forced(gemm_data *data, tenon_stream *stream, const char *solver,
                               const tenon_sync *sync)
{
    const tenon_gemm_params params = gemm_params(&data->problem, solver);
    return tenon_gemm(stream, &params, &data->operands[GEMM_A].view, &data->operands[GEMM_B].view,
                      NULL, NULL, &data->operands[GEMM_D].view, sync);
}

static void slices_need_workspace(void **state)
{
    test_random random = test_random_for(826);
    gemm_case p = {.m = 8, .n = 8, .k = 2000, .alpha = 1};
    gemm_data data;
    tenon_stream *stream;
    (void)state;
    make_gemm(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
    for (int i = 0; i < GEMM_OPERANDS; i++)
        if (data.operands[i].image != NULL)
            test_upload(&data.operands[i]);
    assert_ok(tenon_stream_create(test_context, NULL, &stream));
    /* 128 bytes are not enough for a single slice. */
    tenon_tensor small = data.operands[GEMM_A].view;
    assert_ok(tenon_stream_set_workspace(stream, &small.memory, 0, 128));
    assert_refused(run_forced(&data, stream, "gemm/split_k", NULL), TENON_ERROR_WORKSPACE_TOO_SMALL,
                   "tenon_gemm", "workspace");
    assert_untouched(&data.operands[GEMM_D]);
    assert_ok(run_forced(&data, stream, NULL, NULL));
    data.problem.flags = TENON_GEMM_BATCH_INVARIANT;
    assert_refused(run_forced(&data, test_stream, "gemm/split_k", NULL), TENON_ERROR_UNSUPPORTED,
                   "tenon_gemm", "where K is cut");
    assert_ok(tenon_stream_finish(stream));
    tenon_stream_destroy(stream);
    destroy_gemm(&data);
}

static void count_launches(void *user, const tenon_trace_record *record)
{
    int *launches = user;
    assert_non_null(record->event);
    assert_int_equal(strncmp(record->kernel, "CLBlast", 7), 0);
    ++*launches;
}

/* CLBlast takes no wait list: the call's own has to hold all the same, and its event. */
static void clblast_keeps_to_the_sync(void **state)
{
    test_random random = test_random_for(827);
    gemm_case p = {.m = 33, .n = 17, .k = 20, .alpha = 2};
    gemm_data data;
    cl_event event = NULL;
    cl_int error, wait_status;
    char why[256];
    int launches = 0;
    (void)state;
    make_gemm(&data, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    compute_gemm_reference(&data);
    for (int i = 0; i < GEMM_OPERANDS; i++)
        if (data.operands[i].image != NULL)
            test_upload(&data.operands[i]);
    cl_event gate = clCreateUserEvent(tenon_context_cl(test_context), &error);
    const tenon_sync sync = {.wait_count = 1, .wait_list = &gate, .event = &event};
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(tenon_stream_set_trace(test_stream, count_launches, &launches));
    tenon_status status = run_forced(&data, test_stream, "gemm/clblast", &sync);
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
        if (!test_result(&data.operands[GEMM_D], data.expected, TEST_EXACT, why))
            fail_msg("%s\n  %s", why, describe_gemm(&data));
    }
    clReleaseEvent(gate);
    destroy_gemm(&data);
    if (status != TENON_OK) /* a library built without it says so */
        test_assert_refused(status, TENON_ERROR_UNSUPPORTED, "tenon_gemm", "without CLBlast",
                            "tenon_gemm", __FILE__, __LINE__);
}

static void clblast_is_never_chosen_nor_used_where_it_cannot_serve(void **state)
{
    test_random random = test_random_for(828);
    gemm_case p = {.m = 64, .n = 64, .k = 64, .alpha = 1};
    gemm_data data;
    tenon_plan *plan;
    char line[256];
    (void)state;
    make_gemm(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
    assert_ok(tenon_gemm_plan(test_context, NULL, &data.operands[GEMM_A].view,
                              &data.operands[GEMM_B].view, NULL, NULL, &data.operands[GEMM_D].view,
                              &plan));
    tenon_plan_describe(plan, line, sizeof line);
    assert_null(strstr(line, "clblast"));
    tenon_plan_release(plan);
    data.problem.activation = gemm_activations[0];
    test_upload(&data.operands[GEMM_D]);
    assert_refused(run_forced(&data, test_stream, "gemm/clblast", NULL), TENON_ERROR_UNSUPPORTED,
                   "tenon_gemm", "CLBlast");
    assert_untouched(&data.operands[GEMM_D]);
    destroy_gemm(&data);
}

/* Blocks of K are rounded to multiples of four, and must not outgrow their memory by that. */
static void parameters_that_do_not_go_together(void **state)
{
    static const char *const names[][2] = {{"gemm/cpu_packed:kc65", "kc"},
                                           {"gemm/cpu_direct:kc130", "kc"},
                                           {"gemm/cpu_packed:nr3", "nr"},
                                           {"gemm/cpu_packed:mr14,nr64", "registers"},
                                           {"gemm/cpu_packed:kc2048,np16", "local memory"}};
    test_random random = test_random_for(828);
    gemm_case p = simple_gemm;
    gemm_data data;
    (void)state;
    p.k = 130;
    make_gemm(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
    test_upload(&data.operands[GEMM_D]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tenon_status status = run_forced(&data, test_stream, names[i][0], NULL);
        if (status != TENON_ERROR_UNSUPPORTED) /* on a GPU these solvers cannot serve at all */
            assert_refused(status, TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm", names[i][1]);
    }
    assert_untouched(&data.operands[GEMM_D]);
    destroy_gemm(&data);
}

/* Tiles shrink until their blocks fit: a product that is too large for gemm/plain has a solver. */
static void little_local_memory(void **state)
{
    static const char *const lines[] = {"gemm a=f16:96x130 b=f16:130x131 d=f16:96x131",
                                        "gemm_int8 a=i8:96x130 b=i8:130x131 d=i32:96x131", NULL};
    (void)state;
    assert_int_equal(test_with_local_memory(32 << 10, lines), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sums),
        cmocka_unit_test(slices_by_name),
        cmocka_unit_test(thin_factors),
        cmocka_unit_test(tiles_by_name),
        cmocka_unit_test(tiles_of_three_vectors),
        cmocka_unit_test(narrow_vectors),
        cmocka_unit_test(every_operand_repeats_in_any_dimension),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(slices_need_workspace),
        cmocka_unit_test(parameters_that_do_not_go_together),
        cmocka_unit_test(little_local_memory),
        cmocka_unit_test(clblast_keeps_to_the_sync),
        cmocka_unit_test(clblast_is_never_chosen_nor_used_where_it_cannot_serve),
    };
    return TEST_MAIN(tests);
}
