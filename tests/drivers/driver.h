/*
 * Minimal reproducers of driver bugs. Each case runs in a process of its own, since it may crash,
 * and prints "correct here" or "wrong here" for the current driver. The result does not fail a
 * test; the tests that follow each case check that Tenon avoids the bug.
 */
#ifndef TESTS_DRIVERS_DRIVER_H
#define TESTS_DRIVERS_DRIVER_H

#include "ops/support.h"

typedef enum driver_outcome {
    DRIVER_RIGHT,
    DRIVER_WRONG,
    DRIVER_UNTRIED /* the device lacks a feature that the case requires */
} driver_outcome;

/* The environment of a case: context and queue of the device under test. */
typedef struct driver {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
} driver;

/* Runs a case and prints its result. Must be called before this process has called OpenCL.
 * `devices` is the value of POCL_DEVICES, which selects PoCL's devices; NULL leaves it
 * unchanged. */
void driver_try(const char *what, const char *devices, driver_outcome (*run)(const driver *));

/* For use in cases: build a program and return its kernel, ending the case as untried if the build
 * fails; and create a buffer with these contents unless they are NULL. */
cl_kernel driver_kernel(const driver *d, const char *source, const char *name);
cl_mem driver_buffer(const driver *d, size_t bytes, const void *contents);
void driver_set_buffer(cl_kernel kernel, cl_uint argument, cl_mem buffer);

/* Runs a kernel over one dimension and reads a buffer back. */
void driver_run(const driver *d, cl_kernel kernel, size_t global, size_t local, cl_mem result,
                size_t bytes, void *contents);

/* Runs a call in the syntax of `tenon check`, and checks that the solver supports it and that the
 * result is correct. */
void driver_check_line(tenon_stream *stream, const char *line);

/* Calls `look` for every file of cl_kernels/ with its path and its text, in which comments are
 * blanked. Returns the number of files. */
int driver_each_source(void (*look)(const char *path, const char *text));

#endif
