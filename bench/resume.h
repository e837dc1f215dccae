/* Results of an earlier, interrupted run of the same command. */
#ifndef BENCH_RESUME_H
#define BENCH_RESUME_H

#include "report.h"

#include <jansson.h>

/* The results of an earlier run, which point into `document`. */
typedef struct bench_resumed {
    json_t *document; /* NULL: there is none to resume */
    bench_result *results;
    uint32_t count;
} bench_resumed;

/* Reads the document that an incomplete run of the same command and build wrote to the file of
 * --json; the caller releases it. Anything else is not resumed: `document` is NULL. A file that is
 * not a complete JSON document, or of another program, is refused: prints the reason to stderr and
 * returns false, so that it is not overwritten. */
bool bench_resume_document(const bench_file *file, json_t **document);

/* Does the same, and reads the results of run. */
bool bench_resume(const bench_file *file, bench_resumed *resumed);
void bench_resume_end(bench_resumed *resumed);

/* Returns true if the device with this number is the one that the earlier run, which wrote
 * `document` (NULL: none), measured. */
bool bench_resumed_device(const json_t *document, uint32_t number, const json_t *device);

/* Returns the earlier result of a case, or NULL. `solver`: the requested one, or NULL. */
const bench_result *bench_resumed_result(const bench_resumed *resumed, uint32_t device,
                                         const char *suite, const char *name, tenon_dtype dtype,
                                         const char *solver);

#endif
