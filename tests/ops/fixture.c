#include "dispatch/plan.h"
#include "fixture.h"

#include "ops/registry.h"

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

/* The maximum size of a long axis of a random shape, and the number of elements in the axes before
 * it from which on an axis is short. Tensors then fit into one allocation of a device with little
 * memory. */
enum { LONG = 70, MOST_BEFORE_LONG = 5000 };

uint32_t test_random_shape(test_random *random, int64_t shape[TENON_MAX_RANK])
{
    const uint32_t rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK);
    int64_t elements = 1;
    for (uint32_t d = 0; d < rank; d++) {
        const bool is_long = rank <= 4 && test_one_in(random, 3) && elements < MOST_BEFORE_LONG;
        shape[d] = test_between(random, 1, rank > 4 ? 3 : is_long ? LONG : 6);
        elements *= shape[d];
    }
    return rank;
}

tenon_tensor test_random_view(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape)
{
    const test_layout layout = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    const bool gap = test_one_in(random, 2);
    return test_view(dtype, layout, gap, rank, shape, test_between(random, 0, 9));
}

/* Returns the owner of an operand's memory: of the operands that share a view, an output if one is
 * among them, otherwise the last. */
static uint32_t owner_of(const test_fixture *f, uint32_t number)
{
    const uint32_t first = f->c.same[number] != 0 ? f->c.same[number] - 1 : number;
    uint32_t owner = first;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->c.same[i] == first + 1 && i > owner && !tn_operation_writes(f->c.operation, owner))
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
        if (tn_operation_writes(f->c.operation, i))
            results += tenon_tensor_elements(view);
    }
    f->expected = calloc((size_t)results, sizeof *f->expected);
    f->own = calloc((size_t)results, sizeof *f->own);
    assert_true(f->expected != NULL && f->own != NULL);
}

/* Stores the views of all operands, in the host image or on the device. */
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
        if (tensor == NULL || (tn_operation_writes(operation, i) && !operation->operands[i].read))
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
    if (operation->fill_valid != NULL)
        operation->fill_valid(f->c.params.bytes, views, &seed);
}

static tenon_status call(const void *user, const char *solver)
{
    const test_fixture *f = user;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tn_case_params params = f->c.params;
    gather_views(f, false, views);
    params.head.solver = solver;
    return f->call != NULL ? f->call(&params, views)
                           : test_call_views(f->c.operation, &params, views);
}

/* Returns the tensor of a plan's operand by name: a plan of packed weights has an operand for
 * them. */
static const test_tensor *operand_named(const void *user, const char *name)
{
    const test_fixture *f = user;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (strcmp(f->c.operation->operands[i].name, name) == 0) {
            const test_tensor *tensor = &f->operands[owner_of(f, i)];
            return tensor->image != NULL ? tensor : NULL;
        }
    return NULL;
}

static tenon_plan *make_plan(const void *user, const char *solver)
{
    const test_fixture *f = user;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tn_case_params params = f->c.params;
    tenon_plan *plan;
    gather_views(f, false, views);
    params.head.solver = solver;
    assert_ok(f->call == NULL ? tn_operation_call_plan(f->c.operation, test_stream->context,
                                                       &params, views, &plan)
                              : f->plan(&params, views, &plan));
    return plan;
}

static const char *describe(const void *user)
{
    static char text[TN_CASE_TEXT_SIZE];
    return tn_case_text(&((const test_fixture *)user)->c, text);
}

void test_expect_of(const test_fixture *f, const char *solver, tn_bounded *expected)
{
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tn_case_params params = f->c.params;
    gather_views(f, true, views);
    params.head.solver = solver;
    assert_true(f->c.operation->reference(&params, views, expected));
}

void test_expect(test_fixture *f)
{
    test_expect_of(f, NULL, f->expected);
}

void test_name_solver(const test_fixture *f, const char *solver, char name[TN_SOLVER_NAME_SIZE])
{
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tn_case_params params = f->c.params;
    tenon_plan *plan;
    gather_views(f, false, views);
    params.head.solver = solver;
    assert_ok(tn_operation_call_plan(f->c.operation, test_stream->context, &params, views, &plan));
    snprintf(name, TN_SOLVER_NAME_SIZE, "%s", plan->name);
    tenon_plan_release(plan);
}

/* Returns the bounds that the solver promises. For the automatic choice, the solver is the one
 * named by its plan. */
static const tn_bounded *expected_of(const void *user, const char *solver, test_judge *judge)
{
    const test_fixture *f = user;
    char name[TN_SOLVER_NAME_SIZE];
    if (solver != NULL)
        snprintf(name, sizeof name, "%s", solver);
    else
        test_name_solver(f, NULL, name);
    const tn_solver *found = tn_solver_named(f->c.operation->family, name);
    if (f->has_own_bounds != NULL && !f->has_own_bounds(f, found, judge))
        return NULL;
    if (f->has_own_bounds == NULL && found != NULL && found->inexact)
        *judge = TEST_BOUND;
    test_expect_of(f, name, f->own);
    return f->own;
}

void test_release(test_fixture *f)
{
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->operands[i].image != NULL)
            test_tensor_destroy(&f->operands[i]);
    free(f->expected);
    free(f->own);
}

double test_dot(const tn_bounded *a, const test_tensor *b)
{
    double sum = 0;
    for (int64_t i = 0; i < tenon_tensor_elements(&b->view); i++)
        sum += a[i].value * test_get(b, i);
    return sum;
}

