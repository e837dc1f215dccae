/*
 * Square f32 products beside OpenBLAS and CLBlast on the same device: in one process, in turn, each
 * measure a run of calls of at least 20 ms that ends with a finish, medians. Every result is
 * compared with OpenBLAS's.
 *
 *     bench-gemm [SIZE …]        512 1024 2048 unless given; MxNxK for others
 */
#include "timing.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef BENCH_CLBLAST
#include <clblast_c.h>
#endif

#define LEAST_SECONDS 0.02
#define ROUNDS        15
#define SLOW_ROUNDS   3 /* of a peer ten times slower */

typedef struct product {
    int64_t m, n, k;
    tenon_stream *stream;
    tenon_plan *plan;
    tenon_tensor a, b, d, d_peer;
    float *host_a, *host_b, *host_d;
} product;

static void run_tenon(const product *p)
{
    const tenon_memory memories[] = {p->a.memory, p->b.memory, {0}, {0}, p->d.memory};
    BENCH_CHECK(tenon_plan_run(p->stream, p->plan, memories, 5, NULL));
}

static void run_openblas(const product *p)
{
#ifdef BENCH_OPENBLAS
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)p->m, (int)p->n, (int)p->k, 1,
                p->host_a, (int)p->k, p->host_b, (int)p->n, 0, p->host_d, (int)p->n);
#else
    (void)p;
#endif
}

static void run_clblast(const product *p)
{
#ifdef BENCH_CLBLAST
    cl_command_queue queue = tenon_stream_cl(p->stream);
    CLBlastStatusCode code = CLBlastSgemm(
        CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, (size_t)p->m, (size_t)p->n,
        (size_t)p->k, 1, p->a.memory.u.buffer, 0, (size_t)p->k, p->b.memory.u.buffer, 0,
        (size_t)p->n, 0, p->d_peer.memory.u.buffer, 0, (size_t)p->n, &queue, NULL);
    if (code != CLBlastSuccess) {
        fprintf(stderr, "CLBlastSgemm: %d\n", (int)code);
        exit(1);
    }
#else
    (void)p;
#endif
}

/* Seconds a call, over so many calls. */
static double measure(const product *p, void (*run)(const product *), int calls)
{
    double start = bench_now();
    for (int i = 0; i < calls; i++)
        run(p);
    BENCH_CHECK(tenon_stream_finish(p->stream));
    return (bench_now() - start) / calls;
}

static int calls_for(const product *p, void (*run)(const product *))
{
    measure(p, run, 1); /* compiles, and fills the caches */
    double once = measure(p, run, 1);
    return once > LEAST_SECONDS ? 1 : (int)(LEAST_SECONDS / once) + 1;
}

static double difference(const product *p)
{
    size_t bytes = (size_t)(p->m * p->n) * sizeof(float);
    float *got = malloc(bytes);
    double worst = 0;
    run_tenon(p);
    run_openblas(p);
    BENCH_CHECK(tenon_tensor_download(p->stream, &p->d, got, bytes, NULL));
    for (int64_t i = 0; i < p->m * p->n; i++)
        worst = fmax(worst, fabs((double)got[i] - (double)p->host_d[i]));
    free(got);
    return worst / sqrt((double)p->k);
}

static product make(tenon_stream *stream, int64_t m, int64_t n, int64_t k)
{
    product p = {.m = m, .n = n, .k = k, .stream = stream};
    float *unused;
    p.a = bench_tensor(stream, m, k, &p.host_a);
    p.b = bench_tensor(stream, k, n, &p.host_b);
    p.d = bench_tensor(stream, m, n, &p.host_d);
    p.d_peer = bench_tensor(stream, m, n, &unused);
    free(unused);
    BENCH_CHECK(
        tenon_gemm_plan(tenon_stream_context(stream), NULL, &p.a, &p.b, NULL, NULL, &p.d, &p.plan));
    return p;
}

static void destroy(product *p)
{
    tenon_plan_release(p->plan);
    tenon_memory_destroy(&p->a.memory);
    tenon_memory_destroy(&p->b.memory);
    tenon_memory_destroy(&p->d.memory);
    tenon_memory_destroy(&p->d_peer.memory);
    free(p->host_a);
    free(p->host_b);
    free(p->host_d);
}

static void print_peer(double peer, double tenon)
{
    if (peer > 0)
        printf("%12.1f %7.2f", peer * 1e6, peer / tenon);
    else
        printf("%12s %7s", "-", "-");
}

static void bench(tenon_stream *stream, int64_t m, int64_t n, int64_t k)
{
    product p = make(stream, m, n, k);
    double tenon[ROUNDS], openblas[ROUNDS], clblast[SLOW_ROUNDS];
    bool with_openblas = false, with_clblast = false;
#ifdef BENCH_OPENBLAS
    with_openblas = true;
#endif
#ifdef BENCH_CLBLAST
    with_clblast = true;
#endif
    int calls = calls_for(&p, run_tenon),
        slow_calls = with_clblast ? calls_for(&p, run_clblast) : 0;
    if (with_openblas)
        measure(&p, run_openblas, 2);
    for (int i = 0; i < ROUNDS; i++) {
        tenon[i] = measure(&p, run_tenon, calls);
        openblas[i] = with_openblas ? measure(&p, run_openblas, calls) : 0;
        if (with_clblast && i < SLOW_ROUNDS)
            clblast[i] = measure(&p, run_clblast, slow_calls);
    }
    double t = bench_median(tenon, ROUNDS);
    char shape[64], text[256];
    snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)m, (long long)n, (long long)k);
    tenon_plan_describe(p.plan, text, sizeof text);
    *strchr(text, ' ') = '\0';
    printf("%-16s %10.1f %8.1f", shape, t * 1e6, 2e-9 * (double)m * (double)n * (double)k / t);
    print_peer(with_openblas ? bench_median(openblas, ROUNDS) : 0, t);
    print_peer(with_clblast ? bench_median(clblast, SLOW_ROUNDS) : 0, t);
    printf("  %s\n", text);
    if (with_openblas && difference(&p) > 1e-5)
        printf("  differs from OpenBLAS by %g times the root of K\n", difference(&p));
    fflush(stdout);
    destroy(&p);
}

int main(int argc, char **argv)
{
    static char *defaults[] = {"", "512", "1024", "2048"};
    bench_prepare_environment();
    tenon_stream *stream = bench_open();
    if (argc == 1) {
        argc = sizeof defaults / sizeof *defaults;
        argv = defaults;
    }
    printf("%-16s %10s %8s%12s %7s%12s %7s  (ratio = peer's time / Tenon's)\n", "MxNxK f32",
           "Tenon us", "GFLOP/s", "OpenBLAS us", "ratio", "CLBlast us", "ratio");
    for (int i = 1; i < argc; i++) {
        long long m, n, k;
        int fields = sscanf(argv[i], "%lldx%lldx%lld", &m, &n, &k);
        if (fields == 1)
            n = k = m;
        if ((fields != 1 && fields != 3) || m < 1 || n < 1 || k < 1) {
            fprintf(stderr, "bench-gemm: \"%s\" is neither SIZE nor MxNxK\n", argv[i]);
            return 2;
        }
        bench(stream, m, n, k);
    }
    tenon_stream_destroy(stream);
    return 0;
}
