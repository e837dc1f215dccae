/* What becomes of what the store holds where it is wrong: altered entries, solvers that are wrong,
 * and those that end the process. */
#include "kept.h"

#include "base/process.h"
#include "dispatch/plan.h"
#include "runtime/launch.h"
#include "runtime/stream.h"

#include <inttypes.h>
#include <sys/resource.h>

/* The path of the first entry of a kind. */
static const char *entry_of(const char *folder, tn_store_kind kind)
{
    char ending[32], name[256];
    snprintf(ending, sizeof ending, ".%s", tn_store_kind_name(kind));
    assert_true(temporary_find(folder, ending, name));
    return temporary_path(folder, name);
}

typedef enum damage { CUT, EMPTIED, ALTERED, EXTENDED, RENAMED, SENSELESS, DAMAGES } damage;

/* Writes other data under an entry's key. */
static void write_data(const char *path, tn_store_kind kind, const char *key, const char *data)
{
    size_t size;
    unsigned char *bytes = tn_entry_make(kind, key, data, strlen(data), &size);
    assert_non_null(bytes);
    temporary_write(path, bytes, size);
    free(bytes);
}

static void do_damage(const char *folder, tn_store_kind kind, damage how)
{
    const char *path = entry_of(folder, kind);
    size_t size;
    tn_entry entry;
    unsigned char *bytes = temporary_read(path, &size);
    assert_true(tn_entry_read(bytes, size, &entry));
    bytes = realloc(bytes, size + 1);
    assert_true(tn_entry_read(bytes, size, &entry));
    if (how == RENAMED) {
        char key[8192];
        snprintf(key, sizeof key, "%sx", entry.key);
        write_data(path, kind, key, "right 1 paths ffff\n");
    } else if (how == SENSELESS) {
        write_data(path, kind, entry.key, "nothing of sense\n");
    } else {
        bytes[size / 2] ^= how == ALTERED ? 16 : 0;
        temporary_write(path, bytes,
                        how == CUT        ? size - 7
                        : how == EMPTIED  ? 0
                        : how == EXTENDED ? size + 1
                                          : size);
    }
    free(bytes);
}

/* One line, the right result, and what was lost is made anew and kept. */
static void entries_that_were_damaged_are_made_anew(void **state)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    (void)state;
    const uint64_t bits = kept_run(&s, &store);
    for (int kind = 0; kind < TN_STORE_RUNNING; kind++)
        for (int how = 0; how < DAMAGES; how++) {
            const int before = kept_count(folder, (tn_store_kind)kind);
            do_damage(folder, (tn_store_kind)kind, (damage)how);
            assert_true(kept_run(&s, &store) == bits);
            /* That a text makes no sense is no damage of the store's; that of a binary is the
             * driver's to say. */
            const bool is_told = how != SENSELESS || kind == TN_STORE_PROGRAM;
            if (s.log.warnings != is_told)
                fail_msg("kind %d, damage %d: %d lines: %s", kind, how, s.log.warnings, s.log.all);
            if (is_told)
                assert_contains(s.log.warning, "anew");
            assert_int_equal(s.seen.programs_built > 0,
                             kind == TN_STORE_PROGRAM || s.seen.trials > 0);
            assert_int_equal(s.seen.trials > 0, kind == TN_STORE_TRIAL);
            /* A trial that is timed may come out otherwise, and make another kernel. */
            if (kind != TN_STORE_TRIAL)
                assert_int_equal(s.seen.checks > 0, kind == TN_STORE_CHECK);
            assert_int_equal(kept_count(folder, (tn_store_kind)kind), before);
            kept_run(&s, &store);
            assert_nothing_new(&s);
            assert_int_equal(s.log.warnings, 0);
        }
    temporary_remove(folder);
}

/* A family of two solvers, of which the better one does what a test says. */
enum { RIGHT, WRONG, FATAL } behaviour;
static int checks;
static const tn_solver bad_solver, good_solver;

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    (void)context;
    (void)problem;
    choice->time = choice->solver == &bad_solver ? 1 : 2;
    return NULL;
}

static const tn_solver bad_solver = {
    .name = "bad", .configure = configure, .launch = test_launch_nothing};
static const tn_solver good_solver = {
    .name = "good", .configure = configure, .launch = test_launch_nothing};
static const tn_solver *const both[] = {&bad_solver, &good_solver};

static tenon_status check_as_told(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    (void)stream;
    (void)problem;
    checks++;
    *right = choice->solver != &bad_solver || behaviour == RIGHT;
    snprintf(why, 256, "%s", *right ? "" : "element 3 is 7, must be 8");
    if (choice->solver == &bad_solver && behaviour == FATAL)
        abort();
    return TENON_OK;
}

