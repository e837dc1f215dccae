/* Runs a test_subject on every solver, twice each, and compares the results with the expected
 * ones. */
#include "support.h"
#include "quick.h"
#include "tally.h"

#include "dispatch/plan.h"
#include "ops/common/stores.h"
#include "runtime/queue/stream.h"

static tn_case last_call;
/* True during a call of a subject, which the quick set may leave out; true if it was left out. */
static bool may_leave_out, is_left_out;

tenon_status test_call_views(const tn_operation *operation, const void *params,
                             const tenon_tensor *const *views)
{
    tn_case_make(operation, params, views, ((const tn_params_head *)params)->solver, test_seed(),
                 &last_call);
    is_left_out = may_leave_out && !quick_admits(operation, params, views);
    if (is_left_out)
        return TENON_OK;
    return tn_operation_call(operation, test_stream, params, views, NULL);
}

bool test_left_out(void)
{
    return is_left_out;
}

const char *test_repeat(bool integers)
{
    static char text[TN_CASE_TEXT_SIZE];
    last_call.integers = integers;
    return last_call.operation != NULL ? tn_case_text(&last_call, text) : "";
}

uint32_t test_first_output(const tn_operation *operation)
{
    uint32_t i = 0;
    while (i < operation->operand_count && !tn_operation_writes(operation, i))
        i++;
    return i;
}

/* Returns whether an operand is present and an output, or present and an input. */
static bool is_present(const test_subject *subject, uint32_t operand, bool output)
{
    return subject->operands[operand].image != NULL &&
           tn_operation_writes(subject->operation, operand) == output;
}

static void fail_subject(const test_subject *subject, const char *solver, const char *why)
{
    const bool integers = subject->judge == TEST_EXACT;
    fail_msg("%s\n  TENON_TEST_SEED=%llu, %s, %s, %s\n  %s", why, (unsigned long long)test_seed(),
             solver != NULL ? solver : "automatic choice", integers ? "integers" : "reals",
             subject->describe(subject->data), test_repeat(integers));
}

/* Returns true if a forced solver reports that it cannot serve. Without a forced solver this is a
 * failure like any other. */
static bool cannot_serve(tenon_status status, const char *solver)
{
    return status == TENON_ERROR_UNSUPPORTED && solver != NULL &&
           strstr(tenon_last_error(), "cannot serve") != NULL;
}

/* Returns false if the solver cannot serve. */
static bool call_subject(const test_subject *subject, const char *solver)
{
    static const char before[] = "nothing has failed";
    for (uint32_t i = 0; i < subject->operation->operand_count; i++)
        if (is_present(subject, i, true))
            test_upload(&subject->operands[i]);
    tn_fail(TENON_ERROR_UNSUPPORTED, before);
    may_leave_out = true;
    is_left_out = false;
    tenon_status status = subject->call(subject->data, solver);
    may_leave_out = false;
    if (cannot_serve(status, solver))
        return false;
    /* A successful call leaves the thread's message unchanged. */
    if (status != TENON_OK || strcmp(tenon_last_error(), before) != 0)
        fail_subject(subject, solver, tenon_last_error());
    return true;
}

/* Compares all outputs with the expected values; returns false with the first difference in
 * `why`. */
static bool outputs_agree(const test_subject *subject, const char *solver, char why[256])
{
    test_judge judge = subject->judge;
    const tn_bounded *expected =
        subject->expected_of != NULL ? subject->expected_of(subject->data, solver, &judge) : NULL;
    if (expected == NULL)
        expected = subject->expected;
    for (uint32_t i = 0; i < subject->operation->operand_count; i++) {
        const test_tensor *output = &subject->operands[i];
        if (!is_present(subject, i, true))
            continue;
        if (!test_result(output, expected, judge, why)) {
            size_t length = strlen(why);
            snprintf(why + length, 256 - length, ", of operand %u", i);
            return false;
        }
        expected += tenon_tensor_elements(&output->view);
    }
    return true;
}

