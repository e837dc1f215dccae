/*
 * Platform layer: threads, clock, files, dynamic libraries, processes and processor information,
 * which C11 lacks. The files in this folder that end in _posix.c and _windows.c are the only ones
 * of the library that may include system headers (tests/cli/check_platform.py).
 *
 * Paths are in the system's narrow encoding. Functions that return an int error return 0 on
 * success and otherwise an <errno.h> number, whose text tn_error_text gives.
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

/* Lets the compiler check printf-style arguments. */
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
    _Atomic unsigned long owner; /* ID of the thread that holds it; 0: none */
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

/* Returns false if memory is short, like the other ..._init functions. */
bool tn_mutex_init(tn_mutex *mutex);
void tn_mutex_destroy(tn_mutex *mutex);
void tn_mutex_lock(tn_mutex *mutex);
void tn_mutex_unlock(tn_mutex *mutex);

/* A mutex that its holder may lock again. */
bool tn_recursive_mutex_init(tn_recursive_mutex *mutex);
void tn_recursive_mutex_destroy(tn_recursive_mutex *mutex);
void tn_recursive_mutex_lock(tn_recursive_mutex *mutex);
bool tn_recursive_mutex_try(tn_recursive_mutex *mutex); /* false if another thread holds it */
void tn_recursive_mutex_unlock(tn_recursive_mutex *mutex);

bool tn_condition_init(tn_condition *condition);
void tn_condition_destroy(tn_condition *condition);
void tn_condition_wait(tn_condition *condition, tn_mutex *mutex);
void tn_condition_signal(tn_condition *condition);
void tn_condition_broadcast(tn_condition *condition);

void tn_once_run(tn_once *once, void (*work)(void));

/* The thread's stack is large enough for a driver's compiler. Returns false if no thread can be
 * created. */
bool tn_thread_create(tn_thread *thread, void *(*work)(void *), void *data);
void tn_thread_join(tn_thread thread);
void tn_thread_detach(tn_thread thread);
bool tn_thread_is_this(tn_thread thread);

/* Time. */

/* Returns the nanoseconds of a monotonic clock. */
uint64_t tn_now(void);
void tn_sleep(uint64_t nanoseconds);

/* Lets another thread run that is ready, if there is one. */
void tn_yield(void);

/* Text. */

/* Returns a copy that the caller frees; NULL if memory is short. */
static inline char *tn_text_copy(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);
    return copy != NULL ? (char *)memcpy(copy, text, size) : NULL;
}

/* Splits off and returns the next blank-separated word; NULL if there is none. */
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
    bool is_folder, is_file; /* neither for a pipe or a device; links are followed */
    bool is_foreign;         /* owned by another user */
    bool is_open_to_others;  /* other users may write to it */
    uint64_t size;
    int64_t modified; /* seconds since 1970 */
} tn_file_facts;

int tn_file_look(const char *path, tn_file_facts *facts);
bool tn_file_is_readable(const char *path);

/* Opens a file for reading and returns its facts. Returns NULL if that fails. Does not block and
 * does not follow links. */
FILE *tn_file_open(const char *path, tn_file_facts *facts);

/* The same, but follows links. */
FILE *tn_file_open_linked(const char *path, tn_file_facts *facts);

/* Moves to a byte of a file that is read or written. Returns an error. */
int tn_file_seek(FILE *file, uint64_t place);

/* Forces what was written to the disk. Returns an error. */
int tn_file_sync(FILE *file);

/* Forces the names of a folder to the disk, if the system supports it. */
void tn_folder_sync(const char *path);

/* Reads a regular file of at most `most` bytes into memory with one spare byte, which the caller
 * frees. Returns NULL if that fails. `modified` as in the facts. Opens the file like tn_file_open.
 */
unsigned char *tn_file_read(const char *path, uint64_t most, size_t *size, int64_t *modified);

/* Sets the file's time to now, if permitted. */
void tn_file_touch(const char *path);

/* Appends the bytes in a single write. Creates the file if necessary. */
int tn_file_append(const char *path, const void *bytes, size_t size);

/* Creates a file under a temporary name that tn_file_keep later replaces, so that readers see all
 * of it or nothing. The name ends with XXXXXX, which is replaced. Returns NULL and sets errno on
 * failure. The file is private unless tn_file_keep changes that. */
FILE *tn_file_begin(char *temporary);

/* Closes the file and renames it to `path` if `well` is true. Otherwise, or if that fails, removes
 * it; if not `well`, the result is the value of errno at the call. */
int tn_file_keep(FILE *file, const char *temporary, const char *path, bool well, bool for_all);

/* Creates a private file if necessary and locks it, if no other open file holds the lock. The
 * system ends the locks of a process that ends. Returns EBUSY if another one holds it, and another
 * error if the file cannot be opened or the file system has no locks. */
int tn_file_lock(const char *path, intptr_t *lock);
void tn_file_unlock(intptr_t lock);

/* Creates a folder, private or with the user's default permissions. Fails if it exists. */
int tn_folder_create(const char *path, bool is_private);

/* Visits the regular files of a folder (not links) whose names `wants` accepts, until a visit
 * returns false. Returns false then, and if the folder cannot be read. */
bool tn_folder_visit(const char *folder, bool (*wants)(const char *name),
                     bool (*visit)(void *user, const char *name, const tn_file_facts *facts),
                     void *user);

/* Returns the user's cache folder, which the caller frees; NULL if the environment defines none.
 * The second declaration names the environment variables, for messages. */
char *tn_folder_of_caches(void);
extern const char tn_folder_of_caches_variables[];

/* Libraries that are opened. */

/* File name of a library by its interface version. */
#if defined(_WIN32)
#define TN_LIBRARY_FILE(name, version) name ".dll"
#elif defined(__APPLE__)
#define TN_LIBRARY_FILE(name, version) "lib" name "." version ".dylib"
#else
#define TN_LIBRARY_FILE(name, version) "lib" name ".so." version
#endif

/* Returns NULL and the reason if the library cannot be opened. A NULL name means the program
 * itself. */
void *tn_library_open(const char *name, char *why, size_t size);
void *tn_library_find(void *library, const char *name);
void tn_library_close(void *library);

/* Processes and the processor. */

/* Returns the host's network name; empty if it has none. */
void tn_host_name(char *name, size_t size);
int64_t tn_process_number(void);

/* Returns false if no process of this host has this number. `started` distinguishes processes that
 * had the same number one after the other; 0: unknown. */
bool tn_process_find(int64_t number, uint64_t *started);

/* Registers fork handlers: the forking thread calls `before`, then `after` in the parent and
 * `in_child` in the child. Returns false if memory is short. */
bool tn_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void));

/* Calls `work` when this thread ends, and before all exit handlers if this thread ends the
 * process. Returns false if the C library does not support this. */
bool tn_at_thread_end(void (*work)(void *));

/* Returns true if the process is ending and the system has already ended all other threads, as
 * Windows does before a DLL's exit handlers. Nothing can be waited for then, and no thread can be
 * created. */
bool tn_threads_have_ended(void);

/* Request to end: SIGTERM, and on Windows the end of the console or session. tn_termination_catch
 * installs a handler that records it, and returns false if the system rejects it;
 * tn_termination_restore installs the earlier one again, unless another one was installed since. */
bool tn_termination_catch(void);
void tn_termination_restore(void);
bool tn_termination_caught(void);

/* Returns the processor's brand and its feature list; empty if the system does not provide them. */
void tn_processor_facts(char *brand, size_t brand_size, char *features, size_t features_size);

#endif
