/* Tests scalars of a plan's run: each has the effect of the parameter of that name, in every
 * operation. */
#include "fixture.h"
#include "runtime.h"

#include "dispatch/plan.h"
#include "ops/registry.h"
#include "runtime/queue/stream.h"

#include <math.h>
#include <unistd.h>

static const char operation[] = "tenon_plan_run_operands";

/* Runs a plan on the fixture's operands. Returns the concatenated bytes of all operands, which the
 * caller frees, or NULL if the run fails with *status. */
static unsigned char *run(test_fixture *f, const tenon_plan *plan, const tenon_scalar *scalars,
                          uint32_t count, tenon_status *status, size_t *bytes)
{
    tenon_operand operands[TN_MAX_OPERANDS];
    uint32_t operand_count = 0;
    unsigned char *all = NULL;
    test_upload_all(f);
    *bytes = 0;
    for (uint32_t i = 0; i < plan->operand_count; i++)
        for (uint32_t j = 0; j < f->c.operation->operand_count; j++)
            if (plan->operands[i].present && !plan->operands[i].is_bound &&
                strcmp(plan->operands[i].name, f->c.operation->operands[j].name) == 0)
                operands[operand_count++] =
                    (tenon_operand){plan->operands[i].name, test_operand(f, j)->view.memory,
                                    plan->operands[i].view.offset};
    *status =
        tenon_plan_run_operands(test_stream, plan, operands, operand_count, scalars, count, NULL);
    if (*status != TENON_OK)
        return NULL;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        if (f->operands[i].image == NULL)
            continue;
        unsigned char *bits = test_download_bits(&f->operands[i]);
        const tenon_tensor *view = &f->operands[i].view;
        const size_t more = (size_t)tenon_tensor_elements(view) * tenon_dtype_size(view->dtype);
        all = realloc(all, *bytes + more + 1);
        assert_non_null(all);
        memcpy(all + *bytes, bits, more);
        *bytes += more;
        free(bits);
    }
    return all;
}

/* Sets the parameter that has the scalar's name in the fixture. */
static void set_parameter(test_fixture *f, const tenon_scalar *scalar)
{
    for (uint32_t i = 0; i < f->c.operation->field_count; i++) {
        const tn_field *field = &f->c.operation->fields[i];
        for (uint32_t e = 0; e < field->count; e++) {
            const char *name = field->element_names != NULL ? field->element_names[e] : field->name;
            if (strcmp(name, scalar->name) != 0)
                continue;
            const void *value =
                scalar->kind == TENON_SCALAR_F64 ? (const void *)&scalar->real : &scalar->integer;
            memcpy(f->c.params.bytes + field->offset + e * field->step, value, 8);
            return;
        }
    }
    fail_msg("%s has no parameter %s", f->c.operation->name, scalar->name);
}

static bool is_same_problem(const tenon_plan *a, const tenon_plan *b)
{
    if (a->problem == NULL || b->problem == NULL)
        return a->problem == b->problem; /* nothing to compute */
    return a->problem->size == b->problem->size &&
           memcmp(a->problem + 1, b->problem + 1, a->problem->size - sizeof *a->problem) == 0;
}

/* Checks that a run with the scalar gives the same bits or the same failure as a plan created with
 * the parameter, or is refused if that plan has another problem. Returns true if it ran. */
static bool compare_with_plan(test_fixture *f, const tenon_plan *plan, tenon_scalar scalar)
{
    const tn_case_params params = f->c.params;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    size_t bytes, expected_bytes;
    tenon_status status, expected_status;
    char message[1024] = "";
    tenon_plan *other = NULL;
    unsigned char *expected = NULL, *got = run(f, plan, &scalar, 1, &status, &bytes);
    if (got == NULL)
        snprintf(message, sizeof message, "%s", tenon_last_error());
    set_parameter(f, &scalar);
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        views[i] = test_operand(f, i) != NULL ? &test_operand(f, i)->view : NULL;
    expected_status =
        tn_operation_call_plan(f->c.operation, test_context, f->c.params.bytes, views, &other);
    if (expected_status != TENON_OK) {
        assert_string_equal(message, tenon_last_error());
        assert_int_equal(status, expected_status);
    } else if (is_same_problem(plan, other)) {
        expected = run(f, other, NULL, 0, &expected_status, &expected_bytes);
        assert_int_equal(expected_status, TENON_OK);
        if (got == NULL || bytes != expected_bytes || memcmp(got, expected, bytes) != 0)
            fail_msg("%s: %s=%.17g (%llu) gives other bits: %s", f->c.operation->name, scalar.name,
                     scalar.real, (unsigned long long)scalar.integer, message);
    } else {
        assert_int_equal(status, TENON_ERROR_INVALID_ARGUMENT);
        assert_contains(message, "create another plan");
        assert_contains(message, scalar.name);
    }
    tenon_plan_release(other);
    free(got);
    free(expected);
    f->c.params = params;
    return status == TENON_OK;
}

