/* Arguments of the fill kernel. */
#ifndef TENON_TENSOR_ARGS_H
#define TENON_TENSOR_ARGS_H

#include "common/args.h"

typedef struct fill_args {
    tenon_i64 offset; /* elements */
    tenon_i64 value;  /* bits of the element, in the low bytes */
    tenon_i64 elements;
    tenon_i64 shape[8];
    tenon_i64 stride[8]; /* elements */
    tenon_i32 rank, reserved;
} fill_args;

#endif
