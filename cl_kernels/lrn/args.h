/* Arguments of the kernels of local response normalization. Strides are in elements. */
#ifndef TENON_LRN_ARGS_H
#define TENON_LRN_ARGS_H

#include "common/walk_args.h"

/* Powers d^-beta that need no pow(). */
#define LRN_ANY            0
#define LRN_HALF           1
#define LRN_THREE_QUARTERS 2
#define LRN_ONE            3

typedef struct lrn_args {
    walk_args walk; /* over y: x, y; or x, dx, dy. The channels are one dimension */
    tenon_i64 channels;
    tenon_i64 step[3];        /* between channels, in the order of the walk */
    tenon_i64 before, after;  /* channels of a sum on either side */
    tenon_i64 alpha, beta, k; /* bits of an acc_t; alpha is divided by the size */
    tenon_i32 dimension;      /* of the walk, that of the channels */
    tenon_i32 power;          /* LRN_* */
} lrn_args;

#endif
