/*
 * Outcomes of tuning as a JSON file, which people can read: those of one device.
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
 * docs/performance.md says what each is. Without a JSON library these fail, and say so.
 */
#ifndef TENON_TOOLS_TUNE_FILE_H
#define TENON_TOOLS_TUNE_FILE_H

#include "dispatch/tuning.h"

/* Writes all outcomes of the context's device; a reader sees all of the file or nothing. False with
 * the reason on stderr. */
bool tune_file_export(tenon_context *context, const char *path);

/* Takes a file's outcomes into the store, if all of it is well: in the place of those there are
 * about the same problems, or with `merges` only where they are faster. False with the reason on
 * stderr. */
bool tune_file_import(tenon_context *context, const char *path, bool merges);

#endif
