#include "session.h"

#include "options.h"
#include "peers/absent.h"
#include "peers/peers.h"
#include "runner.h"
#include "shapes/shapes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUICK_CASES 2 /* of a suite in a quick run */

bool bench_open_session(bench_session *session)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    cl_int error;
    session->device.struct_size = sizeof session->device;
    params.device = session->options->device;
    params.workspace_limit = session->options->workspace;
    if (!BENCH_WELL(tenon_context_create(&params, &session->context)) ||
        !BENCH_WELL(tenon_context_device(session->context, &session->device)) ||
        !BENCH_WELL(tenon_stream_create(session->context, NULL, &session->stream)))
        return false;
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_command_queue queue = clCreateCommandQueueWithProperties(
        tenon_context_cl(session->context), session->device.device, properties, &error);
    if (error != CL_SUCCESS ||
        !BENCH_WELL(tenon_stream_create(session->context, queue, &session->profiled)))
        return false;
    clReleaseCommandQueue(queue);
    if (session->options->clblast_tuning == NULL && session->options->peers != NULL &&
        bench_listed(session->options->peers, "clblast-tuned"))
        bench_leave_out("clblast-tuned", "--clblast-tuning is not given");
    if (session->options->clblast_tuning != NULL &&
        !bench_clblast_tune(session->device.device, session->options->clblast_tuning))
        return false;
    return true;
}

void bench_print_device(const tenon_device_info *d)
{
    printf("%s, %s, driver %s, %u compute units\n", d->name, d->platform_name, d->driver_version,
           d->compute_units);
}

void bench_close_session(bench_session *session)
{
    tenon_stream_destroy(session->profiled);
    tenon_stream_destroy(session->stream);
    tenon_context_release(session->context);
}

/* Returns true if a suite is selected, by its own name or by the name of the group at its end. */
static bool suite_wanted(const bench_options *o, const char *suite)
{
    const size_t length = strlen(suite);
    const char *end = length > 4 ? suite + length - 4 : "";
    return bench_listed(o->suites, suite) ||
           ((strcmp(end, "-gpu") == 0 || strcmp(end, "-cpu") == 0) &&
            bench_listed(o->suites, end + 1));
}

/* Returns true if the cases of the suite have types of their own, and none was requested. */
static bool is_free_type(const bench_options *o, const bench_suite *suite)
{
    return o->dtypes == NULL && suite->shapes != NULL && suite->shapes->is_recorded;
}

/* Returns true if the suite is wanted: without --suite those of --shapes, or all. */
static bool suite_listed(const bench_options *o, const bench_suite *suite)
{
    if (o->suites != NULL || o->shapes == NULL)
        return suite_wanted(o, suite->name);
    return suite->shapes != NULL && suite->shapes->is_users;
}

static bool wanted(const bench_options *o, const bench_entry *e)
{
    char name[BENCH_NAME_SIZE];
    e->suite->kind->name_of(e->suite, e->number, name);
    return suite_listed(o, e->suite) &&
           (is_free_type(o, e->suite) ||
            bench_listed(o->dtypes != NULL ? o->dtypes : "f32", tenon_dtype_string(e->dtype))) &&
           e->suite->kind->has_dtype(e->suite, e->number, e->dtype) &&
           (o->filter == NULL || strstr(name, o->filter) != NULL);
}

/* Returns true for the networks that are there to test the suites. */
static bool is_tiny(const bench_entry *e)
{
    char name[BENCH_NAME_SIZE];
    e->suite->kind->name_of(e->suite, e->number, name);
    return strstr(name, "tiny") != NULL;
}

/* Keeps a few entries of each suite: its small networks, or cases that are equally far apart. */
static uint32_t sample(bench_entry *entries, uint32_t count)
{
    uint32_t kept = 0, end;
    for (uint32_t begin = 0; begin < count; begin = end) {
        uint32_t tiny = 0;
        for (end = begin; end < count && entries[end].suite == entries[begin].suite; end++)
            if (is_tiny(&entries[end]))
                entries[begin + tiny++] = entries[end];
        const uint32_t all = tiny > 0 ? tiny : end - begin,
                       some = all < QUICK_CASES ? all : QUICK_CASES;
        for (uint32_t i = 0; i < some; i++)
            entries[kept++] = entries[begin + (2 * i + 1) * all / (2 * some)];
    }
    return kept;
}

bench_entry *bench_entries_of(const bench_options *o, uint32_t *count)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < bench_suite_count; s++)
        most += bench_suites[s]->kind->count(bench_suites[s]) * BENCH_DTYPES;
    bench_entry *entries = malloc((most + 1) * sizeof *entries);
    *count = 0;
    for (uint32_t s = 0; entries != NULL && s < bench_suite_count; s++)
        for (uint32_t n = 0; n < bench_suites[s]->kind->count(bench_suites[s]); n++)
            for (size_t t = 0; t < BENCH_DTYPES; t++) {
                const bench_entry e = {bench_suites[s], n, bench_dtypes[t]};
                if (wanted(o, &e))
                    entries[(*count)++] = e;
            }
    if (o->quick && entries != NULL)
        *count = sample(entries, *count);
    return entries;
}

void bench_complain_no_case(const bench_options *o)
{
    fprintf(stderr, "tenon-bench: no case of these suites and types contains \"%s\"\n",
            o->filter != NULL ? o->filter : "");
}

static void interrupt(int signal_number)
{
    (void)signal_number;
    bench_interrupted = 1;
}

void bench_catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = interrupt,
                                     .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
