/* What the commands that measure cases share: the device under test, which cases are asked for, and
 * how the program ends. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench.h"

#define BENCH_WRONG_USE   2
#define BENCH_INTERRUPTED 130 /* as shells have it for SIGINT */

/* Opens what the options name; false, with why on stderr. Whatever is open is closed. */
bool bench_open_session(bench_session *session);
void bench_close_session(bench_session *session);

void bench_print_device(const tenon_device_info *device);

/* A case in one type, by number. */
typedef struct bench_entry {
    const bench_suite *suite;
    uint32_t number;
    tenon_dtype dtype;
} bench_entry;

/* All cases that are asked for; the caller frees them. */
bench_entry *bench_entries_of(const bench_options *options, uint32_t *count);

/* From now on SIGINT and SIGTERM set bench_interrupted. */
void bench_catch_interrupts(void);

#endif
