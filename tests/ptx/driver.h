/* An OpenCL driver whose device is an NVIDIA GPU that is not there: preloaded, it takes the place
 * of the loader's functions that Tenon calls. Programs are compiled to PTX by the command in
 * PTX_COMPILER and run by the interpreter; commands are executed at once. */
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
    uint64_t address; /* of the device */
    size_t size;
    unsigned char *bytes;
    struct _cl_mem *next; /* all that there are */
    int references;
};

struct _cl_program {
    char *source;
    ptx_program *made; /* NULL until it is built, and where that fails */
    char log[512];
    int references;
};

struct _cl_kernel {
    cl_program program;
    const ptx_function *function;
    cl_mem memory[MOST_ARGS];
    unsigned char params[4096];
    uint32_t given; /* arguments, a bit each */
};

struct _cl_event {
    int references;
};

/* One command at a time. */
extern pthread_mutex_t ptx_lock;

/* What a query gives back. */
cl_int ptx_answer(const void *value, size_t length, size_t size, void *to, size_t *size_ret);
cl_int ptx_answer_text(const char *text, size_t size, void *to, size_t *size_ret);

#endif
