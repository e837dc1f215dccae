/* tenon-bench: measures Tenon and its peers on a device.
 *
 *     tenon-bench run --suite gemm,conv --dtype f32 --json results.json
 *     tenon-bench regret --suite gemm-cpu
 *     tenon-bench list */
#include "ceilings.h"
#include "environment.h"
#include "in_python.h"
#include "options.h"
#include "peers/absent.h"
#include "peers/peers.h"
#include "regret.h"
#include "report.h"
#include "session.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The results so far; `well` is false after a failure. */
typedef struct progress {
    bench_options *options;
    bench_result *results;
    uint32_t count;
    bool well;
    int argc;
    char **argv;
    bench_summary summary;
} progress;

/* Returns the number of names in a space-separated list; 1 for an empty one. */
static uint32_t solvers_of(const bench_options *o)
{
    uint32_t count = 1;
    for (const char *at = o->solvers; at != NULL && *at != '\0'; at++)
        count += *at == ' ';
    return count;
}

/* Writes the results so far, so that a driver that ends the process loses only one case. */
static bool write_json(const bench_session *session, progress *p, bool complete)
{
    bench_summarize(p->results, p->count, p->options->least_operations, &p->summary);
    return p->options->json == NULL ||
           bench_write_json(p->options->json, session, p->argc, p->argv, complete, p->results,
                            p->count, &p->summary);
}

static bool cannot_be_forced(const bench_options *o)
{
    return o->solver != NULL && strstr(tenon_last_error(), "cannot serve") != NULL;
}

static void run_entry(bench_session *session, const bench_entry *e, progress *p)
{
    bench_case bench = {.suite = e->suite->name, .dtype = e->dtype, .seconds = e->suite->seconds};
    if (session->options->seconds > 0)
        bench.seconds = session->options->seconds;
    e->suite->kind->name_of(e->suite, e->number, bench.name);
    bool well = e->suite->kind->make(session, e->suite, e->number, e->dtype, &bench);
    if (!well && cannot_be_forced(session->options)) {
        fprintf(stderr, "tenon-bench: %s is left out\n", bench.name);
    } else if (well && bench_run(session, &bench, &p->results[p->count])) {
        bench_progress_clear();
        bench_print_result(&p->results[p->count++]);
    } else {
        p->well &= bench.is_skipped;
    }
    for (uint32_t i = 0; i < bench.peer_count; i++)
        if (bench.peers[i].destroy != NULL)
            bench.peers[i].destroy(bench.peers[i].data);
    if (bench.destroy != NULL)
        bench.destroy(&bench);
}

/* Runs a case with each requested solver in turn. */
static void run_by_all(bench_session *session, const bench_entry *e, progress *p)
{
    bench_options *o = p->options;
    char *rest = NULL, *names = strdup(o->solvers != NULL ? o->solvers : "");
    o->solver = names != NULL ? strtok_r(names, " ", &rest) : NULL;
    do {
        run_entry(session, e, p);
        p->well &= write_json(session, p, false);
        o->solver = o->solver != NULL ? strtok_r(NULL, " ", &rest) : NULL;
    } while (o->solver != NULL && !bench_interrupted);
    free(names);
    o->solver = NULL;
}

static void run_entries(bench_session *session, const bench_entry *entries, uint32_t count,
                        progress *p)
{
    double start = bench_now();
    for (uint32_t i = 0; i < count && !bench_interrupted; i++) {
        const bench_suite *suite = entries[i].suite;
        char name[BENCH_NAME_SIZE];
        if (i == 0 || suite != entries[i - 1].suite)
            bench_print_heading(suite->name, suite->about);
        suite->kind->name_of(suite, entries[i].number, name);
        bench_progress(i, count, bench_now() - start, name);
        run_by_all(session, &entries[i], p);
    }
    bench_progress_clear();
}

/* Measures and writes the files. Returns the exit status. */
static int run_all(bench_session *session, const bench_entry *entries, uint32_t count, progress *p)
{
    const bench_options *o = p->options;
    bench_catch_interrupts();
    run_entries(session, entries, count, p);
    p->well &= write_json(session, p, p->well && !bench_interrupted);
    bench_print_summary(&p->summary);
    if (o->csv != NULL)
        p->well &= bench_write_csv(o->csv, p->results, p->count);
    return bench_interrupted ? BENCH_INTERRUPTED : p->well ? 0 : 1;
}

static int run(int argc, char **argv)
{
    bench_options o;
    bench_session session = {.options = &o};
    uint32_t count;
    int status = 1;
    if (!bench_parse(argc - 1, argv + 1, &o))
        return BENCH_WRONG_USE;
    bench_prepare_environment(argv);
    bench_pin_openblas();
    bench_entry *entries = bench_entries_of(&o, &count);
    static progress p; /* too large for the stack */
    p = (progress){.options = &o, .well = true, .argc = argc, .argv = argv};
    p.results = calloc((size_t)count * solvers_of(&o) + 1, sizeof *p.results);
    if (count == 0) {
        fprintf(stderr, "tenon-bench: no case of these suites and types contains \"%s\"\n",
                o.filter != NULL ? o.filter : "");
        status = BENCH_WRONG_USE;
    } else if (entries != NULL && p.results != NULL && bench_open_session(&session)) {
        bench_print_device(&session.device);
        bench_print_peers(&o);
        status = run_all(&session, entries, count, &p);
    }
    bench_close_session(&session);
    free(entries);
    free(p.results);
    return status;
}

/* Runs a command that needs a device and no cases. */
static int with_device(int argc, char **argv, bool (*command)(bench_session *session))
{
    bench_options o;
    bench_session session = {.options = &o};
    if (!bench_parse(argc - 1, argv + 1, &o))
        return BENCH_WRONG_USE;
    bench_prepare_environment(argv);
    const bool well = bench_open_session(&session) && command(&session);
    bench_close_session(&session);
    return well ? 0 : 1;
}

static void list(void)
{
    for (uint32_t s = 0; s < bench_suite_count; s++)
        for (uint32_t n = 0; n < bench_suites[s]->kind->count(bench_suites[s]); n++) {
            char name[BENCH_NAME_SIZE];
            bench_suites[s]->kind->name_of(bench_suites[s], n, name);
            printf("%-17s %s\n", bench_suites[s]->name, name);
        }
}

static void print_peers(char **argv)
{
    const bench_options all = {.peers = NULL};
    bench_prepare_environment(argv);
    bench_print_built_in();
    bench_print_peers(&all);
}

static void print_usage(FILE *out)
{
    fputs(bench_usage, out);
    fputs("\nsuites:\n", out);
    for (uint32_t s = 0; s < bench_suite_count; s++)
        fprintf(out, "  %-19s %s\n", bench_suites[s]->name, bench_suites[s]->about);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "run") == 0)
        return run(argc, argv);
    if (strcmp(command, "regret") == 0)
        return bench_regret(argc, argv);
    if (strcmp(command, "ceilings") == 0)
        return with_device(argc, argv, bench_ceilings);
    if (strcmp(command, "build") == 0)
        return with_device(argc, argv, bench_build_ahead);
    if (strcmp(command, "compare") == 0 || strcmp(command, "report") == 0)
        return bench_python(argc, argv);
    if (strcmp(command, "list") == 0)
        list();
    else if (strcmp(command, "peers") == 0)
        print_peers(argv);
    else if (strcmp(command, "solvers") == 0)
        return bench_solvers() ? 0 : 1;
    else if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0)
        print_usage(stdout);
    else {
        print_usage(stderr);
        return BENCH_WRONG_USE;
    }
    return 0;
}