static const tn_family family = {
    .name = "fake", .solvers = both, .solver_count = 2, .self_check = check_as_told};
static const tn_problem open = {.size = sizeof open, .forced = -1};
static const tn_problem forced = {.size = sizeof forced, .forced = 0};

/* What is chosen in a new context, and how many checks that took. */
static void assert_chosen(kept_session *s, const char *folder, const tn_solver *solver, int count)
{
    const tenon_store store = kept_folder(folder);
    tn_choice choice;
    checks = 0;
    kept_open(s, &store);
    s->context->device.miscompiles_at_random = false; /* which would be asked for code more often */
    assert_ok(tn_select("tenon_fake", s->context, &family, &open, &choice));
    assert_string_equal(choice.solver->name, solver->name);
    kept_see(s);
    kept_close(s);
    assert_int_equal(checks, count);
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
}

static void wrong_solvers_are_barred_at_once_in_the_next_context(void **state)
{
    char *folder = temporary_make();
    kept_session s;
    (void)state;
    behaviour = WRONG;
    assert_chosen(&s, folder, &good_solver, 2);
    assert_int_equal(s.seen.checks, 2);
    assert_int_equal(s.seen.checks_wrong, 1);
    assert_int_equal(s.log.warnings, 1);
    assert_chosen(&s, folder, &good_solver, 0);
    assert_int_equal(s.seen.checks_recalled, 2);
    assert_int_equal(s.log.warnings, 1);
    assert_contains(s.log.warning, "solver fake/bad is barred");
    assert_contains(s.log.warning, "element 3 is 7, must be 8");
    temporary_remove(folder);
}

/* A solver of the real family that would be the best and does nothing. */
static tn_solver spoilt;
static const char *(*configure_original)(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice);

static const char *configure_as_the_best(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const char *why = configure_original(context, problem, choice);
    choice->time = choice->time > 0 ? choice->time / 1000 : -1;
    return why;
}

#define ELEMENTS 1000

/* Runs a plan of relu, recorded for its family, on numbers of both signs. */
static void assert_relu(kept_session *s, const tenon_plan *plan)
{
    static float x[ELEMENTS], y[ELEMENTS];
    const int64_t shape[] = {ELEMENTS};
    tenon_tensor from, to;
    const double scalars[TN_MAX_SCALARS] = {0};
    for (int i = 0; i < ELEMENTS; i++)
        x[i] = (float)(i % 17 - 8);
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &from));
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &to));
    assert_ok(tenon_tensor_upload(s->stream, x, sizeof x, &from, NULL));
    const tn_operand operands[TN_MAX_OPERANDS] = {{from.memory, 0}, {to.memory, 0}};
    assert_ok(tn_recording_run("tenon_test", plan->name, s->stream, &plan->recording, operands,
                               scalars, NULL));
    assert_ok(tenon_tensor_download(s->stream, &to, y, sizeof y, NULL));
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    tenon_memory_destroy(&from.memory);
    tenon_memory_destroy(&to.memory);
}

/* The plan that an immediate relu has made. */
static const tenon_plan *plan_relu(kept_session *s)
{
    const int64_t shape[] = {ELEMENTS};
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x, y;
    params.activation.kind = TENON_ACTIVATION_RELU;
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &x));
    assert_ok(tenon_tensor_create(s->context, TENON_DTYPE_F32, 1, shape, &y));
    assert_ok(tenon_activation_forward(s->stream, &params, &x, &y, NULL));
    assert_ok(tenon_stream_finish(s->stream));
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&y.memory);
    return tn_dispatch_of(s->context)->plans.newest;
}

static void a_solver_that_does_nothing_is_found_out_once(void **state)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    const tn_solver *solvers[32] = {&spoilt};
    (void)state;
    for (int run = 0; run < 2; run++) {
        kept_session s;
        tenon_plan *plan;
        kept_open(&s, &store);
        s.context->device.miscompiles_at_random = false;
        const tenon_plan *usual = plan_relu(&s);
        tn_family with_spoilt = *usual->family;
        const char *name = strchr(usual->name, '/') + 1;
        spoilt = *usual->family->solvers[0];
        for (uint32_t i = 0; i < usual->family->solver_count; i++) {
            const tn_solver *solver = solvers[i + 1] = usual->family->solvers[i];
            if (strncmp(name, solver->name, strlen(solver->name)) == 0)
                spoilt = *solver;
        }
        spoilt.name = "spoilt";
        spoilt.launch = test_launch_nothing;
        configure_original = spoilt.configure;
        spoilt.configure = configure_as_the_best;
        with_spoilt.solvers = solvers;
        with_spoilt.solver_count++;
        assert_ok(
            tn_plan_create("tenon_test", s.context, &with_spoilt, usual->problem, NULL, &plan));
        assert_string_equal(plan->name, usual->name);
        assert_relu(&s, plan);
        tenon_plan_release(plan);
        kept_see(&s);
        assert_int_equal(s.log.warnings, run == 0 ? 2 : 1); /* with the line that repeats it */
        assert_contains(s.log.all, "/spoilt");
        assert_contains(s.log.all, "is barred");
        assert_int_equal(s.seen.checks_wrong, run == 0);
        if (run == 1)
            assert_nothing_new(&s);
        kept_close(&s);
    }
    temporary_remove(folder);
}

