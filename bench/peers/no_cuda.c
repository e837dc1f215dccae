/* For a build without CUDA's libraries. */
#include "peers.h"

bool bench_cublas_gemm(const bench_session *session, const bench_gemm *gemm, bench_way *way)
{
    (void)session;
    (void)gemm;
    (void)way;
    return false;
}

bool bench_cudnn_conv(const bench_session *session, const bench_conv *conv, bench_way *way)
{
    (void)session;
    (void)conv;
    (void)way;
    return false;
}
