/* tenon check: repeats one call of an operation, from the line printed by a failure. */
#include "command.h"

#include "call_words.h"
#include "check/case.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const tn_case *c, const tn_case_result *result)
{
    char text[TN_CASE_TEXT_SIZE];
    const char *solver = result->solver[0] != '\0' ? result->solver : c->solver;
    if (!result->served) {
        fprintf(stderr, "tenon check: %s does not support this call: %s\n", c->solver, result->why);
        return EXIT_FAILED;
    }
    if (result->right) {
        printf("right: %s, largest error %.3f of its bound\n", solver, result->error_over_bound);
        return EXIT_OK;
    }
    printf("WRONG: %s: %s\n  %s\n", solver, result->why, tn_case_text(c, text));
    return EXIT_FAILED;
}

/* Prints the solvers barred during the call, with the reasons. */
static void print_log(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    (void)level;
    printf("%s\n", message);
}

static int check(const char *device, const tn_case *c)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = NULL;
    tenon_stream *stream = NULL;
    tn_case_result result;
    params.device = device;
    params.log = print_log;
    tenon_status status = tenon_context_create(&params, &context);
    if (status == TENON_OK)
        status = tenon_stream_create(context, NULL, &stream);
    if (status == TENON_OK)
        status = tn_case_run(stream, c, &result);
    const int code = status == TENON_OK ? report(c, &result) : report_failure("check");
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    return code;
}

static int run(int argc, char **argv)
{
    const char *device = NULL;
    call_options call = {.seed = 1};
    command_line line;
    const command_option known[] = {
        CALL_OPTIONS(&call, true),
        {"device", OPTION_TEXT, &device, "SELECTOR", DEVICE_HELP},
        {NULL},
    };
    if (!command_line_read(&check_command, argc, argv, known, UINT32_MAX, &line))
        return line.status;
    tn_case *c = malloc(sizeof *c);
    if (c == NULL) {
        fprintf(stderr, "tenon check: out of memory\n");
        return EXIT_FAILED;
    }
    int code = EXIT_USAGE;
    if (tn_case_parse("tenon check", (const char *const *)line.operands, line.count,
                      TENON_DTYPE_INVALID, c) == TENON_OK) {
        c->seed = call.seed;
        c->integers = call.integers;
        code = check(device, c);
    } else {
        fprintf(stderr, "%s\n", tenon_last_error());
    }
    free(c);
    return code;
}

const command check_command = {
    .name = "check",
    .summary = "run one call on random values and compare the result with the reference",
    .run = run,
    .arguments = "SOLVER [OPERATION] OPERAND=VIEW ... [FIELD=VALUE ...]",
    .details =
        "Failed tests, self-checks and benchmarks print the command line that repeats them. If a\n"
        "self-check bars a solver during the call, its name and the error are printed.\n\n"
        "  SOLVER             name of a solver, for example gemm/tiled or\n"
        "                     gemm/cpu_packed:mr6,nr64, or of an operation, for example gemm, for\n"
        "                     which Tenon chooses a solver\n"
        "  OPERATION          required if the solver supports several operations, for example\n"
        "                     tenon_norm_inference\n"
        "  OPERAND=VIEW       TYPE:SHAPE[/STRIDES][+OFFSET], all in elements: a=f32:3x5/8,1+2;\n"
        "                     c=@d is the view of d; optional operands may be omitted\n"
        "  FIELD=VALUE        a member of the params that is not the default: stride=2,2\n",
};
