#include "run.h"

#include "ceilings.h"
#include "device.h"
#include "energy.h"
#include "environment.h"
#include "options.h"
#include "peers/absent.h"
#include "peers/editions.h"
#include "provenance.h"
#include "resume.h"
#include "selected.h"
#include "session.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUICK_SECONDS 110.0 /* of all cases of a quick run */
#define QUICK_CASE    0.2   /* of a case of a quick run */
#define AROUND_CASE   0.8   /* of a case besides its rounds: operands, verification, latency */

/* The results so far; `well` is false after a failure. */
typedef struct progress {
    bench_options *options;
    bench_file file;
    bench_resumed earlier;
    bench_result *results;
    uint32_t count;
    bool well;
    bench_summary summary;
    const bench_entry *entries;
    uint32_t entry_count, done, all;       /* cases done, and all cases of all devices */
    double start, expected, expected_done; /* estimates of seconds: of all cases to measure */
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
static bool write_json(progress *p, bool complete)
{
    bench_summarize(p->results, p->count, p->options->least_operations, &p->summary);
    return p->options->json == NULL || bench_write_json(p->options->json, &p->file, complete,
                                                        p->results, p->count, &p->summary);
}

static bool cannot_be_forced(const bench_options *o)
{
    return o->solver != NULL && strstr(tenon_last_error(), "cannot serve") != NULL;
}

/* Records why a case, or with a NULL case a device, has no result. */
static void add_failure(progress *p, const bench_session *session, const bench_case *bench,
                        const char *why)
{
    json_t *failure = json_pack("{s:i, s:s}", "device", (int)session->number, "why",
                                *why != '\0' ? why : "unknown");
    if (bench != NULL) {
        json_object_set_new(failure, "suite", json_string(bench->suite));
        json_object_set_new(failure, "case", json_string(bench->name));
        json_object_set_new(failure, "dtype", json_string(tenon_dtype_string(bench->dtype)));
        if (session->options->solver != NULL)
            json_object_set_new(failure, "solver", json_string(session->options->solver));
    }
    json_array_append_new(p->file.failures, failure);
    p->well = false;
}

static void release(bench_case *bench)
{
    for (uint32_t i = 0; i < bench->peer_count; i++)
        if (bench->peers[i].destroy != NULL)
            bench->peers[i].destroy(bench->peers[i].data);
    if (bench->destroy != NULL)
        bench->destroy(bench);
}

/* Measures a case. Its result is kept unless the run was interrupted during it. */
static void run_case(bench_session *session, const bench_entry *e, bench_case *bench, progress *p)
{
    bench_forget_complaint();
    bool well = e->suite->kind->make(session, e->suite, e->number, e->dtype, bench);
    if (!well && cannot_be_forced(session->options)) {
        fprintf(stderr, "tenon-bench: %s is left out\n", bench->name);
    } else if (well && bench_run(session, bench, &p->results[p->count])) {
        bench_progress_clear();
        bench_print_result(&p->results[p->count++]);
    } else if (!bench->is_skipped && !bench_interrupted) {
        const char *why = *bench_complaint() != '\0' ? bench_complaint() : tenon_last_error();
        bench_progress_clear();
        bench_print_failure(bench->name, tenon_dtype_string(e->dtype), why);
        add_failure(p, session, bench, why);
    }
    release(bench);
}

/* Returns the seconds of the rounds of a case. */
static double seconds_of(const bench_options *o, const bench_suite *suite)
{
    if (o->seconds > 0)
        return o->seconds;
    return o->quick && suite->seconds > QUICK_CASE ? QUICK_CASE : suite->seconds;
}

static const bench_result *earlier_result(const progress *p, uint32_t device, const bench_entry *e)
{
    char name[BENCH_NAME_SIZE];
    e->suite->kind->name_of(e->suite, e->number, name);
    return bench_resumed_result(&p->earlier, device, e->suite->name, name, e->dtype,
                                p->options->solver);
}

/* Returns the estimated seconds of a case with all its solvers; 0 if an earlier run has it. */
static double expected_of(const progress *p, uint32_t device, const bench_entry *e)
{
    const double each = seconds_of(p->options, e->suite) + AROUND_CASE;
    return earlier_result(p, device, e) != NULL ? 0 : solvers_of(p->options) * each;
}

/* Measures a case, or takes its result from an earlier run. */
static void run_entry(bench_session *session, const bench_entry *e, progress *p)
{
    bench_case bench = {.suite = e->suite->name,
                        .dtype = e->dtype,
                        .seconds = seconds_of(session->options, e->suite)};
    e->suite->kind->name_of(e->suite, e->number, bench.name);
    const bench_result *earlier = earlier_result(p, session->number, e);
    if (earlier != NULL) {
        p->results[p->count++] = *earlier;
        bench_print_result(earlier);
        return;
    }
    run_case(session, e, &bench, p);
    p->well &= write_json(p, false);
}

/* Runs a case with each requested solver in turn. */
static void run_by_all(bench_session *session, const bench_entry *e, progress *p)
{
    bench_options *o = p->options;
    char *rest = NULL, *names = strdup(o->solvers != NULL ? o->solvers : "");
    o->solver = names != NULL ? strtok_r(names, " ", &rest) : NULL;
    do {
        run_entry(session, e, p);
        o->solver = o->solver != NULL ? strtok_r(NULL, " ", &rest) : NULL;
    } while (o->solver != NULL && !bench_interrupted);
    free(names);
    o->solver = NULL;
}

/* Returns true if the device no longer executes commands, and records it. */
static bool has_failed(bench_session *session, progress *p)
{
    char why[512];
    if (tenon_stream_finish(session->stream) == TENON_OK)
        return false;
    snprintf(why, sizeof why, "%s", tenon_last_error());
    fprintf(stderr, "tenon-bench: the device has failed: %s\n", why);
    json_object_set_new(json_array_get(p->file.devices, session->number), "failed",
                        json_string(*why != '\0' ? why : "unknown"));
    p->well = false;
    return true;
}

/* Estimates the seconds that are left, from those of the suites and from how long the cases so far
 * have taken in comparison. */
static double seconds_left(const progress *p)
{
    const double elapsed = bench_now() - p->start, left = p->expected - p->expected_done;
    return p->expected_done > 0 ? elapsed / p->expected_done * left : left;
}

/* Adds up the estimates, and prints the number of cases and how long they take. */
static void expect(progress *p, uint32_t devices)
{
    for (uint32_t d = 0; d < devices; d++)
        for (uint32_t i = 0; i < p->entry_count; i++)
            p->expected += expected_of(p, d, &p->entries[i]);
    if (p->options->quick && p->expected > devices * QUICK_SECONDS)
        p->expected = devices * QUICK_SECONDS;
    if (p->expected < 90)
        printf("%u cases, about %.0f seconds\n", p->all, p->expected);
    else
        printf("%u cases, about %.0f minutes\n", p->all, p->expected / 60);
}

/* Returns true if a quick run leaves out a case: it is for the other kind of device, the time of
 * its suite and the earlier ones is used and its suite has a case, or all time is used. */
static bool is_left_out(const bench_session *session, const progress *p, uint32_t entry)
{
    const char *name = p->entries[entry].suite->name;
    const size_t length = strlen(name);
    const bool is_cpu = (session->device.type & CL_DEVICE_TYPE_CPU) != 0;
    const double used = (bench_now() - session->opened) / QUICK_SECONDS;
    if (!p->options->quick)
        return false;
    if (length > 4 && strcmp(name + length - 4, is_cpu ? "-gpu" : "-cpu") == 0)
        return true;
    const bool is_first = entry == 0 || p->entries[entry].suite != p->entries[entry - 1].suite;
    return used > 1 || (!is_first && used > (double)(entry + 1) / p->entry_count);
}

static void run_entries(bench_session *session, progress *p)
{
    bool failed = false;
    const bench_entry *last = NULL;
    for (uint32_t i = 0; i < p->entry_count && !bench_interrupted && !failed; i++, p->done++) {
        const bench_suite *suite = p->entries[i].suite;
        char name[BENCH_NAME_SIZE];
        if (is_left_out(session, p, i))
            continue;
        if (last == NULL || suite != last->suite)
            bench_print_heading(suite->name, suite->about);
        last = &p->entries[i];
        suite->kind->name_of(suite, p->entries[i].number, name);
        bench_progress(p->done, p->all, seconds_left(p), name);
        const size_t failures = json_array_size(p->file.failures);
        const double expected = expected_of(p, session->number, &p->entries[i]);
        run_by_all(session, &p->entries[i], p);
        p->expected_done += expected;
        failed = json_array_size(p->file.failures) > failures && has_failed(session, p);
    }
    bench_progress_clear();
}

/* Returns the description of a device that could not be opened. */
static json_t *unknown_device(const char *selector, const char *why)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:i, s:s, s:n, s:s}", "name",
                     selector, "vendor", "", "platform", "", "version", "", "driver", "",
                     "compute_units", 0, "vector_width_f32", 0, "kind", "", "cache", 0, "selector",
                     selector, "ceilings", "failed", *why != '\0' ? why : "unknown");
}

