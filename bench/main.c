/*
 * tenon-bench: measures Tenon on a device, beside its peers.
 *
 *     tenon-bench run --suite gemm,conv --dtype f32 --json results.json
 *     tenon-bench list
 */
#include "environment.h"
#include "peers/peers.h"
#include "report.h"
#include "timing.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_USE   2
#define INTERRUPTED 130 /* as shells have it for SIGINT */

static const char usage[] =
    "usage: tenon-bench run [OPTION …] | list | help\n"
    "\n"
    "  --suite S[,S]       which suites; all unless given\n"
    "  --dtype T[,T]       f32, f64, f16, bf16, i8; f32 unless given\n"
    "  --device SELECTOR   as tenon devices shows it; the default device unless given\n"
    "  --peers P[,P]       openblas, onednn, onednn-blocked, clblast, loop, tenon-f32, unpacked, or\n"
    "                      none; all there are unless given\n"
    "  --filter TEXT       only cases whose names contain it\n"
    "  --solver NAME       forces a solver; cases that it cannot serve are left out\n"
    "  --workspace BYTES   the most memory that a call may take for its own use; 0 is allowed\n"
    "  --time SECONDS      about how long each case takes; unless given 0.3 to 1, as its suite has it\n"
    "  --min-flops N       cases of fewer operations are not compared with the best of their peers;\n"
    "                      4e6 unless given\n"
    "  --clblast-tuning FOLDER  gives CLBlast what its own tuners wrote there\n"
    "  --json FILE         writes results as JSON\n"
    "  --csv FILE          writes results as comma-separated values\n";

static const tenon_dtype dtypes[] = {TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_F16,
                                     TENON_DTYPE_BF16, TENON_DTYPE_I8};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

bool bench_went_well(tenon_status status, const char *call)
{
    if (status == TENON_OK)
        return true;
    fprintf(stderr, "tenon-bench: %s: %s: %s\n", call, tenon_status_string(status),
            tenon_last_error());
    return false;
}

bool bench_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (list == NULL)
        return true;
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == ','))
            return true;
        if (*at == '\0')
            break;
    }
    return false;
}

/* Whether each name of a list is among those known; the first that is not goes to stderr. */
static bool all_known(const char *what, const char *list, const char *const *known, size_t count)
{
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < count && (strncmp(at, known[i], length) != 0 || known[i][length] != '\0'))
            i++;
        if (i == count) {
            fprintf(stderr, "tenon-bench: there is no %s \"%.*s\"; there is", what, (int)length,
                    at);
            for (i = 0; i < count; i++)
                fprintf(stderr, " %s", known[i]);
            fprintf(stderr, "\n");
            return false;
        }
        at += length + (at[length] == ',');
    }
    if (list != NULL && *list == '\0')
        fprintf(stderr, "tenon-bench: the list of each %s is empty\n", what);
    return list == NULL || *list != '\0';
}

static bool options_make_sense(const bench_options *o)
{
    const char *suites[16], *types[DTYPES], *peers[BENCH_PEER_NAMES + 1] = {"none"};
    memcpy(peers + 1, bench_peer_names, sizeof bench_peer_names);
    for (uint32_t i = 0; i < bench_suite_count; i++)
        suites[i] = bench_suites[i]->name;
    for (size_t i = 0; i < DTYPES; i++)
        types[i] = tenon_dtype_string(dtypes[i]);
    return all_known("suite", o->suites, suites, bench_suite_count) &&
           all_known("type", o->dtypes, types, DTYPES) &&
           all_known("peer", o->peers, peers, BENCH_PEER_NAMES + 1) &&
           (o->json == NULL || bench_can_write(o->json)) &&
           (o->csv == NULL || bench_can_write(o->csv));
}

/* A number of the command line within its bounds; otherwise says what the option wants. */
static bool number_of(const char *option, const char *text, double least, double most,
                      double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && *value >= least && *value <= most)
        return true;
    fprintf(stderr, "tenon-bench: %s wants a number from %g to %g, not \"%s\"\n", option, least,
            most, text);
    return false;
}

