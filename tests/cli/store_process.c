/* Process for check_store.py, which runs many of them at once: makes a plan with the default store
 * and the solver that its argument names, if there is one, runs it and checks the result. Prints
 * the log and the number of self-checks to stderr, and "right" if the result is correct. */
#include <tenon/tenon.h>

#include <stdio.h>
#include <string.h>

#define M 70
#define N 33
#define K 40

static void hear(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%.300s\n", message);
}

static float a[M * K], b[K * N], d[M * N];

/* Small integers, so that the result of every solver is exact. */
static void fill(void)
{
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i * 5 % 13 - 6);
    memset(d, 0xff, sizeof d);
}

static int compare(void)
{
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += a[i / N * K + k] * b[k * N + i % N];
        if (d[i] != sum) {
            fprintf(stderr, "wrong: element %d is %g, must be %g\n", i, (double)d[i], (double)sum);
            return 1;
        }
    }
    return 0;
}

static tenon_status make(tenon_stream *stream, tenon_context *context, int64_t rows,
                         int64_t columns, const float *values, tenon_tensor *out)
{
    const int64_t shape[] = {rows, columns};
    tenon_status status = tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, out);
    if (status == TENON_OK)
        status = tenon_tensor_upload(stream, values, (size_t)(rows * columns) * sizeof *values, out,
                                     NULL);
    return status;
}

static tenon_status plan_and_run(tenon_context *context, tenon_stream *stream, const char *solver,
                                 tenon_tensor tensors[3])
{
    tenon_plan *plan = NULL;
    tenon_status status = make(stream, context, M, K, a, &tensors[0]);
    if (status == TENON_OK)
        status = make(stream, context, K, N, b, &tensors[1]);
    if (status == TENON_OK)
        status = make(stream, context, M, N, d, &tensors[2]);
    if (status == TENON_OK)
        status = tenon_gemm_plan(context, &tenon_gemm_params(.solver = solver), &tensors[0],
                                 &tensors[1], NULL, NULL, &tensors[2], &plan);
    const tenon_memory memories[] = {
        tensors[0].memory, tensors[1].memory, {0}, {0}, tensors[2].memory};
    if (status == TENON_OK)
        status = tenon_plan_run(stream, plan, memories, 5, NULL);
    if (status == TENON_OK)
        status = tenon_tensor_download(stream, &tensors[2], d, sizeof d, NULL);
    tenon_plan_release(plan);
    return status;
}

int main(int argc, char **argv)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = NULL;
    tenon_stream *stream = NULL;
    tenon_tensor tensors[3];
    params.log = hear;
    memset(tensors, 0, sizeof tensors);
    fill();
    tenon_status status = tenon_context_create(&params, &context);
    if (status == TENON_OK)
        status = tenon_stream_create(context, NULL, &stream);
    if (status == TENON_OK)
        status = plan_and_run(context, stream, argc > 1 ? argv[1] : NULL, tensors);
    if (status != TENON_OK)
        fprintf(stderr, "failed: %s: %s\n", tenon_status_string(status), tenon_last_error());
    tenon_statistics seen = TENON_STATISTICS_INIT;
    if (status == TENON_OK)
        status = tenon_context_statistics(context, &seen);
    fprintf(stderr, "%llu self-checks\n", (unsigned long long)seen.checks);
    for (int i = 0; i < 3; i++)
        tenon_memory_destroy(&tensors[i].memory);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    if (status != TENON_OK || compare() != 0)
        return 1;
    printf("right\n");
    return 0;
}
