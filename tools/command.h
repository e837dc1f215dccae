/* The interface of the commands of the `tenon` tool. Each command is one file that exports a struct
 * command. */
#ifndef TENON_TOOLS_COMMAND_H
#define TENON_TOOLS_COMMAND_H

#include "base/platform.h"

/* Exit statuses of the tool. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command {
    const char *name;
    const char *arguments; /* for the usage line; "" if there are none */
    const char *summary;   /* one line */
    const char *details;   /* lines about the options, each ending with a newline */
    /* Runs the command; argv[0] is its name. Returns the exit status. */
    int (*run)(int argc, char **argv);
} command;

extern const command cache_command, check_command, devices_command, explain_command,
    kernels_command, selftest_command, solvers_command, tune_command;

/* Prints an error in the command line, and the usage of the command, to stderr. Returns EXIT_USAGE.
 */
int usage_error(const command *c, const char *format, ...) TN_PRINTF(2, 3);

/* Prints the failure of `what`, with the reason from tenon_last_error, to stderr. Returns
 * EXIT_FAILED. */
int report_failure(const char *what);

#endif