/* What a process that was begun with "abort" does: it leaves what it has half written, too. */
static int run_and_abort(const char *folder)
{
    const struct rlimit none = {0, 0};
    char process[TN_PROCESS_SIZE], name[128];
    kept_session s;
    setrlimit(RLIMIT_CORE, &none); /* the end is wanted, and need not be told */
    if (freopen("/dev/null", "w", stderr) == NULL)
        return 0;
    tn_process_name(process);
    snprintf(name, sizeof name, ".writing-%s-abcdef", process);
    temporary_write(temporary_path(folder, name), "half", 4);
    behaviour = FATAL;
    assert_chosen(&s, folder, &good_solver, 2);
    return 0;
}

static void abort_once(const char *folder)
{
    char line[256];
    assert_int_not_equal(kept_begin_anew("", "abort", folder, line), 0);
    assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 1);
    assert_int_equal(temporary_count(folder, ".writing-"), 1);
}

/* Makes the mark so many seconds older; returns how often it has ended a process. */
static unsigned age_mark(const char *folder, int64_t seconds)
{
    const char *path = entry_of(folder, TN_STORE_RUNNING);
    char process[64], data[256];
    unsigned strikes;
    int64_t since;
    size_t size;
    tn_entry entry;
    unsigned char *bytes = temporary_read(path, &size);
    assert_true(tn_entry_read(bytes, size, &entry));
    snprintf(data, sizeof data, "%.*s", (int)entry.data_size, (const char *)entry.data);
    assert_int_equal(
        sscanf(data, "process %63s strikes %u since %" SCNd64, process, &strikes, &since), 3);
    snprintf(data, sizeof data, "process %s strikes %u since %" PRId64, process, strikes,
             since - seconds);
    write_data(path, TN_STORE_RUNNING, entry.key, data);
    free(bytes);
    return strikes;
}

#define HOUR 3600

static void what_ends_the_process_is_barred_at_the_second_start(void **state)
{
    char *folder = temporary_make();
    kept_session s;
    (void)state;
    behaviour = FATAL;
    abort_once(folder);
    for (int i = 0; i < 2; i++) {
        assert_chosen(&s, folder, &good_solver, i == 0);
        assert_int_equal(s.log.warnings, 1);
        assert_contains(s.log.warning, "solver fake/bad is barred");
        assert_contains(s.log.warning, "a process ended while it was tried (1 so far)");
    }
    /* After an hour it is tried again, and bars for a day where that ends badly. */
    assert_int_equal(age_mark(folder, HOUR + 1), 1);
    abort_once(folder);
    assert_chosen(&s, folder, &good_solver, 0);
    assert_contains(s.log.warning, "(2 so far)");
    age_mark(folder, HOUR + 1);
    assert_chosen(&s, folder, &good_solver, 0);
    /* And where it ends well, it is as good as any. */
    age_mark(folder, 24 * HOUR);
    behaviour = RIGHT;
    assert_chosen(&s, folder, &bad_solver, 1);
    assert_int_equal(s.log.warnings, 0);
    assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0);
    assert_chosen(&s, folder, &bad_solver, 0);
    temporary_remove(folder);
}

static void what_ended_a_process_cannot_be_forced(void **state)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    tn_choice choice;
    (void)state;
    behaviour = FATAL;
    abort_once(folder);
    kept_open(&s, &store);
    assert_refused(tn_select("tenon_fake", s.context, &family, &forced, &choice),
                   TENON_ERROR_SOLVER_BARRED, "tenon_fake", "fake/bad");
    assert_contains(tenon_last_error(), "a process ended while it was tried");
    kept_close(&s);
    temporary_remove(folder);
}

/* Marks that make no sense, or are of days to come, bar nothing. */
static void marks_of_any_text_are_taken(void **state)
{
    static const char *const texts[] = {
        "",
        "nothing of sense",
        "process - strikes 1 since 9223372036854775807",
        "process - strikes 1 since -9223372036854775808",
        "process - strikes 4294967295 since 99999999999999999999",
        "process  strikes  since ",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *folder = temporary_make();
        kept_session s;
        behaviour = FATAL;
        abort_once(folder);
        const char *path = entry_of(folder, TN_STORE_RUNNING);
        size_t size;
        tn_entry entry;
        unsigned char *bytes = temporary_read(path, &size);
        assert_true(tn_entry_read(bytes, size, &entry));
        write_data(path, TN_STORE_RUNNING, entry.key, texts[i]);
        free(bytes);
        behaviour = RIGHT;
        assert_chosen(&s, folder, &bad_solver, 1);
        assert_int_equal(s.log.warnings, 0);
        assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0);
        temporary_remove(folder);
    }
}

