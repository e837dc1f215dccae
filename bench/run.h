/* tenon-bench run: measures the cases of suites on one or several devices. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "command_line.h"

extern const command bench_run_command;

#endif