/* Returns the bits of all outputs, concatenated; the caller frees them. */
static unsigned char *output_bits(const test_subject *subject, size_t *bytes)
{
    unsigned char *bits = NULL;
    *bytes = 0;
    for (uint32_t i = 0; i < subject->operation->operand_count; i++) {
        const test_tensor *output = &subject->operands[i];
        if (!is_present(subject, i, true))
            continue;
        size_t size =
            (size_t)tenon_tensor_elements(&output->view) * tenon_dtype_size(output->view.dtype);
        unsigned char *own = test_download_bits(output);
        bits = realloc(bits, *bytes + size + 1);
        assert_non_null(bits);
        memcpy(bits + *bytes, own, size);
        *bytes += size;
        free(own);
    }
    return bits;
}

/* Copies an operand, with its whole image including guard zones, to `shift` bytes into memory of
 * its own; to shared virtual memory if `is_shared`. */
static void move_operand(const test_tensor *from, uint64_t shift, bool is_shared, test_tensor *to)
{
    *to = *from;
    to->bytes = from->bytes + shift;
    to->image = malloc((size_t)to->bytes);
    assert_non_null(to->image);
    memset(to->image, 0xff, (size_t)shift);
    memcpy(to->image + shift, from->image, (size_t)from->bytes);
    to->view.offset += shift;
    to->host = to->view;
    to->host.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = to->image};
    if (is_shared)
        to->view.memory =
            (tenon_memory){.kind = TENON_MEMORY_SVM,
                           .u.svm = clSVMAlloc(tenon_context_cl(test_context), CL_MEM_READ_WRITE,
                                               (size_t)to->bytes, 0)};
    else
        assert_ok(tenon_memory_create(test_context, to->bytes, &to->view.memory));
    assert_true(!is_shared || to->view.memory.u.svm != NULL);
    test_upload(to);
}

static void destroy_moved(test_tensor *moved)
{
    if (moved->view.memory.kind == TENON_MEMORY_SVM) {
        assert_ok(tenon_stream_finish(test_stream));
        clSVMFree(tenon_context_cl(test_context), moved->view.memory.u.svm);
        moved->view.memory = (tenon_memory){.kind = TENON_MEMORY_NONE};
    }
    test_tensor_destroy(moved);
}

static bool can_share(void)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    cl_device_svm_capabilities can = 0;
    assert_ok(tenon_context_device(test_context, &info));
    return clGetDeviceInfo(info.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) ==
               CL_SUCCESS &&
           (can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
}

/* Collects the operands of a run, in reverse order, omitting those that the plan holds itself. */
static uint32_t name_operands(const test_subject *subject, const tenon_plan *plan,
                              const test_tensor *moved, tenon_operand *named)
{
    uint32_t count = 0;
    for (uint32_t i = plan->operand_count; i-- > 0;) {
        const tn_plan_operand *planned = &plan->operands[i];
        const test_tensor *from = subject->operand_named(subject->data, planned->name);
        if (from == NULL || !planned->present || planned->is_bound)
            continue;
        const test_tensor *to = &moved[from - subject->operands];
        named[count++] = (tenon_operand){planned->name, to->view.memory, to->view.offset};
    }
    return count;
}

/* Plans the same call and runs it with every operand at another offset: either a few elements
 * further, which changes the alignment of vectors, or many. A third of the runs use shared virtual
 * memory, unless the solver is a library that only accepts buffers. */
static void run_elsewhere(const test_subject *subject, const char *solver)
{
    static uint64_t turn;
    test_random random = test_random_for(0x0ff5e7 + turn++);
    test_tensor moved[TN_MAX_OPERANDS];
    tenon_operand named[TN_MAX_OPERANDS];
    char why[256];
    tenon_plan *plan = subject->plan(subject->data, solver);
    const bool is_shared =
        test_one_in(&random, 3) && strstr(plan->name, "/clblast") == NULL && can_share();
    memset(moved, 0, sizeof moved);
    for (uint32_t i = 0; i < subject->operation->operand_count; i++) {
        const test_tensor *from = &subject->operands[i];
        const int64_t most = test_one_in(&random, 2) ? 9 : 700;
        if (from->image != NULL)
            move_operand(
                from, (uint64_t)test_between(&random, 1, most) * tenon_dtype_size(from->view.dtype),
                is_shared, &moved[i]);
    }
    const uint32_t count = name_operands(subject, plan, moved, named);
    const tenon_status status =
        tenon_plan_run_operands(test_stream, plan, named, count, NULL, 0, NULL);
    test_subject there = *subject;
    there.operands = moved;
    /* A plan knows the workspace limit of the context, but not of the test's stream. */
    const bool is_refused = tenon_plan_workspace(plan) > test_stream->arena.limit;
    if (status != (is_refused ? TENON_ERROR_WORKSPACE_TOO_SMALL : TENON_OK))
        fail_subject(subject, solver, tenon_last_error());
    if (!is_refused && !outputs_agree(&there, solver, why))
        fail_subject(subject, solver, why);
    for (uint32_t i = 0; i < subject->operation->operand_count; i++) {
        if (is_present(&there, i, false) && !test_untouched(&moved[i]))
            fail_subject(subject, solver, "an input was written to by a run at other offsets");
        if (moved[i].image != NULL)
            destroy_moved(&moved[i]);
    }
    tenon_plan_release(plan);
}

