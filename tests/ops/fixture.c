#include "fixture.h"

#include <math.h>

void test_begin(test_fixture *f, const tn_operation *operation)
{
    memset(f, 0, sizeof *f);
    f->c.operation = operation;
    tn_operation_defaults(operation, f->c.params.bytes);
}

void test_begin_line(test_fixture *f, const char *line, tenon_dtype type)
{
    memset(f, 0, sizeof *f);
    assert_ok(tn_case_parse_line(line, type, &f->c));
}

tenon_tensor test_view(tenon_dtype dtype, test_layout layout, bool gap, uint32_t rank,
                       const int64_t *shape, int64_t offset)
{
    tenon_tensor view = tenon_tensor_view(dtype, rank, shape);
    test_strides(layout, gap, rank, shape, view.stride);
    view.offset = (uint64_t)offset * tenon_dtype_size(dtype);
    return view;
}

uint32_t test_random_shape(test_random *random, int64_t shape[TENON_MAX_RANK])
{
    const uint32_t rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK);
    for (uint32_t d = 0; d < rank; d++)
        shape[d] = test_between(random, 1, rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    return rank;
}

tenon_tensor test_random_view(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape)
{
    const test_layout layout = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    const bool gap = test_one_in(random, 2);
    return test_view(dtype, layout, gap, rank, shape, test_between(random, 0, 9));
}

static uint32_t first_output(const test_fixture *f)
{
    return f->c.operation->operand_count - f->c.operation->output_count;
}

/* Of operands that are one view the last has the memory: an output, where one is among them. */
static uint32_t owner_of(const test_fixture *f, uint32_t number)
{
    const uint32_t first = f->c.same[number] != 0 ? f->c.same[number] - 1 : number;
    uint32_t owner = first;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->c.same[i] == first + 1 && i > owner)
            owner = i;
    return owner;
}

static const tenon_tensor *view_of(const test_fixture *f, uint32_t number)
{
    return &f->c.views[f->c.same[number] != 0 ? f->c.same[number] - 1 : number];
}

test_tensor *test_operand(test_fixture *f, uint32_t number)
{
    test_tensor *tensor = &f->operands[owner_of(f, number)];
    return tensor->image != NULL ? tensor : NULL;
}

void test_make(test_fixture *f)
{
    int64_t results = 1;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        const tenon_tensor *view = view_of(f, i);
        if (view->dtype == TENON_DTYPE_INVALID || owner_of(f, i) != i)
            continue;
        f->c.views[i] = *view;
        test_tensor_create(&f->operands[i], view->dtype, view->rank, view->shape, view->stride,
                           (int64_t)(view->offset / tenon_dtype_size(view->dtype)));
        if (i >= first_output(f))
            results += tenon_tensor_elements(view);
    }
    f->expected = calloc((size_t)results, sizeof *f->expected);
    assert_non_null(f->expected);
}

/* The views of all operands, in the image or on the device. */
static void gather_views(const test_fixture *f, bool host,
                         const tenon_tensor *views[TN_MAX_OPERANDS])
{
    for (uint32_t i = 0; i < TN_MAX_OPERANDS; i++) {
        const test_tensor *tensor =
            i < f->c.operation->operand_count ? &f->operands[owner_of(f, i)] : NULL;
        views[i] = tensor == NULL || tensor->image == NULL ? NULL
                   : host                                  ? &tensor->host
                                                           : &tensor->view;
    }
}

void test_fill_plainly(test_fixture *f, test_judge judge, double reach, test_random *random)
{
    const tn_operation *operation = f->c.operation;
    f->judge = judge;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        test_tensor *tensor = test_operand(f, i);
        if (tensor == NULL || (i >= first_output(f) && !operation->operands[i].read))
            continue;
        test_fill(tensor, judge, random);
        for (int64_t n = 0;
             reach != 1 && judge == TEST_BOUND && n < tenon_tensor_elements(&tensor->view); n++)
            test_set(tensor, n, test_real(random, -reach, reach));
    }
}

void test_fill_inputs(test_fixture *f, test_judge judge, test_random *random)
{
    const tn_operation *operation = f->c.operation;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    uint64_t seed = (uint64_t)test_between(random, 1, 1 << 30);
    test_fill_plainly(f, judge, 1, random);
    gather_views(f, true, views);
    if (operation->settle != NULL)
        operation->settle(f->c.params.bytes, views, &seed);
}

