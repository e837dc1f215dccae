#include "runtime/listener.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct tn_listener {
    tn_listener *next;
    uintptr_t number;
    void *who;
    unsigned within; /* how many callbacks */
};

/* Of all listeners. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static tn_listener *all;
static uintptr_t last_number;

tn_listener *tn_listener_begin(void *who)
{
    tn_listener *listener = malloc(sizeof *listener);
    if (listener == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    *listener = (tn_listener){all, ++last_number, who, 0};
    all = listener;
    pthread_mutex_unlock(&lock);
    return listener;
}

void *tn_listener_number(const tn_listener *listener)
{
    return (void *)listener->number; /* never followed */
}

/* With the lock held. */
static tn_listener *find(const void *number)
{
    tn_listener *listener = all;
    while (listener != NULL && listener->number != (uintptr_t)number)
        listener = listener->next;
    return listener;
}

void *tn_listener_enter(void *number)
{
    void *who = NULL;
    pthread_mutex_lock(&lock);
    tn_listener *listener = find(number);
    if (listener != NULL && listener->who != NULL) {
        listener->within++;
        who = listener->who;
    }
    pthread_mutex_unlock(&lock);
    return who;
}

void tn_listener_leave(void *number)
{
    pthread_mutex_lock(&lock);
    find(number)->within--;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
}

void tn_listener_wait(tn_listener *listener)
{
    pthread_mutex_lock(&lock);
    while (listener->within > 0)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

void tn_listener_stop(tn_listener *listener)
{
    pthread_mutex_lock(&lock);
    listener->who = NULL;
    pthread_mutex_unlock(&lock);
}

void tn_listener_end(tn_listener *listener)
{
    if (listener == NULL)
        return;
    tn_listener_stop(listener);
    tn_listener_wait(listener);
    pthread_mutex_lock(&lock);
    tn_listener **link = &all;
    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    pthread_mutex_unlock(&lock);
    free(listener);
}
