/* Kernels of the benchmark itself, and the JSON description of the device and host. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench.h"

#include <jansson.h>

/* Builds a source with options. `log`, unless NULL, receives the compiler's output, which the
 * caller frees. Returns NULL if the build fails. */
cl_program bench_build(const bench_session *session, const char *source, size_t length,
                       const char *options, char **log);

/* bench_build for a file of bench/kernels, "ceilings" or "matrix_peak". */
cl_program bench_build_own(const bench_session *session, const char *name, const char *options,
                           char **log);

/* Sets arguments 0, 1, … from a list of sizes and values that is terminated by a size of 0, as in
 * bench_arguments(kernel, sizeof x, &x, sizeof count, &count, (size_t)0). */
bool bench_arguments(cl_kernel kernel, ...);

/* Launches a kernel on the session's queue, in one dimension. Returns OpenCL's code. */
cl_int bench_launch(const bench_session *session, cl_kernel kernel, size_t global, size_t local);

json_t *bench_json_device(const bench_session *session);

/* Returns a member of an object; "" or 0 if it is missing or of another type. */
const char *bench_json_text(const json_t *object, const char *member);
double bench_json_number(const json_t *object, const char *member);

/* "2026-11-21T18:00:00Z" */
json_t *bench_json_date(void);
/* Writes the document to a temporary file that is renamed to `path`, or to standard output if
 * `path` is NULL, and releases it. On failure, prints the reason to stderr and returns false. */
bool bench_json_write(const char *path, json_t *document);

#endif
