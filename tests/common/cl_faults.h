/*
 * Fault injection for tests: makes chosen calls of OpenCL functions and of the allocator fail.
 *
 * A program links cl_faults*.c with -Wl,--wrap for each function wrapped there (the list is in
 * tests/ops/meson.build). Calls from the program's own objects, including Tenon's, then go through
 * wrappers; calls from the OpenCL driver and other shared libraries do not. A fault applies only to
 * the thread that requested it.
 */
#ifndef TENON_TESTS_CL_FAULTS_H
#define TENON_TESTS_CL_FAULTS_H

#include <tenon/status.h>

#include <stdbool.h>

/* Groups of functions, in place of a function's name: all that can fail; the allocator and the
 * system's locks and threads; OpenCL. */
#define FAULTS_ANY    NULL
#define FAULTS_MEMORY "memory, locks and threads"
#define FAULTS_OPENCL "cl"

/* Makes the nth call of `function` from now on (1: the next call) return `error` without doing
 * anything. malloc, calloc and realloc return NULL whatever the error. */
void faults_fail_next(const char *function, cl_int error, unsigned nth);

/* Makes every call of `function` fail. */
void faults_fail_all(const char *function, cl_int error);

/* Makes every call of `function` that queries `what` fail, such as clGetDeviceInfo with
 * CL_DEVICE_NAME. */
void faults_fail_query(const char *function, cl_uint what, cl_int error);

/* Makes every call of an information function that queries `what` return these bytes. As in a
 * driver, the call returns CL_INVALID_VALUE if the caller's buffer is too small. */
void faults_answer_query(const char *function, cl_uint what, const void *value, size_t size);

/* Makes clGetDeviceInfo give these answers in this thread; other queries are answered by the
 * driver. The list is not copied. A count of 0 ends the simulation. */
typedef struct faults_answer {
    cl_uint what;
    const void *value;
    size_t size;
} faults_answer;
void faults_give_device(const faults_answer *answers, size_t count);

/* Delays by 10 milliseconds the calls of `function` whose bit is set; bit 0 is the next call. */
void faults_delay(const char *function, unsigned calls);

/* Reports an error through the callback of the last context that this thread created with one.
 * Returns false if there is no such context. */
bool faults_report(const char *text);

/* Hides a function of OpenCL from the library. Must precede the library's first call, which looks
 * up all functions. */
void faults_hide(const char *function);

/* Makes `find` return the extension functions in this thread. NULL restores the driver's own. */
void faults_give_extension(void *(*find)(const char *name));

/* Makes every program binary in this thread this text with its terminating NUL, like the PTX of
 * NVIDIA's drivers. Loading any binary then records it and creates the program that was last
 * created from source. NULL ends the simulation. */
void faults_give_ptx(const char *text);

/* Returns the binary that was loaded last, or "" if none was. */
const char *faults_loaded_ptx(void);

/* The number of memory blocks and OpenCL objects that the program's own objects have created or
 * retained and not yet released, in all threads. Only the difference of two counts has a meaning,
 * since the C library and functions that are not wrapped allocate as well. */
typedef struct faults_alive {
    long blocks, contexts, queues, buffers, programs, kernels, events;
} faults_alive;
faults_alive faults_count(void);

/* Fails the test if the counts differ from `before`. Waits for threads that are still releasing
 * objects. */
void faults_assert_alive(const faults_alive *before, const char *where);

/* Ends the current fault. Returns the number of calls that failed, were answered or were delayed.
 */
unsigned faults_end(void);

#endif
