#include "absent.h"

#include "editions.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST 20

static struct {
    char who[32], why[256];
} left_out[MOST];
static int count;

#ifdef BENCH_OPENBLAS
#define HAS_OPENBLAS true
#else
#define HAS_OPENBLAS false
#endif
#ifdef BENCH_ONEDNN
#define HAS_ONEDNN true
#else
#define HAS_ONEDNN false
#endif
#ifdef BENCH_CLBLAST
#define HAS_CLBLAST true
#else
#define HAS_CLBLAST false
#endif
#ifdef BENCH_BOOST_COMPUTE
#define HAS_BOOST_COMPUTE true
#else
#define HAS_BOOST_COMPUTE false
#endif
#ifdef BENCH_VENDORS
#define HAS_VENDORS true
#else
#define HAS_VENDORS false
#endif

#ifdef BENCH_OPENBLAS_PYPI
#define HAS_OPENBLAS_PYPI true
#else
#define HAS_OPENBLAS_PYPI false
#endif
#ifdef BENCH_ONEDNN_PYPI
#define HAS_ONEDNN_PYPI true
#else
#define HAS_ONEDNN_PYPI false
#endif

/* Peers that a build may lack. Those of other editions are reported as missing only if they are
 * requested by name. */
static const struct {
    const char *name;
    bool is_built_in, is_other;
} known[] = {
    {"openblas", HAS_OPENBLAS, false},
    {"openblas-pypi", HAS_OPENBLAS_PYPI, true},
    {"onednn", HAS_ONEDNN, false},
    {"onednn-pypi", HAS_ONEDNN_PYPI, true},
    {"onednn-blocked", HAS_ONEDNN, false},
    {"onednn-blocked-pypi", HAS_ONEDNN_PYPI, true},
    {"clblast", HAS_CLBLAST, false},
    {"cublas", HAS_VENDORS, false},
    {"cudnn", HAS_VENDORS, false},
    {"rocblas", HAS_VENDORS, false},
    {"boost-compute", HAS_BOOST_COMPUTE, false},
};
/* Versions of peers that were started. */
static struct {
    char who[32], version[64];
} versions[MOST];
static int version_count;
static const char not_built_in[] = "it was not installed when this program was configured";

bool bench_note_absent(const char *who, const char *why)
{
    for (int i = 0; i < count; i++)
        if (strcmp(left_out[i].who, who) == 0)
            return false;
    if (count < MOST) {
        snprintf(left_out[count].who, sizeof left_out[count].who, "%s", who);
        snprintf(left_out[count++].why, sizeof left_out->why, "%s", why);
    }
    return true;
}

void bench_leave_out(const char *who, const char *format, ...)
{
    char why[256];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    if (bench_note_absent(who, why))
        fprintf(stderr, "tenon-bench: %s is left out: %s\n", who, why);
}

void bench_note_version(const char *peer, const char *version)
{
    for (int i = 0; i < version_count; i++)
        if (strcmp(versions[i].who, peer) == 0)
            return;
    if (version_count == MOST || *version == '\0')
        return;
    snprintf(versions[version_count].who, sizeof versions->who, "%s", peer);
    snprintf(versions[version_count++].version, sizeof versions->version, "%s", version);
}

static bool is_missing(const bench_options *options, size_t i)
{
    return !known[i].is_built_in && (!known[i].is_other || options->peers != NULL) &&
           bench_listed(options->peers, known[i].name);
}

static void print_openblas(const char *name, const bench_openblas_kernels *k)
{
    if (k->now[0] == '\0')
        return;
    printf("%s: version %s\n%s: kernels for %s", name, k->version, name, k->now);
    if (strcmp(k->now, k->own) != 0)
        printf(", as requested by this program; its own selection is %s", k->own);
    printf("\n");
}

/* Returns OpenBLAS's kernels if the edition is requested; their strings are "" if it is not there,
 * or NULL if it is not requested. */
static const bench_openblas_kernels *openblas_of(const bench_options *options,
                                                 bench_edition edition)
{
    return bench_listed(options->peers, bench_edition_name("openblas", edition))
               ? bench_openblas_kernels_of(edition)
               : NULL;
}

/* Returns oneDNN's version if the edition is requested and there; otherwise NULL. */
static const char *onednn_of(const bench_options *options, bench_edition edition)
{
    const bool is_listed =
        bench_listed(options->peers, bench_edition_name("onednn", edition)) ||
        bench_listed(options->peers, bench_edition_name("onednn-blocked", edition));
    const bench_onednn_library *library = is_listed ? bench_onednn_of(edition) : NULL;
    return library != NULL ? library->version() : NULL;
}

void bench_print_peers(const bench_options *options)
{
    for (int e = 0; e < BENCH_EDITIONS; e++) {
        const bench_edition edition = (bench_edition)e;
        const char *version = onednn_of(options, edition);
        if (openblas_of(options, edition) != NULL)
            print_openblas(bench_edition_name("openblas", edition), openblas_of(options, edition));
        if (version != NULL)
            printf("%s: version %s\n", bench_edition_name("onednn", edition), version);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_missing(options, i))
            printf("%s is left out: %s\n", known[i].name, not_built_in);
}

void bench_print_built_in(void)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].is_built_in)
            printf("%s is built in\n", known[i].name);
}

static json_t *reason(const char *who, const char *why)
{
    return json_pack("{s:s, s:s}", "name", who, "why", why);
}

static json_t *json_versions(const bench_options *options)
{
    json_t *all = json_object();
    for (int e = 0; e < BENCH_EDITIONS; e++) {
        const bench_edition edition = (bench_edition)e;
        const bench_openblas_kernels *k = openblas_of(options, edition);
        const char *version = onednn_of(options, edition);
        if (k != NULL && k->version[0] != '\0')
            json_object_set_new(all, bench_edition_name("openblas", edition),
                                json_string(k->version));
        if (version != NULL)
            json_object_set_new(all, bench_edition_name("onednn", edition), json_string(version));
    }
    for (int i = 0; i < version_count; i++)
        json_object_set_new(all, versions[i].who, json_string(versions[i].version));
    return all;
}

/* Returns null if the edition of OpenBLAS is not requested or not there. */
static json_t *json_openblas(const bench_options *options, bench_edition edition)
{
    const bench_openblas_kernels *k = openblas_of(options, edition);
    return k == NULL || k->now[0] == '\0' ? json_null()
                                          : json_pack("{s:s, s:s, s:s}", "kernels", k->now, "own",
                                                      k->own, "config", k->config);
}

json_t *bench_json_peers(const bench_options *options)
{
    const char *onednn = onednn_of(options, BENCH_USUAL);
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_missing(options, i))
            json_array_append_new(all, reason(known[i].name, not_built_in));
    for (int i = 0; i < count; i++)
        json_array_append_new(all, reason(left_out[i].who, left_out[i].why));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "openblas", json_openblas(options, BENCH_USUAL),
                     "openblas-pypi", json_openblas(options, BENCH_OTHER), "onednn",
                     onednn != NULL ? json_string(onednn) : json_null(), "versions",
                     json_versions(options), "left_out", all);
}
