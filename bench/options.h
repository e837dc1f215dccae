/* The options of the commands of tenon-bench that measure or build cases. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench.h"

#include "command_line.h"

#define BENCH_DTYPES       12
#define BENCH_MOST_OPTIONS 32

extern const tenon_dtype bench_dtypes[BENCH_DTYPES];

/* The commands, in a set. */
enum {
    BENCH_OF_RUN = 1,
    BENCH_OF_REGRET = 2,
    BENCH_OF_PREDICT = 4,
    BENCH_OF_CEILINGS = 8,
    BENCH_OF_BUILD = 16,
};

/* Commands that accept an option without an effect, and do not show it: build has the options of
 * run, and earlier result files of regret name --time in their commands. */
#define BENCH_ACCEPTED(commands) ((commands) << 8)

/* Reads the command line of a command, whose options are those of a BENCH_OF_ constant, and loads
 * the suites. Returns false if the program should end with `status`, after the help or a message.
 */
bool bench_parse(const command *c, unsigned options, int argc, char **argv, bench_options *o,
                 int *status);

#endif
