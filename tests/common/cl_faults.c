/* The faults, and the counts of objects that are alive. */
#include "common/cl_faults_wrap.h"

#include "common/testing.h"

#include "base/platform.h"

#include <stdatomic.h>

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_NTH,
    FAULT_ALL,
    FAULT_DELAY,
    FAULT_QUERY,
    FAULT_ANSWER
} fault_kind;

typedef struct fault {
    fault_kind kind;
    const char *function;
    cl_uint what;
    cl_int error;
    unsigned left;  /* calls up to and including the one that fails */
    unsigned calls; /* bit mask of the calls to delay */
    const void *answer;
    size_t size;
    unsigned hits;
} fault;

static _Thread_local fault now;

void faults_fail_next(const char *function, cl_int error, unsigned nth)
{
    now = (fault){.kind = FAULT_NTH, .function = function, .error = error, .left = nth};
}

void faults_fail_all(const char *function, cl_int error)
{
    now = (fault){.kind = FAULT_ALL, .function = function, .error = error};
}

void faults_fail_query(const char *function, cl_uint what, cl_int error)
{
    now = (fault){.kind = FAULT_QUERY, .function = function, .what = what, .error = error};
}

void faults_answer_query(const char *function, cl_uint what, const void *value, size_t size)
{
    now = (fault){
        .kind = FAULT_ANSWER, .function = function, .what = what, .answer = value, .size = size};
}

void faults_delay(const char *function, unsigned calls)
{
    now = (fault){.kind = FAULT_DELAY, .function = function, .calls = calls};
}

unsigned faults_end(void)
{
    now.kind = FAULT_NONE;
    return now.hits;
}

/* Delays the call if its bit is set. The call itself is still made. */
static bool delay(void)
{
    const struct timespec time = {.tv_nsec = 10000000};
    if ((now.calls & 1) != 0) {
        now.hits++;
        nanosleep(&time, NULL);
    }
    now.calls >>= 1;
    return false;
}

static bool is_of_opencl(const char *function)
{
    return strncmp(function, "cl", 2) == 0;
}

static bool is_meant(const char *function)
{
    if (now.function == FAULTS_ANY)
        return true;
    if (strcmp(now.function, FAULTS_MEMORY) == 0)
        return !is_of_opencl(function);
    if (strcmp(now.function, FAULTS_OPENCL) == 0)
        return is_of_opencl(function);
    return strcmp(now.function, function) == 0;
}

cl_int faults_error(void)
{
    return now.error;
}

bool faults_strike(const char *function, cl_uint what)
{
    if (now.kind == FAULT_NONE || !is_meant(function))
        return false;
    if (now.kind >= FAULT_QUERY && now.what != what)
        return false;
    if (now.kind == FAULT_DELAY)
        return delay();
    if (now.kind == FAULT_NTH && --now.left > 0)
        return false;
    now.hits++;
    if (now.kind == FAULT_NTH)
        now.kind = FAULT_NONE;
    return true;
}

cl_int faults_answer_now(size_t size, void *value, size_t *used)
{
    if (now.kind != FAULT_ANSWER)
        return now.error;
    if (value != NULL && size < now.size)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, now.answer, now.size);
    if (used != NULL)
        *used = now.size;
    return CL_SUCCESS;
}

static atomic_long alive_now[FAULTS_KINDS];

faults_alive faults_count(void)
{
    return (faults_alive){alive_now[FAULTS_BLOCKS],   alive_now[FAULTS_CONTEXTS],
                          alive_now[FAULTS_QUEUES],   alive_now[FAULTS_BUFFERS],
                          alive_now[FAULTS_PROGRAMS], alive_now[FAULTS_KERNELS],
                          alive_now[FAULTS_EVENTS]};
}

void faults_assert_alive(const faults_alive *before, const char *where)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    faults_alive after = faults_count();
    for (int look = 0; look < 2000 && memcmp(&after, before, sizeof after) != 0; look++) {
        nanosleep(&millisecond, NULL);
        after = faults_count();
    }
    if (memcmp(&after, before, sizeof after) != 0)
        fail_msg("%s: left behind: %ld blocks, %ld contexts, %ld queues, %ld buffers, %ld "
                 "programs, %ld kernels, %ld events",
                 where, after.blocks - before->blocks, after.contexts - before->contexts,
                 after.queues - before->queues, after.buffers - before->buffers,
                 after.programs - before->programs, after.kernels - before->kernels,
                 after.events - before->events);
}

void *faults_made(faults_kind kind, void *object)
{
    if (object != NULL)
        alive_now[kind]++;
    return object;
}

cl_int faults_retained(faults_kind kind, cl_int error)
{
    if (error == CL_SUCCESS)
        alive_now[kind]++;
    return error;
}

cl_int faults_released(faults_kind kind, cl_int error)
{
    if (error == CL_SUCCESS)
        alive_now[kind]--;
    return error;
}

cl_int faults_enqueued(const cl_event *event, cl_int error)
{
    return event != NULL ? faults_retained(FAULTS_EVENTS, error) : error;
}
