/* The command line of tenon-bench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench.h"

#define BENCH_DTYPES 12

extern const char bench_usage[];
extern const tenon_dtype bench_dtypes[BENCH_DTYPES];

/* Parses the arguments after the program's name. On failure, prints the reason to stderr and
 * returns false. */
bool bench_parse(int argc, char **argv, bench_options *options);

#endif
