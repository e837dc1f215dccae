/* The platform layer for Windows. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif

#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <share.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/utime.h>
#include <time.h>
#include <windows.h>

#define STACK     ((unsigned)8 << 20) /* of a thread, in bytes */
#define PATH_SIZE 4096

/* The header declares these types without <windows.h>. */
_Static_assert(sizeof(tn_mutex) == sizeof(SRWLOCK) &&
                   sizeof(tn_condition) == sizeof(CONDITION_VARIABLE) &&
                   sizeof(tn_once) == sizeof(INIT_ONCE),
               "a lock is a pointer");

static SRWLOCK *lock_of(tn_mutex *mutex)
{
    return (SRWLOCK *)(void *)mutex;
}

static CONDITION_VARIABLE *condition_of(tn_condition *condition)
{
    return (CONDITION_VARIABLE *)(void *)condition;
}

bool tn_mutex_init(tn_mutex *mutex)
{
    InitializeSRWLock(lock_of(mutex));
    return true;
}

void tn_mutex_destroy(tn_mutex *mutex)
{
    (void)mutex;
}

void tn_mutex_lock(tn_mutex *mutex)
{
    AcquireSRWLockExclusive(lock_of(mutex));
}

void tn_mutex_unlock(tn_mutex *mutex)
{
    ReleaseSRWLockExclusive(lock_of(mutex));
}

bool tn_recursive_mutex_init(tn_recursive_mutex *mutex)
{
    memset(mutex, 0, sizeof *mutex);
    return tn_mutex_init(&mutex->lock);
}

void tn_recursive_mutex_destroy(tn_recursive_mutex *mutex)
{
    tn_mutex_destroy(&mutex->lock);
}

/* Safe without the lock: only this thread ever stores its own ID in `owner`. */
static bool is_own(const tn_recursive_mutex *mutex)
{
    return mutex->owner == GetCurrentThreadId();
}

void tn_recursive_mutex_lock(tn_recursive_mutex *mutex)
{
    if (!is_own(mutex)) {
        tn_mutex_lock(&mutex->lock);
        mutex->owner = GetCurrentThreadId();
    }
    mutex->depth++;
}

bool tn_recursive_mutex_try(tn_recursive_mutex *mutex)
{
    if (!is_own(mutex)) {
        if (!TryAcquireSRWLockExclusive(lock_of(&mutex->lock)))
            return false;
        mutex->owner = GetCurrentThreadId();
    }
    mutex->depth++;
    return true;
}

void tn_recursive_mutex_unlock(tn_recursive_mutex *mutex)
{
    if (--mutex->depth > 0)
        return;
    mutex->owner = 0;
    tn_mutex_unlock(&mutex->lock);
}

bool tn_condition_init(tn_condition *condition)
{
    InitializeConditionVariable(condition_of(condition));
    return true;
}

void tn_condition_destroy(tn_condition *condition)
{
    (void)condition;
}

void tn_condition_wait(tn_condition *condition, tn_mutex *mutex)
{
    SleepConditionVariableSRW(condition_of(condition), lock_of(mutex), INFINITE, 0);
}

void tn_condition_signal(tn_condition *condition)
{
    WakeConditionVariable(condition_of(condition));
}

void tn_condition_broadcast(tn_condition *condition)
{
    WakeAllConditionVariable(condition_of(condition));
}

static BOOL CALLBACK run_once(INIT_ONCE *once, void *work, void **unused)
{
    (void)once;
    (void)unused;
    (*(void (**)(void))work)();
    return TRUE;
}

void tn_once_run(tn_once *once, void (*work)(void))
{
    InitOnceExecuteOnce((INIT_ONCE *)(void *)once, run_once, &work, NULL);
}

typedef struct start {
    void *(*work)(void *);
    void *data;
} start;

static unsigned __stdcall begin(void *given)
{
    const start s = *(start *)given;
    free(given);
    s.work(s.data);
    return 0;
}