/* Tries each scalar of a call's plan with several values, valid and invalid. */
static void try_scalars(const char *line)
{
    static const double reals[] = {0, 1, 0.375, 2, -1.5, 0.999999, (double)NAN, (double)INFINITY};
    static const uint64_t integers[] = {0, 1, 7, UINT64_C(0x123456789abcdef), UINT64_MAX};
    test_random random = {test_seed()};
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    tenon_plan *plan;
    test_begin_line(&f, line, TENON_DTYPE_F32);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    test_plan(&f, &plan, memories);
    for (uint32_t i = 0; tenon_plan_scalar(plan, i).name != NULL; i++) {
        const tenon_scalar planned = tenon_plan_scalar(plan, i);
        const bool is_real = planned.kind == TENON_SCALAR_F64;
        int ran = 0;
        for (size_t v = 0;
             v < (is_real ? sizeof reals / sizeof *reals : sizeof integers / sizeof *integers); v++)
            ran += compare_with_plan(&f, plan,
                                     is_real ? tenon_scalar_f64(planned.name, reals[v])
                                             : tenon_scalar_u64(planned.name, integers[v]));
        /* The plan itself is unchanged. */
        ran += compare_with_plan(&f, plan, planned);
        if (ran < 2 && strcmp(planned.name, "momentum") != 0)
            fail_msg("%s: %s can hardly be set", line, planned.name);
    }
    tenon_plan_release(plan);
    test_release(&f);
}

/* Calls with other parameters than the defaults, which an operation's first example has. */
static const char *const lines[] = {
    "activation x=T:40 y=T:40 activation=hard_tanh activation.alpha=-0.5 activation.beta=0.5",
    "activation x=T:40 y=T:40 activation=leaky_relu activation.alpha=0.1",
    "gemm a=T:5x7 b=T:7x6 c=T:5x6 d=T:5x6 alpha=2 beta=0.5 activation=elu activation.alpha=0.5",
    "gemm a=T:5x7 b=T:7x6 c=T:5x6 d=T:5x6 alpha=0 beta=0.5",
    "gemm_packed a=T:5x70 d=T:5x60 k=70 n=60 alpha=0.5",
    "gemm_packed a=T:1x70 c=T:1x60 d=T:1x60 k=70 n=60 beta=0.5",
    ("gemm_int8 a=i8:4x5 b=i8:5x6 scale_of_a=f32:4 scale_of_b=f32:6 scale_of_d=f32: "
     "zero_point_of_a=i8: zero_point_of_b=i8:6 zero_point_of_d=u8: d=u8:4x6 alpha=0.5"),
    "gemm_int8 a=u8:4x5 b=i8:5x6 d=i32:4x6",
    ("conv x=T:1x2x5x5 w=T:3x2x3x3 c=T:1x3x3x3 y=T:1x3x3x3 beta=0.5 activation=clipped_relu "
     "activation.alpha=1"),
    "random y=T:40 kind=normal",
    "random y=T:40 kind=bernoulli",
    "random y=T:0",
    "elementwise a=T:40 b=T:40 d=T:40 kind=scale_add alpha=0.5 beta=-2",
    ("elementwise_chain x0=T:33 x1=T: y=T:33 step_count=3 op=fma,activate,max "
     "operand=x1,scalar,scalar addend=scalar activation=identity,leaky_relu alpha=0,0.5,0.25"),
    NULL,
};

TEST(scalars_have_the_effect_of_parameters)
{
    for (uint32_t i = 0; i < tn_operation_count; i++)
        try_scalars(tn_operations[i]->examples[0]);
    for (int i = 0; lines[i] != NULL; i++)
        try_scalars(lines[i]);
}

/* Writes the names of a plan's scalars, separated by spaces. */
static const char *names_of(const char *line, char text[512])
{
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    tenon_plan *plan;
    text[0] = '\0';
    test_begin_line(&f, line, TENON_DTYPE_F32);
    test_make(&f);
    test_plan(&f, &plan, memories);
    for (uint32_t i = 0; tenon_plan_scalar(plan, i).name != NULL; i++)
        snprintf(text + strlen(text), 512 - strlen(text), "%s%s", i > 0 ? " " : "",
                 tenon_plan_scalar(plan, i).name);
    tenon_plan_release(plan);
    test_release(&f);
    return text;
}

