/* Arguments of the kernels of segments. Offsets and strides are in elements. */
#ifndef TENON_SEGMENT_ARGS_H
#define TENON_SEGMENT_ARGS_H

#include "scan/args.h"

/* Operands of a reduction, and of its gradient: rows are those of x or dx. */
enum { SEGMENT_X, SEGMENT_INDICES, SEGMENT_WEIGHTS, SEGMENT_SEGMENTS, SEGMENT_Y, SEGMENT_OPERANDS };

/* The kinds of a scan are numbered as there. */
#define SEGMENT_MEAN 4

/* Flags: operands that are present; the segments are given by the number of each position. Without
 * either, they have equal lengths. */
#define SEGMENT_HAS_INDICES 1
#define SEGMENT_HAS_WEIGHTS 2
#define SEGMENT_HAS_OFFSETS 4
#define SEGMENT_HAS_IDS     8
/* The gradient stores a row for each position instead of each row of dx. */
#define SEGMENT_EXPANDS 16
/* The workspace has the numbers of rows of the segments. */
#define SEGMENT_COUNTED 32

/* The views of the columns: x (dx) and y (dy). */
enum { SEGMENT_ROWS, SEGMENT_RESULTS, SEGMENT_VIEWS };

typedef struct segment_args {
    tenon_i64 offset[SEGMENT_OPERANDS];
    tenon_i64 rank;     /* of the columns, at least 1 */
    tenon_i64 shape[8]; /* of the columns */
    tenon_i64 stride[SEGMENT_VIEWS][8];
    tenon_i64 row_step[SEGMENT_VIEWS]; /* from a row, and from a segment, to the next one */
    tenon_i64 index_step, weight_step, segment_step;
    tenon_i64 segments, rows, positions;
    tenon_i64 lanes;  /* columns of a chunk: COLUMNS, or 1 if they are not contiguous */
    tenon_i64 chunks; /* of the columns */
    tenon_i64 each;   /* segments, or rows of the gradient, per work-item */
    tenon_i64 length; /* positions of a block */
    tenon_i64 values_at, counts_at; /* results and numbers of rows of blocks in the workspace; of
                                     * a gradient, numbers of rows of segments */
    tenon_i32 kind;
    tenon_i32 flags;
} segment_args;

/* Operands of a segmented scan. */
enum { SEGMENT_SCAN_X, SEGMENT_SCAN_SEGMENTS, SEGMENT_SCAN_Y, SEGMENT_SCAN_OPERANDS };

typedef struct segment_scan_args {
    axis_args axis;      /* x, segments, y */
    tenon_i64 workspace; /* start of the results of pieces, in elements of value_t */
    tenon_i64 begins_at; /* start of their marks, in 32-bit integers */
    tenon_i64 pieces;    /* per row */
    tenon_i64 length;    /* elements of a piece, in the order of the scan */
    tenon_i64 each;      /* rows per work-item if they are not split */
    tenon_i32 kind;
    tenon_i32 flags; /* as in a scan */
} segment_scan_args;

#endif
