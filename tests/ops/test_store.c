/* Tests that programs and the results of trials and self-checks are stored for later contexts and
 * processes. test_store_faults.c tests damaged entries. */
#include "kept.h"

#include "common/processor.h"
#include "runtime/probe/constants.h"
#include "runtime/context/context.h"
#include "runtime/program/program.h"

#include <inttypes.h>
#include <unistd.h>

TEST(a_second_context_builds_nothing_again)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session first, second;
    const uint64_t bits = kept_run(&first, &store);
    assert_true(first.seen.programs_built > 0);
    assert_true(first.seen.trials > 0);
    assert_true(first.seen.checks > 0);
    assert_int_equal(first.seen.programs_loaded, 0);
    assert_int_equal(first.seen.trials_recalled + first.seen.checks_recalled, 0);
    for (int kind = 0; kind < TN_STORE_RUNNING; kind++)
        assert_true(kept_count(folder, (tn_store_kind)kind) > 0);
    assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0);
    assert_true(kept_run(&second, &store) == bits);
    assert_nothing_new(&second);
    assert_true(second.seen.programs_loaded > 0);
    assert_int_equal(second.seen.trials_recalled, first.seen.trials);
    assert_int_equal(second.seen.checks_recalled, first.seen.checks);
    assert_int_equal(first.log.warnings + second.log.warnings, 0);
    temporary_remove(folder);
}

/* A new process recomputes nothing, even if the driver's own cache is empty. */
TEST(a_second_process_builds_nothing_again)
{
    char *folder = temporary_make(), *drivers = temporary_make();
    const tenon_store store = kept_folder(folder);
    char line[256], expected[256], variables[1024];
    kept_session first;
    const uint64_t bits = kept_run(&first, &store);
    snprintf(expected, sizeof expected,
             "built 0 trials 0 checks 0 warnings 0 bits %016" PRIx64 "\n", bits);
    assert_int_equal(kept_begin_again("", "run", folder, line), 0);
    assert_string_equal(line, expected);
    snprintf(variables, sizeof variables, "POCL_CACHE_DIR='%s'", drivers);
    assert_int_equal(kept_begin_again(variables, "run", folder, line), 0);
    assert_string_equal(line, expected);
    temporary_remove(drivers);
    temporary_remove(folder);
}

/* Each step is reported when it begins and ends, and logged once. Stored results are not reported.
 */
TEST(steps_are_told_and_found_ones_are_not)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    kept_run(&s, &store);
    const uint64_t counts[3] = {s.seen.programs_built, s.seen.trials, s.seen.checks};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s.log.begun[i], counts[i]);
        assert_int_equal(s.log.done[i], counts[i]);
        assert_int_equal(s.log.info_lines[i], counts[i]);
    }
    kept_run(&s, &store);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s.log.begun[i] + s.log.done[i] + s.log.info_lines[i], 0);
    temporary_remove(folder);
}

/* The end of a failing build is reported as well. */
TEST(builds_that_fail_are_told_to_have_ended)
{
    const tenon_store none = {.kind = TENON_STORE_NONE};
    kept_session s;
    uint32_t kernel;
    kept_open(&s, &none);
    assert_int_equal(tn_program_kernel(s.context, "tensor/fill",
                                       "-cl-std=CL1.2 -DELEMENT_SIZE=oops(", "fill", 0, &kernel),
                     TENON_ERROR_BUILD_FAILED);
    kept_see(&s);
    assert_int_equal(s.log.begun[TENON_PROGRESS_BUILD], 1);
    assert_int_equal(s.log.done[TENON_PROGRESS_BUILD], 1);
    assert_int_equal(s.seen.programs_built, 0);
    kept_close(&s);
}

TEST(it_can_be_turned_off)
{
    char *folder = temporary_make();
    const tenon_store none = {.kind = TENON_STORE_NONE}, usual = {.kind = TENON_STORE_USUAL};
    kept_session s;
    setenv("TENON_CACHE_DIR", folder, 1);
    for (int i = 0; i < 2; i++) {
        kept_run(&s, &none);
        assert_true(s.seen.programs_built > 0 && s.seen.trials > 0 && s.seen.checks > 0);
        assert_int_equal(s.seen.programs_kept, 0);
        kept_run(&s, &usual); /* disabled, since tests set TENON_CACHE=0 */
        assert_true(s.seen.programs_built > 0 && s.seen.trials > 0 && s.seen.checks > 0);
    }
    assert_int_equal(temporary_count(folder, ""), 0);
    setenv("TENON_CACHE", "1", 1);
    kept_run(&s, &usual);
    kept_run(&s, &usual);
    setenv("TENON_CACHE", "0", 1);
    assert_nothing_new(&s);
    assert_int_equal(s.log.warnings, 0);
    assert_true(temporary_count(folder, "") > 0);
    temporary_remove(folder);
}

