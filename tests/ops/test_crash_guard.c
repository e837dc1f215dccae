/* Tests the crash guard: the consequences of a process that ended during a self-check or trial, and
 * that a normal exit has none. */
#include "fake_solvers.h"
#include "kept.h"

#include "base/process.h"
#include "dispatch/select.h"
#include "runtime/probe/crash_guard.h"
#include "runtime/queue/stream.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Functions that end a child process in the middle of a self-check. For a normal end the check
 * continues in another thread. */
static pthread_mutex_t check_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t check_began = PTHREAD_COND_INITIALIZER;
static bool has_begun;

static void tell(void)
{
    pthread_mutex_lock(&check_lock);
    has_begun = true;
    pthread_cond_signal(&check_began);
    pthread_mutex_unlock(&check_lock);
}

static void tell_and_hang(tenon_context *context)
{
    (void)context;
    tell();
    for (;;)
        pause();
}

static void end_by_exit(tenon_context *context)
{
    (void)context;
    exit(0);
}

static void end_at_once(tenon_context *context)
{
    (void)context;
    _exit(0);
}

static void end_by_abort(tenon_context *context)
{
    const struct rlimit none = {0, 0};
    (void)context;
    setrlimit(RLIMIT_CORE, &none); /* no core dump of an intended crash */
    abort();
}

static void end_by_signal(tenon_context *context)
{
    (void)context;
    raise(SIGKILL);
}

/* A fork's child that exits normally must not clear its parent's crash record. */
static void end_a_fork_and_by_signal(tenon_context *context)
{
    (void)context;
    const pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    raise(SIGKILL);
}

/* Ends during a trial within the check. */
static void end_in_a_trial(tenon_context *context)
{
    (void)tn_crash_guard_begin(context, "a trial", 1);
    raise(SIGKILL);
}

static void end_after_a_trial(tenon_context *context)
{
    tn_crash_guard_end(tn_crash_guard_begin(context, "a trial", 1));
    raise(SIGKILL);
}

static void end_orderly_in_a_trial(tenon_context *context)
{
    (void)tn_crash_guard_begin(context, "a trial", 1);
    exit(0);
}

static tenon_status select_in(kept_session *s, const tn_family *family, const tn_problem *problem,
                              tn_choice *choice)
{
    return tn_select(&(tn_request){"tenon_fake", s->context, family, problem, NULL}, choice);
}

static void *choose(void *data)
{
    kept_session *s = data;
    tn_choice choice;
    (void)select_in(s, &fake_family, &fake_problem, &choice);
    tell(); /* if there was no check, nothing has signaled yet */
    return NULL;
}

typedef struct way {
    const char *name;
    void (*at_check)(tenon_context *context);
    bool is_orderly;
} way;

static const way ways[] = {
    {"return", tell_and_hang, true},
    {"exit", tell_and_hang, true},
    {"exit-in-check", end_by_exit, true},
    {"exit-in-trial", end_orderly_in_a_trial, true},
    {"abort", end_by_abort, false},
    {"_exit", end_at_once, false},
    {"kill", end_by_signal, false},
    {"kill-after-fork", end_a_fork_and_by_signal, false},
    {"kill-after-trial", end_after_a_trial, false},
    {"kill-in-trial", end_in_a_trial, false},
};
#define WAYS (sizeof ways / sizeof *ways)

/* Does the work of a process started with the name of a way. It also leaves a partly written file.
 */
static int run_and_end(const way *w, const char *folder)
{
    static kept_session s; /* used by the thread until the process ends */
    const tenon_store store = kept_folder(folder);
    char process[TN_PROCESS_SIZE], name[128];
    pthread_t thread;
    tn_process_name(process);
    snprintf(name, sizeof name, ".writing-%s-abcdef", process);
    temporary_write(temporary_path(folder, name), "half", 4);
    fake_at_check = w->at_check;
    kept_open(&s, &store);
    if (pthread_create(&thread, NULL, choose, &s) != 0)
        return 1;
    pthread_mutex_lock(&check_lock);
    while (!has_begun)
        pthread_cond_wait(&check_began, &check_lock);
    pthread_mutex_unlock(&check_lock);
    if (strcmp(w->name, "exit") == 0)
        exit(0);
    return 0;
}

static void end_once(const char *folder, const char *name)
{
    char line[256];
    (void)kept_begin_again("", name, folder, line);
    assert_int_equal(temporary_count(folder, ".writing-"), 1);
}

static void kill_once(const char *folder)
{
    end_once(folder, "kill");
    assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 1);
}

/* Makes the crash record older; returns its number of strikes. */
static unsigned age_mark(const char *folder, int64_t seconds)
{
    const char *path = kept_entry(folder, TN_STORE_RUNNING);
    char data[TN_CRASH_RECORD_TEXT];
    tn_crash_record mark;
    size_t size;
    tn_entry entry;
    unsigned char *bytes = temporary_read(path, &size);
    assert_true(tn_entry_read(bytes, size, &entry));
    snprintf(data, sizeof data, "%.*s", (int)entry.data_size, (const char *)entry.data);
    assert_true(tn_crash_record_read(data, time(NULL), &mark));
    mark.since -= seconds;
    tn_crash_record_write(&mark, data);
    kept_write(path, TN_STORE_RUNNING, entry.key, data);
    free(bytes);
    return mark.strikes;
}

