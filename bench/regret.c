/* tenon-bench regret: measures for each case the choice and the other candidates, in interleaved
 * rounds, and reports how much longer the choice takes than the best candidate. */
#include "regret.h"

#include "device.h"
#include "environment.h"
#include "judge.h"
#include "options.h"
#include "provenance.h"
#include "report.h"
#include "resume.h"
#include "runner.h"
#include "session.h"
#include "timing.h"

#include "check/search_space.h"
#include "dispatch/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITES "gemm-cpu,conv-cpu"
/* Number of rounds after which slow candidates are dropped, of the remaining ones, and of the final
 * comparison of the best with the choice. */
#define FEW_ROUNDS   2
#define ROUNDS       5
#define FINAL_ROUNDS 7
#define LOSER        2.0 /* a candidate this many times slower than the best is dropped */

/* A candidate in the race. */
typedef struct runner {
    const char *name;
    tenon_plan *plans[BENCH_MAX_COPIES]; /* one, or one for each copy of packed weights */
    int calls, turn, rounds;
    double times[ROUNDS]; /* nanoseconds per call */
    double median;
    bool is_out;
} runner;

/* A case and its candidates; the first one is the choice. */
typedef struct race {
    bench_session *session;
    bench_case *bench;
    const tn_case *call;
    tn_search_space *candidates;
    runner runners[TN_MAX_POINTS];
    uint32_t count;
    bool well;
} race;

typedef struct outcome {
    char suite[BENCH_NAME_SIZE], name[BENCH_NAME_SIZE];
    char chosen[TN_SOLVER_NAME_SIZE], best[TN_SOLVER_NAME_SIZE];
    tenon_dtype dtype;
    double chosen_time, best_time, ratio;
    uint32_t candidates;
    json_t *measured;
} outcome;

/* Returns the number of plans of a candidate. */
static uint32_t plan_count(const race *r)
{
    return r->bench->copies > 0 ? r->bench->copies : 1;
}

/* Lets the calls of the case run these plans. */
static void use(const race *r, tenon_plan *const *plans)
{
    memcpy(r->bench->plan, plans, plan_count(r) * sizeof *plans);
}

/* Runs a round of `calls` calls. Returns the nanoseconds of one; negative if it failed. */
static double run_round(race *r, runner *it, int calls)
{
    use(r, it->plans);
    return 1e9 * bench_round(r->session, &r->bench->tenon, calls, &it->turn) / calls;
}

/* Plans a candidate, with the case's own weights if they are packed. */
static bool plan(const race *r, runner *it)
{
    bench_case *bench = r->bench;
    if (bench->copies == 0)
        return BENCH_WELL(tn_case_plan(r->session->context, r->call, it->name, it->plans));
    for (uint32_t i = 0; i < bench->copies; i++)
        if (!bench->replan(r->session, bench->tenon.data, i, it->name, &it->plans[i]))
            return false;
    return true;
}

/* Plans, verifies and warms up a candidate. A candidate that the device rejects (for example barred
 * by its self-check) is skipped; a wrong result is a failure. */
static void enter(race *r, const char *name)
{
    runner *it = &r->runners[r->count++];
    double error = 0, seconds;
    *it = (runner){.name = name};
    it->is_out = !plan(r, it);
    if (it->is_out)
        return;
    use(r, it->plans);
    snprintf(r->bench->solver, sizeof r->bench->solver, "%s", name);
    if (!r->session->options->trusted)
        it->is_out = !bench_verify_case(r->session, r->bench, &error);
    if (!it->is_out)
        it->calls = bench_calls(r->session, &r->bench->tenon, &seconds);
    it->is_out |= it->calls == 0;
    r->well &= !it->is_out;
}

static void enter_all(race *r)
{
    while (r->count < r->candidates->count && !bench_interrupted)
        enter(r, r->candidates->names[r->count]);
}

static double median_of(const double *times, int count)
{
    double sorted[ROUNDS];
    memcpy(sorted, times, (size_t)count * sizeof *times);
    return bench_median(sorted, count);
}

static runner *best_of(race *r)
{
    runner *best = NULL;
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->runners[i].is_out && r->runners[i].rounds > 0 &&
            (best == NULL || r->runners[i].median < best->median))
            best = &r->runners[i];
    return best;
}

/* Runs a round of each candidate that has had fewer than `rounds`; then drops slow candidates,
 * except the choice. */
