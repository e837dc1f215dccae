/* The device under test, treated as a device that is not installed: plans made for it list the
 * kernels that they would launch. Each is built here, and the compiler's report on it is recorded.
 */
#ifndef BENCH_MIRROR_H
#define BENCH_MIRROR_H

#include "bench.h"

#include <jansson.h>

typedef struct bench_mirror {
    const bench_session *session;
    tenon_context *context;
    const char *call; /* the current call */
    json_t *kernels;
    double predicted;
} bench_mirror;

/* Opens the mirror. The device's capabilities must have been probed. On failure, prints the reason
 * to stderr and returns false. */
bool bench_mirror_open(const bench_session *session, bench_mirror *mirror);
void bench_mirror_close(bench_mirror *mirror);

/* Makes the plan of a call, in the syntax of "tenon check", with a solver (NULL: the automatic
 * choice). Adds an object for each kernel to `kernels`. `predicted`, unless NULL, receives the
 * device model's estimate in nanoseconds; negative if there is none. If no plan can be made, prints
 * the reason to stderr and returns false. */
bool bench_mirror_plan(bench_mirror *mirror, const char *line, const char *solver, json_t *kernels,
                       double *predicted);

/* Returns the two lines of NVIDIA's PTX that name its version and its target; null for other
 * binaries. */
json_t *bench_first_lines(cl_program program);

#endif
