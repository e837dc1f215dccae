/* A program of tests that fail on purpose and leave resources behind. tests/cli/check_failures.py
 * runs it and checks that no other test fails because of them. */
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

/* Checks that the process is in its initial state. */
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

TEST(passes)
{
    assert_unchanged();
}

TEST(leaves_a_context)
{
    assert_unchanged();
    assert_ok(tenon_context_create(NULL, &left));
    folder = temporary_make();
    printf("left %s\n", folder);
    fail_msg("on purpose");
}

TEST(leaves_the_process_changed)
{
    struct rlimit limit;
    sigset_t blocked;
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

TEST(crashes)
{
    assert_unchanged();
    raise(SIGSEGV);
}

/* A test's set-up runs before it and its tear-down after it. */
static int state;

static void give_state(void)
{
    assert_int_equal(state++, 0);
}

static void take_state(void)
{
    assert_int_equal(state++, 2);
}

TEST_WITH(has_state, give_state, take_state)
{
    assert_int_equal(state++, 1);
}

/* State kept between tests that pass or are skipped is preserved. */
static int count;

TEST(counts_one)
{
    count++;
}

TEST(skips)
{
    assert_unchanged();
    skip();
}

TEST(counts_two)
{
    assert_int_equal(state, 3);
    assert_int_equal(++count, 2);
}

TEST(fails_at_the_end)
{
    assert_int_equal(count, 2);
    folder = temporary_make();
    printf("left %s\n", folder);
    fail_msg("on purpose");
}

int main(void)
{
    return test_main_alone();
}
