/* A program of tests that fail on purpose and leave much behind. tests/cli/check_failures.py runs
 * it and counts: no other test may fail because of them. */
#include "common/temporary.h"
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static tenon_context *left;
static char *folder;
static mode_t first_mask;

static void set_mask(mode_t mask)
{
    first_mask = umask(mask);
}

/* Whether all is as it was when the program started. */
static void assert_unchanged(void)
{
    char now[4096];
    struct rlimit limit;
    struct sigaction action;
    sigset_t blocked;
    assert_null(left);
    assert_null(folder);
    assert_null(getenv("TENON_TEST_LEFT"));
    assert_non_null(getcwd(now, sizeof now));
    assert_string_not_equal(now, "/");
    set_mask(022);
    assert_int_not_equal(first_mask, 0777);
    umask(first_mask);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_not_equal(limit.rlim_cur, 12345);
    assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
    assert_true(action.sa_handler != SIG_IGN);
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &blocked), 0);
    assert_int_equal(sigismember(&blocked, SIGTERM), 0);
}

static void passes(void **state)
{
    (void)state;
    assert_unchanged();
}

static void leaves_a_context(void **state)
{
    (void)state;
    assert_unchanged();
    assert_ok(tenon_context_create(NULL, &left));
    folder = temporary_make();
    printf("left %s\n", folder);
    fail_msg("on purpose");
}

static void leaves_the_process_changed(void **state)
{
    struct rlimit limit;
    sigset_t blocked;
    (void)state;
    assert_unchanged();
    setenv("TENON_TEST_LEFT", "1", 1);
    assert_int_equal(chdir("/"), 0);
    set_mask(0777);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 12345;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    fail_msg("on purpose");
}

static void crashes(void **state)
{
    (void)state;
    assert_unchanged();
    raise(SIGSEGV);
}

static void skips(void **state)
{
    (void)state;
    assert_unchanged();
    skip();
}

/* A test's own set-up and tear-down share its state with it. */
static int give_state(void **state)
{
    *state = &folder;
    return 0;
}

static int take_state(void **state)
{
    return *state == &folder ? 0 : -1;
}

static void has_state(void **state)
{
    assert_ptr_equal(*state, &folder);
}

/* What is kept between tests that pass, or are skipped, stays. */
static int count;

static void counts_one(void **state)
{
    (void)state;
    count++;
}

static void counts_two(void **state)
{
    (void)state;
    assert_int_equal(++count, 2);
}

static void fails_at_the_end(void **state)
{
    (void)state;
    assert_int_equal(count, 2);
    folder = temporary_make();
    printf("left %s\n", folder);
    fail_msg("on purpose");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes),
        cmocka_unit_test(leaves_a_context),
        cmocka_unit_test(leaves_the_process_changed),
        cmocka_unit_test(crashes),
        cmocka_unit_test_setup_teardown(has_state, give_state, take_state),
        cmocka_unit_test(counts_one),
        cmocka_unit_test(skips),
        cmocka_unit_test(counts_two),
        cmocka_unit_test(fails_at_the_end),
    };
    return TEST_MAIN_ALONE(tests);
}
