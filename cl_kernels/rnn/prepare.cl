/*
 * The launches before the first step of a recurrent layer: they copy weights, biases and initial
 * states to the workspace, in the layout of rnn/args.h and in the accumulator's type.
 *
 * RNN_CELL: see rnn/rnn.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef RNN_CELL
#define RNN_CELL 1
#endif
#include "common/types.clh"
#include "rnn/args.h"

/* Copies a matrix for each direction to panels. A work-item copies RNN_PACKED_STEPS columns of one
 * row of each gate. Global size: {panel, panels * ceil(depth / RNN_PACKED_STEPS), directions}. */
TENON_KERNEL void pack(__global const data_t *from, __global acc_t *work, const rnn_pack_args args)
{
    const long blocks = (args.depth + RNN_PACKED_STEPS - 1) / RNN_PACKED_STEPS;
    const long lane = get_global_id(0), panel = get_global_id(1) / blocks;
    const long first = get_global_id(1) % blocks * RNN_PACKED_STEPS;
    const long last = min(args.depth, first + RNN_PACKED_STEPS);
    const long panels = (args.units + args.panel - 1) / args.panel;
    const long unit = panel * args.panel + lane, d = get_global_id(2);
    __global const data_t *in = from + args.from_offset + d * args.stride[0];
    __global acc_t *to = work + args.work_offset + args.to +
                         (d * panels + panel) * args.depth * args.gates * args.panel + lane;
    if (lane >= args.panel) {
        return;
    }
    TENON_UNROLL
    for (int g = 0; g < 4; g++) {
        if (g < args.gates) {
            const long row = (args.gate[g] + unit) * args.stride[1];
            for (long k = first; k < last; k++) {
                const long block = k / args.block;
                const long at = (block == 0   ? args.k_gate[0]
                                 : block == 1 ? args.k_gate[1]
                                 : block == 2 ? args.k_gate[2]
                                              : args.k_gate[3]) +
                                k % args.block;
                to[(k * args.gates + g) * args.panel] =
                    unit < args.units ? load_data(in, row + at * args.stride[2]) : (acc_t)(0);
            }
        }
    }
}

typedef struct begin_tensors {
    __global const data_t *bias, *recurrent_bias, *peephole, *h0, *c0;
    __global data_t *hn, *cn;
    __global acc_t *work;
} begin_tensors;

/* Returns the bias of a unit: the sum of both, except for the last gate of a GRU that resets after
 * the product, where number 3 is the recurrent one. */
TENON_INLINE acc_t bias_of(const rnn_begin_args *args, const begin_tensors *t, long d, int number,
                           long unit)
{
    /* Numbers that only one of the biases has. */
    const int own = RNN_CELL == RNN_CELL_GRU_AFTER ? 2 : -1;
    const int recurrent = RNN_CELL == RNN_CELL_GRU_AFTER ? 3 : -1;
    const long row = (number == 0   ? args->gate[0]
                      : number == 1 ? args->gate[1]
                      : number == 2 ? args->gate[2]
                                    : args->gate[3]) +
                     unit;
    acc_t sum = 0;
    if ((args->flags & RNN_HAS_BIAS) != 0 && number != recurrent) {
        sum += load_data(t->bias, d * args->bias_stride[0] + row * args->bias_stride[1]);
    }
    if ((args->flags & RNN_HAS_RECURRENT_BIAS) != 0 && number != own) {
        sum += load_data(t->recurrent_bias,
                         d * args->recurrent_bias_stride[0] + row * args->recurrent_bias_stride[1]);
    }
    return sum;
}

TENON_INLINE acc_t peephole_of(const rnn_begin_args *args, const begin_tensors *t, long d,
                               int number, long unit)
{
    const long row = (number == 0   ? args->peephole_at[0]
                      : number == 1 ? args->peephole_at[1]
                                    : args->peephole_at[2]) +
                     unit;
    return load_data(t->peephole, d * args->peephole_stride[0] + row * args->peephole_stride[1]);
}

