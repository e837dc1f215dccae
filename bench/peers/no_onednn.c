/* Replacements of oneDNN's peers in a build without oneDNN. */
#include "peers.h"

const char *bench_onednn_version(void)
{
    return NULL;
}

bool bench_onednn_gemm(const bench_gemm *gemm, bool blocked, bench_way *way)
{
    (void)gemm;
    (void)blocked;
    (void)way;
    return false;
}

bool bench_onednn_conv(const bench_conv *conv, bool blocked, bench_way *way)
{
    (void)conv;
    (void)blocked;
    (void)way;
    return false;
}

bool bench_onednn_map(const bench_map *map, bench_way *way)
{
    (void)map;
    (void)way;
    return false;
}

bool bench_onednn_rnn(const bench_rnn *rnn, bench_way *way)
{
    (void)rnn;
    (void)way;
    return false;
}

bool bench_onednn_network(bench_model *model, tenon_stream *stream, bench_way *way)
{
    (void)model;
    (void)stream;
    (void)way;
    return false;
}

bool bench_onednn_call(const bench_call *call, bench_way *way)
{
    (void)call;
    (void)way;
    return false;
}

bool bench_onednn_conv_int8(const bench_conv_shape *shape, const bench_call *call, bench_way *way)
{
    (void)shape;
    (void)call;
    (void)way;
    return false;
}
