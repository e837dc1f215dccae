/*
 * The parts of the gradient of a recurrent layer's weights that are not matrix products: the
 * factors of these products, and the gradients of biases and peepholes, which are sums of columns.
 *
 * Rows are numbered t * N + n. Rows beyond a sequence's length are zeros in the factors, and do not
 * enter the sums. Macros: see rnn/rnn.clh.
 */
#include "rnn/rnn.clh"
#include "rnn/weights_args.h"

typedef struct weights_tensors {
    __global const data_t *x, *y, *h0, *c0;
    __global const acc_t *reserve;
    __global const int *lengths;
} weights_tensors;

TENON_INLINE int is_counted(const rnn_weights_args *args, __global const int *lengths, long t,
                            long n)
{
    return (args->flags & RNN_HAS_LENGTHS) == 0 || t < lengths[n * args->lengths_stride];
}

/* Returns the step before t, and whether sequence n has it. */
TENON_INLINE long step_before(const rnn_weights_args *args, long d, long t)
{
    return d > 0 || (args->flags & RNN_REVERSE_0) != 0 ? t + 1 : t - 1;
}

TENON_INLINE int has_step(const rnn_weights_args *args, __global const int *lengths, long t, long n)
{
    return t >= 0 && t < args->steps && is_counted(args, lengths, t, n);
}

/* Returns value `number` of a step in the reserve. */
TENON_INLINE acc_t reserved(const rnn_weights_args *args, const weights_tensors *s, long d, long t,
                            long n, int number, long unit)
{
    const long row = (d * args->steps + t) * args->batch + n;
    return s->reserve[(row * RNN_RESERVED + number) * args->hidden + unit];
}

/* Return h and c before a step. */
TENON_INLINE acc_t h_before(const rnn_weights_args *args, const weights_tensors *s, long d, long t,
                            long n, long unit)
{
    const long before = step_before(args, d, t);
    if (has_step(args, s->lengths, before, n)) {
        return load_data(s->y, before * args->y_stride[0] + d * args->y_stride[1] +
                                   n * args->y_stride[2] + unit * args->y_stride[3]);
    }
    return (args->flags & RNN_HAS_H0) != 0
               ? load_data(s->h0, d * args->h0_stride[0] + n * args->h0_stride[1] +
                                      unit * args->h0_stride[2])
               : (acc_t)(0);
}

TENON_INLINE acc_t c_before(const rnn_weights_args *args, const weights_tensors *s, long d, long t,
                            long n, long unit)
{
    const long before = step_before(args, d, t);
    if (has_step(args, s->lengths, before, n)) {
        return reserved(args, s, d, before, n, 4, unit);
    }
    return (args->flags & RNN_HAS_C0) != 0
               ? load_data(s->c0, d * args->c0_stride[0] + n * args->c0_stride[1] +
                                      unit * args->c0_stride[2])
               : (acc_t)(0);
}

/* Returns an element of a factor. */
TENON_INLINE acc_t factor_of(const rnn_weights_args *args, const weights_tensors *s, long d, long t,
                             long n, long unit)
{
    if (args->factor == RNN_FACTOR_INPUT) {
        return load_data(s->x,
                         t * args->x_stride[0] + n * args->x_stride[1] + unit * args->x_stride[2]);
    }
#if RNN_CELL == RNN_CELL_LSTM
    if (args->factor == RNN_FACTOR_OUTPUT) {
        return reserved(args, s, d, t, n, 3, unit) * math_tanh(reserved(args, s, d, t, n, 4, unit));
    }
#endif
    const acc_t h = h_before(args, s, d, t, n, unit);
#if RNN_CELL == RNN_CELL_GRU
    if (args->factor == RNN_FACTOR_RESET) {
        return reserved(args, s, d, t, n, 1, unit) * h;
    }
#endif
    return h;
}

/* Stores a factor, dense: [direction][t][n][unit]. Global size: {units, rounded up to 32; N; T *
 * directions}, with a single direction for x. */
TENON_KERNEL void factors(__global const data_t *x, __global const data_t *y,
                          __global const data_t *h0, __global const acc_t *reserve,
                          __global const int *lengths, __global acc_t *work,
                          const rnn_weights_args args)
{
    const long unit = get_global_id(0), n = get_global_id(1), t = get_global_id(2) % args.steps;
    const long d = get_global_id(2) / args.steps;
    const weights_tensors s = {x + args.x_offset,
                               y + args.y_offset,
                               h0 + args.h0_offset,
                               h0,
                               reserve + args.reserve_offset,
                               lengths + args.lengths_offset};
    if (unit < args.units) {
        const long row = (d * args.steps + t) * args.batch + n;
        work[args.work_offset + args.to + row * args.units + unit] =
            is_counted(&args, s.lengths, t, n) ? factor_of(&args, &s, d, t, n, unit) : (acc_t)(0);
    }
}

/* Adds up columns of dgates over a part of the rows. On a CPU a work-item adds a vector of columns.
 * Global size: {columns of the gates / RNN_LANES, rounded up (to 32 on a GPU); parts; directions}.
 */
