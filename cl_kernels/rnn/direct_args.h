/* Arguments of the kernel of rnn/direct.cl, in elements. */
#ifndef TENON_RNN_DIRECT_ARGS_H
#define TENON_RNN_DIRECT_ARGS_H

#include "rnn/args.h"

typedef struct rnn_direct_args {
    rnn_args layer;
    tenon_i64 sums; /* place of the products with h: as `gates`, for one step */
    tenon_i64 x_offset, w_offset, r_offset, bias_offset, recurrent_bias_offset, h0_offset,
        c0_offset; /* per call */
    tenon_i64 inputs;
    tenon_i64 x_stride[2], w_stride[2], r_stride[2]; /* of all but the last dimension */
    tenon_i64 bias_stride[2], recurrent_bias_stride[2], h0_stride[2], c0_stride[3];
    tenon_i64 row[4]; /* first rows of the gates in w and r; number 3 of a GRU is its n again */
} rnn_direct_args;

#endif
