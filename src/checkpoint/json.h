/* A scanner for the JSON of safetensors headers: strings, integers and punctuation. It decodes
 * strings in place. */
#ifndef TN_CHECKPOINT_JSON_H
#define TN_CHECKPOINT_JSON_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_json {
    const char *caller, *path; /* for messages */
    tenon_status invalid;      /* status for invalid text */
    char *begin, *at, *end;
} tn_json;

/* Returns the length in bytes of the UTF-8 character at `at`; 0 if it is not valid. A NUL is valid
 * here. */
size_t tn_utf8_length(const char *at, const char *end);

/* Returns true if the whole string is UTF-8. */
bool tn_utf8_is_valid(const char *text);

/* Fails at the current place: "CALLER: PATH: header, byte N: expected WHAT". */
tenon_status tn_json_fail(const tn_json *json, const char *expected);

/* Skips white space. Returns true, after skipping it too, if `c` is next. */
bool tn_json_take(tn_json *json, char c);

/* Fails unless `c` is next. */
tenon_status tn_json_want(tn_json *json, char c);

/* Reads a string, which is decoded in place and terminated by a NUL. A string with a NUL inside is
 * rejected. */
tenon_status tn_json_string(tn_json *json, const char **text);

/* Reads an integer from 0 to 2^64 - 1, without fraction and exponent. */
tenon_status tn_json_integer(tn_json *json, uint64_t *value);

/* Fails unless only white space is left. */
tenon_status tn_json_finish(tn_json *json);

#endif
