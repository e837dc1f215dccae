/* An OpenCL driver for a simulated NVIDIA GPU. Loaded with LD_PRELOAD, it replaces the loader's
 * functions that Tenon calls. The command in PTX_COMPILER compiles programs to PTX, and the
 * interpreter runs them. Commands execute synchronously. */
#ifndef PTX_DRIVER_H
#define PTX_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "machine.h"

#include <pthread.h>

#define EXPORT    __attribute__((visibility("default")))
#define MOST_ARGS 20
#define ARG_BYTES 1024

struct _cl_mem {
    cl_context context;
    uint64_t address; /* on the device */
    size_t size;
    unsigned char *bytes;
    struct _cl_mem *next; /* list of all buffers */
    int references;
};

struct _cl_program {
    char *source;
    ptx_program *made; /* NULL before the build and after a failed one */
    char log[512];
    int references;
};

struct _cl_kernel {
    cl_program program;
    const ptx_function *function;
    cl_mem memory[MOST_ARGS];
    unsigned char params[4096];
    uint32_t given; /* bit mask of the arguments that are set */
};

struct _cl_event {
    int references;
};

/* Serializes commands. */
extern pthread_mutex_t ptx_lock;

/* Returns a value or a text as the result of a query. */
cl_int ptx_answer(const void *value, size_t length, size_t size, void *to, size_t *size_ret);
cl_int ptx_answer_text(const char *text, size_t size, void *to, size_t *size_ret);

#endif
