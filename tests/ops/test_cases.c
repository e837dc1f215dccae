/*
 * Tests cases, which are calls as text: the text parses to the same case, malformed text is
 * reported, and wrong results are detected.
 */
#include "fixture.h"
#include "quick.h"

#include "check/case.h"
#include "dispatch/self_check.h"
#include "dispatch/state.h"
#include "ops/conv/problem/gradient.h"
#include "ops/registry.h"
#include "runtime/context/validation.h"

/* For each type that an example may have. */
TEST(examples_read_back)
{
    for (uint32_t i = 0; i < tn_operation_count; i++)
        for (const char *const *e = tn_operations[i]->examples; *e != NULL; e++)
            for (int type = TENON_DTYPE_F64; type <= TENON_DTYPE_BF16; type++) {
                tn_case first, second;
                char text[TN_CASE_TEXT_SIZE], again[TN_CASE_TEXT_SIZE];
                memset(&first, 0, sizeof first);
                assert_ok(tn_case_parse_line(*e, (tenon_dtype)type, &first));
                assert_ptr_equal(first.operation, tn_operations[i]);
                tn_case_text(&first, text);
                assert_true(strncmp(text, "tenon check ", 12) == 0);
                assert_ok(tn_case_parse_line(text + 12, TENON_DTYPE_INVALID, &second));
                assert_string_equal(text, tn_case_text(&second, again));
                assert_memory_equal(first.params.bytes, second.params.bytes,
                                    first.operation->params_size);
                assert_memory_equal(first.views, second.views, sizeof first.views);
            }
}

/* Code that uses operations relies on this. */
TEST(every_family_has_an_operation)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++) {
        const tn_operation *op = tn_operation_of_family(tn_family_at(i));
        if (op == NULL)
            fail_msg("family %s has no operation in ops/operation_list.h", tn_family_at(i)->name);
    }
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *op = tn_operations[i];
        assert_true((op->run != NULL) == (op->plan != NULL) && op->reference != NULL &&
                    op->defaults != NULL && op->examples != NULL && op->examples[0] != NULL);
        assert_true(op->params_size <= TN_PARAMS_SIZE);
        assert_in_range(test_first_output(op), 0, op->operand_count - 1);
    }
}

TEST(malformed_lines)
{
    static const char *const lines[][2] = {
        {"", "SOLVER"},
        {"nothing a=f32:2x2", "nothing"},
        {"gemm/nothing a=f32:2x2", "gemm/nothing"},
        {"gemm tenon_conv_forward a=f32:2x2", "tenon_conv_forward"},
        {"gemm a=f32:2x2 b=f32:2x2", "d is missing"},
        {"gemm a=f32", "f32"},
        {"gemm a=f31:2x2", "type"},
        {"gemm a=T:2x2", "type"},
        {"gemm a=f32:2x", "shape"},
        {"gemm a=f32:2x2x2x2x2x2x2x2x2", "shape"},
        {"gemm a=f32:99999999999999999999", "shape"},
        {"gemm a=f32:2x2/1", "stride"},
        {"gemm a=f32:2x2+", "end"},
        {"gemm a=f32:2x2 a=f32:2x2", "second"},
        {"gemm a=@a", "another operand"},
        {"gemm a=@b b=@a d=f32:2x2", "a view of its own"},
        {"gemm e=f32:2x2", "\"e\""},
        {"gemm alpha=", "alpha"},
        {"gemm alpha=1,2", "too many"},
        {"gemm alpha=1x", "end"},
        {"gemm activation=fast", "fast"},
        {"gemm flags=-1", "flags"},
        {"gemm flags=4294967296", "flags"},
        {"gemm alpha=1 alpha", "neither"},
        {"gemm alpha", "neither OPERAND=VIEW nor an operation of gemm; example: gemm "
                       "a=f32:4x5 "},
        {"softmax", "x is missing; example: softmax x=f32:4x5 y=f32:4x5"},
        {"nothing", "lists them"},
        {"gemm/none", "those of gemm are cpu_packed, "},
        {"gemm --seed", "--seed"},
        {"gemm --seed x", "--seed"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        tn_case c;
        assert_refused(tn_case_parse_line(lines[i][0], TENON_DTYPE_INVALID, &c),
                       TENON_ERROR_INVALID_ARGUMENT, "tenon check", lines[i][1]);
    }
}

static tn_case_result run(const char *line)
{
    tn_case c;
    tn_case_result result;
    assert_ok(tn_case_parse_line(line, TENON_DTYPE_F32, &c));
    assert_ok(tn_case_run(test_stream, &c, &result));
    return result;
}

TEST(right_results)
{
    tn_case_result result = run("gemm/plain a=T:3x5 b=T:5x4 c=@d d=T:3x4/5,1+2 beta=2 --seed 7");
    assert_true(result.served && result.right && result.error_over_bound > 0);
    assert_string_equal(result.solver, "gemm/plain");
    result = run("gemm/plain a=T:3x5 b=T:5x4 d=T:3x4 --integers");
    assert_true(result.right && result.error_over_bound == 0);
    /* A column of d with strided elements: the self-check's case must not exchange the factors. */
    result = run("gemm_int8 a=i8:1x1x7 b=u8:3x7x1 zero_point_of_a=i8: d=f16:3x1x1/13,4,1 flags=1");
    assert_true(result.served && result.right);
    result = run("gemm a=T:0x5 b=T:5x4 d=T:0x4");
    assert_true(result.served && result.right);
    result = run("gemm/gemv_dot a=T:3x5 b=T:5x4 d=T:3x4");
    assert_false(result.served);
    assert_contains(result.why, "vector");
}

/* Detects a wrong reference, a solver that writes outside its output, and one that writes to an
 * input. */
static bool other_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    const bool made = tn_operation_elementwise.reference(params, v, expected);
    expected[tenon_tensor_elements(v[2]) - 1].value += 0.5;
    return made;
}