TEST(plans_list_the_scalars_they_use)
{
    char text[512];
    assert_string_equal(names_of("random y=T:9", text), "seed sequence low high");
    assert_string_equal(names_of("random y=T:9 kind=normal", text), "seed sequence mean deviation");
    assert_string_equal(names_of("random y=T:9 kind=bernoulli", text), "seed sequence probability");
    assert_string_equal(names_of("gemm a=T:2x3 b=T:3x2 d=T:2x2", text), "alpha beta");
    assert_string_equal(names_of("gemm_packed a=T:2x3 d=T:2x2 k=3 n=2 activation=celu "
                                 "activation.alpha=1",
                                 text),
                        "alpha beta activation.alpha");
    assert_string_equal(names_of("gemm_int8 a=i8:2x3 b=i8:3x2 d=f32:2x2", text), "alpha beta");
    assert_string_equal(names_of("activation x=T:9 y=T:9 activation=hard_tanh activation.alpha=-1 "
                                 "activation.beta=1",
                                 text),
                        "activation.alpha activation.beta");
    assert_string_equal(names_of("activation x=T:9 y=T:9 activation=relu", text), "");
    assert_string_equal(names_of("elementwise a=T:9 b=T:9 d=T:9", text), "");
    assert_string_equal(names_of(lines[13], text), "steps[1].alpha steps[2].alpha steps[0].beta");
    assert_null(tenon_plan_scalar(NULL, 0).name);
}

/* Tensors that parameters point to need not exist when a plan runs. */
TEST(parameters_are_the_plans_own)
{
    static const int64_t shape[] = {2, 2};
    tenon_plan *plan;
    const float factor = 0.5F, expected[4] = {14, 20, 30, 44};
    float got[4];
    const int8_t values[4] = {1, 2, 3, 4};
    tenon_tensor scale = test_dense(TENON_DTYPE_F32, 0, NULL, &factor);
    tenon_tensor x = test_dense(TENON_DTYPE_I8, 2, shape, values);
    tenon_tensor d = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    tenon_tensor passing = scale;
    tenon_gemm_params params = tenon_gemm_params(.epilogue.scale[0] = &passing);
    assert_ok(tenon_gemm_plan(test_context, &params, &x, &x, NULL, NULL, &d, &plan));
    memset(&passing, 0xff, sizeof passing);
    memset(&params, 0xff, sizeof params);
    const tenon_operand o[] = {{"a", x.memory, 0},
                               {"b", x.memory, 0},
                               {"d", d.memory, 0},
                               {"scale of a", scale.memory, 0}};
    const tenon_scalar alpha = tenon_scalar_f64("alpha", 4);
    assert_ok(tenon_plan_run_operands(test_stream, plan, o, 4, &alpha, 1, NULL));
    assert_ok(tenon_tensor_download(test_stream, &d, got, sizeof got, NULL));
    assert_memory_equal(got, expected, sizeof got);
    tenon_plan_release(plan);
    test_destroy(&scale, &x, &d);
}

static tenon_plan *plan_random(const tenon_tensor *y, tenon_random_kind kind)
{
    tenon_plan *plan;
    tenon_random_params params = tenon_random_params(.kind = kind);
    assert_ok(tenon_random_plan(test_context, &params, y, &plan));
    return plan;
}

#define REFUSED(scalars, count, text)                                                              \
    assert_refused(tenon_plan_run_operands(test_stream, plan, &o, 1, scalars, count, NULL),        \
                   TENON_ERROR_INVALID_ARGUMENT, operation, text)
