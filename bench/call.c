/* Measures the overhead of a call over OpenCL: the same kernel with the same arguments is enqueued
 * directly, by a plan, by an immediate call, and as a step of a sequence. Only the enqueueing calls
 * are timed, alternately; the results are medians. The queue is emptied between measurements. */
#include "environment.h"
#include "ops/gemm/internal.h"
#include "runtime/program/program.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 100000
#define DRAIN                                                                                      \
    64 /* calls between finishes, to limit the length of the queue; steps of a sequence            \
        */
#define SERIES 2000
#define SIZE   16

typedef struct call {
    tenon_stream *stream;
    tenon_tensor a, b, d;
    tenon_gemm_params params;
    tenon_plan *plan;
    tenon_sequence *sequence;
    cl_kernel kernel;
    gemm_args args;
} call;

static void by_hand(call *c)
{
    const size_t global[] = {SIZE, SIZE, 1}, local[] = {16, 4, 1};
    cl_mem pointers[] = {c->a.memory.u.buffer, c->b.memory.u.buffer, c->d.memory.u.buffer,
                         c->d.memory.u.buffer, c->d.memory.u.buffer};
    for (cl_uint i = 0; i < 5; i++)
        clSetKernelArg(c->kernel, i, sizeof pointers[i], &pointers[i]);
    clSetKernelArg(c->kernel, 5, sizeof c->args, &c->args);
    if (clEnqueueNDRangeKernel(tenon_stream_cl(c->stream), c->kernel, 3, NULL, global, local, 0,
                               NULL, NULL) != CL_SUCCESS)
        exit(1);
}

static void planned(call *c)
{
    const tenon_memory memories[] = {c->a.memory, c->b.memory, {0}, {0}, c->d.memory};
    BENCH_CHECK(tenon_plan_run(c->stream, c->plan, memories, 5, NULL));
}

static void immediate(call *c)
{
    BENCH_CHECK(tenon_gemm(c->stream, &c->params, &c->a, &c->b, NULL, NULL, &c->d, NULL));
}

/* Makes the kernel and the arguments of the plan. */
static void prepare_by_hand(call *c)
{
    gemm_problem problem;
    gemm_arguments arguments;
    bool empty;
    tn_choice choice = {.solver = &tn_gemm_plain};
    uint32_t number;
    tenon_context *context = tenon_stream_context(c->stream);
    BENCH_CHECK(tn_gemm_canonicalize("bench", &c->params, &c->a, &c->b, NULL, NULL, &c->d, &problem,
                                     &empty));
    tn_gemm_arguments(&problem, &arguments);
    c->args = arguments.args;
    c->args.alpha = 0x3f800000; /* 1.0f */
    tn_configure(context, &problem.head, &choice);
    BENCH_CHECK(tn_program_kernel(context, "gemm/plain", choice.options, "gemm_plain", 0, &number));
    BENCH_CHECK(tn_program_create_kernel(context, "bench", number, &c->kernel));
}

static void hand_series(call *c)
{
    for (int i = 0; i < DRAIN; i++)
        by_hand(c);
}

static void sequence(call *c)
{
    BENCH_CHECK(tenon_sequence_run(c->stream, c->sequence, NULL, 0, NULL, 0, NULL));
}

static void prepare_sequence(call *c)
{
    const tenon_tensor *const tensors[] = {&c->a, &c->b, NULL, NULL, &c->d};
    BENCH_CHECK(tenon_sequence_create(tenon_stream_context(c->stream), &c->sequence));
    for (int i = 0; i < DRAIN; i++)
        BENCH_CHECK(tenon_sequence_add(c->sequence, NULL, c->plan, tensors, 5, NULL, 0));
    BENCH_CHECK(tenon_sequence_finish(c->sequence));
}

/* Measures series of calls, and prints the time of one call of a series. */
static void measure_series(call *c)
{
    static double times[2][SERIES];
    static void (*const ways[2])(call *) = {hand_series, sequence};
    for (int i = 0; i < SERIES; i++)
        for (int w = 0; w < 2; w++) {
            BENCH_CHECK(tenon_stream_finish(c->stream));
            const double start = bench_now();
            ways[w](c);
            times[w][i] = (bench_now() - start) / DRAIN;
        }
    const double base = bench_median(times[0], SERIES), median = bench_median(times[1], SERIES);
    printf("a step of %d by hand and of a sequence, median of %d:\n", DRAIN, SERIES);
    printf("  %-10s %7.3f us\n", "by hand", base * 1e6);
    printf("  %-10s %7.3f us  %+7.3f us\n", "sequence", median * 1e6, (median - base) * 1e6);
}

int main(int argc, char **argv)
{
    static double times[3][ROUNDS];
    static void (*const ways[3])(call *) = {by_hand, planned, immediate};
    static const char *const names[3] = {"by hand", "plan", "immediate"};
    float *host;
    call c = {.params = TENON_GEMM_PARAMS_INIT};
    (void)argc;
    bench_prepare_environment(argv);
    c.stream = bench_open();
    c.params.solver = "gemm/plain";
    c.a = bench_tensor(c.stream, SIZE, SIZE, &host);
    c.b = bench_tensor(c.stream, SIZE, SIZE, &host);
    c.d = bench_tensor(c.stream, SIZE, SIZE, &host);
    BENCH_CHECK(tenon_gemm_plan(tenon_stream_context(c.stream), &c.params, &c.a, &c.b, NULL, NULL,
                                &c.d, &c.plan));
    prepare_by_hand(&c);
    for (int i = 0; i < ROUNDS; i++)
        for (int w = 0; w < 3; w++) {
            if ((3 * i + w) % DRAIN == 0)
                BENCH_CHECK(tenon_stream_finish(c.stream));
            double start = bench_now();
            ways[w](&c);
            times[w][i] = bench_now() - start;
        }
    double base = bench_median(times[0], ROUNDS);
    printf("gemm/plain %dx%dx%d f32, one call of %d, median:\n", SIZE, SIZE, SIZE, ROUNDS);
    for (int w = 0; w < 3; w++) {
        double median = bench_median(times[w], ROUNDS);
        printf("  %-10s %7.3f us  %+7.3f us\n", names[w], median * 1e6, (median - base) * 1e6);
    }
    prepare_sequence(&c);
    measure_series(&c);
    return 0;
}
