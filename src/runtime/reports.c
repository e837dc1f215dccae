#include "runtime/reports.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct tn_reports {
    tn_reports *next;
    uintptr_t number;
    tenon_failure_callback callback;
    void *user;
    unsigned telling; /* how many are being told */
};

/* Of all contexts that are told. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static tn_reports *all;
static uintptr_t last_number;

tn_reports *tn_reports_begin(tenon_failure_callback callback, void *user)
{
    tn_reports *reports = malloc(sizeof *reports);
    if (reports == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    *reports = (tn_reports){all, ++last_number, callback, user, 0};
    all = reports;
    pthread_mutex_unlock(&lock);
    return reports;
}

void tn_reports_end(tn_reports *reports)
{
    if (reports == NULL)
        return;
    pthread_mutex_lock(&lock);
    tn_reports **link = &all;
    while (*link != reports)
        link = &(*link)->next;
    *link = reports->next;
    while (reports->telling > 0)
        pthread_cond_wait(&told, &lock);
    pthread_mutex_unlock(&lock);
    free(reports);
}

void *tn_reports_user(const tn_reports *reports)
{
    return (void *)reports->number; // NOLINT(performance-no-int-to-ptr): it is never followed
}

void CL_CALLBACK tn_reports_tell(const char *text, const void *data, size_t size, void *user)
{
    const uintptr_t number = (uintptr_t)user;
    (void)data;
    (void)size;
    pthread_mutex_lock(&lock);
    tn_reports *reports = all;
    while (reports != NULL && reports->number != number)
        reports = reports->next;
    if (reports != NULL)
        reports->telling++;
    pthread_mutex_unlock(&lock);
    if (reports == NULL)
        return;
    const tenon_failure failure = {.struct_size = sizeof failure,
                                   .status = TENON_ERROR_OPENCL,
                                   .message = text != NULL ? text : ""};
    reports->callback(reports->user, &failure);
    pthread_mutex_lock(&lock);
    reports->telling--;
    pthread_cond_broadcast(&told);
    pthread_mutex_unlock(&lock);
}
