/*
 * One step of a recurrent layer on a CPU, from the weights in their own layout. A work-item
 * computes a vector of units of all sequences: dot products of rows of w and r with x and h, and
 * the cell's function. The rows of w and r, and those of x and h0, are contiguous.
 *
 * In the workspace, `gates` and args.sums have the sums W x and R h of one step, [direction][n]
 * [gate][padded]. The other places are those of rnn/args.h; a work-item initializes its own units
 * of bias, state and cell in the first step.
 *
 * direct: the step, or of a GRU that resets before the product its gates z and r, and r times h.
 * direct_second: the rest of such a step.
 *
 * Global size: {panels of TENON_VW units, directions}. Macros: see rnn/rnn.clh.
 */
#include "rnn/rnn.clh"

#include "rnn/forward.clh"

#include "rnn/direct_args.h"

/* Sequences that share the loads of a row. */
#define BLOCK (RNN_GATES > 3 && RNN_MOST_SUMS < 16 ? 2 : 4)

/* A row of each gate: its address is that of the first gate's plus a multiple of `gate`. */
typedef struct direct_rows {
    __global const data_t *first, *second, *third, *fourth;
} direct_rows;

TENON_INLINE direct_rows rows_of(const rnn_direct_args *args, __global const data_t *from,
                                 long stride, long unit)
{
    const direct_rows r = {
        from + (args->row[0] + unit) * stride, from + (args->row[1] + unit) * stride,
        from + (args->row[2] + unit) * stride, from + (args->row[3] + unit) * stride};
    return r;
}

#define ROW_OF(r, i)                                                                               \
    ((i) == 0 ? (r)->first : (i) == 1 ? (r)->second : (i) == 2 ? (r)->third : (r)->fourth)

/* Loads of vectors of a tensor, whose elements have the type data_t. */
#define LOAD_TENSOR(p, k)       load_data_v(p, k)
#define REST_TENSOR(p, k, rest) load_lanes(p, k, 1, rest)

/* Loads of the states in the workspace; those after the last unit are not initialized. */
#define LOAD_STATE(p, k) RNN_LOAD((p) + (k))
TENON_INLINE lanes_t REST_STATE(__global const acc_t *p, long k, int rest)
{
    acc_t lane[TENON_VW];
    for (int i = 0; i < TENON_VW; i++) {
        lane[i] = i < rest ? p[k + i] : 0;
    }
    return TENON_VLOAD(0, lane);
}

/* Defines a function that stores the dot products of a row of each of the first gates with `rows`
 * vectors, which are x_row apart: to[row * to_row + gate * padded]. Their elements have the type
 * x_t. */
#define DEFINE_DOTS(name, rows, gates, x_t, load_x, rest_x)                                        \
    TENON_FUNCTION void name(const direct_rows *r, __global const x_t *x, long x_row, long depth,  \
                             __global acc_t *to, long to_row, long padded)                         \
    {                                                                                              \
        enum { sums = (rows) * (gates) };                                                          \
        lanes_t part[16], w[16];                                                                   \
        long k = 0;                                                                                \
        RNN_EACH(sums, part[i] = (lanes_t)(0))                                                     \
        for (; k + RNN_LANES <= depth; k += RNN_LANES) {                                           \
            RNN_EACH(gates, w[i] = LOAD_TENSOR(ROW_OF(r, i), k))                                   \
            RNN_EACH(sums, part[i] = TENON_FMA(load_x(x, i / (gates)*x_row + k), w[i % (gates)],   \
                                               part[i]))                                           \
        }                                                                                          \
        if (k < depth) {                                                                           \
            const int rest = (int)(depth - k);                                                     \
            RNN_EACH(gates, w[i] = REST_TENSOR(ROW_OF(r, i), k, rest))                             \
            RNN_EACH(sums, part[i] = TENON_FMA(rest_x(x, i / (gates)*x_row + k, rest),             \
                                               w[i % (gates)], part[i]))                           \
        }                                                                                          \
        RNN_EACH(sums, to[i / (gates)*to_row + i % (gates)*padded] = sum_of_lanes(part[i]))        \
    }

/* Defines a function that stores the dot products of the rows of one unit with the vectors of all
 * sequences. */