/* A store implemented by the application. */
#define MOST_OWN 64
static struct own {
    pthread_mutex_t lock;
    int count, delay; /* time to store a program, in nanoseconds */
    struct {
        char name[64];
        unsigned char *bytes;
        size_t size;
    } entries[MOST_OWN];
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the entry of that name, or the first free one. The caller holds the lock. */
static int find_own(const char *name)
{
    int i = 0;
    while (i < own.count && strcmp(own.entries[i].name, name) != 0)
        i++;
    return i;
}

static size_t get_own(void *user, const char *name, void *data, size_t capacity)
{
    (void)user;
    pthread_mutex_lock(&own.lock);
    const int i = find_own(name);
    const size_t size = i < own.count ? own.entries[i].size : 0;
    if (size > 0 && data != NULL)
        memcpy(data, own.entries[i].bytes, size < capacity ? size : capacity);
    pthread_mutex_unlock(&own.lock);
    return size;
}

static void set_own(void *user, const char *name, const void *data, size_t size)
{
    (void)user;
    if (strstr(name, ".program") != NULL && own.delay > 0)
        nanosleep(&(struct timespec){.tv_nsec = own.delay}, NULL);
    pthread_mutex_lock(&own.lock);
    const int i = find_own(name);
    if (i < own.count)
        free(own.entries[i].bytes);
    else
        snprintf(own.entries[i].name, sizeof own.entries[i].name, "%s", name);
    own.count += i == own.count;
    assert_true(own.count < MOST_OWN);
    own.entries[i].bytes = size > 0 ? malloc(size) : NULL;
    own.entries[i].size = size;
    if (size > 0)
        memcpy(own.entries[i].bytes, data, size);
    pthread_mutex_unlock(&own.lock);
}

static const tenon_store own_store = {
    .kind = TENON_STORE_FUNCTIONS, .get = get_own, .set = set_own};

static void forget_own(void)
{
    for (int i = 0; i < own.count; i++)
        free(own.entries[i].bytes);
    own.count = own.delay = 0;
}

TEST(an_application_keeps_entries_itself)
{
    kept_session s;
    const uint64_t bits = kept_run(&s, &own_store);
    assert_true(s.seen.programs_built > 0);
    assert_true(own.count > 0);
    assert_true(kept_run(&s, &own_store) == bits);
    assert_nothing_new(&s);
    assert_int_equal(s.log.warnings, 0);
    forget_own();
}

#define PROGRAMS 10

/* Builds programs that wait to be stored. */
static void build_programs(tenon_context *context)
{
    for (int i = 0; i < PROGRAMS; i++) {
        char options[64];
        uint32_t kernel;
        cl_kernel made;
        snprintf(options, sizeof options, "-cl-std=CL1.2 -DELEMENT_SIZE=4 -DSALT=%d", i);
        assert_ok(tn_program_kernel(context, "tensor/fill", options, "fill", 0, &kernel));
        assert_ok(tn_program_create_kernel(context, "test", kernel, &made));
        clReleaseKernel(made);
    }
}

/* The programs that were stored during the self-check of an activation. */
static int64_t stored_meanwhile;

/* Called at the start of a self-check: is idle for two seconds. */
static void be_idle(void *user, const tenon_progress *progress)
{
    tenon_statistics before = TENON_STATISTICS_INIT, after = TENON_STATISTICS_INIT;
    tenon_context *const *context = user;
    if (progress->stage != TENON_PROGRESS_CHECK || progress->is_done ||
        strncmp(progress->name, "activation", 10) != 0)
        return;
    assert_ok(tenon_context_statistics(*context, &before));
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    assert_ok(tenon_context_statistics(*context, &after));
    stored_meanwhile = (int64_t)(after.programs_kept - before.programs_kept);
}

/* Nothing is stored while a self-check computes on the host, since its next kernel would wait. */
TEST(nothing_is_stored_during_a_check)
{
    kept_session s = {0};
    const int64_t shape[] = {5, 3};
    tenon_tensor x;
    s.context =
        test_context_with(.store = own_store, .progress = be_idle, .progress_user = &s.context);
    s.stream = test_new_stream(s.context);
    kept_product(&s); /* with everything that is measured once per context */
    assert_ok(tenon_tensor_create(s.context, TENON_DTYPE_F32, 2, shape, &x));
    assert_ok(tenon_tensor_fill(s.stream, &x, 1, NULL));
    build_programs(s.context);
    stored_meanwhile = -1;
    assert_ok(tenon_activation_forward(s.stream, NULL, &x, &x, NULL));
    assert_ok(tenon_stream_finish(s.stream));
    /* The storing of one program may have begun before the check. */
    assert_in_range(stored_meanwhile, 0, 1);
    tenon_memory_destroy(&x.memory);
    kept_close(&s);
    forget_own();
}

/* Releasing a context does not wait until all programs are stored, which takes half a second each.
 */
TEST(the_end_of_a_context_does_not_wait_for_all)
{
    kept_session s;
    kept_open(&s, &own_store);
    if (!s.context->device.keeps_builds) {
        kept_close(&s);
        skip();
    }
    own.delay = 500000000;
    build_programs(s.context);
    tenon_stream_destroy(s.stream);
    const unsigned before = (unsigned)own.count; /* stored while the process was idle */
    tenon_context_release(s.context);
    /* Compares a count, since times vary on a busy machine. Two or three programs fit into a
     * second. */
    assert_in_range(own.count - before, 0, 4);
    assert_in_range(own.count, 1, PROGRAMS);
    forget_own();
}

TEST(every_count_counts)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    kept_open(&s, &store);
    kept_see(&s);
    assert_int_equal(s.seen.plans + s.seen.plans_found + s.seen.workspace_bytes, 0);
    kept_product(&s);
    kept_product(&s);
    kept_product(&s);
    assert_ok(tenon_stream_reserve_workspace(s.stream, 12345));
    kept_see(&s);
    assert_int_equal(s.seen.plans, 1);
    assert_int_equal(s.seen.plans_found, 2);
    assert_true(s.seen.workspace_bytes >= 12345);
    assert_int_equal(s.seen.checks_wrong, 0);
    assert_true(s.seen.build_seconds > 0);
    assert_true(s.seen.trial_seconds > 0 && s.seen.check_seconds > 0);
    assert_true(s.seen.plan_seconds >= s.seen.check_seconds);
    assert_true(s.seen.load_seconds == 0);
    tenon_stream_destroy(s.stream);
    kept_see(&s);
    assert_int_equal(s.seen.workspace_bytes, 0);
    assert_ok(tenon_context_keep(s.context));
    kept_see(&s);
    assert_true(s.seen.programs_kept > 0 && s.seen.keep_seconds > 0);
    tenon_context_release(s.context);
    kept_run(&s, &store);
    assert_true(s.seen.load_seconds > 0);
    assert_true(s.seen.build_seconds == 0 && s.seen.trial_seconds == 0);
    temporary_remove(folder);
}