bool test_run(const test_subject *subject, const char *solver)
{
    size_t bytes;
    char why[256];
    tally_begin(subject->operation);
    if (!call_subject(subject, solver))
        return false;
    if (is_left_out)
        return true;
    if (!outputs_agree(subject, solver, why))
        fail_subject(subject, solver, why);
    unsigned char *first = output_bits(subject, &bytes);
    call_subject(subject, solver);
    unsigned char *second = output_bits(subject, &bytes);
    if (memcmp(first, second, bytes) != 0)
        fail_subject(subject, solver, "the second run gave different bits");
    free(first);
    free(second);
    if (subject->plan != NULL)
        run_elsewhere(subject, solver);
    tally_begin(NULL);
    return true;
}

static void upload_inputs(const test_subject *subject)
{
    for (uint32_t i = 0; i < subject->operation->operand_count; i++)
        if (is_present(subject, i, false))
            test_upload(&subject->operands[i]);
}

void test_run_once(const test_subject *subject)
{
    upload_inputs(subject);
    test_run(subject, NULL);
}

/* Returns true if solver number `s` is to be tried: always, except that with a larger number of
 * problems each is tried on one solver in turn. */
static bool has_its_turn(uint32_t s, uint32_t count)
{
    static uint32_t turn;
    if (getenv("TENON_TEST_PROBLEMS") == NULL)
        return true;
    turn += s == 0;
    return turn % count == s;
}

static void try_solver(const test_subject *subject, const char *name)
{
    bool served = test_run(subject, name);
    if (!is_left_out)
        tally_run(name, served);
}

/* Forces non-temporal stores, which the solver itself selects only for tensors larger than the
 * caches. */
static void run_nontemporal(const test_subject *subject, const tn_solver *solver)
{
    char name[TN_SOLVER_NAME_SIZE];
    uint32_t available = 0;
    if (solver->parameters != tn_stores_parameter)
        return;
    assert_int_equal(tenon_context_capability(test_context, TENON_CAPABILITY_NONTEMPORAL_STORE,
                                              &available, NULL, 0),
                     TENON_OK);
    snprintf(name, sizeof name, "%s/%s:nt%d", subject->family->name, solver->name,
             TN_STORES_NONTEMPORAL);
    if (available)
        try_solver(subject, name);
}

void test_emulate(const test_subject *subject)
{
    upload_inputs(subject);
    subject->emulate(subject);
}

void test_run_all(const test_subject *subject)
{
    char name[TN_SOLVER_NAME_SIZE], why[64];
    const uint32_t ways = subject->family->solver_count + 1; /* and emulated units */
    upload_inputs(subject);
    test_run(subject, NULL);
    for (uint32_t s = 0; s < subject->family->solver_count; s++) {
        if (!has_its_turn(s, ways))
            continue;
        snprintf(name, sizeof name, "%s/%s", subject->family->name,
                 subject->family->solvers[s]->name);
        try_solver(subject, name);
        run_nontemporal(subject, subject->family->solvers[s]);
    }
    if (subject->emulate != NULL && has_its_turn(ways - 1, ways))
        subject->emulate(subject);
    for (uint32_t i = 0; i < subject->operation->operand_count; i++)
        if (is_present(subject, i, false) && !test_untouched(&subject->operands[i])) {
            snprintf(why, sizeof why, "operand %u, an input, was written to", i);
            fail_subject(subject, NULL, why);
        }
}
