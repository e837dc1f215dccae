#define _GNU_SOURCE
#include "process.h"

#include "runner.h"
#include "session.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Variables for the folders in which drivers cache their programs. */
static const char *const driver_caches[] = {"POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR",
                                            "MESA_SHADER_CACHE_DIR", "AMD_COMGR_CACHE_DIR"};

static char temporary[PATH_MAX];
static pid_t owner; /* of the temporary folder */
static volatile pid_t child;

static int remove_one(const char *path, const struct stat *is, int type, struct FTW *at)
{
    (void)is;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_temporary(void)
{
    if (getpid() == owner) /* not in a child process */
        remove_folder(temporary);
}

/* Ends the child process and the compilers that it started: they are a process group. */
static void interrupt(int signal_number)
{
    (void)signal_number;
    bench_interrupted = 1;
    if (child > 0)
        kill(-child, SIGTERM);
}

static void catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const char *bench_temporary_folder(void)
{
    const char *parent = getenv("TMPDIR");
    const int size = snprintf(temporary, sizeof temporary, "%s/tenon-bench-XXXXXX",
                              parent != NULL && *parent != '\0' ? parent : "/tmp");
    owner = getpid();
    catch_interrupts();
    errno = ENAMETOOLONG;
    if (size >= (int)sizeof temporary || mkdtemp(temporary) == NULL ||
        atexit(remove_temporary) != 0) {
        perror(temporary);
        return NULL;
    }
    return temporary;
}

void bench_empty_folder(const char *folder)
{
    remove_folder(folder);
    if (mkdir(folder, S_IRWXU) != 0) {
        perror(folder);
        exit(1);
    }
}

static void use_caches(const bench_caches *caches)
{
    setenv("TENON_CACHE", caches->store != NULL ? "1" : "0", 1);
    setenv("TENON_CACHE_DIR", caches->store != NULL ? caches->store : "", 1);
    for (size_t i = 0; i < sizeof driver_caches / sizeof *driver_caches; i++)
        setenv(driver_caches[i], caches->driver, 1);
}

/* The child process. What it prints to stdout is dropped. */
static void measure(int pipe, const bench_measurement *m)
{
    double times[BENCH_MOST_TIMES] = {0};
    const size_t bytes = (size_t)m->count * sizeof *times;
    if (freopen("/dev/null", "w", stdout) == NULL)
        exit(1);
    m->measure(m->user, times);
    if (write(pipe, times, bytes) != (ssize_t)bytes)
        exit(1);
    if (m->done != NULL)
        m->done(m->user);
    exit(0);
}

static void block_interrupts(bool blocks)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}

/* Starts the child process. Signals are blocked until both processes can handle them. */
static void start(const int ends[2], const bench_caches *caches, const bench_measurement *m)
{
    block_interrupts(true);
    child = bench_interrupted ? -1 : fork();
    if (child == 0) {
        setpgid(0, 0);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        block_interrupts(false);
        close(ends[0]);
        use_caches(caches);
        measure(ends[1], m);
    }
    if (child > 0)
        setpgid(child, child); /* in both processes, since either may run first */
    block_interrupts(false);
}

/* Reads the times, and until the last process of the group has closed its end of the pipe. */
static bool receive(int end, double *times, size_t bytes)
{
    char more;
    const bool told = read(end, times, bytes) == (ssize_t)bytes;
    while (read(end, &more, sizeof more) > 0)
        ;
    return told;
}

static bool ended_as_told(int status, int signal)
{
    return signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == signal : status == 0;
}

void bench_run_process(const bench_caches *caches, const bench_measurement *m, double *times)
{
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(1);
    }
    start(ends, caches, m);
    close(ends[1]);
    const bool told = receive(ends[0], times, (size_t)m->count * sizeof *times);
    close(ends[0]);
    const bool has_ended = child > 0 && waitpid(child, &status, 0) == child;
    child = 0;
    if (bench_interrupted)
        exit(BENCH_INTERRUPTED);
    if (!has_ended || !ended_as_told(status, m->signal) || !told) {
        fprintf(stderr, "tenon-bench first: a process failed\n");
        exit(1);
    }
}
