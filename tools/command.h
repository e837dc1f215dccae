/* What every command of the `tenon` tool is made of: one file each, which exports one of these. */
#ifndef TENON_TOOLS_COMMAND_H
#define TENON_TOOLS_COMMAND_H

#include "base/platform.h"

/* Exit statuses of the tool. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command {
    const char *name;
    const char *arguments; /* for the usage line; "" where there are none */
    const char *summary;   /* a line */
    const char *details;   /* lines about its options, each ending in a newline */
    /* Runs the command; argv[0] is its name. Returns the exit status. */
    int (*run)(int argc, char **argv);
} command;

extern const command cache_command, check_command, devices_command, explain_command,
    kernels_command, selftest_command, solvers_command, tune_command;

/* Says on stderr what is wrong with the command line, and the usage of the command. Returns
 * EXIT_USAGE. */
int usage_error(const command *c, const char *format, ...) TN_PRINTF(2, 3);

/* Says on stderr that `what` failed and why, by tenon_last_error. Returns EXIT_FAILED. */
int report_failure(const char *what);

#endif
