/* A dense layer with CLBlast: y = w · x + y for a batch of vectors, then for a single vector.
 * clblast_port.c is the same program with Tenon. */
#include "application.h"

#include <clblast_c.h>

#define OUTPUTS 3
#define INPUTS  4
#define BATCH   2

static void try_clblast(CLBlastStatusCode status, const char *call)
{
    if (status == CLBlastSuccess)
        return;
    fprintf(stderr, "%s: CLBlast status %d\n", call, (int)status);
    exit(1);
}

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

    /* y = x · wᵀ + y, rows of a batch */
    cl_event event;
    try_clblast(CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, BATCH,
                             OUTPUTS, INPUTS, 1.0f, x, 0, INPUTS, w, 0, INPUTS, 1.0f, y, 0, OUTPUTS,
                             &app.queue, &event),
                "CLBlastSgemm");
    TRY_CL(clWaitForEvents(1, &event));
    clReleaseEvent(event);

    /* y[1] = 2 · w · x[0] + y[1]: offsets are in elements */
    try_clblast(CLBlastSgemv(CLBlastLayoutRowMajor, CLBlastTransposeNo, OUTPUTS, INPUTS, 2.0f, w, 0,
                             INPUTS, x, 0, 1, 1.0f, y, OUTPUTS, 1, &app.queue, NULL),
                "CLBlastSgemv");

    application_read(&app, y, BATCH * OUTPUTS, result);
    for (int i = 0; i < BATCH; i++)
        printf("%g %g %g\n", result[i * OUTPUTS], result[i * OUTPUTS + 1], result[i * OUTPUTS + 2]);
    clReleaseMemObject(w);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    CLBlastClearCache();
    application_close(&app);
    return 0;
}
