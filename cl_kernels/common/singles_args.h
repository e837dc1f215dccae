/* Arguments of kernels with lines_args and a few more numbers, for example the offsets of operands
 * of a single element. */
#ifndef TENON_COMMON_SINGLES_ARGS_H
#define TENON_COMMON_SINGLES_ARGS_H

#include "common/lines_args.h"

#define TENON_LINES_SINGLES 2

typedef struct singles_args {
    lines_args lines;
    tenon_i64 single[TENON_LINES_SINGLES]; /* of an operand: its offset, in elements */
} singles_args;

#endif
