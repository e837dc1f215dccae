#include "absent.h"

#include "environment.h"
#include "peers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST 12

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

/* Peers that a build may lack. */
static const struct {
    const char *name;
    bool is_built_in;
} known[] = {
    {"openblas", HAS_OPENBLAS},     {"onednn", HAS_ONEDNN},
    {"onednn-blocked", HAS_ONEDNN}, {"clblast", HAS_CLBLAST},
    {"cublas", HAS_VENDORS},        {"cudnn", HAS_VENDORS},
    {"rocblas", HAS_VENDORS},       {"boost-compute", HAS_BOOST_COMPUTE},
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

static void print_openblas(const bench_openblas_kernels *k)
{
    if (k->now[0] == '\0')
        return;
    printf("openblas: version %s\nopenblas: kernels for %s", k->version, k->now);
    if (strcmp(k->now, k->own) != 0)
        printf(", as requested by this program; its own selection is %s", k->own);
    printf("\n");
}

static bool lists_onednn(const bench_options *options)
{
    return HAS_ONEDNN && (bench_listed(options->peers, "onednn") ||
                          bench_listed(options->peers, "onednn-blocked"));
}

void bench_print_peers(const bench_options *options)
{
    if (HAS_OPENBLAS && bench_listed(options->peers, "openblas"))
        print_openblas(bench_openblas());
    if (lists_onednn(options))
        printf("onednn: version %s\n", bench_onednn_version());
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!known[i].is_built_in && bench_listed(options->peers, known[i].name))
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
    if (HAS_OPENBLAS && bench_listed(options->peers, "openblas") &&
        bench_openblas()->version[0] != '\0')
        json_object_set_new(all, "openblas", json_string(bench_openblas()->version));
    if (lists_onednn(options))
        json_object_set_new(all, "onednn", json_string(bench_onednn_version()));
    for (int i = 0; i < version_count; i++)
        json_object_set_new(all, versions[i].who, json_string(versions[i].version));
    return all;
}

json_t *bench_json_peers(const bench_options *options)
{
    json_t *all = json_array(), *openblas = json_null(),
           *onednn = lists_onednn(options) ? json_string(bench_onednn_version()) : json_null();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!known[i].is_built_in && bench_listed(options->peers, known[i].name))
            json_array_append_new(all, reason(known[i].name, not_built_in));
    for (int i = 0; i < count; i++)
        json_array_append_new(all, reason(left_out[i].who, left_out[i].why));
    if (HAS_OPENBLAS && bench_listed(options->peers, "openblas")) {
        const bench_openblas_kernels *k = bench_openblas();
        openblas =
            json_pack("{s:s, s:s, s:s}", "kernels", k->now, "own", k->own, "config", k->config);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "openblas", openblas, "onednn", onednn, "versions",
                     json_versions(options), "left_out", all);
}
