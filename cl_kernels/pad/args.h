/* Arguments of the padding kernel. Offsets and strides are in elements. */
#ifndef TENON_PAD_ARGS_H
#define TENON_PAD_ARGS_H

#include "common/walk_args.h"

/* Values of tenon_pad_mode. */
#define PAD_CONSTANT 0
#define PAD_EDGE     1
#define PAD_REFLECT  2

typedef struct pad_args {
    walk_args walk;     /* over y: y, x */
    tenon_i64 size[8];  /* of x */
    tenon_i64 begin[8]; /* start of x in y */
    tenon_i64 value;    /* bits of an element */
    tenon_i32 mode;
    tenon_i32 reserved;
} pad_args;

#endif
