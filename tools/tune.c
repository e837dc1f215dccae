/* tenon tune: measures the solvers for calls on this device, and stores the fastest. */
#include "command.h"

#include "call_words.h"
#include "options.h"
#include "platform.h"
#include "tune_calls.h"
#include "tune_file.h"
#include "tune_search.h"

#include "runtime/queue/launch.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tune_options {
    const char *calls, *suite, *device, *time, *type;
    const char *exported, *imported, *merged, *build, *jobs;
    bool is_forced;
    double seconds; /* infinite if there is no limit */
    unsigned job_count;
} tune_options;

/* A tuning run over all calls. */
typedef struct tune_run {
    const tune_options *options;
    const tune_calls *calls;
    tune_result *results;
    uint32_t done;
    double began;
    bool shows; /* stderr is a terminal */
} tune_run;

/* The number of interrupts that end the program immediately; `timeout` sends two. */
#define TOO_MANY  3
#define MOST_JOBS 64
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = interrupted + 1;
    if (interrupted >= TOO_MANY)
        platform_interrupt(number);
}

static double now(void)
{
    return (double)tn_now() * 1e-9;
}

static bool is_over(void *user)
{
    const tune_run *run = user;
    return interrupted || now() - run->began > run->options->seconds;
}

/* Shows the progress. Calls take different times; the remaining time is unknown before the first is
 * done. */
static void show(void *user, const tune_result *result)
{
    const tune_run *run = user;
    const double spent = now() - run->began;
    char left[64] = "";
    if (!run->shows)
        return;
    if (run->done > 0)
        snprintf(left, sizeof left, ", about %.0f s left",
                 fmin(spent / run->done * (run->calls->count - run->done),
                      fmax(run->options->seconds - spent, 0)));
    fprintf(stderr, "\r\033[K%u of %u calls, %.0f s%s: %u candidates of %.40s", run->done,
            run->calls->count, spent, left, result->measured,
            run->calls->texts[run->done] + strlen("tenon check "));
    fflush(stderr);
}

static void clear_line(const tune_run *run)
{
    if (run->shows)
        fprintf(stderr, "\r\033[K");
}

/* Prints the solvers barred during the run, with the reasons. */
static void print_log(void *user, tenon_log_level level, const char *message)
{
    clear_line(user);
    (void)level;
    fprintf(stderr, "%s\n", message);
}

static void tune_all(tune_run *run, tenon_context *context, tn_search_space *space)
{
    const tune_options *o = run->options;
    const tune_search search = {context, space, o->is_forced, {o->device, o->job_count},
                                is_over, show,  run};
    while (run->done < run->calls->count && !is_over(run)) {
        tune_result *result = &run->results[run->done];
        show(run, result);
        tune_call(&search, &run->calls->cases[run->done], result);
        if (result->end == TUNE_LEFT)
            break;
        run->done++;
    }
    clear_line(run);
}

static void print_result(const char *call, const tune_result *r)
{
    call += strlen("tenon check ");
    if (r->end == TUNE_FAILED || r->end == TUNE_BY_VALUE) {
        printf("%10s %12s %12s %6s  %s\n    %s\n", "-", "-", "-", "-", call,
               r->end == TUNE_FAILED ? r->why : "not measured: its time depends on its values");
        return;
    }
    if (r->end == TUNE_BEFORE) {
        printf("%10u %12s %12.1f %6s  %s\n    tuned before  %s\n", r->measured, "-",
               r->fastest_time / 1e3, "-", call, r->fastest);
        return;
    }
    printf("%10u %12.1f %12.1f %6.2f  %s\n", r->measured, r->estimated_time / 1e3,
           r->fastest_time / 1e3, r->estimated_time / r->fastest_time, call);
    printf("    estimate      %s\n    fastest       %s\n", r->estimated, r->fastest);
    if (r->left_out > 0 || r->barred > 0 || r->end == TUNE_CUT)
        printf("    %u skipped by the model, %u barred%s\n", r->left_out, r->barred,
               r->end == TUNE_CUT ? "; the search was cut" : "");
    if (r->ahead > 0)
        printf("    %u processes built candidates in advance\n", r->ahead);
}

