/* Arguments of the kernels pool/lines. */
#ifndef TENON_POOL_LINES_ARGS_H
#define TENON_POOL_LINES_ARGS_H

#include "pool/windows_args.h"

typedef struct pool_lines_args {
    pool_windows_args windows; /* count and each are those of lines */
    tenon_i64 chunk;           /* elements of a line per work-item */
} pool_lines_args;

#endif
