/* Threads for POSIX. */
#define _POSIX_C_SOURCE 200809L

#include "base/platform.h"

#define MIN_STACK ((size_t)8 << 20) /* minimum per thread; some systems default to 128 KiB */

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
