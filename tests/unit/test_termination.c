/* Tests of requests to end: the handler of SIGTERM that an application asks for. */
#include "common/testing.h"

#include <tenon/checkpoint.h>

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t own_count;

static void count(int number)
{
    (void)number;
    own_count = own_count + 1;
}

static void install(void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    assert_int_equal(sigaction(SIGTERM, &action, NULL), 0);
}

static void (*handler_now(void))(int)
{
    struct sigaction action;
    assert_int_equal(sigaction(SIGTERM, NULL, &action), 0);
    return action.sa_handler;
}

TEST(without_a_watch_there_is_no_handler)
{
    assert_true(handler_now() == SIG_DFL);
    assert_int_equal(tenon_termination_requested(), 0);
    tenon_termination_unwatch();
    assert_true(handler_now() == SIG_DFL);
}

TEST(a_watch_records_the_signal_and_restores_the_earlier_handler)
{
    install(count);
    assert_int_equal(tenon_termination_watch(), TENON_OK);
    assert_int_equal(tenon_termination_requested(), 0);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_int_equal(tenon_termination_requested(), 1);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(tenon_termination_requested(), 1);
    assert_int_equal(own_count, 0);
    tenon_termination_unwatch();
    assert_true(handler_now() == count);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(own_count, 1);
    install(SIG_DFL);
}

TEST(watches_nest_and_begin_without_a_request)
{
    assert_int_equal(tenon_termination_watch(), TENON_OK);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(tenon_termination_watch(), TENON_OK);
    assert_int_equal(tenon_termination_requested(), 1);
    tenon_termination_unwatch();
    assert_true(handler_now() != SIG_DFL);
    assert_int_equal(raise(SIGTERM), 0);
    tenon_termination_unwatch();
    assert_true(handler_now() == SIG_DFL);
    assert_int_equal(tenon_termination_watch(), TENON_OK);
    assert_int_equal(tenon_termination_requested(), 0);
    tenon_termination_unwatch();
}

TEST(a_handler_installed_since_is_kept)
{
    assert_int_equal(tenon_termination_watch(), TENON_OK);
    install(count);
    tenon_termination_unwatch();
    assert_true(handler_now() == count);
    install(SIG_DFL);
}