#define HOUR 3600

/* Normal exits, however many, leave no crash record. */
TEST(an_orderly_end_is_no_crash)
{
    for (size_t i = 0; i < WAYS; i++) {
        char *folder = temporary_make();
        kept_session s;
        for (int times = 0; ways[i].is_orderly && times < 3; times++) {
            end_once(folder, ways[i].name);
            if (kept_count(folder, TN_STORE_RUNNING) != 0)
                fail_msg("%s leaves a mark", ways[i].name);
        }
        fake_assert_chosen(&s, folder, "bad", 1);
        assert_int_equal(s.log.warnings, 0);
        temporary_remove(folder);
    }
}

/* Each other end bars what was tried last, and nothing else. */
TEST(any_other_end_counts_once)
{
    for (size_t i = 0; i < WAYS; i++) {
        char *folder = temporary_make();
        const bool is_in_trial = ways[i].at_check == end_in_a_trial;
        kept_session s;
        if (!ways[i].is_orderly) {
            end_once(folder, ways[i].name);
            assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 1);
            fake_assert_chosen(&s, folder, is_in_trial ? "bad" : "good", 1);
            assert_int_equal(s.log.warnings, !is_in_trial);
            assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 1);
            assert_int_equal(age_mark(folder, 0), !is_in_trial);
        }
        temporary_remove(folder);
    }
}

/* A normal exit clears its own crash record, but keeps earlier strikes. */
TEST(earlier_strikes_stay)
{
    char *folder = temporary_make();
    kept_session s;
    kill_once(folder);
    fake_assert_chosen(&s, folder, "good", 1);
    assert_int_equal(age_mark(folder, HOUR + 1), 1);
    end_once(folder, "exit");
    assert_int_equal(age_mark(folder, 0), 1);
    kill_once(folder);
    fake_assert_chosen(&s, folder, "good", 0);
    assert_contains(s.log.warning, "(2 so far)");
    temporary_remove(folder);
}

TEST(what_ends_the_process_is_barred_at_the_second_start)
{
    char *folder = temporary_make();
    kept_session s;
    kill_once(folder);
    for (int i = 0; i < 2; i++) {
        fake_assert_chosen(&s, folder, "good", i == 0);
        assert_int_equal(s.log.warnings, 1);
        assert_contains(s.log.warning, "solver fake/bad is barred");
        assert_contains(s.log.warning,
                        "a process crashed or was killed during this test (1 so far)");
    }
    /* After an hour the solver is tried again. If that crashes too, it is barred for a day. */
    assert_int_equal(age_mark(folder, HOUR + 1), 1);
    kill_once(folder);
    fake_assert_chosen(&s, folder, "good", 0);
    assert_contains(s.log.warning, "(2 so far)");
    age_mark(folder, HOUR + 1);
    fake_assert_chosen(&s, folder, "good", 0);
    /* If the next try succeeds, the solver is used again. */
    age_mark(folder, 24 * HOUR);
    fake_assert_chosen(&s, folder, "bad", 1);
    assert_int_equal(s.log.warnings, 0);
    assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0);
    fake_assert_chosen(&s, folder, "bad", 0);
    temporary_remove(folder);
}

TEST(what_ended_a_process_cannot_be_forced)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    tn_choice choice;
    kill_once(folder);
    kept_open(&s, &store);
    assert_refused(select_in(&s, &fake_family, &fake_forced, &choice), TENON_ERROR_SOLVER_BARRED,
                   "tenon_fake", "fake/bad");
    assert_contains(tenon_last_error(), "a process crashed or was killed during this test");
    assert_null(strstr(tenon_last_error(), "wrong results"));
    kept_close(&s);
    temporary_remove(folder);
}

/* Malformed crash records and those with a future date bar nothing. */
TEST(marks_of_any_text_are_taken)
{
    static const char *const texts[] = {
        "",
        "nothing of sense",
        "process - strikes 1 since 9223372036854775807",
        "process - strikes 1 since -9223372036854775808",
        "process - strikes 4294967295 since 99999999999999999999",
        "process  strikes  since ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *folder = temporary_make();
        kept_session s;
        kill_once(folder);
        const char *path = kept_entry(folder, TN_STORE_RUNNING);
        size_t size;
        tn_entry entry;
        unsigned char *bytes = temporary_read(path, &size);
        assert_true(tn_entry_read(bytes, size, &entry));
        kept_write(path, TN_STORE_RUNNING, entry.key, texts[i]);
        free(bytes);
        fake_assert_chosen(&s, folder, "bad", 1);
        assert_int_equal(s.log.warnings, 0);
        assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0);
        temporary_remove(folder);
    }
}