static bool take(int option, bench_options *o)
{
    double bytes;
    switch (option) {
    case 's':
        o->suites = optarg;
        return true;
    case 't':
        o->dtypes = optarg;
        return true;
    case 'd':
        o->device = optarg;
        return true;
    case 'p':
        o->peers = optarg;
        return true;
    case 'f':
        o->filter = optarg;
        return true;
    case 'v':
        o->solver = optarg;
        return true;
    case 'm':
        return number_of("--time", optarg, 1e-3, 3600, &o->seconds);
    case 'w':
        if (!number_of("--workspace", optarg, 0, 1e15, &bytes))
            return false;
        o->workspace = (uint64_t)bytes;
        return true;
    case 'o':
        return number_of("--min-flops", optarg, 0, 1e15, &o->least_operations);
    case 'b':
        o->clblast_tuning = optarg;
        return true;
    case 'j':
        o->json = optarg;
        return true;
    case 'c':
        o->csv = optarg;
        return true;
    default:
        return false;
    }
}

static bool parse(int argc, char **argv, bench_options *o)
{
    static const struct option known[] = {{"suite", required_argument, NULL, 's'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"peers", required_argument, NULL, 'p'},
                                          {"filter", required_argument, NULL, 'f'},
                                          {"solver", required_argument, NULL, 'v'},
                                          {"time", required_argument, NULL, 'm'},
                                          {"workspace", required_argument, NULL, 'w'},
                                          {"min-flops", required_argument, NULL, 'o'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"clblast-tuning", required_argument, NULL, 'b'},
                                          {NULL, 0, NULL, 0}};
    int option;
    *o = (bench_options){
        .dtypes = "f32", .workspace = TENON_WORKSPACE_DEFAULT, .least_operations = 4e6};
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!take(option, o))
            return false;
    if (optind < argc) {
        fprintf(stderr, "tenon-bench: %s is not understood\n", argv[optind]);
        return false;
    }
    return options_make_sense(o);
}

static bool open_session(bench_session *session)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    cl_int error;
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
    if (session->options->clblast_tuning != NULL &&
        !bench_clblast_tune(session->device.device, session->options->clblast_tuning))
        return false;
    const tenon_device_info *d = &session->device;
    printf("%s, %s, driver %s, %u compute units\n", d->name, d->platform_name, d->driver_version,
           d->compute_units);
    return true;
}

static void close_session(bench_session *session)
{
    tenon_stream_destroy(session->profiled);
    tenon_stream_destroy(session->stream);
    tenon_context_release(session->context);
}

/* A case in one type, by number; a walk over them all. */
typedef struct entry {
    const bench_suite *suite;
    uint32_t number;
    tenon_dtype dtype;
} entry;

static bool wanted(const bench_options *o, const entry *e)
{
    char name[BENCH_NAME_SIZE];
    e->suite->name_of(e->suite, e->number, name);
    return bench_listed(o->suites, e->suite->name) &&
           bench_listed(o->dtypes, tenon_dtype_string(e->dtype)) &&
           e->suite->has_dtype(e->suite, e->number, e->dtype) &&
           (o->filter == NULL || strstr(name, o->filter) != NULL);
}

/* All cases that are asked for; the caller frees them. */
static entry *entries_of(const bench_options *o, uint32_t *count)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < bench_suite_count; s++)
        most += bench_suites[s]->count(bench_suites[s]) * (uint32_t)DTYPES;
    entry *entries = malloc((most + 1) * sizeof *entries);
    *count = 0;
    for (uint32_t s = 0; entries != NULL && s < bench_suite_count; s++)
        for (uint32_t n = 0; n < bench_suites[s]->count(bench_suites[s]); n++)
            for (size_t t = 0; t < DTYPES; t++) {
                const entry e = {bench_suites[s], n, dtypes[t]};
                if (wanted(o, &e))
                    entries[(*count)++] = e;
            }
    return entries;
}

/* Results so far, and whether all went well. */
typedef struct progress {
    bench_result *results;
    uint32_t count;
    bool well;
} progress;

