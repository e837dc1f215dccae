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
    const tenon_memory *memory = g->operands->memory[turn % g->operands->copies];
    const CLBlastTranspose ta = g->a_transposed ? CLBlastTransposeYes : CLBlastTransposeNo,
                           tb = g->b_transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    const size_t lda = g->a_transposed ? m : k, ldb = g->b_transposed ? k : n;
    cl_mem a = memory[g->a].u.buffer, b = memory[g->b].u.buffer, d = memory[g->d].u.buffer;
    cl_command_queue queue = tenon_stream_cl(stream);
    CLBlastStatusCode code;
    if (g->dtype == TENON_DTYPE_F64)
        code = CLBlastDgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, b, 0, ldb, 0, d,
                            0, n, &queue, NULL);
    else
        code = CLBlastSgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, b, 0, ldb, 0, d,
                            0, n, &queue, NULL);
    if (code != CLBlastSuccess)
        fprintf(stderr, "tenon-bench: CLBlast gives status %d\n", (int)code);
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
    *way = (bench_way){"clblast", call, false, p, free};
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
