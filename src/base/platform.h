/*
 * What C11 lacks and each system has in its own way: threads, a clock, files, libraries that are
 * opened, processes, the processor. platform_posix.c and platform_windows.c are the only files of
 * the library that may include what C11 does not have (tests/cli/check_platform.py).
 *
 * Paths are in the system's own narrow encoding. A function that returns an int of errors returns 0
 * where all went well, and else a number of <errno.h>, whose text tn_error_text gives.
 */
#ifndef TN_BASE_PLATFORM_H
#define TN_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <pthread.h>
#endif

/* Arguments that a format of printf's kind tells of. */
#if defined(__MINGW32__)
#define TN_PRINTF(format_at, first) __attribute__((format(gnu_printf, format_at, first)))
#elif defined(__GNUC__)
#define TN_PRINTF(format_at, first) __attribute__((format(printf, format_at, first)))
#else
#define TN_PRINTF(format_at, first)
#endif

/* Threads. */

#ifdef _WIN32
typedef struct tn_mutex {
    void *lock;
} tn_mutex;
typedef struct tn_recursive_mutex {
    tn_mutex lock;
    _Atomic unsigned long owner; /* the number of a thread; 0: none */
    unsigned depth;
} tn_recursive_mutex;
typedef struct tn_condition {
    void *condition;
} tn_condition;
typedef struct tn_once {
    void *once;
} tn_once;
typedef struct tn_thread {
    void *handle;
    unsigned long number;
} tn_thread;
#define TN_MUTEX_INIT                                                                              \
    {                                                                                              \
        0                                                                                          \
    }
#define TN_CONDITION_INIT                                                                          \
    {                                                                                              \
        0                                                                                          \
    }
#define TN_ONCE_INIT                                                                               \
    {                                                                                              \
        0                                                                                          \
    }
#else
typedef pthread_mutex_t tn_mutex;
typedef pthread_mutex_t tn_recursive_mutex;
typedef pthread_cond_t tn_condition;
typedef pthread_once_t tn_once;
typedef pthread_t tn_thread;
#define TN_MUTEX_INIT     PTHREAD_MUTEX_INITIALIZER
#define TN_CONDITION_INIT PTHREAD_COND_INITIALIZER
#define TN_ONCE_INIT      PTHREAD_ONCE_INIT
#endif

/* False without memory for it, as the other ..._init. */
bool tn_mutex_init(tn_mutex *mutex);
void tn_mutex_destroy(tn_mutex *mutex);
void tn_mutex_lock(tn_mutex *mutex);
void tn_mutex_unlock(tn_mutex *mutex);

/* One that the thread which has it may lock again. */
bool tn_recursive_mutex_init(tn_recursive_mutex *mutex);
void tn_recursive_mutex_destroy(tn_recursive_mutex *mutex);
void tn_recursive_mutex_lock(tn_recursive_mutex *mutex);
bool tn_recursive_mutex_try(tn_recursive_mutex *mutex); /* false: another thread has it */
void tn_recursive_mutex_unlock(tn_recursive_mutex *mutex);

bool tn_condition_init(tn_condition *condition);
void tn_condition_destroy(tn_condition *condition);
void tn_condition_wait(tn_condition *condition, tn_mutex *mutex);
void tn_condition_signal(tn_condition *condition);
void tn_condition_broadcast(tn_condition *condition);

void tn_once_run(tn_once *once, void (*work)(void));

/* With a stack that a driver's compiler has room in. False where there can be no more threads. */
bool tn_thread_create(tn_thread *thread, void *(*work)(void *), void *data);
void tn_thread_join(tn_thread thread);
void tn_thread_detach(tn_thread thread);
bool tn_thread_is_this(tn_thread thread);

/* Time. */

/* Nanoseconds of a clock that runs evenly. */
uint64_t tn_now(void);
void tn_sleep(uint64_t nanoseconds);

/* Text. */

/* A copy that the caller frees; NULL without memory. */
static inline char *tn_text_copy(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);
    return copy != NULL ? (char *)memcpy(copy, text, size) : NULL;
}

/* Cuts the next word off, as blanks part them; NULL where there is none. */
static inline char *tn_next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " "), *end = word + strcspn(word, " ");
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return end > word ? word : NULL;
}

