/* Arguments of the kernels for convolutions of i8 and u8. Strides and offsets are in elements. */
#ifndef TENON_CONV_INT8_ARGS_H
#define TENON_CONV_INT8_ARGS_H

#include "conv/args.h"
#include "gemm/int8_args.h"

/* `product` describes the result as a product whose rows are pixels and whose columns are filters:
 * its strides along the columns are those along the filters. */
typedef struct conv_int8_args {
    int8_args product;
    tenon_i64 x_stride[5], w_stride[5], c_stride[5], y_stride[5];
    tenon_i64 group_channels, group_filters; /* channels and filters per group */
    conv_window window;
} conv_int8_args;

/* col[n, o * p * q, taps], where the taps of a group have the order t, r, s, c if channel_last is
 * set, and c, t, r, s otherwise. */
typedef struct conv_int8_columns_args {
    tenon_i64 x_offset, col_offset, zero_offset; /* set per call */
    tenon_i64 x_stride[5];
    tenon_i64 channels, taps;
    tenon_i64 run; /* taps per work-item */
    conv_window window;
    tenon_i32 channel_last, has_zero;
} conv_int8_columns_args;

#endif
