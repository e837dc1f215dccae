/* Arguments of the kernels of the gradient of grid sampling. */
#ifndef TENON_GRID_SAMPLE_BACKWARD_ARGS_H
#define TENON_GRID_SAMPLE_BACKWARD_ARGS_H

#include "grid_sample/args.h"

typedef struct grid_backward_args {
    grid_args forward; /* y is dy; count is that of the work-items of dx, or of the places */
    tenon_i64 dx_offset, dgrid_offset, sums_offset;
    tenon_i64 dx_stride[5], dgrid_stride[5];
    tenon_i64 bands, rows_each; /* bands of rows of dx, and rows of a band */
} grid_backward_args;

#endif