static void sweep(race *r, int rounds)
{
    for (uint32_t i = 0; i < r->count && !bench_interrupted; i++) {
        runner *it = &r->runners[i];
        if (it->is_out || it->rounds >= rounds)
            continue;
        it->times[it->rounds] = run_round(r, it, it->calls);
        if (it->times[it->rounds] < 0)
            it->is_out = true;
        else
            it->median = median_of(it->times, ++it->rounds);
        r->well &= !it->is_out;
    }
    const runner *best = best_of(r);
    for (uint32_t i = 1; i < r->count && best != NULL; i++)
        if (r->runners[i].rounds >= FEW_ROUNDS && r->runners[i].median > LOSER * best->median)
            r->runners[i].is_out = true;
}

/* Runs the shipped candidates first; then the neighbors of the best of them and of the choice. */
static void run_rounds(race *r)
{
    tn_search_space_add_shipped(r->candidates, r->call);
    enter_all(r);
    for (int i = 0; i < FEW_ROUNDS; i++)
        sweep(r, FEW_ROUNDS);
    const runner *best = best_of(r);
    if (best == NULL)
        return;
    tn_search_space_add_neighbors(r->candidates, r->call, best->name);
    tn_search_space_add_neighbors(r->candidates, r->call, r->runners[0].name);
    enter_all(r);
    for (int i = 0; i < ROUNDS; i++)
        sweep(r, ROUNDS);
}

/* Runs the best and the choice again, alternately, because the smallest of many medians is low by
 * chance. */
static void decide(race *r, outcome *o)
{
    runner *chosen = &r->runners[0], *best = best_of(r), *const two[] = {chosen, best};
    double times[2][FINAL_ROUNDS];
    if (best == NULL || chosen->is_out) {
        r->well = false;
        return;
    }
    for (int i = 0; i < FINAL_ROUNDS; i++)
        for (int w = 0; w < 2; w++)
            times[w][i] = best == chosen ? chosen->median : run_round(r, two[w], two[w]->calls);
    o->chosen_time = bench_median(times[0], FINAL_ROUNDS);
    o->best_time = bench_median(times[1], FINAL_ROUNDS);
    r->well &= times[0][0] > 0 && times[1][0] > 0; /* the minimum of each */
    if (o->best_time > o->chosen_time)
        best = chosen;
    o->best_time = fmin(o->best_time, o->chosen_time);
    o->ratio = o->chosen_time / o->best_time;
    snprintf(o->chosen, sizeof o->chosen, "%s", chosen->name);
    snprintf(o->best, sizeof o->best, "%s", best->name);
}

static json_t *measured_by(const race *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->count; i++)
        if (r->runners[i].rounds > 0)
            json_array_append_new(list, json_pack("{s:s, s:f, s:i}", "solver", r->runners[i].name,
                                                  "median_ns", r->runners[i].median, "rounds",
                                                  r->runners[i].rounds));
    return list;
}

/* Races the candidates of a case whose operands exist; its own plan is that of the choice. */
static bool run_race(race *r, outcome *o)
{
    tenon_plan *own[BENCH_MAX_COPIES];
    memcpy(own, r->bench->plan, plan_count(r) * sizeof *own);
    r->candidates->count = r->count = 0;
    tn_search_space_add(r->candidates, own[0]->name);
    run_rounds(r);
    if (r->count > 0 && !bench_interrupted)
        decide(r, o);
    o->measured = measured_by(r);
    o->candidates = (uint32_t)json_array_size(o->measured);
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t copy = 0; copy < plan_count(r); copy++)
            tenon_plan_release(r->runners[i].plans[copy]);
    use(r, own);
    return r->well && !bench_interrupted;
}

static bool read_call(const bench_case *bench, tn_case *call)
{
    if (bench->plan == NULL || *bench->plan == NULL || bench->verify == NULL) {
        fprintf(stderr, "tenon-bench: %s %s does not measure a plan of one call\n", bench->suite,
                bench->name);
        return false;
    }
    return bench_case_of(bench, call);
}

static bool run_case(bench_session *session, const bench_entry *e, tn_search_space *candidates,
                     outcome *o)
{
    static race r; /* too large for the stack */
    bench_case bench = {.suite = e->suite->name, .dtype = e->dtype};
    tn_case call;
    e->suite->kind->name_of(e->suite, e->number, bench.name);
    *o = (outcome){.dtype = e->dtype};
    snprintf(o->suite, sizeof o->suite, "%s", bench.suite);
    snprintf(o->name, sizeof o->name, "%s", bench.name);
    r = (race){session, &bench, &call, candidates, .well = true};
    const bool well = e->suite->kind->make(session, e->suite, e->number, e->dtype, &bench) &&
                      read_call(&bench, &call) && run_race(&r, o);
    if (bench.destroy != NULL)
        bench.destroy(&bench);
    return well;
}

/* All results so far. */
typedef struct regrets {
    outcome *outcomes;
    uint32_t count;
    bench_file file;
    json_t *earlier; /* the document of an earlier run that is resumed; NULL: none */
} regrets;

