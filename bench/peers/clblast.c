#include "peers.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef BENCH_CLBLAST
#include <clblast_c.h>

typedef struct product {
    bench_gemm gemm;
} product;

static bool call(void *data, tenon_stream *stream, int turn)
{
    const bench_gemm *g = &((const product *)data)->gemm;
    const bench_gemm_shape *s = &g->shape;
    const tenon_memory *memory = g->operands->memory[turn % g->operands->copies];
    const CLBlastTranspose ta = s->a_transposed ? CLBlastTransposeYes : CLBlastTransposeNo,
                           tb = s->b_transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k, batch = (size_t)s->batch;
    const size_t lda = s->a_transposed ? m : k, ldb = s->b_transposed ? k : n;
    cl_mem a = memory[g->a].u.buffer, b = memory[g->b].u.buffer, d = memory[g->d].u.buffer;
    cl_command_queue queue = tenon_stream_cl(stream);
    CLBlastStatusCode code;
    if (g->dtype == TENON_DTYPE_F64 && batch > 1)
        code =
            CLBlastDgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, m * k,
                                       b, 0, ldb, k * n, 0, d, 0, n, m * n, batch, &queue, NULL);
    else if (g->dtype == TENON_DTYPE_F64)
        code = CLBlastDgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, b, 0, ldb, 0, d,
                            0, n, &queue, NULL);
    else if (batch > 1)
        code =
            CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, m * k,
                                       b, 0, ldb, k * n, 0, d, 0, n, m * n, batch, &queue, NULL);
    else
        code = CLBlastSgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, b, 0, ldb, 0, d,
                            0, n, &queue, NULL);
    if (code != CLBlastSuccess)
        fprintf(stderr, "tenon-bench: CLBlast returned status %d\n", (int)code);
    return code == CLBlastSuccess;
}

bool bench_clblast_gemm(const bench_gemm *gemm, bench_way *way)
{
    if (gemm->dtype != TENON_DTYPE_F32 && gemm->dtype != TENON_DTYPE_F64)
        return false;
    product *p = malloc(sizeof *p);
    if (p == NULL)
        return false;
    p->gemm = *gemm;
    *way = (bench_way){"clblast", call, false, p, free, NULL};
    return true;
}
#else
bool bench_clblast_gemm(const bench_gemm *gemm, bench_way *way)
{
    (void)gemm;
    (void)way;
    return false;
}
#endif