static tenon_status write_beyond(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    tenon_tensor wide[3];
    const tenon_tensor *views[3];
    for (int i = 0; i < 3; i++) {
        wide[i] = *v[i];
        wide[i].shape[1] += 1;
        views[i] = &wide[i];
    }
    return tn_operation_call(&tn_operation_elementwise, stream, params, views, sync);
}

static tenon_status write_input(tenon_stream *stream, const void *params,
                                const tenon_tensor *const *v, const tenon_sync *sync)
{
    const tenon_tensor *views[] = {v[1], v[1], v[0]};
    const tenon_status status =
        tn_operation_call(&tn_operation_elementwise, stream, params, v, sync);
    return status == TENON_OK
               ? tn_operation_call(&tn_operation_elementwise, stream, params, views, sync)
               : status;
}

TEST(wrong_results)
{
    static const char line[] = "elementwise a=f32:4x5/7,1 b=f32:4x5/8,1 d=f32:4x5/9,1";
    tn_operation wrong = tn_operation_elementwise;
    tn_case c;
    tn_case_result result;
    assert_ok(tn_case_parse_line(line, TENON_DTYPE_INVALID, &c));
    c.operation = &wrong;
    wrong.reference = other_reference;
    assert_ok(tn_case_run(test_stream, &c, &result));
    assert_false(result.right);
    assert_contains(result.why, "d: element 19 of 20");
    wrong.reference = tn_operation_elementwise.reference;
    wrong.run = write_beyond;
    assert_ok(tn_case_run(test_stream, &c, &result));
    assert_false(result.right);
    assert_contains(result.why, "d: memory outside its elements");
    wrong.run = write_input;
    assert_ok(tn_case_run(test_stream, &c, &result));
    assert_false(result.right);
    assert_contains(result.why, "a: an input");
}

/* The line that a failed test prints. */
TEST(tests_can_be_repeated)
{
    static const char *const solvers[] = {"plain", NULL};
    test_fixture f;
    tn_case c;
    tn_case_result result;
    test_random random = test_random_for(811);
    test_begin_line(&f, "gemm a=f32:13x41 b=f32:41x37/1,44 c=@d d=f32:13x37 beta=0.5",
                    TENON_DTYPE_F32);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    test_finish_by(&f, solvers);
    assert_contains(test_repeat(true), "tenon check gemm/plain a=f32:13x41");
    assert_contains(test_repeat(true), "c=@d d=f32:13x37");
    assert_contains(test_repeat(true), "--integers");
    assert_ok(tn_case_parse_line(test_repeat(false) + 12, TENON_DTYPE_INVALID, &c));
    assert_int_equal(c.seed, test_seed());
    assert_ok(tn_case_run(test_stream, &c, &result));
    assert_true(result.served && result.right);
}

/* Runs the first example that the solver serves, with the additional fields `more`; returns false
 * if it serves none. Its plan is then the newest in the context's table. */
static bool run_example(const tn_family *family, const tn_solver *solver, const char *more,
                        tn_case *c)
{
    char line[TN_CASE_TEXT_SIZE];
    for (uint32_t i = 0; i < tn_operation_count; i++)
        for (const char *const *e = tn_operations[i]->examples;
             tn_operations[i]->family == family && *e != NULL; e++) {
            tn_case_result result;
            snprintf(line, sizeof line, "%s%s", *e, more);
            assert_ok(tn_case_parse_line(line, TENON_DTYPE_F32, c));
            snprintf(c->solver, sizeof c->solver, "%s/%s", family->name, solver->name);
            assert_ok(tn_case_run(test_stream, c, &result));
            if (result.served && strstr(result.solver, "nothing") == NULL)
                return true;
        }
    return false;
}

