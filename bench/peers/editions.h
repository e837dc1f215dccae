/* Libraries that are peers twice: OpenBLAS and oneDNN as the system installs them and in PyPI's
 * newer versions, and CLBlast with its default and its tuned parameters. The sources of the peers
 * of PyPI's versions are compiled a second time, into a module that is loaded with symbols of its
 * own. */
#ifndef BENCH_EDITIONS_H
#define BENCH_EDITIONS_H

#include "../environment.h"
#include "peers.h"

typedef enum bench_edition {
    BENCH_USUAL, /* the system's; CLBlast's default parameters */
    BENCH_OTHER, /* PyPI's; CLBlast's tuned parameters */
    BENCH_EDITIONS
} bench_edition;

/* OpenBLAS's functions and its peer. */
typedef struct bench_openblas_library {
    char *(*corename)(void), *(*config)(void);
    void (*pin)(void); /* its threads, one per processor; the caller's thread is the first */
    bool (*gemm)(const bench_gemm *gemm, bench_way *way);
} bench_openblas_library;

/* oneDNN's version and its peers. */
typedef struct bench_onednn_library {
    const char *(*version)(void);
    bool (*gemm)(const bench_gemm *gemm, bool blocked, bench_way *way);
    bool (*conv)(const bench_conv *conv, bool blocked, bench_way *way);
    bool (*map)(const bench_map *map, bench_way *way);
    bool (*rnn)(const bench_rnn *rnn, bench_way *way);
    bool (*call)(const bench_call *call, bench_way *way);
    bool (*conv_int8)(const bench_conv_shape *shape, const bench_call *call, bench_way *way);
    bool (*network)(bench_model *model, tenon_stream *stream, bench_way *way);
} bench_onednn_library;

/* The libraries with which the program, or the module, was linked. */
__attribute__((visibility("default"))) extern const bench_openblas_library bench_openblas_linked;
__attribute__((visibility("default"))) extern const bench_onednn_library bench_onednn_linked;

/* Return an edition's library; NULL if it was not there when the program was configured, or its
 * module cannot be loaded, which is noted as the reason. The first call loads the module; it must
 * be made while the process has no other threads than those of libraries. */
const bench_openblas_library *bench_openblas_of(bench_edition edition);
const bench_onednn_library *bench_onednn_of(bench_edition edition);

/* Returns the kernels that an edition of OpenBLAS runs; its strings are "" without it. */
const bench_openblas_kernels *bench_openblas_kernels_of(bench_edition edition);

/* Loads the module, and pins the threads of OpenBLAS in both editions. */
void bench_prepare_peers(void);

/* Returns a peer's name in an edition; NULL if there is none. */
const char *bench_edition_name(const char *peer, bench_edition edition);

#endif
