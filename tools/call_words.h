/* Parses calls given on the command line, in the syntax of `tenon check`. */
#ifndef TENON_TOOLS_CALL_WORDS_H
#define TENON_TOOLS_CALL_WORDS_H

#include "check/case.h"

/* Returns the type of a name; TENON_DTYPE_INVALID if there is none. */
tenon_dtype type_named(const char *name);

/* Parses the words of a call. The sizes of a product, 512x49x4608, expand to the views of 512 rows,
 * 49 columns and K = 4608, of the given `type`, which also replaces T. Errors are reported as a
 * failure of the command `asked`. */
tenon_status read_call(const char *asked, int argc, char **argv, const char *type, tn_case *c);

#endif
