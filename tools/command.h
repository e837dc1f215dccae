/* The interface of the commands of the `tenon` tool. Each command is one file that exports a struct
 * command. */
#ifndef TENON_TOOLS_COMMAND_H
#define TENON_TOOLS_COMMAND_H

#include "command_line.h"

/* Exit statuses of the tool. */
enum { EXIT_OK = COMMAND_LINE_OK, EXIT_FAILED = 1, EXIT_USAGE = COMMAND_LINE_WRONG };

extern const command cache_command, check_command, devices_command, explain_command,
    kernels_command, selftest_command, solvers_command, tune_command;

/* The help of --device, which several commands have. */
#define DEVICE_HELP "as for \"tenon devices\""

#define SEED_MOST 18446744073709551615.0 /* the largest value of --seed */

/* Prints the failure of `what`, with the reason from tenon_last_error, to stderr. Returns
 * EXIT_FAILED. */
int report_failure(const char *what);

#endif
