/* Peers that run in a process of their own: a network in a library for Python. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include "../bench.h"
#include "../networks/networks.h"

/* Starts `command` followed by the name of the library, and sends it the network with n images. The
 * library's version becomes the way's algorithm. Returns false, and notes the reason, if `command`
 * is NULL, or if the program or the library is missing. */
bool bench_program_network(const char *command, const char *library, const bench_network *network,
                           int64_t n, bench_way *way);

#endif
