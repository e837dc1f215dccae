/* The output of a run: a table on the terminal, and JSON and CSV files. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "runner.h"
#include "summary.h"

/* Format version of the JSON file, which results.schema.json describes. */
#define BENCH_JSON_VERSION 2

/* Print the table, at most 100 columns wide. */
void bench_print_heading(const char *suite, const char *about);
void bench_print_result(const bench_result *result);
void bench_print_summary(const bench_summary *summary);

/* Shows the progress and the remaining time: on a terminal as a line that is overwritten, otherwise
 * not at all. */
void bench_progress(uint32_t done, uint32_t all, double seconds, const char *name);
void bench_progress_clear(void);

/* Writes a temporary file and renames it to `path`, which is therefore complete at any time. On
 * failure, prints the reason to stderr and returns false. */
bool bench_write_json(const char *path, const bench_session *session, int argc, char **argv,
                      bool complete, const bench_result *results, uint32_t count,
                      const bench_summary *summary);
bool bench_write_csv(const char *path, const bench_result *results, uint32_t count);

/* Writes a text and a newline in the same way. */
bool bench_write_text(const char *path, const char *text);

/* Checks that `path` can be written; otherwise prints the reason to stderr and returns false. */
bool bench_can_write(const char *path);

#endif
