/* Tests process names and whether a named process is alive. */
#include "common/testing.h"

#include "base/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a child that writes its name and waits to be killed. */
static pid_t start(char name[TN_PROCESS_SIZE])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char own[TN_PROCESS_SIZE] = "";
        tn_process_name(own);
        if (write(ends[1], own, sizeof own) != sizeof own)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], name, TN_PROCESS_SIZE), TN_PROCESS_SIZE);
    close(ends[0]);
    close(ends[1]);
    return child;
}

TEST(live_processes_are_alive)
{
    char name[TN_PROCESS_SIZE], other[TN_PROCESS_SIZE];
    tn_process_name(name);
    assert_int_equal(tn_process_look(name), TN_PROCESS_ALIVE);
    assert_int_equal(strspn(name, "0123456789abcdef."), strlen(name));
    const pid_t child = start(other);
    assert_string_not_equal(name, other);
    assert_int_equal(tn_process_look(other), TN_PROCESS_ALIVE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* A killed process has ended even before its parent has waited for it, as some parents never do. */
TEST(killed_processes_have_ended)
{
    char name[TN_PROCESS_SIZE];
    siginfo_t info;
    const pid_t child = start(name);
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(tn_process_look(name), TN_PROCESS_ENDED);
    waitpid(child, NULL, 0);
    assert_int_equal(tn_process_look(name), TN_PROCESS_ENDED);
}

/* Returns the host, ID and start time of this process. */
static void split(unsigned *host, long *id, unsigned long long *started)
{
    char name[TN_PROCESS_SIZE];
    tn_process_name(name);
    assert_int_equal(sscanf(name, "%x.%ld.%llu", host, id, started), 3);
}

static tn_process_state look(unsigned host, const char *id, unsigned long long started,
                             const char *rest)
{
    char name[128];
    snprintf(name, sizeof name, "%08x.%s.%llu%s", host, id, started, rest);
    return tn_process_look(name);
}

TEST(reused_ids_are_distinguished)
{
    unsigned host;
    long number;
    unsigned long long started;
    char id[32];
    split(&host, &number, &started);
    snprintf(id, sizeof id, "%ld", number);
    assert_int_equal(look(host, id, started, ""), TN_PROCESS_ALIVE);
    if (started != 0)
        assert_int_equal(look(host, id, started + 1, ""), TN_PROCESS_ENDED);
    assert_int_equal(look(host ^ 1, id, started, ""), TN_PROCESS_ELSEWHERE);
    assert_int_equal(look(host, id, started, "x"), TN_PROCESS_ELSEWHERE);
    assert_int_equal(look(host, "0", started, ""), TN_PROCESS_ELSEWHERE);
    assert_int_equal(look(host, "-1", started, ""), TN_PROCESS_ELSEWHERE);
    /* Truncated to 32 bits these IDs would denote a live process group. */
    assert_int_equal(look(host, "4294967296", 0, ""), TN_PROCESS_ELSEWHERE);
    assert_int_equal(look(host, "99999999999999999999", 0, ""), TN_PROCESS_ELSEWHERE);
}

TEST(random_names_are_handled)
{
    test_random random = test_random_for(1);
    char real[TN_PROCESS_SIZE], text[TN_PROCESS_SIZE];
    tn_process_name(real);
    assert_int_equal(tn_process_look(""), TN_PROCESS_ELSEWHERE);
    assert_int_equal(tn_process_look("-"), TN_PROCESS_ELSEWHERE);
    for (int i = 0; i < 5000; i++) {
        const bool is_noise = test_one_in(&random, 2);
        memcpy(text, real, sizeof text);
        for (int k = 0; k < TN_PROCESS_SIZE - 1; k++)
            if (is_noise || test_one_in(&random, 8))
                text[k] = (char)test_next(&random);
        text[TN_PROCESS_SIZE - 1] = '\0';
        const tn_process_state is = tn_process_look(text);
        assert_true(is == TN_PROCESS_ALIVE || is == TN_PROCESS_ENDED || is == TN_PROCESS_ELSEWHERE);
    }
}
