/* tenon selftest: checks every solver of every operation on the device against the references. */
#include "command.h"

#include "check/case.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_WIDTH 40

typedef struct selftest {
    const char *device, *filter;
    const char *solvers; /* full names separated by commas; NULL: all */
    uint64_t seed;
    tenon_context *context;
    tenon_stream *stream;
    uint32_t right, wrong, idle; /* number of lines */
} selftest;

static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                    TENON_DTYPE_F64};
#define TYPES (sizeof types / sizeof *types)

/* The results of a solver's cases. */
typedef struct outcome {
    uint32_t cases, failures;
    double worst[TYPES]; /* error over bound; negative if no case was run */
    char why_not[256];   /* of the last case that the solver does not support */
    char repeat[TN_CASE_TEXT_SIZE], why[512]; /* of the first failure */
} outcome;

static double now(void)
{
    return 1e-9 * (double)tn_now();
}

static void fail(outcome *o, const tn_case *c, const char *why)
{
    if (o->failures++ > 0)
        return;
    snprintf(o->why, sizeof o->why, "%s", why);
    tn_case_text(c, o->repeat);
}

static void run_case(const selftest *test, const tn_case *c, size_t type, outcome *o)
{
    tn_case_result result;
    if (tn_case_run(test->stream, c, &result) != TENON_OK) {
        o->cases++;
        fail(o, c, tenon_last_error());
        return;
    }
    if (!result.served) {
        snprintf(o->why_not, sizeof o->why_not, "%s", result.why);
        return;
    }
    o->cases++;
    if (result.error_over_bound > o->worst[type])
        o->worst[type] = result.error_over_bound;
    if (o->worst[type] < 0)
        o->worst[type] = 0;
    if (!result.right)
        fail(o, c, result.why);
}

/* Returns true if an example is run in each type: it has an operand of type T. */
static bool is_typed(const char *example)
{
    return strstr(example, "=T:") != NULL || strstr(example, "=S:") != NULL;
}

static void run_example(const selftest *test, const char *example, const char *solver, outcome *o)
{
    tn_case *c = malloc(sizeof *c);
    for (size_t t = 0; c != NULL && t < (is_typed(example) ? TYPES : 1); t++) {
        uint32_t has_f64 = 0;
        if (types[t] == TENON_DTYPE_F64 &&
            (tenon_context_capability(test->context, TENON_CAPABILITY_F64, &has_f64, NULL, 0) !=
                 TENON_OK ||
             !has_f64))
            continue;
        if (tn_case_parse_line(example, types[t], c) != TENON_OK) {
            snprintf(o->why, sizeof o->why, "%s", tenon_last_error());
            snprintf(o->repeat, sizeof o->repeat, "%s", example);
            o->failures++;
            break;
        }
        snprintf(c->solver, sizeof c->solver, "%s", solver);
        c->seed = test->seed;
        run_case(test, c, t, o);
    }
    free(c);
}

static void print_outcome(selftest *test, const char *solver, const outcome *o, double seconds)
{
    const char *verdict = o->failures > 0 ? "WRONG" : o->cases > 0 ? "right" : "-";
    printf("%-5s  %-*s", verdict, NAME_WIDTH, solver);
    if (o->cases == 0 && o->failures == 0) {
        printf(" %s\n", o->why_not[0] != '\0' ? o->why_not : "no test case");
        test->idle++;
        return;
    }
    printf(" %3u case%s %6.2f s ", o->cases, o->cases == 1 ? " " : "s", seconds);
    for (size_t t = 0; t < TYPES; t++)
        if (o->worst[t] >= 0)
            printf(" %s %.2f", tenon_dtype_string(types[t]), o->worst[t]);
    printf("\n");
    if (o->failures > 0)
        printf("       %u failed, the first: %s\n       %s\n", o->failures, o->why, o->repeat);
    *(o->failures > 0 ? &test->wrong : &test->right) += 1;
}