/* Sets h and c of a sequence. If the sequence has no steps, these are also the last ones. */
TENON_INLINE void begin_sequence(const rnn_begin_args *args, const begin_tensors *t, long d, long n,
                                 long unit)
{
    const long row = d * args->batch + n;
    if (unit < args->output) {
        const acc_t h = (args->flags & RNN_HAS_H0) != 0
                            ? load_data(t->h0, d * args->h0_stride[0] + n * args->h0_stride[1] +
                                                   unit * args->h0_stride[2])
                            : (acc_t)(0);
        t->work[args->state + row * args->padded_output + unit] = h;
        if (args->steps == 0 && (args->flags & RNN_HAS_HN) != 0) {
            store_data(t->hn,
                       d * args->hn_stride[0] + n * args->hn_stride[1] + unit * args->hn_stride[2],
                       h);
        }
    }
    if (RNN_CELL == RNN_CELL_LSTM && unit < args->hidden) {
        const acc_t c = (args->flags & RNN_HAS_C0) != 0
                            ? load_data(t->c0, d * args->c0_stride[0] + n * args->c0_stride[1] +
                                                   unit * args->c0_stride[2])
                            : (acc_t)(0);
        t->work[args->cell + row * args->padded + unit] = c;
        if (args->steps == 0 && (args->flags & RNN_HAS_CN) != 0) {
            store_data(t->cn,
                       d * args->cn_stride[0] + n * args->cn_stride[1] + unit * args->cn_stride[2],
                       c);
        }
    }
}

/* Copies biases, peepholes and initial states, and clears the progress. Global size: {padded, at
 * least hidden and output; biases + 3 + batch - skip; directions}. */
TENON_KERNEL void begin(__global const data_t *bias, __global const data_t *recurrent_bias,
                        __global const data_t *peephole, __global const data_t *h0,
                        __global const data_t *c0, __global data_t *hn, __global data_t *cn,
                        __global acc_t *work, const rnn_begin_args args)
{
    const long unit = get_global_id(0), row = get_global_id(1) + args.skip, d = get_global_id(2);
    const int biases = RNN_BIASES_OF(RNN_CELL), number = (int)row - biases;
    const begin_tensors t = {bias + args.bias_offset,
                             recurrent_bias + args.recurrent_bias_offset,
                             peephole + args.peephole_offset,
                             h0 + args.h0_offset,
                             c0 + args.c0_offset,
                             hn + args.hn_offset,
                             cn + args.cn_offset,
                             work + args.work_offset};
    if (get_global_id(1) == 0 && d == 0 && unit < args.shares) {
        t.work[args.progress + unit * RNN_PROGRESS] = 0;
    }
    if (row >= biases + 3) {
        begin_sequence(&args, &t, d, row - biases - 3, unit);
        return;
    }
    if (unit >= args.hidden) {
        return;
    }
    if (row < biases) {
        t.work[args.bias + (d * biases + row) * args.padded + unit] =
            bias_of(&args, &t, d, (int)row, unit);
    } else if ((args.flags & RNN_HAS_PEEPHOLE) != 0) {
        t.work[args.peephole + (d * 3 + number) * args.padded + unit] =
            peephole_of(&args, &t, d, number, unit);
    }
}

/* Copies a tensor. Global size: its shape, the last dimension first. */
TENON_KERNEL void widen(__global const data_t *from, __global acc_t *work,
                        const rnn_widen_args args)
{
    const long i = get_global_id(2), j = get_global_id(1), k = get_global_id(0);
    if (k < args.shape[2]) {
        work[args.work_offset + args.to + (i * args.shape[1] + j) * args.shape[2] + k] = load_data(
            from + args.from_offset, i * args.stride[0] + j * args.stride[1] + k * args.stride[2]);
    }
}

/* Copies a tensor from the workspace, where it is dense. */
TENON_KERNEL void narrow(__global data_t *to, __global const acc_t *work, const rnn_widen_args args)
{
    const long i = get_global_id(2), j = get_global_id(1), k = get_global_id(0);
    if (k < args.shape[2]) {
        store_data(to + args.from_offset,
                   i * args.stride[0] + j * args.stride[1] + k * args.stride[2],
                   work[args.work_offset + args.to + (i * args.shape[1] + j) * args.shape[2] + k]);
    }
}