static bool is_of(const json_t *o, const bench_entry *e, const char *name)
{
    return strcmp(bench_json_text(o, "suite"), e->suite->name) == 0 &&
           strcmp(bench_json_text(o, "case"), name) == 0 &&
           strcmp(bench_json_text(o, "dtype"), tenon_dtype_string(e->dtype)) == 0;
}

/* Returns the element of a list of the earlier document that belongs to the case, or NULL. */
static const json_t *earlier_of(const regrets *all, const char *list, const bench_entry *e,
                                const char *name)
{
    const json_t *items = json_object_get(all->earlier, list);
    for (size_t i = 0; i < json_array_size(items); i++)
        if (is_of(json_array_get(items, i), e, name))
            return json_array_get(items, i);
    return NULL;
}

/* Takes the result of a case from an earlier run, in which it did not fail. Returns false if there
 * is none. */
static bool take_earlier(const regrets *all, const bench_entry *e, const char *name, outcome *o)
{
    const json_t *found = earlier_of(all, "results", e, name);
    json_t *measured = json_object_get(found, "measured");
    if (found == NULL || earlier_of(all, "failures", e, name) != NULL)
        return false;
    *o = (outcome){.dtype = e->dtype,
                   .chosen_time = bench_json_number(found, "chosen_ns"),
                   .best_time = bench_json_number(found, "best_ns"),
                   .ratio = bench_json_number(found, "ratio"),
                   .candidates = (uint32_t)json_array_size(measured)};
    snprintf(o->suite, sizeof o->suite, "%s", e->suite->name);
    snprintf(o->name, sizeof o->name, "%s", name);
    snprintf(o->chosen, sizeof o->chosen, "%s", bench_json_text(found, "chosen"));
    snprintf(o->best, sizeof o->best, "%s", bench_json_text(found, "best"));
    if (!(o->ratio > 0) || o->candidates == 0)
        return false;
    o->measured = json_incref(measured);
    return true;
}

/* Records why a case failed; an earlier result of it is not resumed. */
static void add_failure(regrets *all, const bench_entry *e, const char *name)
{
    const char *why = *bench_complaint() != '\0' ? bench_complaint() : tenon_last_error();
    json_array_append_new(all->file.failures, json_pack("{s:i, s:s, s:s, s:s, s:s}", "device", 0,
                                                        "suite", e->suite->name, "case", name,
                                                        "dtype", tenon_dtype_string(e->dtype),
                                                        "why", *why != '\0' ? why : "unknown"));
}

typedef struct totals {
    double median, most; /* of the ratios; `most` is their 95th percentile */
    uint32_t least_candidates;
} totals;

static totals totals_of(const regrets *all)
{
    totals t = {0, 0, all->count > 0 ? UINT32_MAX : 0};
    double *ratios = malloc((all->count + 1) * sizeof *ratios);
    for (uint32_t i = 0; i < all->count && ratios != NULL; i++) {
        ratios[i] = all->outcomes[i].ratio;
        if (all->outcomes[i].candidates < t.least_candidates)
            t.least_candidates = all->outcomes[i].candidates;
    }
    if (all->count > 0 && ratios != NULL) {
        t.median = bench_median(ratios, (int)all->count); /* sorts the ratios */
        t.most = ratios[(uint32_t)ceil(0.95 * all->count) - 1];
    }
    free(ratios);
    return t;
}

static bool write_json(const bench_session *session, const regrets *all, bool complete)
{
    const totals t = totals_of(all);
    json_t *list = json_array();
    if (session->options->json == NULL) {
        json_decref(list);
        return true;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        const outcome *o = &all->outcomes[i];
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:O}",
                                        "device", 0, "suite", o->suite, "case", o->name, "dtype",
                                        tenon_dtype_string(o->dtype), "chosen", o->chosen, "best",
                                        o->best, "chosen_ns", o->chosen_time, "best_ns",
                                        o->best_time, "ratio", o->ratio, "measured", o->measured));
    }
    json_t *summary =
        json_pack("{s:i, s:f, s:f, s:i}", "cases", (int)all->count, "median", t.median,
                  "percentile_95", t.most, "least_candidates", (int)t.least_candidates);
    return bench_json_write(session->options->json,
                            bench_json_document(&all->file, complete, list, summary));
}

static void print_outcome(const outcome *o)
{
    printf("%-50.50s %-5s %10u %12.1f %12.1f %6.2f\n", o->name, tenon_dtype_string(o->dtype),
           o->candidates, o->chosen_time * 1e-3, o->best_time * 1e-3, o->ratio);
    printf("    chosen  %s\n", o->chosen);
    if (strcmp(o->chosen, o->best) != 0)
        printf("    best    %s\n", o->best);
    fflush(stdout);
}