/* Checks that the family's self-check detects a solver that does nothing and prints a valid line to
 * repeat it. */
static bool check_mutant(const tn_family *family, const tn_solver *solver, const char *more)
{
    tn_case c;
    tn_choice choice = {.solver = solver};
    char why[256] = "", expected[128];
    bool right = true;
    if (!run_example(family, solver, more, &c))
        return false; /* made for another device */
    const tn_problem *problem = tn_dispatch_of(test_context)->plans.newest->problem;
    tn_solver mutant = *solver;
    mutant.copy_of = solver;
    mutant.launch = test_launch_nothing;
    tn_configure(test_context, problem, &choice);
    choice.solver = &mutant;
    tenon_stream *validation;
    assert_ok(tn_validation_enter(test_context, &validation));
    char *repeat = tn_dispatch_of(validation->context)->repeat;
    repeat[0] = '\0';
    assert_ok(tn_self_check_once(validation, family, problem, &choice, &right, why));
    if (right)
        fail_msg("%s/%s: the self-check accepts a solver that does nothing", family->name,
                 solver->name);
    snprintf(expected, sizeof expected, "/%s", solver->name);
    assert_contains(repeat, expected);
    if (strncmp(repeat, "tenon check ", 12) != 0)
        fail_msg("%s/%s: how to repeat: %s", family->name, solver->name, repeat);
    assert_ok(tn_case_parse_line(repeat + 12, TENON_DTYPE_INVALID, &c));
    tn_validation_leave(test_context);
    tenon_plan *plan = NULL;
    const tenon_tensor *views[TN_MAX_OPERANDS] = {0};
    for (uint32_t i = 0; i < c.operation->operand_count; i++)
        views[i] = c.views[i].dtype != TENON_DTYPE_INVALID ? &c.views[i] : NULL;
    c.params.head.solver = c.solver;
    if (tn_operation_call_plan(c.operation, test_context, &c.params, views, &plan) != TENON_OK)
        fail_msg("%s: %s", repeat, tenon_last_error());
    tenon_plan_release(plan);
    return true;
}

/* The solvers of a convolution's two gradients that share a name have separate self-checks: that of
 * the filters' gradient has several blocks of channels. */
TEST(solvers_of_one_name_are_told_apart)
{
    const tn_solver *solver = &tn_conv_backward_filter_implicit_packed;
    tenon_stream *validation;
    tn_case c;
    if (!check_mutant(&tn_conv_backward_filter_family, solver, ""))
        skip();
    assert_ok(tn_validation_enter(test_context, &validation));
    assert_ok(tn_case_parse_line(tn_dispatch_of(validation->context)->repeat + 12,
                                 TENON_DTYPE_INVALID, &c));
    tn_validation_leave(test_context);
    assert_true(c.views[0].shape[1] > 2 * 16); /* two groups, each with more channels than lanes */
}

/* Checks that a choice serves an awkward case of its family unchanged; builds nothing. Returns true
 * if the case runs the variant of the choice. */
static bool assert_serves(const tn_choice *usual, const tn_family *family, const tn_case *c,
                          uint32_t number)
{
    uint64_t room[TN_PROBLEM_SIZE / sizeof(uint64_t)];
    bool empty = false;
    char name[TN_SOLVER_NAME_SIZE];
    tn_choice choice = *usual;
    tn_call call = {"tenon_test", c->operation, test_context,
                    .operand_count = c->operation->operand_count};
    if (c->operation->prepare == NULL)
        return true; /* it has no public call */
    for (uint32_t i = 0; i < call.operand_count; i++)
        call.operands[i] = (tn_argument){c->operation->operands[i].name,
                                         c->views[i].dtype != 0 ? &c->views[i] : NULL,
                                         c->operation->operands[i].role};
    assert_ok(tn_operation_prepare(c->params.bytes, &call, (tn_problem *)room, &empty));
    for (int i = 0; i < TN_MAX_PARAMETERS; i++)
        if (c->values[i] != 0)
            choice.values[i] = c->values[i];
    const char *why = tn_configure(test_context, (tn_problem *)room, &choice);
    why = why != NULL ? why : choice.misfit;
    if (why != NULL)
        fail_msg("%s: awkward case %u is skipped: %s", tn_solver_name(family, &choice, name),
                 number, why);
    return strcmp(choice.options, usual->options) == 0;
}

/* A self-check skips cases that the solver cannot serve. A solver that serves a problem must serve
 * all awkward cases of its family, and one of them must run the variant that the problem needs. */
