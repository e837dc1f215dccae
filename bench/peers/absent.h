/* Peers that are left out, with the reason, and the processor whose kernels OpenBLAS runs. */
#ifndef BENCH_ABSENT_H
#define BENCH_ABSENT_H

#include "bench.h"

#include <jansson.h>

/* Records that a peer, or a component that some peers need, cannot be used; the first reason of
 * each is kept. Returns false if one was recorded already. */
bool bench_note_absent(const char *who, const char *why);

/* Records it as bench_note_absent does, and prints it to stderr. */
__attribute__((format(printf, 2, 3))) void bench_leave_out(const char *who, const char *format,
                                                           ...);

/* Records the version of a peer; the first one of each is kept. */
void bench_note_version(const char *peer, const char *version);

/* Prints the requested peers that are not built in, OpenBLAS's version and kernels, and oneDNN's
 * version, a line each. */
void bench_print_peers(const bench_options *options);

/* Prints the peers that are built in, a line each. */
void bench_print_built_in(void);

/* Returns the output of bench_print_peers, and the versions and the peers left out since:
 * {"openblas": {"kernels", "own", "config"} or null, "openblas-pypi": the same, "onednn": version
 * or null, "versions": {…}, "left_out": [{"name", "why"}, …]} */
json_t *bench_json_peers(const bench_options *options);

#endif