/* A call that only the last resort serves is not refused because of crashes, which may have been a
 * user's Ctrl-C, however many there were. */
TEST(the_last_resort_is_never_barred)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    tn_choice choice;
    kept_session s;
    for (unsigned times = 1; times < 5; times++) {
        kill_once(folder);
        kept_open(&s, &store);
        assert_ok(select_in(&s, &fake_family, &fake_problem, &choice));
        assert_string_equal(choice.solver->name, "good");
        kept_close(&s);
        assert_int_equal(age_mark(folder, 31 * 24 * HOUR), times);
    }
    age_mark(folder, -31 * 24 * HOUR);
    kept_open(&s, &store);
    assert_refused(select_in(&s, &fake_family, &fake_forced, &choice), TENON_ERROR_SOLVER_BARRED,
                   "tenon_fake", "(4 so far)");
    assert_ok(select_in(&s, &fake_family_alone, &fake_problem, &choice));
    assert_string_equal(choice.solver->name, "bad");
    kept_close(&s);
    assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0); /* the solver passed */
    temporary_remove(folder);
}

/* If the last resort gives wrong results, solvers that only the crash guard bars are tried. */
TEST(what_is_barred_by_the_guard_serves_where_all_else_is_wrong)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    tn_choice choice;
    kept_session s;
    kill_once(folder);
    kept_open(&s, &store);
    fake_good_is_wrong = true;
    assert_ok(select_in(&s, &fake_family, &fake_problem, &choice));
    assert_string_equal(choice.solver->name, "bad");
    kept_close(&s);
    temporary_remove(folder);

    folder = temporary_make();
    const tenon_store other = kept_folder(folder);
    kill_once(folder);
    kept_open(&s, &other);
    fake_behavior = FAKE_WRONG;
    assert_refused(select_in(&s, &fake_family, &fake_problem, &choice), TENON_ERROR_SOLVER_BARRED,
                   "tenon_fake", "every solver gives wrong results");
    fake_good_is_wrong = false;
    fake_behavior = FAKE_RIGHT;
    kept_close(&s);
    temporary_remove(folder);
}

/* Adds a crash record with this many strikes to the trial of fma, and removes its stored result. */
static void mark_fma(const char *folder, int strikes)
{
    char data[128], name[TN_STORE_NAME_SIZE];
    tn_entry entry;
    size_t size;
    const char *path = kept_entry(folder, TN_STORE_TRIAL);
    unsigned char *bytes = temporary_read(path, &size);
    assert_true(tn_entry_read(bytes, size, &entry));
    assert_contains(entry.key, "trial hardware_fma");
    snprintf(data, sizeof data, "process - strikes %d since %lld", strikes,
             (long long)time(NULL) - 60);
    tn_store_name(TN_STORE_RUNNING, entry.key, name);
    kept_write(temporary_path(folder, name), TN_STORE_RUNNING, entry.key, data);
    free(bytes);
    assert_int_equal(remove(path), 0);
}

/* A trial that ended processes is skipped with a warning, and the capability counts as absent. The
 * trial of fma, which changes the bits of results, is skipped only after three strikes, for an
 * hour. */
TEST(trials_that_ended_processes_are_not_made)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    const uint64_t bits = kept_run(&s, &store);
    mark_fma(folder, 2);
    assert_true(kept_run(&s, &store) == bits);
    assert_int_equal(s.seen.trials, 1);
    assert_int_equal(s.log.warnings, 0);
    mark_fma(folder, 3);
    assert_true(kept_run(&s, &store) == bits); /* exact, whether with fma or without */
    assert_int_equal(s.seen.trials, 0);
    assert_int_equal(s.log.warnings, 1);
    assert_contains(s.log.warning, "hardware_fma is disabled on ");
    assert_contains(s.log.warning, "a process crashed or was killed during this test (3 so far)");
    age_mark(folder, HOUR);
    assert_true(kept_run(&s, &store) == bits);
    assert_int_equal(s.seen.trials, 1);
    assert_int_equal(s.log.warnings, 0);
    temporary_remove(folder);
}

static void alter(const char *path)
{
    size_t size;
    unsigned char *bytes = temporary_read(path, &size);
    bytes[size / 2] ^= 16;
    temporary_write(path, bytes, size);
    free(bytes);
}

/* A damaged crash record causes one warning. */
TEST(marks_that_were_damaged_bar_nothing)
{
    char *folder = temporary_make();
    kept_session s;
    kill_once(folder);
    alter(kept_entry(folder, TN_STORE_RUNNING));
    fake_assert_chosen(&s, folder, "bad", 1);
    assert_int_equal(s.log.warnings, 1);
    assert_contains(s.log.warning, "is truncated or corrupted");
    temporary_remove(folder);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < WAYS; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return run_and_end(&ways[i], argv[2]);
    return test_main_alone();
}
