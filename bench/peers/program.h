/* Peers that run in a process of their own: calls, networks and training steps in
 * libraries for Python. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include "../bench.h"
#include "../networks/historic.h"

#include <stddef.h>

/* A range of host memory. */
typedef struct bench_bytes {
    const void *data;
    size_t size;
} bench_bytes;

/* Starts `command` followed by the name of the library, and sends it a line that describes the work
 * (NULL fails) and the bytes. The program's version becomes the way's algorithm. Returns false, and
 * notes the reason, if `command` is NULL or the library is not there. */
bool bench_program_start(const char *command, const char *library, const char *line,
                         const bench_bytes *bytes, uint32_t count, bench_way *way);

/* Sends another line to the program and reads its answer, a line. Returns false if it has ended. */
bool bench_program_ask(const bench_way *way, const char *line, char *answer, int size);

/* Starts `command` followed by the name of the library, and sends it the network with n images. The
 * library's version becomes the way's algorithm. Returns false, and notes the reason, if `command`
 * is NULL, or if the program or the library is missing. */
bool bench_program_network(const char *command, const char *library, const bench_network *network,
                           int64_t n, bench_way *way);

/* Starts the session's program with NumPy and a workload's initial values, lets it take one step,
 * and compares the results with Tenon's. Returns false, and notes the reason, as above, or if they
 * differ. */
bool bench_program_step(bench_session *session, bench_historic *historic, bench_way *way);

#endif
