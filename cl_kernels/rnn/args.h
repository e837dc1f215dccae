/*
 * Arguments of the kernels of recurrent layers. Offsets, strides and places are in elements; places
 * are in the workspace, whose elements have the accumulator's type.
 *
 * The workspace holds, for each direction d and sequence n:
 *   gates     products W x of all steps: gate_stride[] gives their strides by d, step and n
 *   panels    R in panels of `panel` units: [d][panel][k][gate][unit]
 *   second    the same for the second product of a step (a GRU's n, or the projection)
 *   bias      [d][RNN_BIASES][padded]
 *   peephole  [d][3][padded], in the order i f o
 *   state     [2][d][n][padded_output]: h after even and after odd steps
 *   cell      [d][n][padded]: c
 *   product   [d][n][padded]: the vector that the second product multiplies
 *   update    [d][n][padded]: z of a GRU whose n is computed by the second product
 *
 * rnn/shared keeps the values of every step: state and cell have steps + 1 as an additional first
 * dimension, product and update have steps. It also has
 *   progress  [work-group][RNN_PROGRESS]: an int that counts the products of which the work-group
 *             has computed its share
 */
#ifndef TENON_RNN_ARGS_H
#define TENON_RNN_ARGS_H

#include "common/args.h"

/* Flags. */
#define RNN_HAS_BIAS           1
#define RNN_HAS_RECURRENT_BIAS 2
#define RNN_HAS_PEEPHOLE       4
#define RNN_HAS_PROJECTION     8
#define RNN_HAS_LENGTHS        16
#define RNN_HAS_H0             32
#define RNN_HAS_C0             64
#define RNN_HAS_HN             128
#define RNN_HAS_CN             256
#define RNN_HAS_RESERVE        512
#define RNN_IS_RELU            1024
#define RNN_REVERSE_0          2048 /* direction 0 is reverse */
#define RNN_BOTH               4096 /* there is a direction 1, in reverse */
#define RNN_HAS_DY             8192
#define RNN_HAS_DX             16384
#define RNN_HAS_DHN            32768
#define RNN_HAS_DCN            65536

/* Cells, each a build of its own: a simple RNN, an LSTM, and GRUs with the reset before and after
 * the product. */
#define RNN_CELL_SIMPLE    0
#define RNN_CELL_LSTM      1
#define RNN_CELL_GRU       2
#define RNN_CELL_GRU_AFTER 3

/* Gates of a cell; those of the first product of a step, which begin the list; its biases; and the
 * values of a step in the reserve. The order of an LSTM's gates is i f g o, that of a GRU's z r n.
 */
#define RNN_GATES_OF(cell)  ((cell) == RNN_CELL_SIMPLE ? 1 : (cell) == RNN_CELL_LSTM ? 4 : 3)
#define RNN_FIRST_OF(cell)  ((cell) == RNN_CELL_GRU ? 2 : RNN_GATES_OF(cell))
#define RNN_BIASES_OF(cell) ((cell) == RNN_CELL_GRU_AFTER ? 4 : RNN_GATES_OF(cell))
#define RNN_RESERVED_OF(cell)                                                                      \
    ((cell) == RNN_CELL_LSTM ? 5 : (cell) == RNN_CELL_GRU_AFTER ? 4 : RNN_GATES_OF(cell))

/* Columns of dgates, in units of the hidden size: the gradients of the gates' arguments in the
 * caller's order. Before them, a GRU that resets after the product has that of Rn h; after them, a
 * layer with a projection has the gradient of h. */
#define RNN_COLUMNS_OF(cell) ((cell) == RNN_CELL_GRU_AFTER ? 4 : RNN_GATES_OF(cell))

/* Steps of K that a work-item copies to a panel. */
#define RNN_PACKED_STEPS   16
#define RNN_PACKED_SQUARES 4

/* Elements from counter to counter of the progress, each in a cache line of its own. */
#define RNN_PROGRESS 32

typedef struct rnn_args {
    tenon_i64 y_offset, hn_offset, cn_offset, reserve_offset, lengths_offset,
        work_offset; /* per
                        call */
    tenon_i64 clip;  /* bits of an acc_t */
    tenon_i64 gates, panels, second, bias, peephole, state, cell, product, update; /* places */
    tenon_i64 steps, batch, hidden, output;                                        /* T, N, H, P */
    tenon_i64 padded, padded_output;      /* H and P rounded up to whole panels */
    tenon_i64 gate_stride[3];             /* direction, step, sequence */
    tenon_i64 gate[4];                    /* places of the gates in a row of `gates` */
    tenon_i64 y_stride[4];                /* step, direction, sequence, unit */
    tenon_i64 hn_stride[3], cn_stride[3]; /* direction, sequence, unit */
    tenon_i64 lengths_stride;
    tenon_i64 rows_each; /* sequences per work-item */
    /* Of rnn/shared: the place of the counters, the number of work-groups, and the number of times
     * that a counter is read before a wait ends. */
    tenon_i64 progress, shares, patience;
    /* Of the gradient only, in which y is an input, and hn and cn are dh0 and dc0. */
    tenon_i64 h0_offset, c0_offset, dy_offset, dgates_offset; /* per call */
    tenon_i64 h0_stride[3], c0_stride[3], dy_stride[4];
    tenon_i64 columns;                   /* of a row of dgates */
    tenon_i64 first_depth, second_depth; /* columns that a product reads: the first ones, and */
    tenon_i64 second_column;             /* those from here on */
    tenon_i32 step;                      /* of a launch for one step */
    tenon_i32 flags;
} rnn_args;

/* Arguments of the kernels that fill in the workspace. */
typedef struct rnn_pack_args {
    tenon_i64 from_offset, work_offset; /* per call */
    tenon_i64 to;                       /* place of the panels */
    tenon_i64 units, depth;             /* rows of a gate; K */
    tenon_i64 gates, panel;
    tenon_i64 gate[4]; /* first rows of the gates */
    tenon_i64 block;   /* k is block k_gate[k / block], entry k % block */
    tenon_i64 k_gate[4];
    tenon_i64 stride[3]; /* direction, row, k */
} rnn_pack_args;

typedef struct rnn_begin_args {
    tenon_i64 bias_offset, recurrent_bias_offset, peephole_offset, h0_offset, c0_offset, hn_offset,
        cn_offset, work_offset; /* per call */
    tenon_i64 bias, peephole, state, cell, progress, shares;
    tenon_i64 steps, batch, hidden, output, padded, padded_output;
    tenon_i64 gate[4], peephole_at[3];                                      /* first rows */
    tenon_i64 bias_stride[2], recurrent_bias_stride[2], peephole_stride[2]; /* direction, row */
    tenon_i64 h0_stride[3], c0_stride[3], hn_stride[3], cn_stride[3];
    tenon_i32 flags;
    tenon_i32 skip; /* rows of the first global id that are left out */
} rnn_begin_args;

/* Copies a tensor of rank 3 to the workspace, dense, in the accumulator's type. */
typedef struct rnn_widen_args {
    tenon_i64 from_offset, work_offset; /* per call */
    tenon_i64 to;
    tenon_i64 shape[3], stride[3];
} rnn_widen_args;

#endif
