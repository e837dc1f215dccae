/* Kernels of the benchmark's own, and what JSON says of where they run. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench.h"

#include <jansson.h>

/* Builds a source with options; `log`, unless NULL, receives what the compiler says, for the caller
 * to free. NULL where it does not build. */
cl_program bench_build(const bench_session *session, const char *source, size_t length,
                       const char *options, char **log);

/* The same of a file of bench/kernels, "ceilings" or "matrix_peak". */
cl_program bench_build_own(const bench_session *session, const char *name, const char *options,
                           char **log);

/* Sets arguments 0, 1, … from a list of sizes and values that ends with a size of 0, as in
 * bench_arguments(kernel, sizeof x, &x, sizeof count, &count, (size_t)0). */
bool bench_arguments(cl_kernel kernel, ...);

/* Launches on the session's queue, one dimension; what OpenCL says to that. */
cl_int bench_launch(const bench_session *session, cl_kernel kernel, size_t global, size_t local);

json_t *bench_json_device(const bench_session *session);
json_t *bench_json_host(void);
/* "2026-11-21T18:00:00Z" */
json_t *bench_json_date(void);
/* What every file of results says: where and by which command; takes the references to both. */
json_t *bench_json_document(const bench_session *session, int argc, char **argv, bool complete,
                            json_t *results, json_t *summary);
/* Writes beside `path` and renames, and releases the document; false, with why on stderr, where
 * that fails. With no path, to the standard output. */
bool bench_json_write(const char *path, json_t *document);

#endif
