/*
 * Faults for tests: calls of OpenCL and of the allocator that fail when they are told to.
 *
 * A program that links cl_faults.c with -Wl,--wrap for each of the functions there (meson.build has
 * the list) makes the calls of its own objects, Tenon's among them, through wrappers. What the
 * OpenCL driver and other shared libraries call is not touched. A fault is of the thread that asked
 * for it.
 */
#ifndef TENON_TESTS_CL_FAULTS_H
#define TENON_TESTS_CL_FAULTS_H

#include <tenon/status.h>

#include <stdbool.h>

/* In the place of a function's name: every one that can fail; those of the allocator, and of the
 * system for locks and threads; those of OpenCL. */
#define FAULTS_ANY    NULL
#define FAULTS_MEMORY "memory, locks and threads"
#define FAULTS_OPENCL "cl"

/* The nth call of `function` from now on (1: the next) gives `error`, and does nothing; malloc,
 * calloc and realloc give NULL whatever the error. */
void faults_fail_next(const char *function, cl_int error, unsigned nth);

/* The same for every call. */
void faults_fail_all(const char *function, cl_int error);

/* The same for every call of a function that asks for `what`: clGetDeviceInfo, CL_DEVICE_NAME. */
void faults_fail_query(const char *function, cl_uint what, cl_int error);

/* Every call of an information function that asks for `what` gives these bytes, as the driver
 * would: CL_INVALID_VALUE where the caller has no room for them. */
void faults_answer_query(const char *function, cl_uint what, const void *value, size_t size);

/* From now on, in this thread, clGetDeviceInfo gives these answers, as the driver would; those of
 * other information are the driver's own. A count of 0 ends it. The list must stay. */
typedef struct faults_answer {
    cl_uint what;
    const void *value;
    size_t size;
} faults_answer;
void faults_give_device(const faults_answer *answers, size_t count);

/* The calls of `function` whose bit is set, bit 0 for the next one, take 10 milliseconds longer. */
void faults_delay(const char *function, unsigned calls);

/* The driver reports an error of the last context that this thread made with a callback for it;
 * false where there was none. */
bool faults_report(const char *text);

/* The library does not find this function of OpenCL when it looks for all of them: before its first
 * call. */
void faults_hide(const char *function);

/* From now on, in this thread, functions of extensions are what `find` gives for their names. NULL:
 * the driver's own. */
void faults_give_extension(void *(*find)(const char *name));

/* From now on, in this thread, every program's binary is this text, with the NUL behind it, as
 * NVIDIA's drivers give PTX; loading any binary gives the program that was made from source last,
 * and keeps what was loaded. NULL: that is over. */
void faults_give_ptx(const char *text);

/* What was loaded last, "" where nothing was. */
const char *faults_loaded_ptx(void);

/* The number of memory blocks and OpenCL objects that the program's own objects have made or
 * retained, and not released, in all threads. Two counts are compared; one alone has no meaning,
 * since the C library and functions that are not wrapped allocate as well. */
typedef struct faults_alive {
    long blocks, contexts, queues, buffers, programs, kernels, events;
} faults_alive;
faults_alive faults_count(void);

/* Fails the test if there is more or less than `before`; waits for threads that are still releasing
 * something. */
void faults_assert_alive(const faults_alive *before, const char *where);

/* Ends the last of these. Returns how many calls failed, were answered or delayed. */
unsigned faults_end(void);

#endif
