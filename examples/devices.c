/*
 * Splits a batch over all devices, each with its own context and stream. If there is only one
 * device, two contexts share it.
 */
#include "try.h"

#define MOST    16 /* devices */
#define ROWS    1000
#define INPUTS  200
#define OUTPUTS 50

typedef struct part {
    char selector[24];
    char name[128];
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor x, w, y;
    int first, rows;
} part;

/* Lists the usable devices by their selectors; a platform may have no devices. */
static int find(part *parts)
{
    tenon_device_info infos[MOST] = {TENON_DEVICE_INFO_INIT};
    uint32_t listed;
    int count = 0;
    TRY(tenon_device_list(infos, MOST, &listed));
    for (uint32_t i = 0; i < listed && i < MOST; i++) {
        if (infos[i].device == NULL)
            continue;
        snprintf(parts[count].selector, sizeof parts->selector, "%s", infos[i].selector);
        snprintf(parts[count++].name, sizeof parts->name, "%s", infos[i].name);
    }
    if (count == 1) {
        parts[1] = parts[0];
        count = 2;
    }
    return count;
}

/* Uploads a device's rows and enqueues the computation. Returns before the device has finished. */
static void start(part *p, const float *x, const float *w)
{
    const size_t row = INPUTS * sizeof *x;
    TRY(tenon_context_create(&tenon_context_params(.device = p->selector), &p->context));
    TRY(tenon_stream_create(p->context, NULL, &p->stream));
    TRY(tenon_tensor_create(p->context, TENON_DTYPE_F32, 2, (int64_t[]){p->rows, INPUTS}, &p->x));
    TRY(tenon_tensor_create(p->context, TENON_DTYPE_F32, 2, (int64_t[]){INPUTS, OUTPUTS}, &p->w));
    TRY(tenon_tensor_create(p->context, TENON_DTYPE_F32, 2, (int64_t[]){p->rows, OUTPUTS}, &p->y));
    TRY(tenon_tensor_upload(p->stream, x + (size_t)p->first * INPUTS, (size_t)p->rows * row, &p->x,
                            NULL));
    TRY(tenon_tensor_upload(p->stream, w, OUTPUTS * row, &p->w, NULL));
    TRY(tenon_gemm(p->stream, NULL, &p->x, &p->w, NULL, NULL, &p->y, NULL));
    TRY(tenon_stream_flush(p->stream));
}

/* Waits for a device, and copies its rows to their place in the result. */
static void finish(part *p, float *y)
{
    const size_t row = OUTPUTS * sizeof *y;
    TRY(tenon_tensor_download(p->stream, &p->y, y + (size_t)p->first * OUTPUTS,
                              (size_t)p->rows * row, NULL));
    tenon_tensor_destroy(&p->x);
    tenon_tensor_destroy(&p->w);
    tenon_tensor_destroy(&p->y);
    tenon_stream_destroy(p->stream);
    tenon_context_release(p->context);
    printf("rows %d to %d on %s, %s\n", p->first, p->first + p->rows - 1, p->selector, p->name);
}

/* Small integers: the result must match the host's bit for bit. */
static int wrong(const float *x, const float *w, const float *y)
{
    int count = 0;
    for (int i = 0; i < ROWS * OUTPUTS; i++) {
        float sum = 0;
        for (int k = 0; k < INPUTS; k++)
            sum += x[i / OUTPUTS * INPUTS + k] * w[k * OUTPUTS + i % OUTPUTS];
        count += y[i] != sum;
    }
    return count;
}

int main(void)
{
    static float x[ROWS * INPUTS], w[INPUTS * OUTPUTS], y[ROWS * OUTPUTS];
    static part parts[MOST + 1];
    for (int i = 0; i < ROWS * INPUTS; i++)
        x[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < INPUTS * OUTPUTS; i++)
        w[i] = (float)(i * 5 % 13 - 6);

    const int count = find(parts);
    if (count == 0) {
        fprintf(stderr, "there is no OpenCL device\n");
        return 1;
    }
    for (int i = 0; i < count;
         i++) { /* equal parts; use unequal parts for devices of unequal speed */
        parts[i].first = ROWS * i / count;
        parts[i].rows = ROWS * (i + 1) / count - parts[i].first;
        start(&parts[i], x, w);
    }
    for (int i = 0; i < count; i++)
        finish(&parts[i], y);

    const int differing = wrong(x, w, y);
    printf("%d rows, %d wrong elements\n", ROWS, differing);
    return differing == 0 ? 0 : 1;
}
