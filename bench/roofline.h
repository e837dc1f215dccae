/* The ceilings of a device, measured once and stored, and the time that they allow a case. */
#ifndef BENCH_ROOFLINE_H
#define BENCH_ROOFLINE_H

#include "bench.h"

#include <jansson.h>

/* Returns {"date", "limits"} of the session's device from its store; NULL if the store is off or
 * has none. The caller releases it. */
json_t *bench_ceilings_stored(const bench_session *session);

/* Stores them for this device and driver. */
void bench_ceilings_store(const bench_session *session, const json_t *ceilings);

/* Returns the nanoseconds that a call of the case needs at least by the ceilings, and the name of
 * the one that binds: the arithmetic of its type, the bandwidth of the fastest memory that holds
 * the operands, or a launch. Returns 0, and "", if `ceilings` is NULL or none of them applies. */
double bench_attainable(const json_t *ceilings, const bench_case *bench, char name[64]);

/* Prints the ceilings with their spread, a line each. */
void bench_print_ceilings(const json_t *ceilings);

#endif
