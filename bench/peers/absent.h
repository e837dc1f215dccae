/* Which peers are not compared with, and why; and which kernels OpenBLAS runs. */
#ifndef BENCH_ABSENT_H
#define BENCH_ABSENT_H

#include "bench.h"

#include <jansson.h>

/* Remembers that a peer, or what some need, cannot be used; the first reason of each counts. False
 * where there was one. */
bool bench_note_absent(const char *who, const char *why);

/* The same, and says it on stderr. */
__attribute__((format(printf, 2, 3))) void bench_leave_out(const char *who, const char *format,
                                                           ...);

/* The peers that are asked for and not built in, and OpenBLAS's kernels: a line each. */
void bench_print_peers(const bench_options *options);

/* Prints the peers that are built in, a line each. */
void bench_print_built_in(void);

/* The same as bench_print_peers, and what was left out since:
 * {"openblas": {"kernels", "own", "config"} or null, "left_out": [{"name", "why"}, …]} */
json_t *bench_json_peers(const bench_options *options);

#endif
