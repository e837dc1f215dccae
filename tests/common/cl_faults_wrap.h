/* Wrappers of functions that can fail. With --wrap=NAME the linker redirects calls of NAME to
 * __wrap_NAME, and calls of __real_NAME to the real NAME. */
#ifndef TENON_TESTS_CL_FAULTS_WRAP_H
#define TENON_TESTS_CL_FAULTS_WRAP_H

#include "common/cl_faults.h"

#include <CL/cl.h>

/* Counts a call that the current fault applies to. Returns true if the call must fail. */
bool faults_strike(const char *function, cl_uint what);

/* Returns the error of the current fault. */
cl_int faults_error(void);

/* Returns the result of an information function that fails or has a replaced answer. */
cl_int faults_answer_now(size_t size, void *value, size_t *used);

/* The counted objects, in the order of the members of faults_alive. */
typedef enum faults_kind {
    FAULTS_BLOCKS,
    FAULTS_CONTEXTS,
    FAULTS_QUEUES,
    FAULTS_BUFFERS,
    FAULTS_PROGRAMS,
    FAULTS_KERNELS,
    FAULTS_EVENTS,
    FAULTS_KINDS
} faults_kind;

/* Counts an object that a call has created, and returns it. */
void *faults_made(faults_kind kind, void *object);

/* Count an object that a call has retained or released, and return the call's error. */
cl_int faults_retained(faults_kind kind, cl_int error);
cl_int faults_released(faults_kind kind, cl_int error);

/* Counts the event of an enqueued command. */
cl_int faults_enqueued(const cl_event *event, cl_int error);

#define WRAP_AS(result, type, name, what, parameters, real)                                        \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return faults_strike(#name, what) ? (result) : (real);                                     \
    }

/* Wraps a function that returns its error. */
#define WRAP(name, parameters, arguments)                                                          \
    WRAP_AS(faults_error(), cl_int, name, 0, parameters, __real_##name arguments)

/* Wraps a function that enqueues a command and returns an event if `event` is not NULL. */
#define WRAP_COMMAND(name, parameters, arguments)                                                  \
    WRAP_AS(faults_error(), cl_int, name, 0, parameters,                                           \
            faults_enqueued(event, __real_##name arguments))

/* Wraps a function that returns an object, and its error through the last parameter. */
#define WRAP_OBJECT(kind, type, name, parameters, arguments)                                       \
    WRAP_AS((*error = faults_error(), NULL), type, name, 0, parameters,                            \
            faults_made(kind, __real_##name arguments))

#define WRAP_MEMORY(name, parameters, arguments)                                                   \
    WRAP_AS(NULL, void *, name, 0, parameters, faults_made(FAULTS_BLOCKS, __real_##name arguments))

/* Wraps an information function, whose answer a fault can replace. */
#define WRAP_QUERY(name, parameters, arguments)                                                    \
    WRAP_AS(faults_answer_now(size, value, used), cl_int, name, what, parameters,                  \
            __real_##name arguments)

/* Wraps a function that retains an object. */
#define WRAP_RETAIN(kind, name, type)                                                              \
    WRAP_AS(faults_error(), cl_int, name, 0, (type object),                                        \
            faults_retained(kind, __real_##name(object)))

/* Wraps a function that releases an object. It never fails. */
#define WRAP_RELEASE(kind, name, type)                                                             \
    cl_int __real_##name(type object);                                                             \
    cl_int __wrap_##name(type object);                                                             \
    cl_int __wrap_##name(type object)                                                              \
    {                                                                                              \
        return faults_released(kind, __real_##name(object));                                       \
    }

#endif