bool tn_thread_create(tn_thread *thread, void *(*work)(void *), void *data)
{
    unsigned number;
    start *s = malloc(sizeof *s);
    if (s == NULL)
        return false;
    *s = (start){work, data};
    thread->handle =
        (void *)_beginthreadex(NULL, STACK, begin, s, STACK_SIZE_PARAM_IS_A_RESERVATION, &number);
    thread->number = number;
    if (thread->handle == NULL)
        free(s);
    return thread->handle != NULL;
}

void tn_thread_join(tn_thread thread)
{
    WaitForSingleObject(thread.handle, INFINITE);
    CloseHandle(thread.handle);
}

void tn_thread_detach(tn_thread thread)
{
    CloseHandle(thread.handle);
}

bool tn_thread_is_this(tn_thread thread)
{
    return thread.number == GetCurrentThreadId();
}

uint64_t tn_now(void)
{
    const uint64_t second = UINT64_C(1000000000);
    LARGE_INTEGER ticks, rate;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&rate);
    const uint64_t t = (uint64_t)ticks.QuadPart, r = (uint64_t)rate.QuadPart;
    return t / r * second + t % r * second / r;
}

void tn_sleep(uint64_t nanoseconds)
{
    Sleep((DWORD)((nanoseconds + 999999) / 1000000));
}

void tn_yield(void)
{
    SwitchToThread();
}

void tn_error_text(int error, char *text, size_t size)
{
    if (strerror_s(text, size, error) != 0)
        snprintf(text, size, "error %d", error);
}

static int error_of(DWORD error)
{
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
        return EACCES;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        return ENOSPC;
    default:
        return EIO;
    }
}

/* Never sets is_foreign and is_open_to_others: the cache folder is inside the user's profile, which
 * other users cannot access. */
static tn_file_facts facts_of(const struct __stat64 *is)
{
    return (tn_file_facts){.is_folder = (is->st_mode & _S_IFMT) == _S_IFDIR,
                           .is_file = (is->st_mode & _S_IFMT) == _S_IFREG,
                           .size = (uint64_t)is->st_size,
                           .modified = (int64_t)is->st_mtime};
}

int tn_file_look(const char *path, tn_file_facts *facts)
{
    struct __stat64 is;
    if (_stat64(path, &is) != 0)
        return errno;
    *facts = facts_of(&is);
    return 0;
}

bool tn_file_is_readable(const char *path)
{
    return _access(path, 4) == 0;
}