/* Prepares what is recorded about the device, and leaves out earlier results of another one. */
static void describe_device(bench_session *session, progress *p)
{
    json_t *device = bench_json_device(session);
    session->energy = bench_energy_open(session);
    if (session->number == 0) {
        p->file.store = bench_store_state(session->context);
        p->file.energy = session->energy;
    }
    session->ceilings = bench_ceilings_of(session);
    json_object_set_new(device, "ceilings",
                        session->ceilings != NULL ? json_incref(session->ceilings) : json_null());
    if (!bench_resumed_device(p->earlier.document, session->number, device))
        for (uint32_t i = 0; i < p->earlier.count; i++)
            if (p->earlier.results[i].device == session->number)
                p->earlier.results[i].device = UINT32_MAX;
    json_array_append_new(p->file.devices, device);
}

/* Runs all cases on the device of the options. Returns false if it cannot be opened. */
static bool run_device(progress *p, uint32_t number)
{
    bench_session session = {.options = p->options, .number = number};
    bench_forget_complaint();
    const bool opened = bench_open_session(&session);
    if (opened) {
        bench_print_device(&session.device);
        if (number == 0)
            bench_print_peers(p->options);
        describe_device(&session, p);
        session.opened = bench_now();
        run_entries(&session, p);
    } else {
        const char *selector = p->options->device != NULL ? p->options->device : "";
        json_array_append_new(p->file.devices, unknown_device(selector, bench_complaint()));
        bench_print_failure(selector, "", bench_complaint());
        add_failure(p, &session, NULL, bench_complaint());
    }
    p->done = (number + 1) * p->entry_count; /* also after a device that failed */
    bench_close_session(&session);
    json_decref(session.ceilings);
    return opened;
}

