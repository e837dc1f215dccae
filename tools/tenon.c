/* The `tenon` command: looks up its first argument in the table of commands, and runs that command.
 */
#include "command.h"

#include "platform.h"

#include "runtime/probe/crash_guard.h"

#include <tenon/tenon.h>

#include <stdio.h>

static const command *const commands[] = {
    &devices_command, &selftest_command, &check_command, &explain_command,
    &kernels_command, &solvers_command,  &cache_command, &tune_command,
};

int report_failure(const char *what)
{
    fprintf(stderr, "tenon %s: %s\n", what, tenon_last_error());
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    const program tenon = {.name = "tenon",
                           .version = tenon_version_string(),
                           .commands = commands,
                           .count = sizeof commands / sizeof *commands};
    /* Ctrl-C during a self-check must not count as a crash of the checked solver. */
    platform_end_orderly(tn_crash_guard_withdraw_all);
    const int status = program_run(&tenon, argc, argv);
    /* A full disk or a closed pipe is reported as a failure. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tenon: cannot write to standard output\n");
        return EXIT_FAILED;
    }
    return status;
}
