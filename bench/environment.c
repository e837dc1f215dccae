#define _GNU_SOURCE /* for sched_setaffinity */
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

/* The environment variables. A value of NULL: unset. */
static const struct {
    const char *name, *value;
    bool overridable; /* a value set by the user is kept */
} wanted[] = {
    {"POCL_AFFINITY", "1", true},
    /* Idle threads spin for about a millisecond: long enough for back-to-back calls, and short
     * enough not to occupy a processor when the next library runs. */
    {"OPENBLAS_THREAD_TIMEOUT", "22", true},
    {"GOMP_SPINCOUNT", "100000", true},
    /* Binding by libgomp would start when it is loaded, and leave only one processor to the other
     * libraries. */
    {"OMP_PROC_BIND", NULL},
    {"OMP_PLACES", NULL},
    {"GOMP_CPU_AFFINITY", NULL},
    {"OMP_WAIT_POLICY", NULL},
    {"OMP_NUM_THREADS", NULL},
    {"OMP_THREAD_LIMIT", NULL},
    {"OMP_DYNAMIC", NULL},
    {"OPENBLAS_NUM_THREADS", NULL},
    {"OPENBLAS_MAIN_FREE", NULL},
    {"GOTO_NUM_THREADS", NULL},
    {"GOTOBLAS_MAIN_FREE", NULL},
    {"DNNL_MAX_CPU_ISA", NULL},
    {"ONEDNN_MAX_CPU_ISA", NULL},
    {"DNNL_CPU_ISA_HINTS", NULL},
    {"ONEDNN_CPU_ISA_HINTS", NULL},
    {"NVIDIA_TF32_OVERRIDE", NULL},
};

static bool set(const char *name, const char *value, bool overridable)
{
    const char *now = getenv(name);
    if (value == NULL)
        return now != NULL && unsetenv(name) == 0;
    if (now != NULL && (overridable || strcmp(now, value) == 0))
        return false;
    return setenv(name, value, 1) == 0;
}

/* A function of the library, if it is linked. */
__attribute__((weak)) char *openblas_get_corename(void);

/* Variables set by this program: OpenBLAS's kernels, and those it selected before. */
#define CORE "OPENBLAS_CORETYPE"
#define OWN  "TENON_BENCH_OPENBLAS_OWN"

typedef enum vectors { OLDER, AVX2, AVX512 } vectors;

static vectors vectors_of_processor(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return AVX2;
#endif
    return OLDER;
}

static const char *core_with(vectors v)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (v == AVX512)
        return "SkylakeX";
    if (v == AVX2)
        return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
#endif
    (void)v;
    return NULL;
}

/* Returns the instruction set used by OpenBLAS's kernels for a processor. */
static vectors vectors_of_core(const char *core)
{
    static const struct {
        const char *core;
        vectors vectors;
    } known[] = {{"SkylakeX", AVX512},
                 {"Cooperlake", AVX512},
                 {"SapphireRapids", AVX512},
                 {"Haswell", AVX2},
                 {"Zen", AVX2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].core, core) == 0)
            return known[i].vectors;
    return OLDER;
}

const char *bench_better_core(const char *own)
{
    const vectors most = vectors_of_processor();
    return vectors_of_core(own) < most ? core_with(most) : NULL;
}

/* Requests the best OpenBLAS kernels that the processor supports, if OpenBLAS selects lesser ones
 * by itself. Returns true if the environment has changed. A user's OPENBLAS_CORETYPE is removed
 * first, to find out OpenBLAS's own selection. */
static bool ask_openblas(void)
{
    if (getenv(OWN) != NULL)
        return false;
    if (getenv(CORE) != NULL)
        return unsetenv(CORE) == 0;
    if (openblas_get_corename == NULL)
        return false;
    const char *own = openblas_get_corename(), *better = bench_better_core(own);
    return better != NULL && setenv(OWN, own, 1) == 0 && setenv(CORE, better, 1) == 0;
}

const char *bench_own_core(void)
{
    const char *own = getenv(OWN);
    return own != NULL ? own : "";
}

void bench_prepare_environment(char **argv)
{
    bool changed = ask_openblas();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        changed |= set(wanted[i].name, wanted[i].value, wanted[i].overridable);
    /* If the program cannot be restarted, variables set before a library's first call must be
     * sufficient. */
    if (changed)
        (void)execv("/proc/self/exe", argv);
}

#ifdef __linux__
static cpu_set_t allowed;

static int first_look(void)
{
    if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        CPU_SET(0, &allowed);
    return CPU_COUNT(&allowed);
}

int bench_processors(void)
{
    return first_look();
}

/* Returns the set with one of the allowed processors. */
static cpu_set_t only(int number)
{
    cpu_set_t set_of_one;
    int at = 0;
    CPU_ZERO(&set_of_one);
    for (number %= first_look(); number > 0 || !CPU_ISSET(at, &allowed); at++)
        number -= CPU_ISSET(at, &allowed) ? 1 : 0;
    CPU_SET(at, &set_of_one);
    return set_of_one;
}

void bench_pin(int processor)
{
    first_look();
    const cpu_set_t where = processor < 0 ? allowed : only(processor);
    (void)sched_setaffinity(0, sizeof where, &where);
}

#else
int bench_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (int)count;
}

void bench_pin(int processor)
{
    (void)processor;
}
#endif
