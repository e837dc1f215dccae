/* The device under test, taken for one that is not there: plans made for it tell which kernels they
 * would launch, each of which is built here with the compiler's own account of it. */
#ifndef BENCH_MIRROR_H
#define BENCH_MIRROR_H

#include "bench.h"

#include <jansson.h>

typedef struct bench_mirror {
    const bench_session *session;
    tenon_context *context;
    const char *call; /* at hand */
    json_t *kernels;
    double predicted;
} bench_mirror;

/* What the device can do has been tried before. False, with why on stderr. */
bool bench_mirror_open(const bench_session *session, bench_mirror *mirror);
void bench_mirror_close(bench_mirror *mirror);

/* Makes the plan of a call, in the words of "tenon check", by a solver (NULL: the automatic
 * choice). Adds an object for each kernel to `kernels`. `predicted`, unless NULL, receives the
 * nanoseconds of the device model; negative where it has none. False, with why on stderr, where
 * there is no plan.
 */
bool bench_mirror_plan(bench_mirror *mirror, const char *line, const char *solver, json_t *kernels,
                       double *predicted);

/* The two lines of NVIDIA's PTX that name its version and its target; null where there is none. */
json_t *bench_first_lines(cl_program program);

#endif
