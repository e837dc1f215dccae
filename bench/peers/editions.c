#include "editions.h"

#include "../runner.h"
#include "absent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CORE "OPENBLAS_CORETYPE"

static const struct {
    const char *usual, *other;
} names[] = {{"openblas", "openblas-pypi"},
             {"onednn", "onednn-pypi"},
             {"onednn-blocked", "onednn-blocked-pypi"},
             {"clblast", "clblast-tuned"}};

const char *bench_edition_name(const char *peer, bench_edition edition)
{
    if (edition == BENCH_USUAL)
        return peer;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].usual, peer) == 0)
            return names[i].other;
    return NULL;
}

bench_way *bench_peer_begin(const bench_session *session, bench_case *bench, const char *peer,
                            int edition)
{
    const char *name = bench_edition_name(peer, (bench_edition)edition);
    if (name == NULL || bench->peer_count == BENCH_MAX_PEERS ||
        !bench_listed(session->options->peers, name) || bench_interrupted)
        return NULL;
    bench_way *way = &bench->peers[bench->peer_count];
    *way = (bench_way){.name = name, .edition = edition};
    return way;
}

#ifdef BENCH_PYPI
/* The kernels that PyPI's OpenBLAS selects by itself; "": not known. */
static char own_core[32];

/* Opens the module. Its libraries find their own functions before those of the program, which
 * have the same names. */
static void *open_module(void)
{
#ifdef RTLD_DEEPBIND
    return dlopen(BENCH_PYPI, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#else
    return dlopen(BENCH_PYPI, RTLD_NOW | RTLD_LOCAL);
#endif
}

static const bench_openblas_library *openblas_in(void *module)
{
    return module != NULL ? dlsym(module, "bench_openblas_linked") : NULL;
}

/* Writes which kernels OpenBLAS selects, in a process that ends afterwards, because it selects only
 * when it is loaded. */
static void write_selection(int output)
{
    const bench_openblas_library *library = openblas_in(open_module());
    const char *core = library != NULL ? library->corename() : "";
    _exit(write(output, core, strlen(core)) < 0);
}

/* Finds out which kernels OpenBLAS selects by itself. */
static void find_own_core(void)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        return;
    const pid_t process = fork();
    if (process == 0)
        write_selection(ends[1]);
    close(ends[1]);
    const ssize_t length = read(ends[0], own_core, sizeof own_core - 1);
    own_core[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    if (process > 0)
        waitpid(process, NULL, 0);
}

/* Loads the module with the best kernels of its OpenBLAS. The environment is as before afterwards.
 */
static void *load_module(void)
{
    char *asked = getenv(CORE) != NULL ? strdup(getenv(CORE)) : NULL;
    unsetenv(CORE);
    find_own_core();
    const char *better = own_core[0] != '\0' ? bench_better_core(own_core) : NULL;
    if (better != NULL)
        setenv(CORE, better, 1);
    void *module = open_module();
    if (module == NULL)
        bench_leave_out("PyPI's libraries", "%s", dlerror());
    if (asked != NULL)
        setenv(CORE, asked, 1);
    else
        unsetenv(CORE);
    free(asked);
    return module;
}

static void *module(void)
{
    static void *loaded;
    static bool tried;
    if (!tried)
        loaded = load_module();
    tried = true;
    return loaded;
}

static const bench_openblas_library *other_openblas(void)
{
    return openblas_in(module());
}

static const bench_onednn_library *other_onednn(void)
{
    return module() != NULL ? dlsym(module(), "bench_onednn_linked") : NULL;
}
#else
static const char own_core[] = "";

static const bench_openblas_library *other_openblas(void)
{
    return NULL;
}

static const bench_onednn_library *other_onednn(void)
{
    return NULL;
}
#endif

const bench_openblas_library *bench_openblas_of(bench_edition edition)
{
    if (edition == BENCH_OTHER)
        return other_openblas();
#ifdef BENCH_OPENBLAS
    return &bench_openblas_linked;
#else
    return NULL;
#endif
}

const bench_onednn_library *bench_onednn_of(bench_edition edition)
{
    if (edition == BENCH_OTHER)
        return other_onednn();
#ifdef BENCH_ONEDNN
    return &bench_onednn_linked;
#else
    return NULL;
#endif
}

static void describe(const bench_openblas_library *library, const char *own,
                     bench_openblas_kernels *kernels)
{
    snprintf(kernels->now, sizeof kernels->now, "%s", library->corename());
    snprintf(kernels->own, sizeof kernels->own, "%s", *own != '\0' ? own : kernels->now);
    snprintf(kernels->config, sizeof kernels->config, "%s", library->config());
    if (sscanf(kernels->config, "OpenBLAS %31s", kernels->version) != 1)
        snprintf(kernels->version, sizeof kernels->version, "unknown");
}

const bench_openblas_kernels *bench_openblas_kernels_of(bench_edition edition)
{
    static bench_openblas_kernels kernels[BENCH_EDITIONS];
    bench_openblas_kernels *found = &kernels[edition];
    const bench_openblas_library *library = bench_openblas_of(edition);
    if (found->now[0] == '\0' && library != NULL)
        describe(library, edition == BENCH_OTHER ? own_core : bench_own_core(), found);
    return found;
}

void bench_prepare_peers(void)
{
    for (int e = 0; e < BENCH_EDITIONS; e++)
        if (bench_openblas_of((bench_edition)e) != NULL)
            bench_openblas_of((bench_edition)e)->pin();
}

bool bench_openblas_gemm(const bench_gemm *gemm, bench_way *way)
{
    const bench_openblas_library *l = bench_openblas_of((bench_edition)way->edition);
    return l != NULL && l->gemm(gemm, way);
}

bool bench_onednn_gemm(const bench_gemm *gemm, bool blocked, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->gemm(gemm, blocked, way);
}

bool bench_onednn_conv(const bench_conv *conv, bool blocked, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->conv(conv, blocked, way);
}

bool bench_onednn_map(const bench_map *map, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->map(map, way);
}

bool bench_onednn_rnn(const bench_rnn *rnn, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->rnn(rnn, way);
}

bool bench_onednn_call(const bench_call *call, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->call(call, way);
}

bool bench_onednn_conv_int8(const bench_conv_shape *shape, const bench_call *call, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->conv_int8(shape, call, way);
}

bool bench_onednn_network(bench_model *model, tenon_stream *stream, bench_way *way)
{
    const bench_onednn_library *l = bench_onednn_of((bench_edition)way->edition);
    return l != NULL && l->network(model, stream, way);
}
