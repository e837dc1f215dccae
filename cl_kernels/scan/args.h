/* Arguments of the scan kernels. Offsets and strides are in elements. */
#ifndef TENON_SCAN_ARGS_H
#define TENON_SCAN_ARGS_H

#include "common/axis_args.h"

/* Values of tenon_scan_kind. */
#define SCAN_SUM     0
#define SCAN_PRODUCT 1
#define SCAN_MAX     2
#define SCAN_MIN     3

/* Flags, with the values of TENON_SCAN_EXCLUSIVE and TENON_SCAN_REVERSE. */
#define SCAN_EXCLUSIVE 1
#define SCAN_REVERSE   2

/* Elements of a block. Each block is scanned by itself, from zero (or one), and the result of all
 * blocks before it is combined with each of its elements. This limits the number of roundings
 * (docs/numerics.md). */
#define SCAN_BLOCK 1024

enum { SCAN_X, SCAN_Y, SCAN_OPERANDS };

typedef struct scan_args {
    axis_args axis;      /* x, y */
    tenon_i64 workspace; /* start of the results of pieces, in elements of value_t */
    tenon_i64 pieces;    /* per row */
    tenon_i64 length;    /* elements of a piece, in the order of the scan */
    tenon_i64 each;      /* rows per work-item if they are not split; vectors per line (columns) */
    tenon_i32 kind;
    tenon_i32 flags;
} scan_args;

#endif