FILE *tn_file_open(const char *path, tn_file_facts *facts)
{
    struct __stat64 is;
    const int number = _open(path, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    if (number < 0)
        return NULL;
    FILE *file = _fstat64(number, &is) == 0 ? _fdopen(number, "rb") : NULL;
    if (file == NULL)
        _close(number);
    else
        *facts = facts_of(&is);
    return file;
}

/* Windows resolves links when it opens a file. */
FILE *tn_file_open_linked(const char *path, tn_file_facts *facts)
{
    return tn_file_open(path, facts);
}

int tn_file_seek(FILE *file, uint64_t place)
{
    if (place > INT64_MAX)
        return EINVAL;
    return _fseeki64(file, (int64_t)place, SEEK_SET) == 0 ? 0 : errno;
}

int tn_file_sync(FILE *file)
{
    errno = 0;
    const bool well = fflush(file) == 0 && _commit(_fileno(file)) == 0;
    return well ? 0 : errno != 0 ? errno : EIO;
}

/* Does nothing: Windows writes the names of folders itself. */
void tn_folder_sync(const char *path)
{
    (void)path;
}

void tn_file_touch(const char *path)
{
    (void)_utime64(path, NULL);
}

int tn_file_append(const char *path, const void *bytes, size_t size)
{
    DWORD written = 0;
    const HANDLE file = CreateFileA(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                    NULL, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return error_of(GetLastError());
    int error = 0;
    if (!WriteFile(file, bytes, (DWORD)size, &written, NULL))
        error = error_of(GetLastError());
    else if (written != size)
        error = ENOSPC;
    CloseHandle(file);
    return error;
}

/* Replaces the last six letters by a number derived from the clock until the name is new. */
static int make_file(char *temporary)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *at = temporary + strlen(temporary) - 6;
    int file = -1;
    errno = EEXIST;
    for (int attempt = 0; file < 0 && errno == EEXIST && attempt < 100; attempt++) {
        uint64_t number = tn_now() ^ (uint64_t)GetCurrentThreadId() << 20;
        for (int i = 0; i < 6; i++, number /= 36)
            at[i] = letters[number % 36];
        file = _open(temporary, _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY | _O_NOINHERIT,
                     _S_IREAD | _S_IWRITE);
    }
    return file;
}

FILE *tn_file_begin(char *temporary)
{
    const int number = make_file(temporary);
    if (number < 0)
        return NULL;
    FILE *file = _fdopen(number, "wb");
    if (file != NULL)
        return file;
    const int error = errno;
    _close(number);
    remove(temporary);
    errno = error;
    return NULL;
}

int tn_file_keep(FILE *file, const char *temporary, const char *path, bool well, bool for_all)
{
    int error = well ? 0 : errno != 0 ? errno : EIO;
    (void)for_all; /* the folder's permissions apply */
    errno = 0;
    if (fclose(file) != 0 && error == 0)
        error = errno != 0 ? errno : EIO;
    if (error == 0 && MoveFileExA(temporary, path, MOVEFILE_REPLACE_EXISTING))
        return 0;
    error = error != 0 ? error : error_of(GetLastError());
    remove(temporary);
    return error;
}

int tn_file_lock(const char *path, intptr_t *lock)
{
    OVERLAPPED place = {0};
    const HANDLE file =
        CreateFileA(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                    OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return error_of(GetLastError());
    if (LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place)) {
        *lock = (intptr_t)file;
        return 0;
    }
    const DWORD error = GetLastError();
    CloseHandle(file);
    return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? EBUSY : error_of(error);
}

void tn_file_unlock(intptr_t lock)
{
    OVERLAPPED place = {0};
    UnlockFileEx((HANDLE)lock, 0, 1, 0, &place);
    CloseHandle((HANDLE)lock);
}

int tn_folder_create(const char *path, bool is_private)
{
    (void)is_private;
    return CreateDirectoryA(path, NULL)             ? 0
           : GetLastError() == ERROR_ALREADY_EXISTS ? EEXIST
                                                    : error_of(GetLastError());
}

bool tn_folder_visit(const char *folder, bool (*wants)(const char *name),
                     bool (*visit)(void *user, const char *name, const tn_file_facts *facts),
                     void *user)
{
    char path[PATH_SIZE];
    struct __finddata64_t found;
    bool goes_on = true;
    if (snprintf(path, sizeof path, "%s/*", folder) >= PATH_SIZE)
        return false;
    const intptr_t search = _findfirst64(path, &found);
    if (search == -1)
        return false;
    do {
        const tn_file_facts facts = {.is_file = (found.attrib & _A_SUBDIR) == 0,
                                     .size = (uint64_t)found.size,
                                     .modified = (int64_t)found.time_write};
        if (facts.is_file && wants(found.name))
            goes_on = visit(user, found.name, &facts);
    } while (goes_on && _findnext64(search, &found) == 0);
    _findclose(search);
    return goes_on;
}

const char tn_folder_of_caches_variables[] = "LOCALAPPDATA";

char *tn_folder_of_caches(void)
{
    const char *at = getenv("LOCALAPPDATA");
    return at != NULL && at[0] != '\0' ? tn_text_copy(at) : NULL;
}

void *tn_library_open(const char *name, char *why, size_t size)
{
    void *library = (void *)(name != NULL ? LoadLibraryA(name) : GetModuleHandleA(NULL));
    if (library == NULL && size > 0)
        snprintf(why, size, "%s: error %lu", name, GetLastError());
    return library;
}

void *tn_library_find(void *library, const char *name)
{
    void *found = NULL;
    const FARPROC function = GetProcAddress((HMODULE)library, name);
    memcpy(&found, &function, sizeof found); /* C has no cast from a function pointer to void * */
    return found;
}

void tn_library_close(void *library)
{
    FreeLibrary((HMODULE)library);
}

void tn_host_name(char *name, size_t size)
{
    DWORD length = (DWORD)size;
    if (!GetComputerNameA(name, &length))
        name[0] = '\0';
}

int64_t tn_process_number(void)
{
    return (int64_t)GetCurrentProcessId();
}

bool tn_process_find(int64_t number, uint64_t *started)
{
    FILETIME made, ended, kernel, user;
    *started = 0;
    const HANDLE process =
        OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, (DWORD)number);
    if (process == NULL)
        return GetLastError() == ERROR_ACCESS_DENIED;
    /* An open handle keeps the ID of a process that has ended. */
    const bool is_there = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    if (GetProcessTimes(process, &made, &ended, &kernel, &user))
        *started = (uint64_t)made.dwHighDateTime << 32 | made.dwLowDateTime;
    CloseHandle(process);
    return is_there;
}