static int report(const tune_run *run)
{
    uint32_t failed = 0, cut = 0;
    printf("%10s %12s %12s %6s  %s\n", "candidates", "estimate us", "fastest us", "ratio", "call");
    for (uint32_t i = 0; i < run->done; i++) {
        print_result(run->calls->texts[i], &run->results[i]);
        failed += run->results[i].end == TUNE_FAILED;
        cut += run->results[i].end == TUNE_CUT;
    }
    const uint32_t left = run->calls->count - run->done + cut;
    if (left > 0)
        printf("%s: %u of %u calls are left; run the same command again to continue\n",
               interrupted ? "interrupted" : "time limit reached", left, run->calls->count);
    return failed > 0 || (interrupted && left > 0) ? EXIT_FAILED : EXIT_OK;
}

/* Returns true if results can be stored at all; otherwise a search would be useless. */
static bool can_keep(tenon_context *context)
{
    static const tn_tuned probe = {.solver = "probe", .call = "probe"};
    tn_tuned found;
    tn_tuning_put(context, "probe", &probe);
    const bool kept = tn_tuning_get(context, "probe", &found);
    tn_tuning_drop(context, "probe");
    if (!kept)
        fprintf(stderr,
                "tenon tune: results cannot be stored; \"tenon cache path\" prints the reason\n");
    return kept;
}

/* Returns a context. On failure, prints the reason to stderr and returns NULL. */
static tenon_context *make_context(tune_run *run)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = NULL;
    params.device = run->options->device;
    params.measurements = TENON_MEASUREMENTS_NONE;
    params.log = print_log;
    params.log_user = run;
    if (tenon_context_create(&params, &context) != TENON_OK)
        report_failure("tune");
    return context;
}

/* Returns a context that can store results, or NULL. */
static tenon_context *open_context(tune_run *run)
{
    tenon_context *context = make_context(run);
    if (context == NULL || can_keep(context))
        return context;
    tenon_context_release(context);
    return NULL;
}

static int run_all(tune_run *run)
{
    static tn_search_space space; /* too large for the stack */
    int code = EXIT_FAILED;
    tenon_context *context = open_context(run);
    if (context == NULL)
        return code;
    platform_catch(interrupt);
    run->began = now();
    if (tn_search_space_open(context, &space) == TENON_OK) {
        tune_all(run, context, &space);
        code = report(run);
    } else {
        report_failure("tune");
    }
    tn_search_space_close(&space);
    tenon_context_release(context);
    return code;
}

static int run_file(const tune_options *o)
{
    tune_run run = {.options = o};
    tenon_context *context = open_context(&run);
    const bool well =
        context != NULL && (o->exported != NULL   ? tune_file_export(context, o->exported)
                            : o->imported != NULL ? tune_file_import(context, o->imported, false)
                                                  : tune_file_import(context, o->merged, true));
    tenon_context_release(context);
    return well ? EXIT_OK : EXIT_FAILED;
}

/* Reads the calls. If they are invalid, prints the reason to stderr and returns false. */
static bool read_calls(const tune_options *o, int argc, char **argv, tune_calls *calls)
{
    const tenon_dtype type = type_named(o->type);
    tn_case c;
    if (o->calls != NULL)
        return tune_calls_add_file(calls, o->calls, type);
    if (o->suite != NULL)
        return tune_calls_add_suite(calls, o->suite, type);
    if (read_call("tenon tune", argc - 1, argv + 1, o->type, &c) == TENON_OK)
        return tune_calls_add(calls, &c);
    fprintf(stderr, "%s\n", tenon_last_error());
    return false;
}

/* Builds a solver in a child process. Interrupts are for the parent process: an interrupted
 * self-check would bar the solver. The context is not released, because the process ends and a
 * release would take a second. */
static int build(const tune_options *o, int argc, char **argv)
{
    tune_run run = {.options = o};
    tn_case c;
    if (read_call("tenon tune", argc - 1, argv + 1, o->type, &c) != TENON_OK) {
        fprintf(stderr, "%s\n", tenon_last_error());
        return EXIT_USAGE;
    }
    signal(SIGINT, SIG_IGN);
    tenon_context *context = make_context(&run);
    if (context == NULL)
        return EXIT_FAILED;
    const int code =
        tune_build(context, &c, o->build) == TENON_OK ? EXIT_OK : report_failure("tune");
    fflush(NULL);
    _Exit(code);
}

static int tune(const tune_options *o, int argc, char **argv)
{
    tune_calls calls = {NULL};
    int code = EXIT_USAGE;
    if (read_calls(o, argc, argv, &calls)) {
        tune_run run = {o, &calls, calloc(calls.count + 1, sizeof *run.results),
                        0, 0,      platform_is_terminal(stderr)};
        if (run.results != NULL)
            code = run_all(&run);
        free(run.results);
    }
    tune_calls_free(&calls);
    return code;
}

