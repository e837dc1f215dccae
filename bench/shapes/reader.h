/* Reading members of a JSON document with messages that name the file and the place. */
#ifndef BENCH_SHAPES_READER_H
#define BENCH_SHAPES_READER_H

#include "shapes.h"

#include <jansson.h>

/* A place in a file. */
typedef struct bench_reader {
    const char *file;
    char place[96]; /* for example "suites[1].cases[3]" */
    const json_t *sources;
} bench_reader;

/* Prints "FILE: PLACE: " and the message by bench_complain, and returns false. */
__attribute__((format(printf, 2, 3))) bool bench_refuse(const bench_reader *reader,
                                                        const char *format, ...);

/* Returns false if the object has a member that is not in the list, which ends with NULL, or if it
 * is no object. */
bool bench_only_known(const bench_reader *reader, const json_t *object, const char *const *names);

/* Read a member; a missing one leaves the value unchanged, unless it is required. */
bool bench_read_text(const bench_reader *reader, const json_t *object, const char *name,
                     bool is_required, const char **value);
bool bench_read_integer(const bench_reader *reader, const json_t *object, const char *name,
                        bool is_required, int64_t least, int64_t most, int64_t *value);
bool bench_read_flag(const bench_reader *reader, const json_t *object, const char *name,
                     bool *value);

/* Checks that the member "source", if there is one, names a source of the file. */
bool bench_read_source(const bench_reader *reader, const json_t *object);

/* Read the cases of a suite from the JSON array, NULL if there is none. */
bool bench_read_gemm(bench_reader *reader, const json_t *suite, bench_shape_suite *to);
bool bench_read_conv(bench_reader *reader, const json_t *suite, bench_shape_suite *to);
bool bench_read_calls(bench_reader *reader, const json_t *suite, bench_shape_suite *to);

/* Reads lines of recorded calls as the suite "recorded". `text` is used until the program ends. */
bool bench_read_recorded(bench_reader *reader, char *text);

/* Returns false, with a message, if a line is not a valid call. */
bool bench_check_call(const bench_reader *reader, const char *line);

#endif
