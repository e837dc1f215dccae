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

/* An array of 1 to 16 integers; the count is 0 if there is none. */
#define BENCH_MOST_LISTED 16
typedef struct bench_integers {
    int64_t values[BENCH_MOST_LISTED];
    size_t count;
} bench_integers;
/* Reads such an array, of which an integer stands for an array with one. A missing one leaves the
 * list unchanged, but is refused if the list is empty. */
bool bench_read_integers(const bench_reader *reader, const json_t *object, const char *name,
                         int64_t least, int64_t most, bench_integers *list);

/* Reads a text that is one of the names, and returns its position by `value`; a missing one leaves
 * it unchanged, unless it is required. */
bool bench_read_choice(const bench_reader *reader, const json_t *object, const char *name,
                       bool is_required, const char *const *names, size_t count, uint32_t *value);

/* Sets the place to a case of the suite. */
void bench_set_case(bench_reader *reader, const char *suite, size_t number);

/* Adds a case to the suite. Refuses one whose name an earlier case has. */
bool bench_add_case(const bench_reader *reader, const bench_shape_case *shape,
                    bench_shape_suite *to);

/* Checks that the member "source", if there is one, names a source of the file. */
bool bench_read_source(const bench_reader *reader, const json_t *object);

/* The most of any size: of a dimension, and of the elements of a tensor. */
#define BENCH_MOST_SIZE   (INT64_C(1) << 40)
#define BENCH_MOST_IMAGES (1 << 20)

/* Returns true if a tensor with these dimensions has at most BENCH_MOST_SIZE elements, for which
 * sizes and numbers of operations fit into 64 bits; otherwise prints a message. */
bool bench_tensor_fits(const bench_reader *reader, const char *what, int64_t a, int64_t b,
                       int64_t c);

/* Reads the cases of a suite: the functions for each kind. */
typedef bool bench_cases_reader(bench_reader *reader, const json_t *suite, bench_shape_suite *to);

bench_cases_reader bench_read_gemm, bench_read_conv, bench_read_calls, bench_read_activations,
    bench_read_passes, bench_read_image_calls, bench_read_pools, bench_read_packed,
    bench_read_recurrent, bench_read_collectives, bench_read_scaling, bench_read_networks,
    bench_read_historic;

/* Reads lines of recorded calls as the suite "recorded". `text` is used until the program ends. */
bool bench_read_recorded(bench_reader *reader, char *text);

/* Return false, with a message, if a line is not a valid call, and if a call on images is not valid
 * in both layouts. */
bool bench_check_call(const bench_reader *reader, const char *line);
bool bench_check_image_call(const bench_reader *reader, const bench_image_call *call);

#endif
