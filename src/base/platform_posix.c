/* The platform layer for POSIX: Linux, Android, the BSDs, macOS. */
#define _POSIX_C_SOURCE  200809L
#define _DARWIN_C_SOURCE /* declares sysctlbyname, which is not in POSIX */

#include "base/platform.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

#define MIN_STACK ((size_t)8 << 20) /* minimum per thread; some systems default to 128 KiB */
#define PATH_SIZE 4096

bool tn_mutex_init(tn_mutex *mutex)
{
    return pthread_mutex_init(mutex, NULL) == 0;
}

void tn_mutex_destroy(tn_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}

void tn_mutex_lock(tn_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

void tn_mutex_unlock(tn_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

bool tn_recursive_mutex_init(tn_recursive_mutex *mutex)
{
    pthread_mutexattr_t recursive;
    if (pthread_mutexattr_init(&recursive) != 0)
        return false;
    const bool made = pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                      pthread_mutex_init(mutex, &recursive) == 0;
    pthread_mutexattr_destroy(&recursive);
    return made;
}

void tn_recursive_mutex_destroy(tn_recursive_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}

void tn_recursive_mutex_lock(tn_recursive_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

bool tn_recursive_mutex_try(tn_recursive_mutex *mutex)
{
    return pthread_mutex_trylock(mutex) == 0;
}

void tn_recursive_mutex_unlock(tn_recursive_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

bool tn_condition_init(tn_condition *condition)
{
    return pthread_cond_init(condition, NULL) == 0;
}

void tn_condition_destroy(tn_condition *condition)
{
    pthread_cond_destroy(condition);
}

void tn_condition_wait(tn_condition *condition, tn_mutex *mutex)
{
    pthread_cond_wait(condition, mutex);
}

void tn_condition_signal(tn_condition *condition)
{
    pthread_cond_signal(condition);
}

void tn_condition_broadcast(tn_condition *condition)
{
    pthread_cond_broadcast(condition);
}

void tn_once_run(tn_once *once, void (*work)(void))
{
    pthread_once(once, work);
}

bool tn_thread_create(tn_thread *thread, void *(*work)(void *), void *data)
{
    pthread_attr_t attributes;
    size_t stack = 0;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < MIN_STACK)
        (void)pthread_attr_setstacksize(&attributes, MIN_STACK);
    const bool made = pthread_create(thread, &attributes, work, data) == 0;
    pthread_attr_destroy(&attributes);
    return made;
}

void tn_thread_join(tn_thread thread)
{
    pthread_join(thread, NULL);
}

void tn_thread_detach(tn_thread thread)
{
    pthread_detach(thread);
}

bool tn_thread_is_this(tn_thread thread)
{
    return pthread_equal(thread, pthread_self()) != 0;
}

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

static tn_file_facts facts_of(const struct stat *is)
{
    return (tn_file_facts){.is_folder = S_ISDIR(is->st_mode),
                           .is_file = S_ISREG(is->st_mode),
                           .is_foreign = is->st_uid != geteuid(),
                           .is_open_to_others = (is->st_mode & (S_IWGRP | S_IWOTH)) != 0,
                           .size = (uint64_t)is->st_size,
                           .modified = (int64_t)is->st_mtime};
}

int tn_file_look(const char *path, tn_file_facts *facts)
{
    struct stat is;
    if (stat(path, &is) != 0)
        return errno;
    *facts = facts_of(&is);
    return 0;
}

bool tn_file_is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

/* O_NONBLOCK: if the path is a pipe, open must not wait for a writer. */
static FILE *open_file(const char *path, int flags, tn_file_facts *facts)
{
    struct stat is;
    const int number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (number < 0)
        return NULL;
    FILE *file = fstat(number, &is) == 0 ? fdopen(number, "rb") : NULL;
    if (file == NULL) {
        const int error = errno;
        close(number);
        errno = error;
    } else {
        *facts = facts_of(&is);
    }
    return file;
}

FILE *tn_file_open(const char *path, tn_file_facts *facts)
{
    return open_file(path, O_NOFOLLOW, facts);
}

FILE *tn_file_open_linked(const char *path, tn_file_facts *facts)
{
    return open_file(path, 0, facts);
}

int tn_file_seek(FILE *file, uint64_t place)
{
    const off_t offset = (off_t)place;
    if (offset < 0 || (uint64_t)offset != place)
        return EOVERFLOW;
    return fseeko(file, offset, SEEK_SET) == 0 ? 0 : errno;
}

int tn_file_sync(FILE *file)
{
    errno = 0;
    const bool well = fflush(file) == 0 && fsync(fileno(file)) == 0;
    return well ? 0 : errno != 0 ? errno : EIO;
}

void tn_folder_sync(const char *path)
{
    const int folder = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (folder < 0)
        return;
    (void)fsync(folder);
    close(folder);
}

void tn_file_touch(const char *path)
{
    (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

int tn_file_append(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                          S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (file < 0)
        return errno;
    errno = ENOSPC;
    const int error = write(file, bytes, size) == (ssize_t)size ? 0 : errno;
    close(file);
    return error;
}

FILE *tn_file_begin(char *temporary)
{
    const int number = mkstemp(temporary);
    if (number < 0)
        return NULL;
    (void)fcntl(number, F_SETFD, FD_CLOEXEC);
    FILE *file = fdopen(number, "wb");
    if (file != NULL)
        return file;
    const int error = errno;
    close(number);
    unlink(temporary);
    errno = error;
    return NULL;
}

/* Sets the permissions that a newly created file has by default. */
static bool open_to_all(FILE *file)
{
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(fileno(file), 0666 & ~mask) == 0;
}

int tn_file_keep(FILE *file, const char *temporary, const char *path, bool well, bool for_all)
{
    if (well)
        errno = 0;
    well = well && (!for_all || open_to_all(file));
    int error = well ? 0 : errno != 0 ? errno : EIO;
    if (fclose(file) != 0 && error == 0)
        error = errno != 0 ? errno : EIO;
    if (error == 0 && rename(temporary, path) == 0)
        return 0;
    error = error != 0 ? error : errno;
    unlink(temporary);
    return error;
}

int tn_file_lock(const char *path, intptr_t *lock)
{
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (file < 0)
        return errno;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        *lock = file;
        return 0;
    }
    const int error = errno == EWOULDBLOCK ? EBUSY : errno;
    close(file);
    return error;
}

void tn_file_unlock(intptr_t lock)
{
    /* A forked child may still have the file open. */
    (void)flock((int)lock, LOCK_UN);
    close((int)lock);
}

int tn_folder_create(const char *path, bool is_private)
{
    return mkdir(path, is_private ? S_IRWXU : S_IRWXU | S_IRWXG | S_IRWXO) == 0 ? 0 : errno;
}

bool tn_folder_visit(const char *folder, bool (*wants)(const char *name),
                     bool (*visit)(void *user, const char *name, const tn_file_facts *facts),
                     void *user)
{
    char path[PATH_SIZE];
    struct stat is;
    bool goes_on = true;
    DIR *open_folder = opendir(folder);
    if (open_folder == NULL)
        return false;
    for (const struct dirent *at; goes_on && (at = readdir(open_folder)) != NULL;) {
        if (!wants(at->d_name) ||
            snprintf(path, sizeof path, "%s/%s", folder, at->d_name) >= PATH_SIZE ||
            lstat(path, &is) != 0 || !S_ISREG(is.st_mode))
            continue;
        const tn_file_facts facts = facts_of(&is);
        goes_on = visit(user, at->d_name, &facts);
    }
    closedir(open_folder);
    return goes_on;
}

static char *below(const char *parent, const char *name)
{
    const size_t size = strlen(parent) + strlen(name) + 2;
    char *folder = malloc(size);
    if (folder != NULL)
        snprintf(folder, size, "%s/%s", parent, name);
    return folder;
}

const char tn_folder_of_caches_variables[] = "XDG_CACHE_HOME and HOME";

char *tn_folder_of_caches(void)
{
    const char *at = getenv("XDG_CACHE_HOME");
    if (at != NULL && at[0] == '/')
        return tn_text_copy(at);
    at = getenv("HOME");
    if (at == NULL || at[0] == '\0')
        return NULL;
#ifdef __APPLE__
    return below(at, "Library/Caches");
#else
    return below(at, ".cache");
#endif
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
