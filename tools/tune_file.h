/* The results of tuning on one device, as a human-readable JSON file:
 *
 *   {
 *     "format": "tenon tuning",
 *     "version": 1,
 *     "machine": {"library": …, "platform": …, "driver": …, "device": …, "processor": …},
 *     "device": {"name": …, "kind": …, "compute_units": …, "cache": …, "speed": {…}},
 *     "outcomes": [
 *       {"call": …, "solver": …, "nanoseconds": …, "candidates": …, "searched": …, "key": …}, …
 *     ]
 *   }
 *
 * docs/performance.md describes the fields. Without a JSON library these functions print an error
 * and fail. */
#ifndef TENON_TOOLS_TUNE_FILE_H
#define TENON_TOOLS_TUNE_FILE_H

#include "dispatch/tuning.h"

/* Writes all results of the context's device; a reader sees the complete file or none. On failure,
 * prints the reason to stderr and returns false. */
bool tune_file_export(tenon_context *context, const char *path);

/* Validates a file and stores its results. They replace the stored results of the same problems,
 * with `merges` only if they are faster. On failure, prints the reason to stderr and returns false.
 */
bool tune_file_import(tenon_context *context, const char *path, bool merges);

#endif