static bool read_seconds(tune_options *o)
{
    char *end;
    o->seconds = (double)INFINITY;
    if (o->time == NULL)
        return true;
    o->seconds = strtod(o->time, &end);
    return end != o->time && *end == '\0' && o->seconds > 0;
}

static bool read_jobs(tune_options *o)
{
    char *end;
    o->job_count = platform_cores();
    if (o->jobs == NULL)
        return true;
    const long jobs = strtol(o->jobs, &end, 10);
    o->job_count = (unsigned)jobs;
    return end != o->jobs && *end == '\0' && jobs >= 1 && jobs <= MOST_JOBS;
}

static int run(int argc, char **argv)
{
    tune_options o = {.type = "f32"};
    if (!take_option(&argc, argv, "--calls", &o.calls) ||
        !take_option(&argc, argv, "--suite", &o.suite) ||
        !take_option(&argc, argv, "--device", &o.device) ||
        !take_option(&argc, argv, "--export", &o.exported) ||
        !take_option(&argc, argv, "--import", &o.imported) ||
        !take_option(&argc, argv, "--merge", &o.merged) ||
        !take_option(&argc, argv, "--time", &o.time) ||
        !take_option(&argc, argv, "--jobs", &o.jobs) ||
        !take_option(&argc, argv, "--build", &o.build) ||
        !take_option(&argc, argv, "--dtype", &o.type))
        return usage_error(&tune_command, "the value of an option is missing");
    o.is_forced = take_flag(&argc, argv, "--force");
    if (!read_seconds(&o))
        return usage_error(&tune_command, "--time: \"%s\" is not a number of seconds", o.time);
    if (!read_jobs(&o))
        return usage_error(&tune_command, "--jobs: \"%s\" is out of range, allowed: 1 to %d",
                           o.jobs, MOST_JOBS);
    if (type_named(o.type) == TENON_DTYPE_INVALID)
        return usage_error(&tune_command, "--dtype: unknown type \"%s\"", o.type);
    const int files = (o.exported != NULL) + (o.imported != NULL) + (o.merged != NULL);
    if ((argc > 1) + (o.calls != NULL) + (o.suite != NULL) + files != 1)
        return usage_error(
            &tune_command,
            "specify exactly one of: a call, --calls, --suite, --export, --import, --merge");
    platform_unset("TENON_RECORD");            /* calls made by tuning are not recorded */
    platform_set("POCL_AFFINITY", "1", false); /* see README.md */
    if (o.build != NULL)
        return argc > 1 ? build(&o, argc, argv)
                        : usage_error(&tune_command, "the call of --build is missing");
    return files > 0 ? run_file(&o) : tune(&o, argc, argv);
}

const command tune_command = {
    .name = "tune",
    .arguments = "CALL … | --calls FILE | --suite NAME | --export FILE | --import FILE | "
                 "--merge FILE [OPTION …]",
    .summary = "measure the solvers for calls on this device, and store the fastest",
    .details =
        "For each call, checks and times the solvers that support it, with the parameters in the\n"
        "tables of all devices, and then neighbors of the fastest. Candidates that the model\n"
        "expects to take three times as long are skipped. The fastest is stored, and from then on\n"
        "chosen regardless of estimates. Calls that are already tuned are skipped, so an\n"
        "interrupted run continues where it stopped.\n\n"
        "  CALL               in the syntax of \"tenon explain\"\n"
        "  --calls FILE       one call per line, as recorded by a program with TENON_RECORD=FILE\n"
        "  --suite NAME       of tenon-bench: gemm, gemm-cpu, gemm-gpu, gemm-deepbench, conv,\n"
        "                     conv-cpu, conv-cpu-depthwise, conv-cpu-backward, conv-gpu;\n"
        "                     of convolutions the forward ones\n"
        "  --dtype TYPE       type of a suite, of MxNxK, and of T in views; default f32\n"
        "  --time SECONDS     time limit; results found until then are stored\n"
        "  --force            also tune calls that are already tuned\n"
        "  --jobs N           number of processes that build candidates in advance; default: the\n"
        "                     number of cores; 1: none\n"
        "  --build SOLVER     used by these processes: build a solver, or several separated by\n"
        "                     spaces, for a CALL\n"
        "  --export FILE      write all results of the device as JSON\n"
        "  --import FILE      read the results of a file; they replace those of the same problems\n"
        "  --merge FILE       read the results of a file that are faster, or of other problems\n"
        "  --device SELECTOR  as for \"tenon devices\"\n",
    .run = run,
};