TENON_KERNEL void sum_gates(__global const acc_t *dgates, __global const int *lengths,
                            __global acc_t *work, const rnn_weights_args args)
{
    const long column = get_global_id(0) * RNN_LANES, part = get_global_id(1), d = get_global_id(2);
    const long rows = args.steps * args.batch;
    const long last = min(rows, (part + 1) * args.rows_each);
    const int count = (int)min(args.gates - column, (long)RNN_LANES);
    if (count <= 0) {
        return;
    }
    lanes_t sum = (lanes_t)(0);
    for (long row = part * args.rows_each; row < last; row++) {
        if (is_counted(&args, lengths + args.lengths_offset, row / args.batch, row % args.batch)) {
            __global const acc_t *from =
                dgates + args.dgates_offset + (d * rows + row) * args.columns + column;
#if RNN_LANES > 1
            if (count < RNN_LANES) {
                acc_t lane[RNN_LANES];
                TENON_VSTORE((lanes_t)(0), 0, lane);
                for (int l = 0; l < count; l++) {
                    lane[l] = from[l];
                }
                sum += TENON_VLOAD(0, lane);
                continue;
            }
#endif
            sum += RNN_LOAD(from);
        }
    }
    put_sums(work + args.work_offset + args.sums + (d * args.parts + part) * args.gates, column,
             args.gates, sum);
}

#if RNN_CELL == RNN_CELL_LSTM
/* Adds up the products of the gradients of i, f and o with c before the step or, for o, after it.
 * Global size: {hidden, rounded up to 32; 3 * parts; directions}. */
TENON_KERNEL void sum_peepholes(__global const acc_t *dgates, __global const data_t *c0,
                                __global const acc_t *reserve, __global const int *lengths,
                                __global acc_t *work, const rnn_weights_args args)
{
    const long unit = get_global_id(0), part = get_global_id(1) / 3, d = get_global_id(2);
    const int gate = get_global_id(1) % 3;
    const long rows = args.steps * args.batch;
    const long last = min(rows, (part + 1) * args.rows_each);
    const long column = unit + (gate == 0 ? args.gate[0] : gate == 1 ? args.gate[1] : args.gate[2]);
    const weights_tensors s = {c0,
                               c0,
                               c0,
                               c0 + args.c0_offset,
                               reserve + args.reserve_offset,
                               lengths + args.lengths_offset};
    acc_t sum = 0;
    if (unit >= args.hidden) {
        return;
    }
    for (long row = part * args.rows_each; row < last; row++) {
        const long t = row / args.batch, n = row % args.batch;
        if (is_counted(&args, s.lengths, t, n)) {
            const acc_t c = gate < 2 ? c_before(&args, &s, d, t, n, unit)
                                     : reserved(&args, &s, d, t, n, 4, unit);
            sum += dgates[args.dgates_offset + (d * rows + row) * args.columns + column] * c;
        }
    }
    work[args.work_offset + args.peephole_sums +
         ((d * args.parts + part) * 3 + gate) * args.hidden + unit] = sum;
}
#endif

/* Returns the sum of the parts of a column. */
TENON_INLINE acc_t total(__global const acc_t *sums, long parts, long columns, long column)
{
    acc_t sum = 0;
    for (long part = 0; part < parts; part++) {
        sum += sums[part * columns + column];
    }
    return sum;
}

/* Stores the gradients of the biases and peepholes. Global size: {rows of the biases, rounded up to
 * 32; 3, for the kinds of outputs; directions}. */
TENON_KERNEL void finish_sums(__global const acc_t *work, __global data_t *dbias,
                              __global data_t *drecurrent_bias, __global data_t *dpeephole,
                              const rnn_weights_args args)
{
    const long row = get_global_id(0), kind = get_global_id(1), d = get_global_id(2);
    __global const acc_t *sums = work + args.work_offset + args.sums + d * args.parts * args.gates;
    if (kind == 0 && row < RNN_GATES * args.hidden && (args.flags & RNN_HAS_BIAS) != 0) {
        store_data(dbias + args.dbias_offset, d * args.dbias_stride[0] + row * args.dbias_stride[1],
                   total(sums, args.parts, args.gates, args.first + row));
    }
    if (kind == 1 && row < RNN_GATES * args.hidden && (args.flags & RNN_HAS_RECURRENT_BIAS) != 0) {
        /* The gradient of Rn h, if it is not that of n, is in the first columns. */
        const long column =
            args.first > 0 && row >= 2 * args.hidden ? row - 2 * args.hidden : args.first + row;
        store_data(drecurrent_bias + args.drecurrent_bias_offset,
                   d * args.drecurrent_bias_stride[0] + row * args.drecurrent_bias_stride[1],
                   total(sums, args.parts, args.gates, column));
    }
    if (kind == 2 && row < 3 * args.hidden && (args.flags & RNN_HAS_PEEPHOLE) != 0) {
        const long unit = row % args.hidden, gate = row / args.hidden;
        const long to = unit + (gate == 0   ? args.peephole_at[0]
                                : gate == 1 ? args.peephole_at[1]
                                            : args.peephole_at[2]);
        store_data(
            dpeephole + args.dpeephole_offset,
            d * args.dpeephole_stride[0] + to * args.dpeephole_stride[1],
            total(work + args.work_offset + args.peephole_sums + d * args.parts * 3 * args.hidden,
                  args.parts, 3 * args.hidden, row));
    }
}