test_subject test_subject_of(const test_fixture *f)
{
    const tn_operation *operation = f->c.operation;
    return (test_subject){.family = f->family != NULL ? f->family : operation->family,
                          .call = call,
                          .describe = describe,
                          .data = f,
                          .operation = operation,
                          .operands = f->operands,
                          .expected = f->expected,
                          .judge = f->judge,
                          .expected_of =
                              f->by_solver || f->has_own_bounds != NULL ? expected_of : NULL,
                          .plan = f->call == NULL || f->plan != NULL ? make_plan : NULL,
                          .operand_named = operand_named,
                          .emulate = f->emulate};
}

static void expect_tightly(test_fixture *f)
{
    test_expect(f);
    if (f->tighten != NULL)
        f->tighten(f);
}

void test_check(test_fixture *f, test_extent extent)
{
    const test_subject subject = test_subject_of(f);
    expect_tightly(f);
    if (extent == TEST_ALL)
        test_run_all(&subject);
    else if (extent == TEST_ONCE)
        test_run_once(&subject);
    else
        test_emulate(&subject);
}

void test_finish(test_fixture *f, test_extent extent)
{
    test_check(f, extent);
    test_release(f);
}

void test_upload_all(const test_fixture *f)
{
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (f->operands[i].image != NULL)
            test_upload(&f->operands[i]);
}

bool test_solver(test_fixture *f, const char *solver)
{
    const test_subject subject = test_subject_of(f);
    expect_tightly(f);
    test_upload_all(f);
    return test_run(&subject, solver);
}

void test_finish_by(test_fixture *f, const char *const *solvers)
{
    char name[TN_SOLVER_NAME_SIZE];
    const test_subject subject = test_subject_of(f);
    expect_tightly(f);
    test_upload_all(f);
    for (; *solvers != NULL; solvers++) {
        snprintf(name, sizeof name, "%s/%s", subject.family->name, *solvers);
        if (!test_run(&subject, name))
            fail_msg("%s does not serve %s: %s", name, describe(f), tenon_last_error());
    }
    test_release(f);
}

uint32_t test_plan(test_fixture *f, tenon_plan **plan, tenon_memory memories[TN_MAX_OPERANDS])
{
    const tenon_tensor *views[TN_MAX_OPERANDS];
    tenon_tensor bare[TN_MAX_OPERANDS];
    gather_views(f, false, views);
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        memories[i] = (tenon_memory){.kind = TENON_MEMORY_NONE};
        if (views[i] != NULL) {
            memories[i] = views[i]->memory;
            bare[i] = *views[i];
            bare[i].memory = (tenon_memory){.kind = TENON_MEMORY_NONE};
            views[i] = &bare[i];
        }
    }
    assert_ok(tn_operation_call_plan(f->c.operation, test_context, f->c.params.bytes, views, plan));
    test_upload_all(f);
    return (*plan)->operand_count;
}

void test_run_plan(test_fixture *f, tenon_plan *plan, const tenon_memory *memories, uint32_t count)
{
    const tn_operation *operation = f->c.operation;
    const tn_bounded *expected = f->expected;
    char why[256];
    expect_tightly(f);
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (f->operands[i].image != NULL && tn_operation_writes(operation, i))
            test_upload(&f->operands[i]);
    assert_ok(tenon_plan_run(test_stream, plan, memories, count, NULL));
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (f->operands[i].image != NULL && tn_operation_writes(operation, i)) {
            if (!test_result(&f->operands[i], expected, f->judge, why))
                fail_msg("%s, by a plan of %s", why, describe(f));
            expected += tenon_tensor_elements(&f->operands[i].view);
        }
}

static tenon_stream *usual;

void test_limit_workspace(uint64_t bytes)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    tenon_context *context;
    params.workspace_limit = bytes;
    assert_ok(tenon_context_device(test_context, &info));
    assert_ok(tenon_context_import(tenon_context_cl(test_context), info.device, &params, &context));
    usual = test_stream;
    assert_ok(tenon_stream_create(context, NULL, &test_stream));
    tenon_context_release(context);
}

void test_usual_stream(void)
{
    tenon_stream_destroy(test_stream);
    test_stream = usual;
}

void test_known(const char *line, const float *const *values)
{
    test_fixture f;
    test_begin_line(&f, line, TENON_DTYPE_F32);
    test_make(&f);
    tn_bounded *expected = f.expected;
    f.judge = TEST_EXACT;
    for (uint32_t i = 0; i < f.c.operation->operand_count; i++)
        for (int64_t n = 0;
             f.operands[i].image != NULL && n < tenon_tensor_elements(&f.operands[i].view); n++)
            if (!tn_operation_writes(f.c.operation, i))
                test_set(&f.operands[i], n, values[i][n]);
            else
                *expected++ = (tn_bounded){values[i][n], 0};
    const test_subject subject = test_subject_of(&f);
    test_run_once(&subject);
    test_release(&f);
}

void test_run_fixture(test_fixture *f, test_judge judge, test_extent extent, test_random *random)
{
    test_make(f);
    test_fill_inputs(f, judge, random);
    test_finish(f, extent);
}

void test_refuse_fixture(test_fixture *f, tenon_status status, const char *text)
{
    const char *forced = strchr(f->c.solver, '/') != NULL ? f->c.solver : NULL;
    test_make(f);
    test_upload_all(f);
    test_assert_refused(call(f, forced), status, f->c.operation->name, text, describe(f), __FILE__,
                        __LINE__);
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        assert_true(f->operands[i].image == NULL || !tn_operation_writes(f->c.operation, i) ||
                    test_untouched(&f->operands[i]));
    test_release(f);
}

void test_refuse(const test_refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        test_fixture f;
        test_begin_line(&f, refusals[i].line, TENON_DTYPE_F32);
        test_refuse_fixture(
            &f, refusals[i].status != TENON_OK ? refusals[i].status : TENON_ERROR_INVALID_ARGUMENT,
            refusals[i].text);
    }
}
