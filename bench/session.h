/* Shared code of the commands that measure cases: the device under test, the selected cases, and
 * the end of the program. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench.h"

#define BENCH_WRONG_USE   2
#define BENCH_INTERRUPTED 130 /* exit status for SIGINT, as in shells */

/* Open and close the device selected by the options. If opening fails, prints the reason to stderr
 * and returns false; nothing remains open. */
bool bench_open_session(bench_session *session);
void bench_close_session(bench_session *session);

void bench_print_device(const tenon_device_info *device);

/* A case in one type. */
typedef struct bench_entry {
    const bench_suite *suite;
    uint32_t number;
    tenon_dtype dtype;
} bench_entry;

/* Returns all selected cases; the caller frees them. */
bench_entry *bench_entries_of(const bench_options *options, uint32_t *count);

/* Prints to stderr that the options select no case. */
void bench_complain_no_case(const bench_options *options);

/* Makes the next SIGINT and SIGTERM set bench_interrupted; a second one ends the program. */
void bench_catch_interrupts(void);

#endif
