/* Matrix products: squares, odd sizes, narrow ones, and those of networks. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/peers.h"
#include "shapes/shapes.h"

#include "ops/gemm/internal.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct product {
    bench_gemm_shape shape;
    bench_operands operands, as_f32; /* as_f32: for the peer tenon-f32 */
    tenon_gemm_params params;
    tenon_plan *plan, *plan_f32;
    bench_gemm peer;
} product;

enum { A, B, D };

static uint32_t count(const bench_suite *suite)
{
    return suite->shapes->count;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    bench_gemm_name(&suite->shapes->gemm[number], name);
}

static bool has_dtype(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    return bench_floating(suite, number, dtype) || dtype == TENON_DTYPE_I8;
}

static const tn_operation *operation_for(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 ? &tn_operation_gemm_int8 : &tn_operation_gemm;
}

/* Returns an operand's view as an argument of the call: transposed if it is stored transposed. */
static tenon_tensor view_of(const tenon_tensor *stored, bool transposed)
{
    return transposed ? tenon_tensor_transpose(*stored, 1, 2) : *stored;
}

static bool run(tenon_stream *stream, const tenon_plan *plan, const bench_operands *operands,
                int turn)
{
    const tenon_memory *m = operands->memory[turn % operands->copies];
    const tenon_memory memories[11] = {m[A], m[B], {0}, {0}, m[D]};
    return BENCH_WELL(tenon_plan_run(stream, plan, memories, tenon_plan_operands(plan), NULL));
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    return run(stream, p->plan, &p->operands, turn);
}

static bool call_f32(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    return run(stream, p->plan_f32, &p->as_f32, turn);
}

/* Cuts out a row of one product of the batch. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const product *p = data;
    const bench_gemm_shape *s = &p->shape;
    const bench_operand *o = p->operands.operand;
    const int64_t z = number / s->m, width[] = {1, 1, s->n};
    const tenon_tensor a = tenon_tensor_slice(o[A].host, 0, z, 1),
                       b = tenon_tensor_slice(o[B].host, 0, z, 1);
    part->views[GEMM_A] = tenon_tensor_slice(view_of(&a, s->a_transposed), 1, number % s->m, 1);
    part->views[GEMM_B] = view_of(&b, s->b_transposed);
    part->views[GEMM_D] = tenon_tensor_view(o[D].view.dtype, 3, width);
    part->first = number * s->n;
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const product *p = data;
    const bench_gemm_shape *s = &p->shape;
    const bench_parts parts = {operation_for(p->peer.dtype),
                               &p->params,
                               p->plan->name,
                               &p->operands,
                               D,
                               s->batch * s->m,
                               (double)s->n * (double)s->k,
                               cut,
                               p};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    product *p = bench->tenon.data;
    tenon_plan_release(p->plan);
    tenon_plan_release(p->plan_f32);
    bench_operands_destroy(&p->operands);
    bench_operands_destroy(&p->as_f32);
    free(p);
}

static bool prepare(bench_session *session, const product *p, tenon_dtype dtype,
                    bench_operands *operands, bench_case *bench, tenon_plan **plan)
{
    const bench_gemm_shape *s = &p->shape;
    const int64_t a[] = {s->batch, s->a_transposed ? s->k : s->m, s->a_transposed ? s->m : s->k},
                  b[] = {s->batch, s->b_transposed ? s->n : s->k, s->b_transposed ? s->k : s->n},
                  d[] = {s->batch, s->m, s->n};
    bench_operand_add(operands, dtype, 3, a, false);
    bench_operand_add(operands, dtype, 3, b, false);
    bench_operand_add(operands, dtype == TENON_DTYPE_I8 ? TENON_DTYPE_I32 : dtype, 3, d, true);
    const bench_operand *o = operands->operand;
    const tenon_tensor view_a = view_of(&o[A].view, s->a_transposed),
                       view_b = view_of(&o[B].view, s->b_transposed);
    /* A product of a vector and a matrix is memory-bound. */
    const tenon_tensor *views[TN_MAX_OPERANDS] = {&view_a, &view_b, [GEMM_D] = &o[D].view};
    return bench_operands_create(session, operands, s->m == 1 || s->n == 1) &&
           bench_plan(session, operation_for(dtype), &p->params, views, bench, plan);
}

/* Adds Tenon's own f32 product as a peer of a 16-bit product. */
static bool add_f32(bench_session *session, product *p, tenon_dtype dtype, bench_way *way)
{
    if ((dtype != TENON_DTYPE_F16 && dtype != TENON_DTYPE_BF16) ||
        !prepare(session, p, TENON_DTYPE_F32, &p->as_f32, NULL, &p->plan_f32))
        return false;
    *way = (bench_way){"tenon-f32", call_f32, false, p, NULL, NULL};
    return true;
}

/* Adds the peers that run on the host, or for GPUs those that run on the GPU. */
static void add_peers(bench_session *session, const bench_suite *suite, product *p,
                      tenon_dtype dtype, bench_case *bench)
{
    const bench_suite_peers peers = suite->shapes->peers;
    const bool on_host = peers != BENCH_PEERS_GPU;
    BENCH_ADD_PEER(session, bench, "openblas",
                   on_host && bench_openblas_gemm(&p->peer, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn",
                   on_host && bench_onednn_gemm(&p->peer, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn-blocked",
                   on_host && bench_onednn_gemm(&p->peer, true, bench_way_at));
    BENCH_ADD_PEER(session, bench, "clblast", bench_clblast_gemm(&p->peer, bench_way_at));
    BENCH_ADD_PEER(session, bench, "tenon-f32",
                   peers != BENCH_PEERS_ALL && add_f32(session, p, dtype, bench_way_at));
    BENCH_ADD_PEER(session, bench, "cublas",
                   peers != BENCH_PEERS_CPU && bench_cublas_gemm(session, &p->peer, bench_way_at));
    BENCH_ADD_PEER(session, bench, "rocblas",
                   peers != BENCH_PEERS_CPU && bench_rocblas_gemm(session, &p->peer, bench_way_at));
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    product *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->shape = suite->shapes->gemm[number];
    p->params = (tenon_gemm_params)TENON_GEMM_PARAMS_INIT;
    p->params.solver = session->options->solver;
    bench->tenon = (bench_way){"tenon", call, false, p, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    if (!prepare(session, p, dtype, &p->operands, bench, &p->plan))
        return false;
    const bench_gemm_shape *s = &p->shape;
    bench->operations = 2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
    bench->bytes = bench_operands_bytes(&p->operands);
    bench->footprint = bench->bytes * p->operands.copies;
    p->peer = (bench_gemm){*s, dtype, &p->operands, A, B, D};
    add_peers(session, suite, p, dtype, bench);
    return true;
}

const bench_kind bench_gemm_cases = {count, name_of, has_dtype, make};
