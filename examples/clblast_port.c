/* clblast_before.c with Tenon instead of CLBlast: the same context, queue and buffers, the same
 * arguments in the same order. A stream, created once, replaces the queue, and a tenon_sync
 * replaces the event. */
#include "application.h"

#include "try.h"

#include <tenon/blas.h>

#define OUTPUTS 3
#define INPUTS  4
#define BATCH   2

int main(void)
{
    const float w_data[OUTPUTS * INPUTS] = {1, 2, 3, 4, 0, 1, 0, -1, 2, 0, 2, 0};
    const float x_data[BATCH * INPUTS] = {1, 1, 1, 1, 4, 3, 2, 1};
    const float y_data[BATCH * OUTPUTS] = {10, 20, 30, 40, 50, 60};
    float result[BATCH * OUTPUTS];
    application app = application_open();
    cl_mem w = application_buffer(&app, OUTPUTS * INPUTS, w_data);
    cl_mem x = application_buffer(&app, BATCH * INPUTS, x_data);
    cl_mem y = application_buffer(&app, BATCH * OUTPUTS, y_data);

    tenon_context *context;
    tenon_stream *stream;
    TRY(tenon_context_import(app.context, app.device, NULL, &context));
    TRY(tenon_stream_create(context, app.queue, &stream));

    /* y = x · wᵀ + y, rows of a batch */
    cl_event event;
    TRY(tenon_sgemm(stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, TENON_BLAS_TRANSPOSE,
                    BATCH, OUTPUTS, INPUTS, 1.0f, x, 0, INPUTS, w, 0, INPUTS, 1.0f, y, 0, OUTPUTS,
                    &(tenon_sync){.event = &event}));
    TRY_CL(clWaitForEvents(1, &event));
    clReleaseEvent(event);

    /* y[1] = 2 · w · x[0] + y[1]: offsets are in elements */
    TRY(tenon_sgemv(stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, OUTPUTS, INPUTS, 2.0f, w,
                    0, INPUTS, x, 0, 1, 1.0f, y, OUTPUTS, 1, NULL));

    application_read(&app, y, BATCH * OUTPUTS, result);
    for (int i = 0; i < BATCH; i++)
        printf("%g %g %g\n", result[i * OUTPUTS], result[i * OUTPUTS + 1], result[i * OUTPUTS + 2]);
    clReleaseMemObject(w);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    application_close(&app);
    return 0;
}
