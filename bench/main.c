/* tenon-bench: measures Tenon and its peers on a device.
 *
 *     tenon-bench run --suite gemm,conv --dtype f32 --json results.json
 *     tenon-bench regret --suite gemm-cpu
 *     tenon-bench predict --target sm_90 --suite gemm-gpu
 *     tenon-bench list */
#include "ceilings.h"
#include "environment.h"
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
#include <string.h>

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
    if (strcmp(command, "compare") == 0 || strcmp(command, "hosts") == 0 ||
        strcmp(command, "report") == 0)
        return bench_python(argc, argv);
    if (!bench_suites_load(NULL))
        return 1;
    if (strcmp(command, "run") == 0)
        return bench_run_command(argc, argv);
    if (strcmp(command, "regret") == 0)
        return bench_regret(argc, argv);
    if (strcmp(command, "predict") == 0)
        return bench_predict(argc, argv);
    if (strcmp(command, "ceilings") == 0)
        return with_device(argc, argv, bench_ceilings);
    if (strcmp(command, "build") == 0)
        return with_device(argc, argv, bench_build_ahead);
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
