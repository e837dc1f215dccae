/*
 * Reduced cases of what drivers get wrong. Each is tried in a process of its own, since it may
 * crash, and says "right here" or "wrong here" of the driver at hand, which decides nothing: the
 * tests that follow see to it that Tenon stays clear of it.
 */
#ifndef TESTS_DRIVERS_DRIVER_H
#define TESTS_DRIVERS_DRIVER_H

#include "ops/support.h"

typedef enum driver_outcome {
    DRIVER_RIGHT,
    DRIVER_WRONG,
    DRIVER_UNTRIED /* the device cannot do what it takes */
} driver_outcome;

/* Where a case runs: the context and queue of the device that the tests use. */
typedef struct driver {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
} driver;

/* Tries a case and prints what comes of it. To be called before anything in this process has called
 * OpenCL. `devices` is what PoCL is told to offer (POCL_DEVICES); NULL leaves that alone. */
void driver_try(const char *what, const char *devices, driver_outcome (*run)(const driver *));

/* For cases. The kernel of a program, which ends the case as untried where it does not build; and a
 * buffer, with these contents where they are not NULL. */
cl_kernel driver_kernel(const driver *d, const char *source, const char *name);
cl_mem driver_buffer(const driver *d, size_t bytes, const void *contents);
void driver_set_buffer(cl_kernel kernel, cl_uint argument, cl_mem buffer);

/* Runs a kernel in one dimension and reads a buffer back. */
void driver_run(const driver *d, cl_kernel kernel, size_t global, size_t local, cl_mem result,
                size_t bytes, void *contents);

/* Calls `look` for every file of cl_kernels/, with its path and its text, in which comments have
 * become blanks; returns how many files there were. */
int driver_each_source(void (*look)(const char *path, const char *text));

#endif
