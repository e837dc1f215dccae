/* The output of a run: a table on the terminal, and JSON and CSV files. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "runner.h"
#include "summary.h"

/* Format version of the JSON file, which results.schema.json describes. */
#define BENCH_JSON_VERSION 3

/* Print the table, at most 100 columns wide. */
void bench_print_heading(const char *suite, const char *about);
void bench_print_result(const bench_result *result);
void bench_print_summary(const bench_summary *summary);

/* Prints the row of a case without a result. */
void bench_print_failure(const char *name, const char *dtype, const char *why);

/* Shows the progress: cases done, and the seconds that are left (negative: not known). On a
 * terminal it is a line that is overwritten, otherwise nothing. */
void bench_progress(uint32_t done, uint32_t all, double left, const char *name);
void bench_progress_clear(void);

/* The contents of a result file other than results and summary. */
typedef struct bench_file {
    const bench_options *options;
    int argc;
    char **argv;
    double clock;               /* MHz before the run; 0: not known */
    const char *store, *energy; /* as in results.schema.json; energy may be NULL */
    bool predicted;
    struct json_t *devices, *failures; /* arrays, which stay the caller's */
} bench_file;

/* Sets up a file without devices and failures, which the caller releases. */
bench_file bench_file_begin(const bench_options *options, int argc, char **argv);
void bench_file_end(bench_file *file);

/* Returns the document of a result file, which takes over `results` and `summary`. */
struct json_t *bench_json_document(const bench_file *file, bool complete, struct json_t *results,
                                   struct json_t *summary);

/* Writes a temporary file and renames it to `path`, which is therefore complete at any time. On
 * failure, prints the reason to stderr and returns false. */
bool bench_write_json(const char *path, const bench_file *file, bool complete,
                      const bench_result *results, uint32_t count, const bench_summary *summary);
bool bench_write_csv(const char *path, const bench_result *results, uint32_t count);

/* Writes a text and a newline in the same way. */
bool bench_write_text(const char *path, const char *text);

/* Checks that `path` can be written; otherwise prints the reason to stderr and returns false. */
bool bench_can_write(const char *path);

#endif
