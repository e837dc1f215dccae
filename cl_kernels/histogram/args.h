/* Arguments of the histogram kernels. Offsets and strides are in elements. */
#ifndef TENON_HISTOGRAM_ARGS_H
#define TENON_HISTOGRAM_ARGS_H

#include "common/args.h"

enum { HISTOGRAM_X, HISTOGRAM_EDGES, HISTOGRAM_WEIGHTS, HISTOGRAM_Y, HISTOGRAM_OPERANDS };

/* Flags: operands that are present; the elements are the numbers of their bins. Without edges and
 * indices, bins have equal widths. */
#define HISTOGRAM_HAS_EDGES   1
#define HISTOGRAM_HAS_WEIGHTS 2
#define HISTOGRAM_INDICES     4

/* The index space of x and the weights. */
enum { HISTOGRAM_SPACE_X, HISTOGRAM_SPACE_WEIGHTS, HISTOGRAM_VIEWS };

typedef struct histogram_args {
    tenon_i64 offset[HISTOGRAM_OPERANDS];
    tenon_i64 rank;     /* at least 1 */
    tenon_i64 shape[8]; /* of x in row-major order, merged */
    tenon_i64 stride[HISTOGRAM_VIEWS][8];
    tenon_i64 edge_step, y_step;
    tenon_i64 bins;
    tenon_i64 elements;
    tenon_i64 length; /* elements per block */
    tenon_i64 blocks;
    tenon_i64 each;             /* bins per work-item that adds the blocks */
    tenon_i64 workspace;        /* start of the bins of the blocks, in elements of y */
    tenon_i64 low, high, scale; /* bits of acc_t: the range, and bins per unit of x */
    tenon_i32 flags;
    tenon_i32 reserved;
} histogram_args;

#endif