static void print_totals(const regrets *all)
{
    const totals t = totals_of(all);
    printf("\n%u cases, time of the choice over the best: median %.3f, 95th percentile %.3f;\n"
           "at least %u candidates\n",
           all->count, t.median, t.most, t.least_candidates);
}

/* Measures a case, or takes its result from an earlier run. Returns false if it failed. */
static bool run_entry(bench_session *session, const bench_entry *e, const char *name,
                      tn_search_space *candidates, regrets *all)
{
    outcome *o = &all->outcomes[all->count];
    const bool is_earlier = take_earlier(all, e, name, o);
    bench_forget_complaint();
    const bool right = is_earlier || run_case(session, e, candidates, o);
    bench_progress_clear();
    if (is_earlier || (o->ratio > 0 && !bench_interrupted)) {
        print_outcome(o);
        all->count++;
    } else {
        json_decref(o->measured);
    }
    if (!right && !bench_interrupted)
        add_failure(all, e, name);
    return right || bench_interrupted;
}

/* Measures all cases. Returns false if one failed. */
static bool run_cases(bench_session *session, const bench_entry *entries, uint32_t count,
                      tn_search_space *candidates, regrets *all)
{
    const double start = bench_now();
    bool well = true;
    printf("%-50s %-5s %10s %12s %12s %6s\n", "case", "type", "candidates", "chosen us", "best us",
           "ratio");
    for (uint32_t i = 0; i < count && !bench_interrupted; i++) {
        char name[BENCH_NAME_SIZE];
        entries[i].suite->kind->name_of(entries[i].suite, entries[i].number, name);
        bench_progress(i, count, i > 0 ? (bench_now() - start) / i * (count - i) : -1, name);
        well &= run_entry(session, &entries[i], name, candidates, all);
        well &= write_json(session, all, false);
    }
    return well;
}

static int run_all(bench_session *session, const bench_entry *entries, uint32_t count, regrets *all)
{
    static tn_search_space candidates; /* too large for the stack */
    bench_catch_interrupts();
    bench_print_device(&session->device);
    all->file.store = bench_store_state(session->context);
    json_t *device = bench_json_device(session);
    json_array_append_new(all->file.devices, device);
    if (!bench_resumed_device(all->earlier, 0, device)) {
        json_decref(all->earlier);
        all->earlier = NULL;
    }
    if (all->earlier != NULL)
        printf("resuming %s, which has %zu results of this command\n", session->options->json,
               json_array_size(json_object_get(all->earlier, "results")));
    bool well = BENCH_WELL(tn_search_space_open(session->context, &candidates)) &&
                run_cases(session, entries, count, &candidates, all);
    well &= write_json(session, all, well && !bench_interrupted);
    print_totals(all);
    tn_search_space_close(&candidates);
    for (uint32_t i = 0; i < all->count; i++)
        json_decref(all->outcomes[i].measured);
    return bench_interrupted ? BENCH_INTERRUPTED : well ? 0 : 1;
}

/* Opens the device and measures the cases. Returns the exit status. */
static int run_selected(bench_session *session, const bench_entry *entries, uint32_t count,
                        regrets *all)
{
    if (count == 0) {
        bench_complain_no_case(session->options);
        return BENCH_WRONG_USE;
    }
    if (!bench_resume_document(&all->file, &all->earlier))
        return BENCH_WRONG_USE;
    if (entries == NULL || all->outcomes == NULL || !bench_open_session(session))
        return 1;
    return run_all(session, entries, count, all);
}

static int run(int argc, char **argv)
{
    bench_options o;
    bench_session session = {.options = &o};
    uint32_t count;
    int status;
    if (!bench_parse(&bench_regret_command, BENCH_OF_REGRET, argc, argv, &o, &status))
        return status;
    o.peers = "none";
    if (o.suites == NULL && o.shapes == NULL)
        o.suites = SUITES;
    bench_prepare_environment(argv);
    bench_entry *entries = bench_entries_of(&o, &count);
    regrets all = {calloc((size_t)count + 1, sizeof *all.outcomes), 0,
                   bench_file_begin(&o, argc, argv), NULL};
    status = run_selected(&session, entries, count, &all);
    bench_close_session(&session);
    free(entries);
    bench_file_end(&all.file);
    json_decref(all.earlier);
    free(all.outcomes);
    return status;
}

const command bench_regret_command = {
    .name = "regret",
    .summary = "measure the choice against all other candidates",
    .run = run,
    .arguments = "",
    .details = "Without --suite and --shapes, the suites are " SUITES ". Ctrl-C keeps\n"
               "what was measured: with --json, the same command resumes.\n",
};