TEST(awkward_cases_are_served)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++)
        for (uint32_t s = 0; s < tn_family_at(i)->solver_count; s++) {
            const tn_family *family = tn_family_at(i);
            tn_choice choice = {.solver = family->solvers[s]};
            char name[TN_SOLVER_NAME_SIZE];
            tn_case c;
            snprintf(name, sizeof name, "%s/%s", family->name, choice.solver->name);
            if (!quick_tries(name) || !run_example(family, choice.solver, "", &c))
                continue;
            const tn_problem *problem = tn_dispatch_of(test_context)->plans.newest->problem;
            assert_null(tn_configure(test_context, problem, &choice));
            bool runs_variant = false;
            for (uint32_t number = 0;; number++) {
                memset(&c, 0, sizeof c);
                c.context = test_context;
                if (!family->awkward(problem, &choice, number, &c))
                    break;
                runs_variant |= assert_serves(&choice, family, &c, number);
            }
            if (!runs_variant)
                fail_msg("%s: no awkward case runs the variant \"%s\"", name, choice.options);
        }
}

TEST(failed_self_checks_say_how_to_repeat_them)
{
    char name[TN_SOLVER_NAME_SIZE];
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++)
        for (uint32_t s = 0; s < tn_family_at(i)->solver_count; s++) {
            const tn_solver *solver = tn_family_at(i)->solvers[s];
            snprintf(name, sizeof name, "%s/%s", tn_family_at(i)->name, solver->name);
            if (quick_tries(name))
                check_mutant(tn_family_at(i), solver, "");
        }
}

/* The constants that self-checks give activations are valid for every kind that has any. */
TEST(self_checks_use_sound_constants)
{
    static const char *const kinds[] = {
        " activation=leaky_relu activation.alpha=2", " activation=clipped_relu activation.alpha=2",
        " activation=hard_sigmoid activation.alpha=2", " activation=hard_tanh activation.beta=2"};
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++) {
        const tn_family *family = tn_family_at(i);
        const tn_operation *operation = tn_operation_of_family(family);
        bool has_constants = false;
        for (uint32_t f = 0; f < operation->field_count && operation != &tn_operation_gemm_int8;
             f++) /* supports only relu */
            has_constants |= strcmp(operation->fields[f].name, "activation.alpha") == 0;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds && has_constants; k++)
            for (uint32_t s = family->solver_count; s-- > 0;)
                if (check_mutant(family, family->solvers[s], kinds[k]))
                    break; /* the last solver serves every case at low cost */
    }
}

static int checks, first_right;
static tenon_status check_by_chance(tenon_stream *validation, const tn_problem *problem,
                                    const tn_choice *choice, bool *right, char why[256])
{
    (void)problem;
    (void)choice;
    tn_dispatch_of(validation->context)->paths = UINT64_MAX;
    *right = ++checks == first_right;
    if (!*right)
        snprintf(why, 256, "wrong");
    return TENON_OK;
}

/* Self-checks a solver under a new name, on a driver that miscompiles at random or
 * deterministically. */
static bool check_again(const char *name, bool by_chance, int which, char why[256])
{
    tn_family family = *tn_family_at(0);
    const bool before = test_context->device.miscompiles_at_random;
    const tn_problem *problem = tn_dispatch_of(test_context)->plans.newest->problem;
    tn_choice choice = {.solver = family.solvers[0]};
    tn_verdict verdict;
    family.name = name;
    family.awkward = NULL;
    family.self_check = check_by_chance;
    checks = 0;
    first_right = which;
    tn_configure(test_context, problem, &choice);
    test_context->device.miscompiles_at_random = by_chance;
    assert_ok(tn_self_check(&(tn_request){"test", test_context, &family, problem, NULL}, &choice,
                            &verdict, why));
    test_context->device.miscompiles_at_random = before;
    return verdict == TN_VERDICT_RIGHT;
}

TEST(drivers_that_err_by_chance_compile_again)
{
    tn_case c;
    char why[256], options[TN_OPTIONS_SIZE];
    const unsigned before = test_context->programs.rebuild_salt;
    assert_true(run_example(tn_family_at(0), tn_family_at(0)->solvers[0], "", &c));
    assert_true(check_again("third_time_right", true, 3, why));
    assert_int_equal(checks, 3);
    assert_string_equal(why, "");
    assert_int_equal(test_context->programs.rebuild_salt, before + 2);
    assert_contains(tn_build_options(test_context, options, "-DX"), "-DTENON_REBUILD_SALT=");
    assert_false(check_again("never_right", true, 0, why));
    assert_int_equal(checks, 4);
    assert_string_equal(why, "wrong");
    assert_int_equal(test_context->programs.rebuild_salt, before + 2);
    assert_int_equal(tn_validation_if_made(test_context)->programs.rebuild_salt, before + 2);
    assert_false(check_again("never_right", true, 0, why));
    assert_int_equal(checks, 0); /* the verdict is known */
    assert_false(check_again("always_alike", false, 2, why));
    assert_int_equal(checks, 1);
    test_context->programs.rebuild_salt =
        tn_validation_if_made(test_context)->programs.rebuild_salt = before;
}
