/* Arguments of the kernels that rearrange elements. Offsets and strides are in elements. */
#ifndef TENON_REARRANGE_ARGS_H
#define TENON_REARRANGE_ARGS_H

#include "common/walk_args.h"

/* Views of a walk over y. The last one is not in memory: its "offset" of an element is a number of
 * the element, as each kernel states. */
#define REARRANGE_Y      0
#define REARRANGE_X      1
#define REARRANGE_LIST   2 /* lengths or indices */
#define REARRANGE_NUMBER 3
#define REARRANGE_VIEWS  4

typedef struct rearrange_args {
    walk_args walk;
    tenon_i64 size[8];  /* of x */
    tenon_i64 begin[8]; /* index in x of y's first element, before reversal */
    tenon_i64 flips;    /* bit d: dimension d is reversed */
} rearrange_args;

typedef struct triangle_args {
    walk_args walk; /* the number is column - row, or for upper triangles row - column */
    tenon_i64 most; /* number of the diagonal: the triangle has the elements up to it */
    tenon_i64 value;
} triangle_args;

typedef struct reverse_args {
    walk_args walk; /* the number is the position along the axis, along which x has stride 0 */
    tenon_i64 size; /* of the axis */
    tenon_i64 step; /* stride of x along the axis */
} reverse_args;

typedef struct one_hot_args {
    walk_args walk; /* the number is the class */
    tenon_i64 classes;
    tenon_i64 on, off;  /* bits of elements */
    tenon_i64 from_end; /* 1: negative indices count from the end */
} one_hot_args;

#endif
