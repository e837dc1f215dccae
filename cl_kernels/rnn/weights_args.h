/*
 * Arguments of the kernels of rnn/weights.cl. Offsets, strides and places are in elements; places
 * are in the workspace, whose elements have the accumulator's type.
 */
#ifndef TENON_RNN_WEIGHTS_ARGS_H
#define TENON_RNN_WEIGHTS_ARGS_H

#include "rnn/args.h"

/* Flags besides those of rnn/args.h, for outputs. */
#define RNN_HAS_DW          131072
#define RNN_HAS_DR          262144
#define RNN_HAS_DPROJECTION 524288

/* Factors of the products, each a matrix with a row for each step and sequence. */
#define RNN_FACTOR_INPUT  0 /* x */
#define RNN_FACTOR_STATE  1 /* h before the step */
#define RNN_FACTOR_RESET  2 /* r · h before the step */
#define RNN_FACTOR_OUTPUT 3 /* o · tanh(c) after the step */

typedef struct rnn_weights_args {
    tenon_i64 x_offset, y_offset, h0_offset, c0_offset, reserve_offset, lengths_offset,
        dgates_offset, dbias_offset, drecurrent_bias_offset, dpeephole_offset,
        work_offset;                        /* per call */
    tenon_i64 steps, batch, hidden, output; /* T, N, H, P */
    tenon_i64 x_stride[3], y_stride[4];     /* as in rnn/args.h */
    tenon_i64 h0_stride[3], c0_stride[3];   /* direction, sequence, unit */
    tenon_i64 lengths_stride;
    tenon_i64 dbias_stride[2], drecurrent_bias_stride[2], dpeephole_stride[2]; /* direction, row */
    tenon_i64 to, units;               /* of a factor: its place and columns */
    tenon_i64 columns, gates;          /* of a row of dgates: all, and those of the gates */
    tenon_i64 first;                   /* the column of the first gate */
    tenon_i64 gate[3], peephole_at[3]; /* columns of i f o, and their rows of dpeephole */
    tenon_i64 sums, peephole_sums;     /* places of the sums of parts: [direction][part][column] */
    tenon_i64 parts, rows_each;        /* parts of the rows, and rows of each */
    tenon_i32 factor;                  /* RNN_FACTOR_* */
    tenon_i32 flags;
} rnn_weights_args;

#endif
