/* Arguments of the gradient of the parametric ReLU: views x, slope, dy, dx, dslope. */
#ifndef TENON_PRELU_ARGS_H
#define TENON_PRELU_ARGS_H

#include "common/args.h"

#define PRELU_VIEWS 5
#define PRELU_RANK  9 /* dimensions of a tensor, and one of size 1 */

/* The first `kept` dimensions, at least one, are those of slope. The kernel sums over the
 * others, of which there is at least one. The summed elements are divided into units, which are
 * assigned to segments. */
typedef struct prelu_args {
    tenon_i64 offset[PRELU_VIEWS]; /* elements */
    tenon_i64 partial;             /* offset of the workspace, in elements */
    tenon_i64 slopes;              /* product of the kept sizes */
    tenon_i64 slopes_each;         /* per work-item */
    tenon_i64 units;
    tenon_i64 units_each;   /* per segment */
    tenon_i64 unit_step;    /* from one unit of a segment to the next */
    tenon_i64 segment_step; /* from the first unit of a segment to the first of the next */
    tenon_i64 segments;     /* 1: sums are final results */
    tenon_i64 pieces;       /* units per row */
    tenon_i64 chunk;        /* elements of a unit */
    tenon_i64 shape[PRELU_RANK];
    tenon_i64 stride[PRELU_VIEWS][PRELU_RANK]; /* elements */
    tenon_i32 kept, rank;
} prelu_args;

#endif
