/* Restarts a test program in a new process with the initial state of this one. */
#include "common/restart.h"

#include "common/testing.h"

#ifdef _WIN32

void test_restart(const char *resume)
{
    (void)resume;
}

void test_before_restart(void (*function)(void))
{
    (void)function;
}

#else

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Saved standard streams have descriptors from KEPT_FILES on; those of the program, its driver and
 * the tests are lower. */
#define KEPT_FILES   500
#define MOST_FILES   1024

extern char **environ;

static const int limits[] = {RLIMIT_AS, RLIMIT_CORE, RLIMIT_FSIZE, RLIMIT_NOFILE};
static const int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ};

/* State of the process when it started. */
static struct {
    char **environment;
    int folder, streams[3];
    mode_t mask;
    struct rlimit limits[COUNT(limits)];
    struct sigaction actions[COUNT(signals)];
    sigset_t blocked;
} start;

static void (*functions[8])(void);
static size_t function_count;

void test_before_restart(void (*function)(void))
{
    assert_true(function_count < COUNT(functions));
    functions[function_count++] = function;
}

/* Copies a list of strings, with room for one more. Returns NULL if memory is exhausted. */
static char **copy_texts(char **texts)
{
    size_t count = 0;
    while (texts[count] != NULL)
        count++;
    char **copy = calloc(count + 2, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++)
        copy[i] = strdup(texts[i]);
    return copy;
}

__attribute__((constructor)) static void note_start(void)
{
    start.environment = copy_texts(environ);
    start.folder = open(".", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 3; i++)
        start.streams[i] = fcntl(i, F_DUPFD_CLOEXEC, KEPT_FILES);
    start.mask = umask(0);
    umask(start.mask);
    for (size_t i = 0; i < COUNT(limits); i++)
        getrlimit(limits[i], &start.limits[i]);
    for (size_t i = 0; i < COUNT(signals); i++)
        sigaction(signals[i], NULL, &start.actions[i]);
    sigprocmask(SIG_SETMASK, NULL, &start.blocked);
}

/* Restores soft limits only: a lowered hard limit cannot be raised again. */
static void restore_limits(void)
{
    for (size_t i = 0; i < COUNT(limits); i++) {
        struct rlimit now;
        if (getrlimit(limits[i], &now) != 0)
            continue;
        now.rlim_cur =
            start.limits[i].rlim_cur < now.rlim_max ? start.limits[i].rlim_cur : now.rlim_max;
        setrlimit(limits[i], &now);
    }
}

static void restore_start(void)
{
    if (start.folder >= 0 && fchdir(start.folder) != 0)
        fprintf(stderr, "cannot return to the first working directory\n");
    for (int i = 0; i < 3; i++)
        if (start.streams[i] >= 0)
            dup2(start.streams[i], i);
    umask(start.mask);
    restore_limits();
    alarm(0);
    for (size_t i = 0; i < COUNT(signals); i++)
        sigaction(signals[i], &start.actions[i], NULL);
    sigprocmask(SIG_SETMASK, &start.blocked, NULL);
    for (int i = 3; i < MOST_FILES; i++)
        fcntl(i, F_SETFD, FD_CLOEXEC);
}

/* Adds `resume` to the initial environment, replacing the entry of an earlier restart. Allocates no
 * memory, since the failed test may have made the allocator fail. */
static void add_resume(const char *resume)
{
    static char variable[128];
    size_t at = 0;
    snprintf(variable, sizeof variable, TEST_RESUME "=%s", resume);
    while (start.environment[at] != NULL &&
           strncmp(start.environment[at], TEST_RESUME "=", sizeof TEST_RESUME) != 0)
        at++;
    start.environment[at] = variable;
}

/* Reads the command line of the process, including the dynamic loader if it was named. Returns
 * false if there is no /proc. */
static bool read_command(char text[65536], char *words[512])
{
    size_t count = 0;
    FILE *file = fopen("/proc/self/cmdline", "rb");
    const size_t length = file != NULL ? fread(text, 1, 65535, file) : 0;
    if (file != NULL)
        fclose(file);
    text[length] = '\0';
    for (size_t at = 0; at < length && count < 511; at += strlen(text + at) + 1)
        words[count++] = text + at;
    words[count] = NULL;
    return count > 0;
}

void test_restart(const char *resume)
{
    static char text[65536], *words[512], program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (start.environment == NULL || length <= 0 || !read_command(text, words))
        return;
    program[length] = '\0';
    add_resume(resume);
    for (size_t i = 0; i < function_count; i++)
        functions[i]();
    fflush(NULL);
    restore_start();
    execve(program, words, start.environment);
}

#endif