static bool cannot_be_forced(const bench_options *o)
{
    return o->solver != NULL && strstr(tenon_last_error(), "cannot serve") != NULL;
}

static void run_entry(bench_session *session, const entry *e, progress *p)
{
    bench_case bench = {.suite = e->suite->name, .dtype = e->dtype, .seconds = e->suite->seconds};
    if (session->options->seconds > 0)
        bench.seconds = session->options->seconds;
    e->suite->name_of(e->suite, e->number, bench.name);
    bool well = e->suite->make(session, e->suite, e->number, e->dtype, &bench);
    if (!well && cannot_be_forced(session->options)) {
        fprintf(stderr, "tenon-bench: %s is left out\n", bench.name);
    } else if (well && bench_run(session, &bench, &p->results[p->count])) {
        bench_progress_clear();
        bench_print_result(&p->results[p->count++]);
    } else {
        p->well = false;
    }
    for (uint32_t i = 0; i < bench.peer_count; i++)
        if (bench.peers[i].destroy != NULL)
            bench.peers[i].destroy(bench.peers[i].data);
    if (bench.destroy != NULL)
        bench.destroy(&bench);
}

static void run_entries(bench_session *session, const entry *entries, uint32_t count, progress *p)
{
    double start = bench_now();
    for (uint32_t i = 0; i < count && !bench_interrupted; i++) {
        const bench_suite *suite = entries[i].suite;
        char name[BENCH_NAME_SIZE];
        if (i == 0 || suite != entries[i - 1].suite)
            bench_print_heading(suite->name, suite->about);
        suite->name_of(suite, entries[i].number, name);
        bench_progress(i, count, bench_now() - start, name);
        run_entry(session, &entries[i], p);
    }
    bench_progress_clear();
}

static void interrupt(int signal_number)
{
    (void)signal_number;
    bench_interrupted = 1;
}

/* Measures and writes the files; the exit status. */
static int run_all(bench_session *session, const entry *entries, uint32_t count, progress *p,
                   int argc, char **argv)
{
    const bench_options *o = session->options;
    static bench_summary summary; /* large for a stack */
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    run_entries(session, entries, count, p);
    bench_summarise(p->results, p->count, o->least_operations, &summary);
    bench_print_summary(&summary);
    bool complete = p->well && !bench_interrupted;
    if (o->json != NULL)
        p->well &= bench_write_json(o->json, session, argc, argv, complete, p->results, p->count,
                                    &summary);
    if (o->csv != NULL)
        p->well &= bench_write_csv(o->csv, p->results, p->count);
    return bench_interrupted ? INTERRUPTED : p->well ? 0 : 1;
}

static int run(int argc, char **argv)
{
    bench_options o;
    bench_session session = {.options = &o};
    uint32_t count;
    int status = 1;
    if (!parse(argc - 1, argv + 1, &o))
        return WRONG_USE;
    bench_prepare_environment(argv);
    bench_pin_openblas();
    entry *entries = entries_of(&o, &count);
    progress p = {.results = calloc((size_t)count + 1, sizeof *p.results), .well = true};
    if (count == 0) {
        fprintf(stderr, "tenon-bench: no case is of these suites and types and has \"%s\" in it\n",
                o.filter != NULL ? o.filter : "");
        status = WRONG_USE;
    } else if (entries != NULL && p.results != NULL && open_session(&session)) {
        status = run_all(&session, entries, count, &p, argc, argv);
    }
    close_session(&session);
    free(entries);
    free(p.results);
    return status;
}

static void list(void)
{
    for (uint32_t s = 0; s < bench_suite_count; s++)
        for (uint32_t n = 0; n < bench_suites[s]->count(bench_suites[s]); n++) {
            char name[BENCH_NAME_SIZE];
            bench_suites[s]->name_of(bench_suites[s], n, name);
            printf("%-17s %s\n", bench_suites[s]->name, name);
        }
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "run") == 0)
        return run(argc, argv);
    if (strcmp(command, "list") == 0)
        list();
    else if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0)
        fputs(usage, stdout);
    else {
        fputs(usage, stderr);
        return WRONG_USE;
    }
    return 0;
}
