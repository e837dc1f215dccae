/* Arguments of the transposing copies. Offsets and strides are in elements. */
#ifndef TENON_TRANSPOSE_ARGS_H
#define TENON_TRANSPOSE_ARGS_H

#include "common/args.h"

/* Rows and columns of the tile that a work-group transposes in local memory, and the second
 * dimension of its local size. */
#define TRANSPOSE_TILE  32
#define TRANSPOSE_ITEMS 8

typedef struct transpose_args {
    tenon_i64 offset[2];      /* of x and y */
    tenon_i64 columns, rows;  /* of y; x is contiguous in the row index, y in the column index */
    tenon_i64 x_step, y_step; /* strides of x from column to column, and of y from row to row */
    tenon_i64 block_columns, block_rows; /* per work-item or work-group */
    tenon_i64 blocks[2];                 /* along the columns, and along the rows */
    tenon_i64 shape[8];                  /* of the planes */
    tenon_i64 stride[2][8];
    tenon_i64 rank; /* number of plane dimensions; may be 0 */
} transpose_args;

#endif
