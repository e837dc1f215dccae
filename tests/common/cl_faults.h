/*
 * Fault injection for tests: makes chosen calls of OpenCL functions and of the allocator fail.
 *
 * A program links cl_faults.c with -Wl,--wrap for each function declared there (the list is in
 * meson.build). Calls from the program's own objects, including Tenon's, then go through wrappers;
 * calls from the OpenCL driver and other shared libraries do not. A fault applies only to the
 * thread that requested it.
 */
#ifndef TENON_TESTS_CL_FAULTS_H
#define TENON_TESTS_CL_FAULTS_H

#include <tenon/status.h>

#include <stdbool.h>

#define FAULTS_ANY NULL /* instead of a function name: every function that can fail */

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

/* Makes the calls of `function` whose bit is set take 10 milliseconds longer; bit 0 is the next
 * call. */
void faults_delay(const char *function, unsigned calls);

/* Reports an error through the callback of the last context that this thread created with one.
 * Returns false if there is no such context. */
bool faults_report(const char *text);

/* Replaces the lookup of extension functions in this thread by `find`. NULL restores the
 * driver's. */
void faults_give_extension(void *(*find)(const char *name));

/* Makes every program binary in this thread this text with its terminating NUL, like the PTX of
 * NVIDIA's drivers. Loading any binary then records it and creates the program that was last
 * created from source. NULL ends the simulation. */
void faults_give_ptx(const char *text);

/* Returns the binary that was loaded last, or "" if none was. */
const char *faults_loaded_ptx(void);

/* Ends the current fault. Returns the number of calls that failed, were answered or were
 * delayed. */
unsigned faults_end(void);

#endif
