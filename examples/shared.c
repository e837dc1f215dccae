/*
 * Tenon in an application that already uses OpenCL, with its context, queue and buffers. The
 * application's kernel writes scores, Tenon converts them to probabilities, and the application's
 * kernel reads these. Nothing is copied and nothing waits: the queue keeps the order.
 */
#include "application.h"

#include "try.h"

#include <math.h>

#define ROWS    3
#define COLUMNS 5
#define COUNT   (ROWS * COLUMNS)

static const char source[] =
    "kernel void scores(global float *x) { int i = get_global_id(0); x[i] = i % 5 * (i / 5); }\n"
    "kernel void percent(global float *x) { int i = get_global_id(0); x[i] *= 100; }\n";

static cl_program build(const application *app)
{
    const char *text = source;
    cl_int error;
    cl_program program = clCreateProgramWithSource(app->context, 1, &text, NULL, &error);
    TRY_CL(error);
    TRY_CL(clBuildProgram(program, 1, &app->device, "", NULL, NULL));
    return program;
}

/* The application's own work: a kernel over all elements of a buffer. */
static void enqueue(const application *app, cl_program program, const char *name, cl_mem buffer)
{
    const size_t count = COUNT;
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    TRY_CL(error);
    TRY_CL(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    TRY_CL(clEnqueueNDRangeKernel(app->queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    clReleaseKernel(kernel);
}

/* Returns the largest difference from the host's result. */
static double difference(const float *percents)
{
    double largest = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            sum += exp(c * r);
        for (int c = 0; c < COLUMNS; c++)
            largest = fmax(largest, fabs(percents[r * COLUMNS + c] - 100 * exp(c * r) / sum));
    }
    return largest;
}

int main(void)
{
    application app = application_open();
    cl_program program = build(&app);
    cl_mem buffer = application_buffer(&app, COUNT, NULL);
    float percents[COUNT];

    /* Both retain the objects that they receive. */
    tenon_context *context;
    tenon_stream *stream;
    TRY(tenon_context_import(app.context, app.device, NULL, &context));
    TRY(tenon_stream_create(context, app.queue, &stream));

    /* A view of the application's buffer, which remains owned by the application. */
    tenon_tensor x;
    TRY(tenon_tensor_from_buffer(buffer, 0, TENON_DTYPE_F32, 2, (int64_t[]){ROWS, COLUMNS}, &x));

    enqueue(&app, program, "scores", buffer);
    TRY(tenon_softmax_forward(stream, NULL, &x, &x, NULL)); /* along the last dimension, in place */
    enqueue(&app, program, "percent", buffer);
    application_read(&app, buffer, COUNT, percents);

    for (int i = 0; i < COUNT; i++)
        printf("%5.1f %%%s", percents[i], i % COLUMNS == COLUMNS - 1 ? "\n" : " ");
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    application_close(&app);
    return difference(percents) < 1e-3 ? 0 : 1;
}
