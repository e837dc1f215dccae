/* Calls from the command line, in the words of `tenon check`. */
#ifndef TENON_TOOLS_CALL_WORDS_H
#define TENON_TOOLS_CALL_WORDS_H

#include "check/case.h"

/* TENON_DTYPE_INVALID for what is no type. */
tenon_dtype type_named(const char *name);

/* The words of a call; a product's sizes, 512x49x4608, stand for the views of 512 rows, 49 columns
 * and 4608 steps of K. `type` is theirs, and what T stands for. What is wrong is
 * told as a failure of the command `asked`. */
tenon_status read_call(const char *asked, int argc, char **argv, const char *type, tn_case *c);

#endif