#define DEFINE_ALL_DOTS(name, gates, x_t, load_x, rest_x)                                          \
    DEFINE_DOTS(name##_of_block, BLOCK, gates, x_t, load_x, rest_x)                                \
    DEFINE_DOTS(name##_of_one, 1, gates, x_t, load_x, rest_x)                                      \
    TENON_INLINE void name(const rnn_direct_args *args, const direct_rows *r,                      \
                           __global const x_t *x, long x_row, long depth, __global acc_t *to)      \
    {                                                                                              \
        const long padded = args->layer.padded, to_row = RNN_GATES * padded;                       \
        long n = 0;                                                                                \
        for (; n + BLOCK <= args->layer.batch; n += BLOCK) {                                       \
            name##_of_block(r, x + n * x_row, x_row, depth, to + n * to_row, to_row, padded);      \
        }                                                                                          \
        for (; n < args->layer.batch; n++) {                                                       \
            name##_of_one(r, x + n * x_row, x_row, depth, to + n * to_row, to_row, padded);        \
        }                                                                                          \
    }

/* Of all gates with rows of x, of those of the first product with rows of h0 and of the states, and
 * of one gate with the states after the reset. */
DEFINE_ALL_DOTS(dots, RNN_GATES, data_t, LOAD_TENSOR, REST_TENSOR)
#if RNN_CELL == RNN_CELL_GRU
DEFINE_ALL_DOTS(dots_of_h0, RNN_FIRST, data_t, LOAD_TENSOR, REST_TENSOR)
DEFINE_ALL_DOTS(dots_of_reset, 1, acc_t, LOAD_STATE, REST_STATE)
#else
#define dots_of_h0 dots
#endif
#if TENON_DTYPE == TENON_DTYPE_F16 || TENON_DTYPE == TENON_DTYPE_BF16
DEFINE_ALL_DOTS(dots_of_states, RNN_FIRST, acc_t, LOAD_STATE, REST_STATE)
#else
#define dots_of_states dots_of_h0
#endif

typedef struct direct_tensors {
    __global const data_t *bias, *recurrent_bias, *h0, *c0;
} direct_tensors;

/* Copies the biases of the work-item's units to the workspace. */
TENON_INLINE void begin_biases(const rnn_direct_args *args, const rnn_tensors *t,
                               const direct_tensors *s, const rnn_place *p, int count)
{
    const int is_separate = RNN_CELL == RNN_CELL_GRU_AFTER;
    for (int g = 0; g < RNN_BIASES; g++) {
        const long row = args->row[g] + p->unit, d = p->direction;
        lanes_t b = (lanes_t)(0);
        if ((args->layer.flags & RNN_HAS_BIAS) != 0 && !(is_separate && g == 3)) {
            b += load_lanes(s->bias, d * args->bias_stride[0] + row * args->bias_stride[1],
                            args->bias_stride[1], count);
        }
        if ((args->layer.flags & RNN_HAS_RECURRENT_BIAS) != 0 && !(is_separate && g == 2)) {
            b += load_lanes(s->recurrent_bias,
                            d * args->recurrent_bias_stride[0] +
                                row * args->recurrent_bias_stride[1],
                            args->recurrent_bias_stride[1], count);
        }
        RNN_STORE(b,
                  t->work + args->layer.bias + (d * RNN_BIASES + g) * args->layer.padded + p->unit);
    }
}

/* Copies the initial states of the work-item's units to the workspace. */
TENON_INLINE void begin_states(const rnn_direct_args *args, const rnn_tensors *t,
                               const direct_tensors *s, const rnn_place *p, int count)
{
    const long d = p->direction;
    for (long n = 0; n < args->layer.batch; n++) {
        const lanes_t h =
            (args->layer.flags & RNN_HAS_H0) != 0
                ? load_lanes(s->h0, d * args->h0_stride[0] + n * args->h0_stride[1] + p->unit, 1,
                             count)
                : (lanes_t)(0);
        RNN_STORE(h, state_of(&args->layer, t, p, 0, n) + p->unit);
#if RNN_CELL == RNN_CELL_LSTM
        const lanes_t c = (args->layer.flags & RNN_HAS_C0) != 0
                              ? load_lanes(s->c0,
                                           d * args->c0_stride[0] + n * args->c0_stride[1] +
                                               p->unit * args->c0_stride[2],
                                           args->c0_stride[2], count)
                              : (lanes_t)(0);
        RNN_STORE(c, row_of(&args->layer, t, p, args->layer.cell, 0, n) + p->unit);
#endif
    }
}

/* Computes the sums R h of the step; zeros if h is. */
TENON_INLINE void recurrent_sums(const rnn_direct_args *args, const rnn_tensors *t,
                                 const direct_tensors *s, const rnn_place *p,
                                 __global const data_t *r, int count)
{
    const rnn_args *a = &args->layer;
    const long d = p->direction, row = RNN_GATES * a->padded;
    __global acc_t *to = t->work + args->sums + d * a->batch * row + p->unit;
    if (p->step == 0 && (a->flags & RNN_HAS_H0) == 0) {
        for (long i = 0; i < a->batch * RNN_GATES; i++) {
            RNN_STORE((lanes_t)(0), to + i * a->padded);
        }
        return;
    }
    for (int u = 0; u < count; u++) {
        const direct_rows rows =
            rows_of(args, r + d * args->r_stride[0], args->r_stride[1], p->unit + u);
        if (p->step == 0) {
            dots_of_h0(args, &rows, s->h0 + d * args->h0_stride[0], args->h0_stride[1], a->output,
                       to + u);
        } else {
            dots_of_states(args, &rows, state_of(a, t, p, p->step, 0), a->padded_output, a->output,
                           to + u);
        }
    }
}

#define DIRECT_POINTERS                                                                            \
    __global acc_t *work, __global const data_t *x, __global const data_t *w,                      \
        __global const data_t *r, __global const data_t *bias,                                     \
        __global const data_t *recurrent_bias, __global const data_t *h0,                          \
        __global const data_t *c0, __global const int *lengths, __global data_t *y,                \
        __global data_t *hn, __global data_t *cn
#define DIRECT_TENSORS(a)                                                                          \
    {                                                                                              \
        work + (a)->work_offset, lengths + (a)->lengths_offset, y + (a)->y_offset,                 \
            hn + (a)->hn_offset, cn + (a)->cn_offset, work                                         \
    }

TENON_KERNEL void direct(DIRECT_POINTERS, const rnn_direct_args args)
{
    const rnn_args *a = &args.layer;
    const long unit = get_global_id(0) * RNN_LANES, d = get_global_id(1);
    const int count = (int)min(a->hidden - unit, (long)RNN_LANES);
    const rnn_tensors t = DIRECT_TENSORS(a);
    const direct_tensors s = {bias + args.bias_offset, recurrent_bias + args.recurrent_bias_offset,
                              h0 + args.h0_offset, c0 + args.c0_offset};
    const rnn_place p = place_of(a, (int)d, a->step, unit);
    if (a->step == 0) {
        begin_biases(&args, &t, &s, &p, count);
        begin_states(&args, &t, &s, &p, count);
    }
    for (int u = 0; u < count; u++) {
        const direct_rows rows =
            rows_of(&args, w + args.w_offset + d * args.w_stride[0], args.w_stride[1], unit + u);
        dots(&args, &rows, x + args.x_offset + p.t * args.x_stride[0], args.x_stride[1],
             args.inputs, t.work + a->gates + d * a->gate_stride[0] + unit + u);
    }
    recurrent_sums(&args, &t, &s, &p, r + args.r_offset, count);
    for (long n = 0; n < a->batch; n++) {
        lanes_t sum[RNN_FIRST];
        for (int g = 0; g < RNN_FIRST; g++) {
            sum[g] = RNN_LOAD(t.work + args.sums +
                              ((d * a->batch + n) * RNN_GATES + g) * a->padded + unit);
        }
        finish_first(a, &t, &p, n, sum);
    }
}

#if RNN_CELL == RNN_CELL_GRU
TENON_KERNEL void direct_second(DIRECT_POINTERS, const rnn_direct_args args)
{
    const rnn_args *a = &args.layer;
    const long unit = get_global_id(0) * RNN_LANES, d = get_global_id(1);
    const int count = (int)min(a->hidden - unit, (long)RNN_LANES);
    const rnn_tensors t = DIRECT_TENSORS(a);
    const rnn_place p = place_of(a, (int)d, a->step, unit);
    __global acc_t *sums = t.work + args.sums + d * a->batch * RNN_GATES * a->padded + unit;
    for (int u = 0; u < count; u++) {
        const direct_rows rows = {.first = r + args.r_offset + d * args.r_stride[0] +
                                           (args.row[2] + unit + u) * args.r_stride[1]};
        dots_of_reset(&args, &rows, t.work + a->product + d * a->batch * a->padded, a->padded,
                      a->output, sums + u);
    }
    for (long n = 0; n < a->batch; n++) {
        const lanes_t sum = RNN_LOAD(sums + n * RNN_GATES * a->padded);
        finish_second(a, &t, &p, n, &sum);
    }
}
#endif
