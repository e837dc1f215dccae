#define _POSIX_C_SOURCE  200809L
#define _DARWIN_C_SOURCE /* declares sysconf's number of processors */

#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

extern char **environ;

void platform_set(const char *name, const char *value, bool replaces)
{
    setenv(name, value, replaces);
}

void platform_unset(const char *name)
{
    unsetenv(name);
}

unsigned platform_cores(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

bool platform_is_terminal(FILE *file)
{
    return isatty(fileno(file)) == 1;
}

void platform_catch(void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* A thread reads the signal numbers that the handler writes to the pipe; it may do what a signal
 * handler must not do. */
#define TOO_MANY 3 /* `timeout` sends two */
static int interrupts[2];
static void (*orderly_end)(void);
static volatile sig_atomic_t interrupt_count;

void platform_interrupt(int number)
{
    const int error = errno;
    const char byte = (char)number;
    interrupt_count = interrupt_count + 1;
    if (interrupt_count >= TOO_MANY || write(interrupts[1], &byte, 1) != 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = error;
}

static void *end_when_interrupted(void *unused)
{
    char number;
    ssize_t got;
    do
        got = read(interrupts[0], &number, 1);
    while (got < 0 && errno == EINTR);
    if (got == 1) {
        orderly_end();
        signal(number, SIG_DFL);
        raise(number);
    }
    return unused;
}

static void catch_unless_ignored(int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = platform_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

void platform_end_orderly(void (*end)(void))
{
    tn_thread thread;
    orderly_end = end;
    if (pipe(interrupts) != 0)
        return;
    for (int i = 0; i < 2; i++)
        (void)fcntl(interrupts[i], F_SETFD, FD_CLOEXEC);
    if (!tn_thread_create(&thread, end_when_interrupted, NULL))
        return;
    tn_thread_detach(thread);
    catch_unless_ignored(SIGINT);
    catch_unless_ignored(SIGTERM);
}

static bool own_path(char *path, size_t size)
{
#ifdef __APPLE__
    uint32_t length = (uint32_t)size;
    return _NSGetExecutablePath(path, &length) == 0;
#else
    return snprintf(path, size, "/proc/self/exe") < (int)size;
#endif
}

bool platform_spawn_self(char *const *words, platform_child *child)
{
    char path[4096];
    pid_t number = -1;
    posix_spawn_file_actions_t actions;
    if (!own_path(path, sizeof path) || posix_spawn_file_actions_init(&actions) != 0)
        return false;
    const bool spawned =
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn(&number, path, &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    child->handle = number;
    return spawned;
}

bool platform_ended_well(platform_child child)
{
    int status;
    pid_t ended;
    do
        ended = waitpid((pid_t)child.handle, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == (pid_t)child.handle && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
