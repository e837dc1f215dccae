/* Parses calls given on the command line, in the syntax of `tenon check`. */
#ifndef TENON_TOOLS_CALL_WORDS_H
#define TENON_TOOLS_CALL_WORDS_H

#include "command.h"

#include "check/case.h"

/* Returns the type of a name; TENON_DTYPE_INVALID if there is none. */
tenon_dtype type_named(const char *name);

/* Parses the words of a call. The sizes of a product, 512x49x4608, expand to the views of 512 rows,
 * 49 columns and K = 4608, of the given `type`, which also replaces T. Errors are reported as a
 * failure of the command `asked`. */
tenon_status read_call(const char *asked, const command_line *line, const char *type, tn_case *c);

/* The options of a call: of its random values. CALL_OPTIONS are their entries in a table; `shown`
 * is true if the help has them. */
typedef struct call_options {
    uint64_t seed;
    bool integers;
} call_options;

#define CALL_OPTIONS(call, shown)                                                                  \
    {"seed",                                                                                       \
     OPTION_COUNT,                                                                                 \
     &(call)->seed,                                                                                \
     "N",                                                                                          \
     (shown) ? "seed of the random values; default 1" : NULL,                                      \
     0,                                                                                            \
     SEED_MOST},                                                                                   \
    {                                                                                              \
        "integers", OPTION_FLAG, &(call)->integers, NULL,                                          \
            (shown) ? "small integers as inputs: the result must be exact" : NULL                  \
    }

#endif