/* The processor is measured once per machine, and again if the stored result is damaged. */
TEST(the_processors_numbers_are_kept)
{
    char *folder = temporary_make(), name[256];
    const tenon_store store = kept_folder(folder);
    kept_session s;
    tn_host_speed speed;
    for (int run = 0; run < 4; run++) {
        kept_open(&s, &store);
        if (!s.context->device.is_cpu) {
            kept_close(&s);
            skip();
        }
        const tn_device_kind table = *s.context->device.model.kind;
        kept_product(&s);
        const tn_device_kind *kind = s.context->device.model.kind;
        assert_ptr_equal(kind, &s.context->constants.kind);
        assert_string_equal(kind->name, table.name);
        assert_true(tn_constants_measured(s.context, &speed));
        assert_int_equal(s.context->device.model.cache_size, speed.cache_size);
        assert_int_equal(processor_at_hand.taken, run != 1);
        assert_int_equal(kept_count(folder, TN_STORE_CONSTANTS), 1);
        assert_int_equal(s.log.measured, run != 1);
        assert_int_equal(s.log.warnings, run == 2);
        kept_close(&s);
        assert_true(temporary_find(folder, ".constants", name));
        if (run == 1)
            temporary_write(temporary_path(folder, name), "damaged", 7);
        if (run == 2)
            assert_int_equal(remove(temporary_path(folder, name)), 0);
    }
    temporary_remove(folder);
}

TEST(without_measurements_there_is_the_table_alone)
{
    char *folder = temporary_make();
    kept_session s = {0};
    s.context =
        test_context_with(.store = kept_folder(folder), .measurements = TENON_MEASUREMENTS_NONE);
    s.stream = test_new_stream(s.context);
    kept_product(&s);
    assert_ptr_not_equal(s.context->device.model.kind, &s.context->constants.kind);
    assert_int_equal(kept_count(folder, TN_STORE_CONSTANTS), 0);
    kept_close(&s);
    temporary_remove(folder);
}

TEST(statistics_are_refused_what_is_wrong)
{
    const tenon_store none = {.kind = TENON_STORE_NONE};
    tenon_statistics seen = TENON_STATISTICS_INIT;
    kept_session s;
    kept_open(&s, &none);
    assert_invalid(tenon_context_statistics(NULL, &seen), "context is NULL");
    assert_invalid(tenon_context_statistics(s.context, NULL), "out is NULL");
    seen.struct_size = 8;
    assert_invalid(tenon_context_statistics(s.context, &seen), "out: struct_size is 8, must be");
    assert_invalid(tenon_context_keep(NULL), "context is NULL");
    assert_ok(tenon_context_keep(s.context)); /* everything was already stored with the stream */
    kept_close(&s);
}

TEST(what_is_no_store_makes_no_context)
{
    tenon_context *context;
    tenon_context_params params = tenon_context_params(.store.kind = 9);
    assert_invalid(tenon_context_create(&params, &context), "params: store.kind is 9");
    assert_null(context);
    params.store = kept_folder("");
    assert_invalid(tenon_context_create(&params, &context), "params: store.folder is empty");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "run") == 0)
        return kept_run_and_print(argv[2]);
    return test_main_alone();
}
