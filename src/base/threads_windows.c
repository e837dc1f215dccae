/* Threads for Windows. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif

#include "base/platform.h"

#include <process.h>
#include <windows.h>

#define STACK ((unsigned)8 << 20) /* of a thread, in bytes */

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
