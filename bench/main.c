/* tenon-bench: measures Tenon and its peers on a device.
 *
 *     tenon-bench run --suite gemm,conv --dtype f32 --json results.json
 *     tenon-bench regret --suite gemm-cpu
 *     tenon-bench predict --target sm_90 --suite gemm-gpu
 *     tenon-bench list */
#include "ceilings.h"
#include "environment.h"
#include "first.h"
#include "in_python.h"
#include "options.h"
#include "peers/absent.h"
#include "peers/peers.h"
#include "predict.h"
#include "regret.h"
#include "run.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>

/* Runs a command that needs a device and no cases. */
static int with_device(const command *c, unsigned options, int argc, char **argv,
                       bool (*measure)(bench_session *session))
{
    bench_options o;
    bench_session session = {.options = &o};
    int status;
    if (!bench_parse(c, options, argc, argv, &o, &status))
        return status;
    bench_prepare_environment(argv);
    const bool well = bench_open_session(&session) && measure(&session);
    bench_close_session(&session);
    return well ? 0 : 1;
}

static const command ceilings_command, build_command, list_command, peers_command, solvers_command;

static int run_ceilings(int argc, char **argv)
{
    return with_device(&ceilings_command, BENCH_OF_CEILINGS, argc, argv, bench_ceilings);
}

static int run_build(int argc, char **argv)
{
    return with_device(&build_command, BENCH_OF_BUILD, argc, argv, bench_build_ahead);
}

static void list_cases(void)
{
    for (uint32_t s = 0; s < bench_suite_count; s++)
        for (uint32_t n = 0; n < bench_suites[s]->kind->count(bench_suites[s]); n++) {
            char name[BENCH_NAME_SIZE];
            bench_suites[s]->kind->name_of(bench_suites[s], n, name);
            printf("%-17s %s\n", bench_suites[s]->name, name);
        }
}

static int run_list(int argc, char **argv)
{
    bool only_suites = false;
    const char *shapes = NULL;
    command_line line;
    const command_option known[] = {
        {"suites", OPTION_FLAG, &only_suites, NULL, "only the suites, with their descriptions"},
        {"shapes", OPTION_TEXT, &shapes, "FILE[,FILE]", "also the suites in these files"},
        {NULL},
    };
    if (!command_line_read(&list_command, argc, argv, known, 0, &line))
        return line.status;
    if (!bench_suites_load(shapes))
        return BENCH_WRONG_USE;
    for (uint32_t s = 0; s < bench_suite_count && only_suites; s++)
        printf("%-23s %s\n", bench_suites[s]->name, bench_suites[s]->about);
    if (!only_suites)
        list_cases();
    return 0;
}

/* Reads the command line of a command without options. */
static bool without_options(const command *c, int argc, char **argv, int *status)
{
    const command_option none[] = {{NULL}};
    command_line line;
    const bool well = command_line_read(c, argc, argv, none, 0, &line);
    *status = line.status;
    return well;
}

static int run_peers(int argc, char **argv)
{
    const bench_options all = {.peers = NULL};
    int status;
    if (!without_options(&peers_command, argc, argv, &status))
        return status;
    bench_prepare_environment(argv);
    bench_print_built_in();
    bench_print_peers(&all);
    return 0;
}

static int run_solvers(int argc, char **argv)
{
    int status;
    if (!without_options(&solvers_command, argc, argv, &status))
        return status;
    return bench_solvers() ? 0 : 1;
}

static const command ceilings_command = {
    .name = "ceilings",
    .summary = "measure the device's limits and store them for run",
    .run = run_ceilings,
    .arguments = "",
};

static const command build_command = {
    .name = "build",
    .summary = "build and check the programs that run would measure",
    .run = run_build,
    .arguments = "",
    .details =
        "Accepts the options of run, and measures nothing. --json writes the reports of the\n"
        "compiler and of the device model.\n",
};

static const command list_command = {
    .name = "list",
    .summary = "list all cases, or the suites",
    .run = run_list,
    .arguments = "",
};

static const command peers_command = {
    .name = "peers",
    .summary = "list the peers that are built in and those that are not",
    .run = run_peers,
    .arguments = "",
    .details = "Prints also the processor whose kernels OpenBLAS runs.\n",
};

static const command solvers_command = {
    .name = "solvers",
    .summary = "print every solver with its parameters and their ranges as JSON",
    .run = run_solvers,
    .arguments = "",
};

/* Commands in Python, which read their own options. */
static const command python_group = {.name = "", .summary = "\nCommands in Python:"},
                     compare_command = {.name = "compare",
                                        .summary = "compare the times of two files of run --json",
                                        .run = bench_python},
                     report_command = {.name = "report",
                                       .summary = "draw files of --json, also of several machines, "
                                                  "as one page; needs matplotlib",
                                       .run = bench_python},
                     hosts_command = {.name = "hosts",
                                      .summary = "predict the all-reduce of 2 to 64 hosts from "
                                                 "measurements on one machine",
                                      .run = bench_python};

static const command *const commands[] = {
    &bench_run_command, &bench_regret_command, &bench_predict_command, &ceilings_command,
    &build_command,     &bench_first_command,  &list_command,          &peers_command,
    &solvers_command,   &python_group,         &compare_command,       &report_command,
    &hosts_command,
};

int main(int argc, char **argv)
{
    const program bench = {.name = "tenon-bench",
                           .version = tenon_version_string(),
                           .commands = commands,
                           .count = sizeof commands / sizeof *commands};
    return program_run(&bench, argc, argv);
}