/* A call that nothing else serves is not refused for what may have been somebody's Ctrl-C: what
 * ended one process is tried again there, and barred when it has ended two. */
static void what_serves_alone_is_tried_once_more(void **state)
{
    const tn_family alone = {
        .name = "fake", .solvers = both, .solver_count = 1, .self_check = check_as_told};
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    tn_choice choice;
    kept_session s;
    (void)state;
    abort_once(folder);
    behaviour = RIGHT;
    kept_open(&s, &store);
    assert_ok(tn_select("tenon_fake", s.context, &family, &open, &choice));
    assert_string_equal(choice.solver->name, "good");
    assert_ok(tn_select("tenon_fake", s.context, &alone, &open, &choice));
    assert_string_equal(choice.solver->name, "bad");
    assert_int_equal(s.log.warnings, 1);
    kept_close(&s);
    temporary_remove(folder);

    folder = temporary_make();
    const tenon_store other = kept_folder(folder);
    abort_once(folder);
    assert_chosen(&s, folder, &good_solver, 1);
    age_mark(folder, HOUR + 1);
    abort_once(folder);
    kept_open(&s, &other);
    assert_refused(tn_select("tenon_fake", s.context, &alone, &open, &choice),
                   TENON_ERROR_SOLVER_BARRED, "tenon_fake", "a process ended");
    kept_close(&s);
    temporary_remove(folder);
}

/* A trial that has ended a process finds the capability absent, and says so. */
static void trials_that_ended_a_process_are_not_made(void **state)
{
    char *folder = temporary_make(), data[128], name[TN_STORE_NAME_SIZE];
    const tenon_store store = kept_folder(folder);
    kept_session s;
    tn_entry entry;
    size_t size;
    (void)state;
    const uint64_t bits = kept_run(&s, &store);
    const char *path = entry_of(folder, TN_STORE_TRIAL);
    unsigned char *bytes = temporary_read(path, &size);
    assert_true(tn_entry_read(bytes, size, &entry));
    assert_contains(entry.key, "trial hardware_fma");
    snprintf(data, sizeof data, "process - strikes 2 since %lld", (long long)time(NULL) - 60);
    tn_store_name(TN_STORE_RUNNING, entry.key, name);
    write_data(temporary_path(folder, name), TN_STORE_RUNNING, entry.key, data);
    free(bytes);
    assert_int_equal(remove(path), 0);
    assert_true(kept_run(&s, &store) == bits); /* of integers */
    assert_int_equal(s.seen.trials, 0);
    assert_int_equal(s.log.warnings, 1);
    assert_contains(s.log.warning, "hardware_fma is not tried on ");
    assert_contains(s.log.warning, "a process ended while it was tried (2 so far)");
    age_mark(folder, 24 * HOUR);
    assert_true(kept_run(&s, &store) == bits);
    assert_int_equal(s.seen.trials, 1);
    assert_int_equal(s.log.warnings, 0);
    temporary_remove(folder);
}

/* One line for a mark that was altered. */
static void marks_that_were_damaged_bar_nothing(void **state)
{
    char *folder = temporary_make();
    kept_session s;
    (void)state;
    behaviour = FATAL;
    abort_once(folder);
    do_damage(folder, TN_STORE_RUNNING, ALTERED);
    behaviour = RIGHT;
    assert_chosen(&s, folder, &bad_solver, 1);
    assert_int_equal(s.log.warnings, 1);
    assert_contains(s.log.warning, "was cut or altered");
    temporary_remove(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_that_were_damaged_are_made_anew),
        cmocka_unit_test(wrong_solvers_are_barred_at_once_in_the_next_context),
        cmocka_unit_test(a_solver_that_does_nothing_is_found_out_once),
        cmocka_unit_test(what_ends_the_process_is_barred_at_the_second_start),
        cmocka_unit_test(what_ended_a_process_cannot_be_forced),
        cmocka_unit_test(marks_of_any_text_are_taken),
        cmocka_unit_test(what_serves_alone_is_tried_once_more),
        cmocka_unit_test(trials_that_ended_a_process_are_not_made),
        cmocka_unit_test(marks_that_were_damaged_bar_nothing),
    };
    if (argc == 3 && strcmp(argv[1], "abort") == 0)
        return run_and_abort(argv[2]);
    return TEST_MAIN_ALONE(tests);
}