/* Written by a signal handler and by a thread of the system. */
static atomic_bool is_terminating;
static void (*earlier_handler)(int);

/* Windows removes a handler when it calls it. */
static void note_termination(int number)
{
    signal(number, note_termination);
    atomic_store(&is_terminating, true);
}

/* Windows calls this on a thread of its own. For these events it ends the process when the handler
 * returns, and after some seconds in any case. */
static BOOL WINAPI note_event(DWORD event)
{
    if (event != CTRL_CLOSE_EVENT && event != CTRL_LOGOFF_EVENT && event != CTRL_SHUTDOWN_EVENT)
        return FALSE;
    atomic_store(&is_terminating, true);
    Sleep(INFINITE);
    return TRUE;
}

bool tn_termination_catch(void)
{
    atomic_store(&is_terminating, false);
    earlier_handler = signal(SIGTERM, note_termination);
    if (earlier_handler == SIG_ERR)
        return false;
    if (SetConsoleCtrlHandler(note_event, TRUE))
        return true;
    signal(SIGTERM, earlier_handler);
    return false;
}

void tn_termination_restore(void)
{
    void (*current)(int) = signal(SIGTERM, earlier_handler);
    if (current != note_termination)
        signal(SIGTERM, current);
    SetConsoleCtrlHandler(note_event, FALSE);
}

bool tn_termination_caught(void)
{
    return atomic_load(&is_terminating);
}

/* Does nothing: Windows has no fork. */
bool tn_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void))
{
    (void)before;
    (void)after;
    (void)in_child;
    return true;
}

bool tn_at_thread_end(void (*work)(void *))
{
    (void)work;
    return false;
}

bool tn_threads_have_ended(void)
{
    typedef BOOLEAN(WINAPI * in_shutdown)(void);
    in_shutdown ask = NULL;
    const FARPROC found = GetProcAddress(GetModuleHandleA("ntdll.dll"), "RtlDllShutdownInProgress");
    memcpy(&ask, &found, sizeof ask);
    return ask != NULL && ask();
}

void tn_processor_facts(char *brand, size_t brand_size, char *features, size_t features_size)
{
    const char *text = getenv("PROCESSOR_IDENTIFIER");
    size_t used = 0;
    snprintf(brand, brand_size, "%s", text != NULL ? text : "");
    features[0] = '\0';
    for (DWORD i = 0; i < 64 && used + 4 < features_size; i++)
        if (IsProcessorFeaturePresent(i))
            used += (size_t)snprintf(features + used, features_size - used, "%lu ", i);
}