/* Runs all cases on each device. Returns false if none could be opened. */
static bool run_devices(const bench_devices *devices, progress *p)
{
    bool opened = false;
    for (uint32_t i = 0; i < devices->count && !bench_interrupted; i++) {
        p->options->device = devices->selectors[i];
        if (devices->count > 1)
            printf("\ndevice %s\n", devices->selectors[i]);
        opened |= run_device(p, i);
    }
    return opened;
}

/* Writes the final files. If the JSON file cannot be written, its text goes to standard output, so
 * that no measurement is lost. */
static void write_files(progress *p)
{
    const bench_options *o = p->options;
    const bool complete = p->well && !bench_interrupted;
    if (!write_json(p, complete)) {
        p->well = false;
        printf("\nthe results, because %s could not be written:\n", o->json);
        (void)bench_write_json(NULL, &p->file, complete, p->results, p->count, &p->summary);
    }
    bench_print_summary(&p->summary);
    if (o->csv != NULL)
        p->well &= bench_write_csv(o->csv, p->results, p->count);
}

static int run_all(const bench_devices *devices, progress *p)
{
    if (!bench_resume(&p->file, &p->earlier))
        return BENCH_WRONG_USE;
    if (p->earlier.document != NULL)
        printf("resuming %s, which has %u results of this command\n", p->options->json,
               p->earlier.count);
    expect(p, devices->count);
    bench_catch_interrupts();
    p->start = bench_now();
    if (run_devices(devices, p))
        write_files(p);
    return bench_interrupted ? BENCH_INTERRUPTED : p->well ? 0 : 1;
}

static int run_cases(bench_options *o, int argc, char **argv, const bench_devices *devices)
{
    static progress p; /* too large for the stack */
    uint32_t count;
    int status = 1;
    bench_entry *entries = bench_entries_of(o, &count);
    p = (progress){.options = o, .well = true, .entries = entries, .entry_count = count};
    p.all = count * devices->count;
    p.file = bench_file_begin(o, argc, argv);
    p.results = calloc((size_t)p.all * solvers_of(o) + 1, sizeof *p.results);
    if (count == 0) {
        bench_complain_no_case(o);
        status = BENCH_WRONG_USE;
    } else if (entries != NULL && p.results != NULL) {
        status = run_all(devices, &p);
    }
    bench_resume_end(&p.earlier);
    bench_file_end(&p.file);
    free(entries);
    free(p.results);
    return status;
}

static int run(int argc, char **argv)
{
    bench_options o;
    bench_devices devices;
    int status;
    if (!bench_parse(&bench_run_command, BENCH_OF_RUN, argc, argv, &o, &status))
        return status;
    bench_prepare_environment(argv);
    bench_prepare_peers();
    if (!bench_devices_of(o.device, &devices))
        return 1;
    status = run_cases(&o, argc, argv, &devices);
    bench_devices_end(&devices);
    return status;
}

const command bench_run_command = {
    .name = "run",
    .summary = "measure the cases of the suites",
    .run = run,
    .arguments = "",
    .details =
        "Ctrl-C keeps what was measured: with --json, the same command resumes a run that\n"
        "was interrupted, and repeats the cases that failed. Without --suite and --shapes all\n"
        "suites are measured.\n",
};
