/* Clock, libraries, processes and processor for POSIX: Linux, Android, the BSDs, macOS. */
#define _POSIX_C_SOURCE  200809L
#define _DARWIN_C_SOURCE /* declares sysctlbyname, which is not in POSIX */

#include "base/platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

uint64_t tn_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void tn_sleep(uint64_t nanoseconds)
{
    const uint64_t second = UINT64_C(1000000000);
    nanosleep(&(struct timespec){.tv_sec = (time_t)(nanoseconds / second),
                                 .tv_nsec = (long)(nanoseconds % second)},
              NULL);
}

void tn_yield(void)
{
    sched_yield();
}

void tn_error_text(int error, char *text, size_t size)
{
    if (strerror_r(error, text, size) != 0)
        snprintf(text, size, "error %d", error);
}

void *tn_library_open(const char *name, char *why, size_t size)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *text = library == NULL ? dlerror() : NULL;
    if (library == NULL && size > 0)
        snprintf(why, size, "%s", text != NULL ? text : name);
    return library;
}

void *tn_library_find(void *library, const char *name)
{
    return dlsym(library, name);
}

void tn_library_close(void *library)
{
    dlclose(library);
}

void tn_host_name(char *name, size_t size)
{
    name[0] = '\0';
    if (gethostname(name, size) != 0)
        name[0] = '\0';
    name[size - 1] = '\0';
}

int64_t tn_process_number(void)
{
    return (int64_t)getpid();
}

/* Returns field `number` (3 or more) of /proc/…/stat; NULL if the line is shorter. */
static const char *field(const char *stat, int number)
{
    /* The program's name, in parentheses, may contain blanks and parentheses. */
    const char *at = strrchr(stat, ')');
    for (int i = 2; at != NULL && i < number; i++)
        at = strchr(at + 1, ' ');
    return at != NULL ? at + 1 : NULL;
}

/* Returns false if the file cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return true;
}

bool tn_process_find(int64_t number, uint64_t *started)
{
    char path[64], text[1024];
    *started = 0;
    if (number <= 0 || number > INT_MAX || (kill((pid_t)number, 0) != 0 && errno == ESRCH))
        return false;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)number);
    if (!read_text(path, text, sizeof text))
        return true;
    const char *state = field(text, 3), *threads = field(text, 20), *start = field(text, 22);
    if (start == NULL)
        return true;
    *started = strtoull(start, NULL, 10);
    /* A zombie keeps its process ID until its parent reaps it. A process whose first thread has
     * exited looks like a zombie, but has more threads. */
    return (*state != 'Z' && *state != 'X') || strtol(threads, NULL, 10) > 1;
}

/* Written by a signal handler of any thread, and read by others. */
static atomic_bool is_terminating;
static struct sigaction earlier_action;

static void note_termination(int number)
{
    (void)number;
    atomic_store(&is_terminating, true);
}

bool tn_termination_catch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_termination;
    action.sa_flags = SA_RESTART;
    atomic_store(&is_terminating, false);
    return sigaction(SIGTERM, &action, &earlier_action) == 0;
}

void tn_termination_restore(void)
{
    struct sigaction current;
    if (sigaction(SIGTERM, NULL, &current) == 0 && (current.sa_flags & SA_SIGINFO) == 0 &&
        current.sa_handler == note_termination)
        (void)sigaction(SIGTERM, &earlier_action, NULL);
}

bool tn_termination_caught(void)
{
    return atomic_load(&is_terminating);
}

bool tn_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void))
{
    return pthread_atfork(before, after, in_child) == 0;
}

#ifdef __GLIBC__

/* The C library's function that C++ registers destructors of thread_local objects with. The library
 * stays loaded until the thread ends. */
extern int __cxa_thread_atexit_impl(void (*work)(void *), void *data, void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

bool tn_at_thread_end(void (*work)(void *))
{
    return __cxa_thread_atexit_impl != NULL &&
           __cxa_thread_atexit_impl(work, NULL, &__dso_handle) == 0;
}

#else

bool tn_at_thread_end(void (*work)(void *))
{
    (void)work;
    return false;
}

#endif

bool tn_threads_have_ended(void)
{
    return false;
}

#ifdef __APPLE__

static void ask(const char *name, char *text, size_t size)
{
    text[0] = '\0';
    if (sysctlbyname(name, text, &size, NULL, 0) != 0)
        text[0] = '\0';
}

void tn_processor_facts(char *brand, size_t brand_size, char *features, size_t features_size)
{
    ask("machdep.cpu.brand_string", brand, brand_size);
    ask("machdep.cpu.features", features, features_size);
    const size_t used = strlen(features);
    ask("machdep.cpu.leaf7_features", features + used, features_size - used);
}

#else

#define CPUINFO_SIZE 16384 /* bytes of /proc/cpuinfo; enough for the first processor */

/* Copies the value of the first of these names that has a line "name : value"; "" if none has. */
static void copy_line(const char *text, const char *const *names, char *out, size_t size)
{
    out[0] = '\0';
    for (; out[0] == '\0' && *names != NULL; names++)
        for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
            line += *line == '\n';
            const char *at = line + strlen(*names);
            if (strncmp(line, *names, strlen(*names)) != 0)
                continue;
            at += strspn(at, " \t");
            if (*at++ != ':')
                continue;
            at += strspn(at, " \t");
            snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
            break;
        }
}

void tn_processor_facts(char *brand, size_t brand_size, char *features, size_t features_size)
{
    /* x86, ARM, POWER, RISC-V. */
    static const char *const brands[] = {"model name", "CPU part", "cpu", "uarch", NULL};
    static const char *const lists[] = {"flags", "Features", "isa", NULL};
    char text[CPUINFO_SIZE] = "";
    (void)read_text("/proc/cpuinfo", text, sizeof text);
    copy_line(text, brands, brand, brand_size);
    copy_line(text, lists, features, features_size);
}

#endif
