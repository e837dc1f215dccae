/* Arguments of kernels with lines_args that also read operands of a single element. */
#ifndef TENON_COMMON_SINGLES_ARGS_H
#define TENON_COMMON_SINGLES_ARGS_H

#include "common/lines_args.h"

#define TENON_LINES_SINGLES 2

typedef struct singles_args {
    lines_args lines;
    tenon_i64 single[TENON_LINES_SINGLES]; /* offsets, in elements */
} singles_args;

#endif