void tn_error_text(int error, char *text, size_t size);

/* Files. */

#ifdef _WIN32
#define TN_SEPARATORS "/\\"
#else
#define TN_SEPARATORS "/"
#endif

typedef struct tn_file_facts {
    bool is_folder, is_file; /* neither: a pipe, a device; a link is what it leads to */
    bool is_foreign;         /* another user's */
    bool is_open_to_others;  /* who may write into it */
    uint64_t size;
    int64_t modified; /* seconds since 1970 */
} tn_file_facts;

int tn_file_look(const char *path, tn_file_facts *facts);
bool tn_file_is_readable(const char *path);

/* To be read, with its facts; NULL where that cannot be. Waits for nobody, and follows no link. */
FILE *tn_file_open(const char *path, tn_file_facts *facts);

/* A regular file of at most so many bytes, which the caller frees, with room for a byte behind it;
 * NULL where it cannot be read. `modified` as in the facts. Opened as by tn_file_open. */
unsigned char *tn_file_read(const char *path, uint64_t most, size_t *size, int64_t *modified);

/* Makes its time that of now, where that may be done. */
void tn_file_touch(const char *path);

/* Adds the bytes to the end in one piece; the file is made where it is not there. */
int tn_file_append(const char *path, const void *bytes, size_t size);

/* A file that is written under a temporary name and then given its own: who reads it sees all of
 * it or nothing. The name ends with XXXXXX, which is replaced. NULL, and errno, where it cannot be
 * made. Others may not read it, unless tn_file_keep says so. */
FILE *tn_file_begin(char *temporary);

/* Closes the file, and gives it the name, as `well` says; removes it where that fails or it is not
 * well, which is the error that errno has then. */
int tn_file_keep(FILE *file, const char *temporary, const char *path, bool well, bool for_all);

/* A folder for this user alone, or as the user's others are. An error where it is there. */
int tn_folder_create(const char *path, bool is_private);

/* The regular files of a folder whose names `wants` takes (links are none), until one visit returns
 * false. False there, and where the folder cannot be read. */
bool tn_folder_visit(const char *folder, bool (*wants)(const char *name),
                     bool (*visit)(void *user, const char *name, const tn_file_facts *facts),
                     void *user);

/* The folder for what programs of this user may lose, and the variables of the environment that it
 * is taken from, for a message. The caller frees the path; NULL where the environment names
 * none. */
char *tn_folder_of_caches(void);
extern const char tn_folder_of_caches_variables[];

/* Libraries that are opened. */

/* The file of a library by the version of its interface. */
#if defined(_WIN32)
#define TN_LIBRARY_FILE(name, version) name ".dll"
#elif defined(__APPLE__)
#define TN_LIBRARY_FILE(name, version) "lib" name "." version ".dylib"
#else
#define TN_LIBRARY_FILE(name, version) "lib" name ".so." version
#endif

/* NULL, and why not, where it cannot be opened. NULL for a name: what the program has itself. */
void *tn_library_open(const char *name, char *why, size_t size);
void *tn_library_find(void *library, const char *name);
void tn_library_close(void *library);

/* Processes and the processor. */

/* The name of this host in its network; "" where it has none. */
void tn_host_name(char *name, size_t size);
int64_t tn_process_number(void);

/* False where no process of this host has the number. `started` tells apart those that had it one
 * after the other; 0: not known. */
bool tn_process_find(int64_t number, uint64_t *started);

/* Where processes are forked: the thread that forks calls `before`, and then `after` in the parent
 * and `in_child` in the child. False without memory. */
bool tn_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void));

/* Has `work` called when this thread ends, and when it ends the process, before all exit handlers.
 * False where the C library has no such thing. */
bool tn_at_thread_end(void (*work)(void *));

/* Whether the process ends and the system has ended all other threads already, as it does before a
 * DLL's exit handlers: there is nobody to wait for, and no thread can be made. */
bool tn_threads_have_ended(void);

/* The processor's brand and the list of its features, "" where the system does not tell. */
void tn_processor_facts(char *brand, size_t brand_size, char *features, size_t features_size);

#endif
