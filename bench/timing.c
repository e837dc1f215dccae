#include "timing.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_check(tenon_status status, const char *call)
{
    if (status == TENON_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, tenon_status_string(status), tenon_last_error());
    exit(1);
}

bool bench_went_well(tenon_status status, const char *call)
{
    if (status == TENON_OK)
        return true;
    bench_complain("%s: %s: %s", call, tenon_status_string(status), tenon_last_error());
    return false;
}

tenon_stream *bench_open(void)
{
    tenon_context *context;
    tenon_stream *stream;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    BENCH_CHECK(tenon_context_create(NULL, &context));
    BENCH_CHECK(tenon_stream_create(context, NULL, &stream));
    BENCH_CHECK(tenon_context_device(context, &info));
    printf("device %s: %s, %s, driver %s, %u compute units\n", info.selector, info.name,
           info.platform_name, info.driver_version, info.compute_units);
    tenon_context_release(context);
    return stream;
}

tenon_tensor bench_tensor(tenon_stream *stream, int64_t rows, int64_t cols, float **host)
{
    const int64_t shape[] = {rows, cols};
    const size_t count = (size_t)(rows * cols);
    tenon_tensor tensor;
    float *values = malloc(count * sizeof *values);
    if (values == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        values[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    BENCH_CHECK(
        tenon_tensor_create(tenon_stream_context(stream), TENON_DTYPE_F32, 2, shape, &tensor));
    BENCH_CHECK(tenon_tensor_upload(stream, values, count * sizeof *values, &tensor, NULL));
    *host = values;
    return tensor;
}
