/* tenon tune: measures the solvers for calls on this device, and stores the fastest. */
#include "command.h"

#include "call_words.h"
#include "progress.h"
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
    const char *calls, *suite, *device, *type;
    const char *exported, *imported, *merged, *build;
    bool is_forced;
    double seconds; /* infinite if there is no limit */
    uint64_t jobs;
    call_options call;
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
    char text[64];
    double left = fmax(run->options->seconds - spent, 0);
    if (!run->shows)
        return;
    if (run->done > 0)
        left = fmin(left, spent / run->done * (run->calls->count - run->done));
    snprintf(text, sizeof text, "%u candidates of %s", result->measured,
             run->calls->texts[run->done] + strlen("tenon check "));
    progress_show(run->done, run->calls->count, left < (double)INFINITY ? left : -1, text);
}

static void clear_line(const tune_run *run)
{
    if (run->shows)
        progress_clear();
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
    const tune_search search = {context, space, o->is_forced, {o->device, (unsigned)o->jobs},
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

/* Reads the call of the operands. If it is invalid, prints the reason to stderr and returns false.
 */
static bool read_one(const tune_options *o, const command_line *line, tn_case *c)
{
    if (read_call("tenon tune", line, o->type, c) != TENON_OK) {
        fprintf(stderr, "%s\n", tenon_last_error());
        return false;
    }
    c->seed = o->call.seed;
    c->integers = o->call.integers;
    return true;
}

/* Reads the calls. If they are invalid, prints the reason to stderr and returns false. */
static bool read_calls(const tune_options *o, const command_line *line, tune_calls *calls)
{
    const tenon_dtype type = type_named(o->type);
    tn_case c;
    if (o->calls != NULL)
        return tune_calls_add_file(calls, o->calls, type);
    if (o->suite != NULL)
        return tune_calls_add_suite(calls, o->suite, type);
    if (read_one(o, line, &c))
        return tune_calls_add(calls, &c);
    return false;
}

/* Builds a solver in a child process. Interrupts are for the parent process: an interrupted
 * self-check would bar the solver. The context is not released, because the process ends and a
 * release would take a second. */
static int build(const tune_options *o, const command_line *line)
{
    tune_run run = {.options = o};
    tn_case c;
    if (!read_one(o, line, &c))
        return EXIT_USAGE;
    signal(SIGINT, SIG_IGN);
    tenon_context *context = make_context(&run);
    if (context == NULL)
        return EXIT_FAILED;
    const int code =
        tune_build(context, &c, o->build) == TENON_OK ? EXIT_OK : report_failure("tune");
    fflush(NULL);
    _Exit(code);
}

static int tune(const tune_options *o, const command_line *line)
{
    tune_calls calls = {NULL};
    int code = EXIT_USAGE;
    if (read_calls(o, line, &calls)) {
        tune_run run = {o, &calls, calloc(calls.count + 1, sizeof *run.results),
                        0, 0,      platform_is_terminal(stderr)};
        if (run.results != NULL)
            code = run_all(&run);
        free(run.results);
    }
    tune_calls_free(&calls);
    return code;
}

/* Runs what the options request. */
static int run_options(const tune_options *o, const command_line *line)
{
    const int files = (o->exported != NULL) + (o->imported != NULL) + (o->merged != NULL);
    if (type_named(o->type) == TENON_DTYPE_INVALID)
        return command_line_wrong(&tune_command, "--dtype: unknown type \"%s\"", o->type);
    if ((line->count > 0) + (o->calls != NULL) + (o->suite != NULL) + files != 1)
        return command_line_wrong(
            &tune_command,
            "specify exactly one of: a call, --calls, --suite, --export, --import, --merge");
    if (o->build != NULL && line->count == 0)
        return command_line_wrong(&tune_command, "the call of --build is missing");
    platform_unset("TENON_RECORD");            /* calls made by tuning are not recorded */
    platform_set("POCL_AFFINITY", "1", false); /* see README.md */
    if (o->build != NULL)
        return build(o, line);
    return files > 0 ? run_file(o) : tune(o, line);
}

static int run(int argc, char **argv)
{
    tune_options o = {
        .type = "f32", .seconds = (double)INFINITY, .jobs = platform_cores(), .call = {.seed = 1}};
    command_line line;
    const command_option known[] = {
        {"calls", OPTION_TEXT, &o.calls, "FILE",
         "one call per line, as recorded by a program with TENON_RECORD=FILE"},
        {"suite", OPTION_TEXT, &o.suite, "NAME",
         "a suite of products or convolutions of tenon-bench, for example gemm-cpu or conv-gpu; "
         "of convolutions the forward ones"},
        {"dtype", OPTION_TEXT, &o.type, "TYPE",
         "type of a suite, of MxNxK, and of T in views; default f32"},
        {"time", OPTION_NUMBER, &o.seconds, "SECONDS",
         "time limit; results found until then are stored", 1e-9, 1e9},
        {"force", OPTION_FLAG, &o.is_forced, NULL, "also tune calls that are already tuned"},
        {"jobs", OPTION_COUNT, &o.jobs, "N",
         "number of processes that build candidates in advance; default: the number of cores; 1: "
         "none",
         1, MOST_JOBS},
        {"build", OPTION_TEXT, &o.build, "SOLVER",
         "used by these processes: build a solver, or several separated by spaces, for a CALL"},
        {"export", OPTION_TEXT, &o.exported, "FILE", "write all results of the device as JSON"},
        {"import", OPTION_TEXT, &o.imported, "FILE",
         "read the results of a file; they replace those of the same problems"},
        {"merge", OPTION_TEXT, &o.merged, "FILE",
         "read the results of a file that are faster, or of other problems"},
        {"device", OPTION_TEXT, &o.device, "SELECTOR", DEVICE_HELP},
        CALL_OPTIONS(&o.call, false),
        {NULL},
    };
    if (!command_line_read(&tune_command, argc, argv, known, UINT32_MAX, &line))
        return line.status;
    return run_options(&o, &line);
}

const command tune_command = {
    .name = "tune",
    .summary = "measure the solvers for calls on this device, and store the fastest",
    .run = run,
    .arguments = "CALL ... | --calls FILE | --suite NAME | --export FILE | --import FILE | "
                 "--merge FILE",
    .details =
        "For each call, checks and times the solvers that support it, with the parameters in the\n"
        "tables of all devices, and then neighbors of the fastest. Candidates that the model\n"
        "expects to take three times as long are skipped. The fastest is stored, and from then on\n"
        "chosen regardless of estimates. Calls that are already tuned are skipped, so an\n"
        "interrupted run continues where it stopped.\n\n"
        "  CALL               in the syntax of \"tenon explain\"\n",
};