static tenon_status call(const void *user, const char *solver)
{
    const test_fixture *f = user;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tn_case_params params = f->c.params;
    gather_views(f, false, views);
    params.head.solver = solver;
    return test_call_views(f->c.operation, &params, views);
}

static const char *describe(const void *user)
{
    static char text[TN_CASE_TEXT_SIZE];
    return tn_case_text(&((const test_fixture *)user)->c, text);
}

static void expect(const test_fixture *f, const char *solver)
{
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tn_case_params params = f->c.params;
    gather_views(f, true, views);
    params.head.solver = solver;
    assert_true(f->c.operation->reference(&params, views, f->expected));
}

void test_expect(test_fixture *f)
{
    expect(f, NULL);
}

/* What the solver promises; the automatic choice is what its plan says. */
static const tn_bounded *expected_of(const void *user, const char *solver, test_judge *judge)
{
    const test_fixture *f = user;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    char name[TN_SOLVER_NAME_SIZE];
    tn_case_params params = f->c.params;
    tenon_plan *plan;
    gather_views(f, false, views);
    params.head.solver = solver;
    assert_ok(f->c.operation->plan(test_context, &params, views, &plan));
    snprintf(name, sizeof name, "%s", plan->name);
    tenon_plan_release(plan);
    const tn_solver *found = tn_solver_named(f->c.operation->family, name);
    if (found != NULL && found->inexact)
        *judge = TEST_BOUND;
    expect(f, name);
    return f->expected;
}

void test_release(test_fixture *f)
{
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->operands[i].image != NULL)
            test_tensor_destroy(&f->operands[i]);
    free(f->expected);
}

static double weighted_sum(const test_fixture *f, const test_tensor *weights)
{
    double sum = 0;
    expect(f, NULL);
    for (int64_t i = 0; i < tenon_tensor_elements(&weights->view); i++)
        sum += test_get(weights, i) * f->expected[i].value;
    return sum;
}

void test_slopes(test_fixture *f, uint32_t input, const test_tensor *weights,
                 const tn_bounded *gradient, double absolute, double relative)
{
    const double step = 1e-5;
    test_tensor *x = test_operand(f, input);
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++) {
        const double at = test_get(x, i);
        test_set(x, i, at + step);
        const double above = weighted_sum(f, weights);
        test_set(x, i, at - step);
        const double slope = (above - weighted_sum(f, weights)) / (2 * step);
        test_set(x, i, at);
        if (!(fabs(slope - gradient[i].value) <= absolute + relative * fabs(slope)))
            fail_msg("%s: %s[%lld]: the gradient is %.9g, the difference says %.9g", describe(f),
                     f->c.operation->operands[input].name, (long long)i, gradient[i].value, slope);
    }
}

void test_finish(test_fixture *f, test_extent extent)
{
    const tn_operation *operation = f->c.operation;
    test_expect(f);
    if (f->tighten != NULL)
        f->tighten(f);
    const test_subject subject = {.family = operation->family,
                                  .call = call,
                                  .describe = describe,
                                  .data = f,
                                  .operands = f->operands,
                                  .operand_count = operation->operand_count,
                                  .expected = f->expected,
                                  .judge = f->judge,
                                  .outputs = operation->output_count,
                                  .expected_of = f->by_solver ? expected_of : NULL,
                                  .emulate = f->emulate};
    if (extent == TEST_ALL)
        test_run_all(&subject);
    else
        test_run_once(&subject);
    test_release(f);
}

void test_run_fixture(test_fixture *f, test_judge judge, test_extent extent, test_random *random)
{
    test_make(f);
    test_fill_inputs(f, judge, random);
    test_finish(f, extent);
}

void test_refuse_fixture(test_fixture *f, tenon_status status, const char *text)
{
    test_make(f);
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->operands[i].image != NULL)
            test_upload(&f->operands[i]);
    test_assert_refused(call(f, NULL), status, f->c.operation->name, text, describe(f), __FILE__,
                        __LINE__);
    for (uint32_t i = first_output(f); i < f->c.operation->operand_count; i++)
        assert_true(f->operands[i].image == NULL || test_untouched(&f->operands[i]));
    test_release(f);
}

void test_refuse(const test_refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        test_fixture f;
        test_begin_line(&f, refusals[i].line, TENON_DTYPE_F32);
        test_refuse_fixture(&f, refusals[i].status, refusals[i].text);
    }
}
