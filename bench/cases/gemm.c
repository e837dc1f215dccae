/* Matrix products: squares, odd sizes, thin ones, and those of networks. */
#include "judge.h"
#include "peers/peers.h"

#include "ops/gemm/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    const char *what;
    int64_t m, n, k;
    bool a_transposed, b_transposed;
} shape;

static const shape shapes[] = {
    {"square", 64, 64, 64},
    {"square", 128, 128, 128},
    {"square", 256, 256, 256},
    {"square", 512, 512, 512},
    {"square", 1024, 1024, 1024},
    {"square", 2048, 2048, 2048},
    {"square a'", 512, 512, 512, true, false},
    {"square b'", 512, 512, 512, false, true},
    {"square a'b'", 512, 512, 512, true, true},
    {"odd", 333, 555, 777},
    {"prime", 1009, 1013, 1019},
    {"few rows", 8, 4096, 4096},
    {"few columns", 4096, 8, 4096},
    {"long sum", 64, 64, 65536},
    {"short sum", 2048, 2048, 16},
    {"gemv", 4096, 1, 4096},
    {"gemv a'", 4096, 1, 4096, true, false},
    {"resnet50 conv2 1x1", 64, 3136, 256},
    {"resnet50 conv3 3x3", 128, 784, 1152},
    {"resnet50 conv4 3x3", 256, 196, 2304},
    {"resnet50 conv5 3x3", 512, 49, 4608},
    {"resnet50 fc batch 8", 8, 1000, 2048, false, true},
    {"vgg16 conv3 3x3", 256, 3136, 2304},
    {"vgg16 fc6 batch 1", 1, 4096, 25088, false, true},
    {"bert qkv, 128 tokens", 128, 2304, 768},
    {"bert ffn, 128 tokens", 128, 3072, 768},
    {"bert attention head", 128, 128, 64, false, true},
};

typedef struct product {
    const shape *shape;
    bench_operands operands;
    tenon_gemm_params params;
    tenon_plan *plan;
    bench_gemm peer;
} product;

enum { A, B, D };

static uint32_t count(void)
{
    return sizeof shapes / sizeof *shapes;
}

static void name_of(uint32_t number, char name[BENCH_NAME_SIZE])
{
    const shape *s = &shapes[number];
    snprintf(name, BENCH_NAME_SIZE, "%s %lldx%lldx%lld", s->what, (long long)s->m, (long long)s->n,
             (long long)s->k);
}

static bool has_dtype(uint32_t number, tenon_dtype dtype)
{
    (void)number;
    (void)dtype;
    return true;
}

/* An operand's view as the call takes it: transposed where it is stored so. */
static tenon_tensor view_of(const tenon_tensor *stored, bool transposed)
{
    return transposed ? tenon_tensor_transpose(*stored, 0, 1) : *stored;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    const tenon_memory *m = p->operands.memory[turn % p->operands.copies];
    const tenon_memory memories[] = {m[A], m[B], {0}, {0}, m[D]};
    return BENCH_WELL(tenon_plan_run(stream, p->plan, memories, 5, NULL));
}

/* Rows of the result, as many as can be computed in a moment. */
static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const product *p = data;
    const shape *s = p->shape;
    const bench_operand *o = p->operands.operand;
    const tenon_tensor a = view_of(&o[A].host, s->a_transposed),
                       b = view_of(&o[B].host, s->b_transposed);
    int64_t rows = BENCH_JUDGE_WORK / (s->n * s->k) + 2;
    unsigned char *got = bench_output(stream, &p->operands, D);
    tn_bounded *expected = malloc((size_t)s->n * sizeof *expected);
    bool well = got != NULL && expected != NULL;
    rows = rows < s->m ? rows : s->m;
    for (int64_t i = 0; well && i < rows; i++) {
        const int64_t row = rows > 1 ? i * (s->m - 1) / (rows - 1) : 0, width[] = {1, s->n};
        const tenon_tensor line = tenon_tensor_slice(a, 0, row, 1),
                           d = tenon_tensor_view(o[D].view.dtype, 2, width);
        well =
            tn_gemm_reference(&p->params, &line, &b, NULL, NULL, &d, expected) &&
            bench_judge(o[D].view.dtype, got, row * s->n, 1, s->n, expected, error_over_bound, why);
    }
    free(got);
    free(expected);
    return well;
}

static void destroy(bench_case *bench)
{
    product *p = bench->tenon.data;
    tenon_plan_release(p->plan);
    bench_operands_destroy(&p->operands);
    free(p);
}

static bool prepare(bench_session *session, product *p, tenon_dtype dtype)
{
    const shape *s = p->shape;
    const int64_t a[] = {s->a_transposed ? s->k : s->m, s->a_transposed ? s->m : s->k},
                  b[] = {s->b_transposed ? s->n : s->k, s->b_transposed ? s->k : s->n},
                  d[] = {s->m, s->n};
    p->params = tenon_gemm_params_default();
    p->params.solver = session->options->solver;
    bench_operand_add(&p->operands, dtype, 2, a, false);
    bench_operand_add(&p->operands, dtype, 2, b, false);
    bench_operand_add(&p->operands, dtype, 2, d, true);
    const bench_operand *o = p->operands.operand;
    const tenon_tensor view_a = view_of(&o[A].view, s->a_transposed),
                       view_b = view_of(&o[B].view, s->b_transposed);
    /* A vector and a matrix: memory is what limits it. */
    return bench_operands_create(session, &p->operands, s->m == 1 || s->n == 1) &&
           BENCH_WELL(tenon_gemm_plan(session->context, &p->params, &view_a, &view_b, NULL, NULL,
                                      &o[D].view, &p->plan));
}

static bool make(bench_session *session, uint32_t number, tenon_dtype dtype, bench_case *bench)
{
    product *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    const shape *s = p->shape = &shapes[number];
    bench->tenon = (bench_way){"tenon", call, false, p, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    if (!prepare(session, p, dtype))
        return false;
    bench_name_solver(p->plan, bench);
    bench->operations = 2.0 * (double)s->m * (double)s->n * (double)s->k;
    bench->bytes = bench_operands_bytes(&p->operands);
    p->peer = (bench_gemm){s->m, s->n, s->k, s->a_transposed, s->b_transposed, dtype, &p->operands,
                           A,    B,    D};
    BENCH_ADD_PEER(session, bench, "openblas", bench_openblas_gemm(&p->peer, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_gemm(&p->peer, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_gemm(&p->peer, true, bench_way_at));
    BENCH_ADD_PEER(session, bench, "clblast", bench_clblast_gemm(&p->peer, bench_way_at));
    return true;
}

const bench_suite bench_suite_gemm = {
    "gemm", "matrix products, M x N x K", count, name_of, has_dtype, make};