static void test_solver(selftest *test, const tn_family *family, const char *solver)
{
    outcome *o = calloc(1, sizeof *o);
    const double start = now();
    if (o == NULL)
        return;
    for (size_t t = 0; t < TYPES; t++)
        o->worst[t] = -1;
    for (uint32_t i = 0; i < tn_operation_count; i++)
        for (const char *const *example = tn_operations[i]->examples;
             tn_operations[i]->family == family && *example != NULL; example++)
            run_example(test, *example, solver, o);
    print_outcome(test, solver, o, now() - start);
    fflush(stdout);
    free(o);
}

static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && strncmp(list, name, length) == 0)
            return true;
    return false;
}

static bool is_wanted(const selftest *test, const char *solver)
{
    return (test->filter == NULL || strstr(solver, test->filter) != NULL) &&
           (test->solvers == NULL || is_listed(test->solvers, solver));
}

/* Tests the automatic choice first, then each solver. */
static void test_family(selftest *test, const tn_family *family)
{
    char solver[TN_SOLVER_NAME_SIZE];
    if (is_wanted(test, family->name))
        test_solver(test, family, family->name);
    for (uint32_t s = 0; s < family->solver_count; s++) {
        snprintf(solver, sizeof solver, "%s/%s", family->name, family->solvers[s]->name);
        if (is_wanted(test, solver))
            test_solver(test, family, solver);
    }
}

static int conclude(const selftest *test, double seconds)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    if (test->right + test->wrong + test->idle == 0) {
        if (test->solvers != NULL)
            fprintf(stderr, "tenon selftest: unknown solver \"%s\"\n", test->solvers);
        else
            fprintf(stderr, "tenon selftest: no solver's name contains \"%s\"\n", test->filter);
        return EXIT_FAILED;
    }
    if (tenon_context_device(test->context, &info) == TENON_OK)
        printf("%s (%s): ", info.name, info.driver_version);
    printf("%u right, %u wrong, %u not supported here, in %.1f s\n", test->right, test->wrong,
           test->idle, seconds);
    return test->wrong > 0 ? EXIT_FAILED : EXIT_OK;
}

static int test_all(selftest *test)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    const double start = now();
    int code = EXIT_FAILED;
    params.device = test->device;
    if (tenon_context_create(&params, &test->context) == TENON_OK &&
        tenon_stream_create(test->context, NULL, &test->stream) == TENON_OK) {
        for (uint32_t i = 0; tn_family_at(i) != NULL; i++)
            test_family(test, tn_family_at(i));
        code = conclude(test, now() - start);
    } else {
        report_failure("selftest");
    }
    tenon_stream_destroy(test->stream);
    tenon_context_release(test->context);
    return code;
}

static int run(int argc, char **argv)
{
    selftest test = {.seed = 1};
    command_line line;
    const command_option known[] = {
        {"device", OPTION_TEXT, &test.device, "SELECTOR", DEVICE_HELP},
        {"filter", OPTION_TEXT, &test.filter, "TEXT",
         "only solvers whose name contains the text, for example gemm or conv/direct"},
        {"solver", OPTION_TEXT, &test.solvers, "NAME[,NAME...]",
         "only these solvers: full names; the name of an operation alone is the automatic choice"},
        {"seed", OPTION_COUNT, &test.seed, "N", "seed of the random values; default 1", 0,
         SEED_MOST},
        {NULL},
    };
    if (!command_line_read(&selftest_command, argc, argv, known, 0, &line))
        return line.status;
    return test_all(&test);
}

const command selftest_command = {
    .name = "selftest",
    .summary = "check every solver of every operation on the device against the references",
    .run = run,
    .arguments = "",
    .details =
        "Prints a line for each solver: right or WRONG, the number of cases run, the time\n"
        "(including compilation), and for each type the largest error as a fraction of its bound.\n"
        "A failure prints the \"tenon check\" line that repeats it, and the exit status is 1. The\n"
        "whole test takes about a quarter of an hour on a CPU with two cores, mostly for\n"
        "compilation; use --filter to test less.\n",
};
