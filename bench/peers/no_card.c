/* Replacements of the GPU vendors' peers in a build without them. */
#include "peers.h"

#define LEFT_OUT(peer, problem)                                                                    \
    bool peer(const bench_session *session, const problem *work, bench_way *way)                   \
    {                                                                                              \
        (void)session;                                                                             \
        (void)work;                                                                                \
        (void)way;                                                                                 \
        return false;                                                                              \
    }

LEFT_OUT(bench_cublas_gemm, bench_gemm)
LEFT_OUT(bench_rocblas_gemm, bench_gemm)
LEFT_OUT(bench_cudnn_conv, bench_conv)
