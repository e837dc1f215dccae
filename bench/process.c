#define _GNU_SOURCE
#include "process.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Variables for the folders in which drivers cache their programs. */
static const char *const driver_caches[] = {"POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR",
                                            "MESA_SHADER_CACHE_DIR", "AMD_COMGR_CACHE_DIR"};

static int remove_one(const char *path, const struct stat *is, int type, struct FTW *at)
{
    (void)is;
    (void)type;
    (void)at;
    return remove(path);
}

void bench_remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void bench_empty_folder(const char *folder)
{
    bench_remove_folder(folder);
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

static bool ended_as_told(int status, int signal)
{
    return signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == signal : status == 0;
}

void bench_run_process(const bench_caches *caches, const bench_measurement *m, double *times)
{
    const size_t bytes = (size_t)m->count * sizeof *times;
    int ends[2], status;
    fflush(stdout);
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(1);
    }
    const pid_t child = fork();
    if (child == 0) {
        use_caches(caches);
        measure(ends[1], m);
    }
    close(ends[1]);
    const bool told = read(ends[0], times, bytes) == (ssize_t)bytes;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || !ended_as_told(status, m->signal) ||
        !told) {
        fprintf(stderr, "tenon-bench first: a process failed\n");
        exit(1);
    }
}
