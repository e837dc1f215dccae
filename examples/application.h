/* An application that uses OpenCL directly: its device, context, queue and buffers. This file
 * uses neither Tenon nor CLBlast. */
#ifndef EXAMPLES_APPLICATION_H
#define EXAMPLES_APPLICATION_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY_CL(call) try_cl((call), #call)

static inline void try_cl(cl_int error, const char *call)
{
    if (error == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: OpenCL error %d\n", call, error);
    exit(1);
}

typedef struct application {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* in order */
} application;

/* Returns the first GPU, or the first device of any kind if there is none. */
static inline cl_device_id application_device(void)
{
    const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_device_id device;
    TRY_CL(clGetPlatformIDs(16, platforms, &count));
    for (int t = 0; t < 2; t++)
        for (cl_uint p = 0; p < count && p < 16; p++)
            if (clGetDeviceIDs(platforms[p], types[t], 1, &device, NULL) == CL_SUCCESS)
                return device;
    fprintf(stderr, "there is no OpenCL device\n");
    exit(1);
}

static inline application application_open(void)
{
    application app = {.device = application_device()};
    cl_int error;
    app.context = clCreateContext(NULL, 1, &app.device, NULL, NULL, &error);
    TRY_CL(error);
    app.queue = clCreateCommandQueue(app.context, app.device, 0, &error);
    TRY_CL(error);
    return app;
}

static inline void application_close(application *app)
{
    clReleaseCommandQueue(app->queue);
    clReleaseContext(app->context);
}

/* Creates a buffer of `count` floats from `data`, or uninitialized if `data` is NULL. */
static inline cl_mem application_buffer(const application *app, size_t count, const float *data)
{
    cl_int error;
    cl_mem buffer =
        clCreateBuffer(app->context, CL_MEM_READ_WRITE, count * sizeof *data, NULL, &error);
    TRY_CL(error);
    if (data != NULL)
        TRY_CL(clEnqueueWriteBuffer(app->queue, buffer, CL_TRUE, 0, count * sizeof *data, data, 0,
                                    NULL, NULL));
    return buffer;
}

static inline void application_read(const application *app, cl_mem buffer, size_t count,
                                    float *data)
{
    TRY_CL(clEnqueueReadBuffer(app->queue, buffer, CL_TRUE, 0, count * sizeof *data, data, 0, NULL,
                               NULL));
}

#endif