TEST(wrong_scalars_are_refused)
{
    tenon_tensor y = make_tensor(test_context, 100);
    const tenon_operand o = {"y", y.memory, 0};
    tenon_plan *plan = plan_random(&y, TENON_RANDOM_NORMAL);
    tenon_scalar s[] = {tenon_scalar_u64("seed", 5), tenon_scalar_f64("mean", 2)};
    assert_ok(tenon_plan_run_operands(test_stream, plan, &o, 1, s, 2, NULL));
    assert_ok(tenon_plan_run_operands(test_stream, plan, &o, 1, NULL, 0, NULL));
    REFUSED(NULL, 1, "scalars is NULL");
    s[1].name = "seed";
    REFUSED(&s[1], 1, "\"seed\" is the double 2, must be an integer of 64 bits");
    s[1] = tenon_scalar_u64("seed", 6);
    REFUSED(s, 2, "scalars[1]: \"seed\" is given twice");
    s[1] = tenon_scalar_f64(NULL, 2);
    REFUSED(s, 2, "scalars[1]: name is NULL");
    s[1] = tenon_scalar_f64("low", 2);
    REFUSED(s, 2,
            "\"low\" is not a scalar of this plan of tenon_random_plan, whose scalars are "
            "seed, sequence, mean, deviation");
    s[1] = (tenon_scalar){.name = "mean", .real = 2};
    REFUSED(s, 2, "\"mean\": kind is 0 and reserved is 0; create it with tenon_scalar_f64");
    s[1].kind = 3;
    REFUSED(s, 2, "kind is 3");
    s[1] = tenon_scalar_f64("mean", 2);
    s[1].reserved = 4;
    REFUSED(s, 2, "reserved is 4");
    s[1] = tenon_scalar_u64("mean", (UINT64_C(1) << 53) + 1);
    REFUSED(s, 2, "\"mean\" is the integer 9007199254740993, must be a double");
    s[1] = tenon_scalar_u64("mean", 3); /* an integer that a double represents exactly */
    assert_ok(tenon_plan_run_operands(test_stream, plan, &o, 1, s, 2, NULL));
    s[1] = tenon_scalar_f64("deviation", -1);
    assert_refused(tenon_plan_run_operands(test_stream, plan, &o, 1, s, 2, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_random_plan",
                   "params: deviation is -1, must be from 0 to 3.40282e+38");
    tenon_plan_release(plan);
    tenon_memory_destroy(&y.memory);
}

/* A scalar cannot select another problem. Of several scalars, the message names the one that would.
 */
TEST(scalars_keep_the_problem)
{
    static const int64_t shape[] = {3, 3};
    tenon_scalar s[] = {tenon_scalar_f64("alpha", 2), tenon_scalar_f64("beta", 1)};
    tenon_plan *plan;
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &x, 1, NULL));
    const tenon_tensor d = x, *const views[] = {&x, &x, &d, NULL, &d};
    tenon_gemm_params params = tenon_gemm_params(.epilogue.beta = 0);
    for (int has_c = 0; has_c < 2; has_c++) {
        tenon_tensor other = x;
        other = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
        assert_ok(tenon_gemm_plan(test_context, &params, views[0], views[1], &other, NULL, &other,
                                  &plan));
        tenon_operand o[] = {
            {"a", x.memory, 0}, {"b", x.memory, 0}, {"d", other.memory, 0}, {"c", other.memory, 0}};
        const uint32_t count = has_c ? 4 : 3;
        assert_invalid(tenon_plan_run_operands(test_stream, plan, o, count, s, 2, NULL),
                       has_c
                           ? "\"beta\" is 0, must not be 0: the plan of tenon_gemm_plan was made "
                             "with 0.5"
                           : "\"beta\" is 1, must be 0: the plan of tenon_gemm_plan was made with "
                             "0, and this value requires other kernels; create another plan");
        s[1].real = has_c ? 2 : 0;
        assert_ok(tenon_plan_run_operands(test_stream, plan, o, count, s, 2, NULL));
        s[1].real = 0; /* for the next plan, which has another beta */
        params.epilogue.beta = 0.5;
        tenon_plan_release(plan);
        tenon_tensor_destroy(&other);
    }
    tenon_tensor_destroy(&x);
}

/* The verbose output of a run shows the values of its scalars. */
TEST(runs_print_their_scalars)
{
    tenon_tensor y = make_tensor(test_context, 100);
    const tenon_operand o = {"y", y.memory, 0};
    const tenon_scalar s[] = {tenon_scalar_u64("seed", UINT64_MAX), tenon_scalar_f64("low", -0.5)};
    tenon_plan *plan = plan_random(&y, TENON_RANDOM_UNIFORM);
    const bool was_verbose = test_context->reports.is_verbose;
    const int kept = dup(STDERR_FILENO);
    char text[1024] = "";
    FILE *printed = tmpfile();
    assert_non_null(printed);
    test_context->reports.is_verbose = true;
    dup2(fileno(printed), STDERR_FILENO);
    const tenon_status status = tenon_plan_run_operands(test_stream, plan, &o, 1, s, 2, NULL);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    test_context->reports.is_verbose = was_verbose;
    assert_ok(status);
    rewind(printed);
    text[fread(text, 1, sizeof text - 1, printed)] = '\0';
    fclose(printed);
    assert_contains(text, "tenon_random_plan random/");
    assert_contains(text, " y=f32:100 seed=18446744073709551615 low=-0.5\n");
    tenon_plan_release(plan);
    tenon_memory_destroy(&y.memory);
}
