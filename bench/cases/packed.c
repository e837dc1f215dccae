/* Products with packed weights. */
#include "judge.h"
#include "peers/peers.h"

#include "ops/gemm/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

/* The number of rows up to which a product is memory-bound. */
#define FEW_ROWS 8

enum { A, B, D };

typedef struct product {
    int64_t m, n, k;
    bench_operands operands;
    tenon_packed *packed[BENCH_MAX_COPIES];
    tenon_plan *plans[BENCH_MAX_COPIES], *unpacked;
    bench_gemm peer;
} product;

static uint32_t count(const bench_suite *suite)
{
    return suite->shapes->count;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    bench_gemm_name(&suite->shapes->gemm[number], name);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    const int copy = turn % p->operands.copies;
    const tenon_memory *m = p->operands.memory[copy];
    const tenon_memory memories[] = {m[A], {0}, {0}, m[D]};
    return BENCH_WELL(tenon_plan_run(stream, p->plans[copy], memories, 4, NULL));
}

/* Calls tenon_gemm with unpacked weights, to show the gain of packing. */
static bool call_unpacked(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    const tenon_memory *m = p->operands.memory[turn % p->operands.copies];
    const tenon_memory memories[] = {m[A], m[B], {0}, {0}, m[D]};
    return BENCH_WELL(tenon_plan_run(stream, p->unpacked, memories, 5, NULL));
}

static bool add_unpacked(bench_session *session, product *p, bench_way *way)
{
    const bench_operand *o = p->operands.operand;
    *way = (bench_way){"unpacked", call_unpacked, false, p, NULL};
    return BENCH_WELL(tenon_gemm_plan(session->context, NULL, &o[A].view, &o[B].view, NULL, NULL,
                                      &o[D].view, &p->unpacked));
}

/* Cuts out a row of the product, which equals that of tenon_gemm with unpacked weights. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const product *p = data;
    const bench_operand *o = p->operands.operand;
    const int64_t width[] = {1, p->n};
    part->views[GEMM_A] = tenon_tensor_slice(o[A].host, 0, number, 1);
    part->views[GEMM_B] = o[B].host;
    part->views[GEMM_D] = tenon_tensor_view(o[D].view.dtype, 2, width);
    part->first = number * p->n;
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const product *p = data;
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const bench_parts parts = {&tn_operation_gemm,          &params, NULL, &p->operands, D, p->m,
                               (double)p->n * (double)p->k, cut,     p};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    product *p = bench->tenon.data;
    for (int c = 0; c < p->operands.copies; c++) {
        tenon_plan_release(p->plans[c]);
        tenon_packed_release(p->packed[c]);
    }
    tenon_plan_release(p->unpacked);
    bench_operands_destroy(&p->operands);
    free(p);
}

static bool pack(bench_session *session, product *p, int copy)
{
    tenon_tensor b = p->operands.operand[B].view;
    b.memory = p->operands.memory[copy][B];
    return BENCH_WELL(tenon_gemm_pack(session->stream, NULL, &b, &p->packed[copy], NULL));
}

static bool replan(bench_session *session, void *data, uint32_t copy, const char *solver,
                   tenon_plan **plan)
{
    const product *p = data;
    const bench_operand *o = p->operands.operand;
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.solver = solver;
    return BENCH_WELL(tenon_gemm_packed_plan(session->context, &params, &o[A].view, p->packed[copy],
                                             NULL, NULL, &o[D].view, plan));
}

static bool prepare(bench_session *session, product *p, tenon_dtype dtype)
{
    const int64_t a[] = {p->m, p->k}, b[] = {p->k, p->n}, d[] = {p->m, p->n};
    bench_operand_add(&p->operands, dtype, 2, a, false);
    bench_operand_add(&p->operands, dtype, 2, b, false);
    bench_operand_add(&p->operands, dtype, 2, d, true);
    if (!bench_operands_create(session, &p->operands, p->m <= FEW_ROWS))
        return false;
    for (int c = 0; c < p->operands.copies; c++)
        if (!pack(session, p, c))
            return false;
    return true;
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_gemm_shape *s = &suite->shapes->gemm[number];
    product *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->m = s->m;
    p->n = s->n;
    p->k = s->k;
    bench->tenon = (bench_way){"tenon", call, false, p, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    bench->replan = replan;
    if (!prepare(session, p, dtype) ||
        !bench_plan_packed(session, bench, p->plans, (uint32_t)p->operands.copies))
        return false;
    bench->operations = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    bench->bytes = bench_operands_bytes(&p->operands);
    bench->footprint = bench->bytes * p->operands.copies;
    p->peer = (bench_gemm){*s, dtype, &p->operands, A, B, D};
    BENCH_ADD_PEER(session, bench, "unpacked", add_unpacked(session, p, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn-blocked",
                   bench_onednn_gemm(&p->peer, true, bench_way_at));
    return true;
}

const bench_kind bench_packed_cases = {count, name_of, bench_floating, make};
