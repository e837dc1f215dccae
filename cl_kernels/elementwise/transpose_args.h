/* Arguments of the transposing copies. Offsets and strides are in elements. */
#ifndef TENON_TRANSPOSE_ARGS_H
#define TENON_TRANSPOSE_ARGS_H

#include "common/args.h"

/* Rows and columns of the tile that a work-group turns in local memory, and its work-items. */
#define TRANSPOSE_TILE  32
#define TRANSPOSE_ITEMS 8

typedef struct transpose_args {
    tenon_i64 offset[2];      /* of x and y */
    tenon_i64 columns, rows;  /* of y: x is contiguous down its rows, y along its columns */
    tenon_i64 x_step, y_step; /* of x from column to column, of y from row to row */
    tenon_i64 block_columns, block_rows; /* of a work-item or work-group */
    tenon_i64 blocks[2];                 /* along the columns, and along the rows */
    tenon_i64 shape[8];                  /* of the planes */
    tenon_i64 stride[2][8];
    tenon_i64 rank; /* of the planes; may be 0 */
} transpose_args;

#endif
