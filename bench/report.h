/* What a run leaves behind: a table on the terminal, and files of JSON and CSV. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "runner.h"
#include "summary.h"

/* The version of the form of the JSON file; results.schema.json describes it. */
#define BENCH_JSON_VERSION 2

/* The table, at most 100 columns wide. */
void bench_print_heading(const char *suite, const char *about);
void bench_print_result(const bench_result *result);
void bench_print_summary(const bench_summary *summary);

/* How much is done and how long the rest will take: on a terminal as one line that is replaced, and
 * nothing elsewhere. */
void bench_progress(uint32_t done, uint32_t all, double seconds, const char *name);
void bench_progress_clear(void);

/* Each writes to a new file beside `path` and then renames it, so that `path` is whole at any time;
 * false, with why on stderr, where that fails. */
bool bench_write_json(const char *path, const bench_session *session, int argc, char **argv,
                      bool complete, const bench_result *results, uint32_t count,
                      const bench_summary *summary);
bool bench_write_csv(const char *path, const bench_result *results, uint32_t count);

/* The same of a text and a line's end. */
bool bench_write_text(const char *path, const char *text);

/* Opens the file that will become `path`; NULL, with why on stderr, where it cannot be written. */
bool bench_can_write(const char *path);

#endif
