#define _GNU_SOURCE /* for dladdr and dlmopen */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef BENCH_CLBLAST
#include "absent.h"
#include "clblast.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

typedef struct product {
    bench_gemm gemm;
    const bench_clblast_library *library;
} product;

/* Returns the file of the library with which the program was linked; NULL: not known. */
static const char *file_of_library(void)
{
    Dl_info info;
    __typeof__(CLBlastSgemm) *function = CLBlastSgemm;
    void *address;
    /* Copied through memory, because ISO C has no conversion from function to data pointers. */
    memcpy(&address, &function, sizeof address);
    return dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

/* CLBlast reports no version: notes that for which the program was compiled, and the file. */
static void note_version(const char *peer)
{
    char path[PATH_MAX], text[64];
    const char *file = file_of_library();
    const char *name = file != NULL && realpath(file, path) != NULL ? strrchr(path, '/') : NULL;
    snprintf(text, sizeof text, "%s%s%.40s%s", BENCH_CLBLAST_VERSION, name != NULL ? " (" : "",
             name != NULL ? name + 1 : "", name != NULL ? ")" : "");
    bench_note_version(peer, text);
}

#ifdef LM_ID_NEWLM
static bool find(void *handle, const char *name, void *address)
{
    void *found = dlsym(handle, name);
    memcpy(address, &found, sizeof found);
    return found != NULL;
}

/* Loads the library again, in a namespace of its own. Its calls of OpenCL reach the driver through
 * the objects that they are given. */
static bool load(bench_clblast_library *l)
{
    const char *file = file_of_library();
    void *handle = file != NULL ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle == NULL) {
        bench_leave_out("clblast-tuned", "%s", file != NULL ? dlerror() : "its file is not known");
        return false;
    }
    return find(handle, "CLBlastSgemm", &l->sgemm) && find(handle, "CLBlastDgemm", &l->dgemm) &&
           find(handle, "CLBlastSgemmStridedBatched", &l->sgemm_batched) &&
           find(handle, "CLBlastDgemmStridedBatched", &l->dgemm_batched) &&
           find(handle, "CLBlastOverrideParameters", &l->override_parameters);
}
#else
static bool load(bench_clblast_library *l)
{
    (void)l;
    bench_leave_out("clblast-tuned", "this system cannot load a library twice");
    return false;
}
#endif

const bench_clblast_library *bench_clblast_of(bench_edition edition)
{
    static const bench_clblast_library linked = {
        CLBlastSgemm, CLBlastDgemm, CLBlastSgemmStridedBatched, CLBlastDgemmStridedBatched,
        CLBlastOverrideParameters};
    static bench_clblast_library again;
    static bool tried, loaded;
    if (edition == BENCH_USUAL)
        return &linked;
    if (!tried)
        loaded = load(&again);
    tried = true;
    return loaded ? &again : NULL;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    const bench_clblast_library *l = p->library;
    const bench_gemm *g = &p->gemm;
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
        code = l->dgemm_batched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, m * k, b, 0,
                                ldb, k * n, 0, d, 0, n, m * n, batch, &queue, NULL);
    else if (g->dtype == TENON_DTYPE_F64)
        code = l->dgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, b, 0, ldb, 0, d, 0, n,
                        &queue, NULL);
    else if (batch > 1)
        code = l->sgemm_batched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, m * k, b, 0,
                                ldb, k * n, 0, d, 0, n, m * n, batch, &queue, NULL);
    else
        code = l->sgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, 0, lda, b, 0, ldb, 0, d, 0, n,
                        &queue, NULL);
    if (code != CLBlastSuccess)
        fprintf(stderr, "tenon-bench: CLBlast returned status %d\n", (int)code);
    return code == CLBlastSuccess;
}

bool bench_clblast_gemm(const bench_gemm *gemm, bench_way *way)
{
    const bench_edition edition = (bench_edition)way->edition;
    if ((gemm->dtype != TENON_DTYPE_F32 && gemm->dtype != TENON_DTYPE_F64) ||
        (edition == BENCH_OTHER && !bench_clblast_is_tuned()))
        return false;
    product *p = malloc(sizeof *p);
    if (p == NULL)
        return false;
    *p = (product){*gemm, bench_clblast_of(edition)};
    note_version(way->name);
    *way = (bench_way){way->name, call, false, p, free, NULL, NULL, way->edition};
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
