#include "runtime/opencl/listener.h"

#include "base/platform.h"

#include <stdint.h>
#include <stdlib.h>

struct tn_listener {
    tn_listener *next;
    uintptr_t number;
    void *who;
    unsigned within; /* number of callbacks inside */
};

/* Guards all listeners. */
static tn_mutex lock = TN_MUTEX_INIT;
static tn_condition left = TN_CONDITION_INIT;
static tn_listener *all;
static uintptr_t last_number;

tn_listener *tn_listener_begin(void *who)
{
    tn_listener *listener = malloc(sizeof *listener);
    if (listener == NULL)
        return NULL;
    tn_mutex_lock(&lock);
    *listener = (tn_listener){all, ++last_number, who, 0};
    all = listener;
    tn_mutex_unlock(&lock);
    return listener;
}

void *tn_listener_number(const tn_listener *listener)
{
    return (void *)listener->number; /* never dereferenced */
}

/* The caller holds the lock. */
static tn_listener *listener_find(const void *number)
{
    tn_listener *listener = all;
    while (listener != NULL && listener->number != (uintptr_t)number)
        listener = listener->next;
    return listener;
}

void *tn_listener_enter(void *number)
{
    void *who = NULL;
    tn_mutex_lock(&lock);
    tn_listener *listener = listener_find(number);
    if (listener != NULL && listener->who != NULL) {
        listener->within++;
        who = listener->who;
    }
    tn_mutex_unlock(&lock);
    return who;
}

void tn_listener_leave(void *number)
{
    tn_mutex_lock(&lock);
    listener_find(number)->within--;
    tn_condition_broadcast(&left);
    tn_mutex_unlock(&lock);
}

void tn_listener_wait(tn_listener *listener)
{
    tn_mutex_lock(&lock);
    while (listener->within > 0)
        tn_condition_wait(&left, &lock);
    tn_mutex_unlock(&lock);
}

void tn_listener_stop(tn_listener *listener)
{
    tn_mutex_lock(&lock);
    listener->who = NULL;
    tn_mutex_unlock(&lock);
}

void tn_listener_end(tn_listener *listener)
{
    if (listener == NULL)
        return;
    tn_listener_stop(listener);
    tn_listener_wait(listener);
    tn_mutex_lock(&lock);
    tn_listener **link = &all;
    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    tn_mutex_unlock(&lock);
    free(listener);
}
