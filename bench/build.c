/* tenon-bench build: builds the programs that "run" would measure, without measuring. */
#include "ceilings.h"
#include "device.h"
#include "mirror.h"
#include "session.h"
#include "runtime/context/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct building {
    bench_session *session;
    bench_options options; /* a copy, whose solver is the current one */
    bench_mirror mirror;
    json_t *built; /* NULL if no JSON is requested */
    uint32_t turn; /* counts cases and solvers, to divide them among several processes */
    bool well;
} building;

static bool write_file(const building *b)
{
    return b->built == NULL ||
           bench_json_write(b->options.json, json_pack("{s:i, s:s, s:O}", "version", 1, "kind",
                                                       b->session->context->device.model.kind->name,
                                                       "built", b->built));
}

/* Adds the record of a case that was built. The line that repeats the case names its solver. */
static void note_made(building *b, const bench_case *bench)
{
    json_t *kernels = json_array();
    double predicted = -1;
    const char *words = bench->repeat;
    if (strncmp(words, "tenon check ", strlen("tenon check ")) == 0)
        (void)bench_mirror_plan(&b->mirror, words + strlen("tenon check "), bench->solver, kernels,
                                &predicted);
    json_array_append_new(b->built, json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "suite",
                                              bench->suite, "case", bench->name, "asked",
                                              b->options.solver != NULL ? b->options.solver : "",
                                              "solver", bench->solver, "serves", 1, "predicted_ns",
                                              predicted < 0 ? json_null() : json_real(predicted),
                                              "kernels", kernels));
}

static void note_refused(building *b, const bench_case *bench)
{
    json_array_append_new(b->built, json_pack("{s:s, s:s, s:s, s:b, s:s}", "suite", bench->suite,
                                              "case", bench->name, "asked",
                                              b->options.solver != NULL ? b->options.solver : "",
                                              "serves", 0, "why", tenon_last_error()));
}

static void make(building *b, const bench_entry *e)
{
    bench_case bench = {.suite = e->suite->name, .dtype = e->dtype};
    e->suite->kind->name_of(e->suite, e->number, bench.name);
    const bool made = e->suite->kind->make(b->session, e->suite, e->number, e->dtype, &bench);
    const bool refused =
        !made && b->options.solver != NULL && strstr(tenon_last_error(), "cannot serve") != NULL;
    b->well &= made || refused || bench.is_skipped;
    printf("%-34s %-5s %s\n", bench.name, tenon_dtype_string(e->dtype),
           made ? bench.solver : tenon_last_error());
    fflush(stdout);
    if (b->built != NULL && made)
        note_made(b, &bench);
    else if (b->built != NULL)
        note_refused(b, &bench);
    b->well &= write_file(b);
    if (bench.destroy != NULL)
        bench.destroy(&bench);
}

static bool is_ours(building *b)
{
    return b->options.parts < 2 || b->turn++ % b->options.parts + 1 == b->options.part;
}

static void make_by_all(building *b, const bench_entry *e)
{
    char *rest = NULL, *names = strdup(b->options.solvers != NULL ? b->options.solvers : "");
    b->options.solver = names != NULL ? strtok_r(names, " ", &rest) : NULL;
    do {
        if (is_ours(b))
            make(b, e);
        b->options.solver = b->options.solver != NULL ? strtok_r(NULL, " ", &rest) : NULL;
    } while (b->options.solver != NULL);
    free(names);
}

bool bench_build_ahead(bench_session *session)
{
    building b = {.session = session, .options = *session->options, .well = true};
    const bench_options *asked = session->options;
    uint32_t count;
    bench_entry *entries = bench_entries_of(asked, &count);
    b.options.peers = "none";
    b.built = asked->json != NULL ? json_array() : NULL;
    const bool ready =
        entries != NULL && (b.built == NULL || bench_mirror_open(session, &b.mirror));
    b.well = ready;
    session->options = &b.options;
    for (uint32_t i = 0; ready && i < count; i++)
        make_by_all(&b, &entries[i]);
    session->options = asked;
    b.well &= write_file(&b);
    if (b.mirror.context != NULL)
        bench_mirror_close(&b.mirror);
    json_decref(b.built);
    free(entries);
    return b.well;
}
