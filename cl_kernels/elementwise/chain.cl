/*
 * y = the result of args.steps steps, one after the other, from the value x0 on, element by element
 * over any strides (0 broadcasts). y may be any of the inputs.
 *
 * A work-item covers a piece of rows_each rows, by blocks of CHAIN_VECTORS vectors along the last
 * dimension: a step is looked up once for a block. Inputs that no step names are not read.
 * Global size: at least {args.walk.items}.
 *
 * CHAIN_VECTORS: vectors of a block.
 * TENON_VW: lanes of a vector.
 * TENON_ACT_BUILD: the one transcendental activation that a chain may have, or 0.
 * TENON_DTYPE, TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef CHAIN_VECTORS
#define CHAIN_VECTORS 1
#endif
#include "common/activation.clh"
#include "common/walk.clh"
#include "elementwise/chain_args.h"

/* One operand of a step along a row: from memory, or a scalar. */
typedef struct source {
    __global const data_t *x; /* the row; not read where it is a scalar */
    long stride;
    bool is_scalar;
    acc_t scalar;
} source;

TENON_INLINE source make_source(const chain_args *args, const walk *w, int number, long bits,
                                __global const data_t *x0, __global const data_t *x1,
                                __global const data_t *x2, __global const data_t *x3)
{
    const int i = number > 0 ? number - 1 : 0;
    source s;
    s.x = i == 0 ? x0 + w->at[0] : i == 1 ? x1 + w->at[1] : i == 2 ? x2 + w->at[2] : x3 + w->at[3];
    s.stride = args->walk.stride[i][args->walk.rank - 1];
    s.is_scalar = number == 0;
    s.scalar = TENON_FROM_BITS(bits);
    return s;
}

/* The block that begins at `first`. Of lanes from `count` on nothing is read, and what they hold
 * counts nothing. */
TENON_INLINE void load_block(const source *s, long first, long count, acc_v block[CHAIN_VECTORS])
{
    if (s->is_scalar || s->stride == 0) {
        const acc_v same = splat(s->is_scalar ? s->scalar : load_data(s->x, 0));
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            block[g] = same;
        }
    } else if (s->stride == 1 && count >= CHAIN_VECTORS * TENON_VW) {
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            block[g] = load_data_v(s->x, first + g * TENON_VW);
        }
    } else {
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            const int lanes = (int)clamp(count - g * TENON_VW, 0L, (long)TENON_VW);
            block[g] = load_lanes(s->x, (first + g * TENON_VW) * s->stride, s->stride, lanes);
        }
    }
}

TENON_INLINE void store_block(__global data_t *y, long stride, long first, long count,
                              const acc_v block[CHAIN_VECTORS], int fresh)
{
    if (stride == 1 && count >= CHAIN_VECTORS * TENON_VW) {
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            stream_data_v(y, first + g * TENON_VW, block[g], fresh);
        }
        return;
    }
    for (int g = 0; g < CHAIN_VECTORS; g++) {
        const int lanes = (int)clamp(count - g * TENON_VW, 0L, (long)TENON_VW);
        store_lanes(y, (first + g * TENON_VW) * stride, stride, lanes, block[g]);
    }
}

TENON_DEFINE_RUN_TIME_ACTIVATE(activate_run_time_v, acc_v)

TENON_INLINE acc_v activate_any(acc_v v, const activation_args *activation)
{
#if TENON_ACT_BUILD != TENON_ACT_IDENTITY
    if (activation->kind == TENON_ACT_BUILD) {
        return activate_v(v, activation);
    }
#endif
    return activate_run_time_v(v, activation);
}

#define EACH_VECTOR(expression)                                                                    \
    for (int g = 0; g < CHAIN_VECTORS; g++) {                                                      \
        v[g] = (expression);                                                                       \
    }                                                                                              \
    break;

/* As in tenon_elementwise, a NaN comes through whichever operand holds it. */
TENON_INLINE void run_step(const int op, const activation_args *activation, acc_v v[CHAIN_VECTORS],
                           const acc_v p[CHAIN_VECTORS], const acc_v q[CHAIN_VECTORS])
{
    switch (op) {
    case CHAIN_ADD:
        EACH_VECTOR(v[g] + p[g])
    case CHAIN_SUBTRACT:
        EACH_VECTOR(v[g] - p[g])
    case CHAIN_MULTIPLY:
        EACH_VECTOR(v[g] * p[g])
    case CHAIN_DIVIDE:
        EACH_VECTOR(v[g] / p[g])
    case CHAIN_MAX:
        EACH_VECTOR(((v[g] > p[g]) | (v[g] != v[g])) ? v[g] : p[g])
    case CHAIN_MIN:
        EACH_VECTOR(((v[g] < p[g]) | (v[g] != v[g])) ? v[g] : p[g])
    case CHAIN_FMA:
        EACH_VECTOR(TENON_FMA(v[g], p[g], q[g]))
    default:
        EACH_VECTOR(activate_any(v[g], activation))
    }
}

TENON_VECTOR_KERNEL void chain(__global const data_t *x0, __global const data_t *x1,
                               __global const data_t *x2, __global const data_t *x3,
                               __global data_t *y, const chain_args args)
{
    const long y_step = args.walk.stride[4][args.walk.rank - 1];
    const int fresh = y != x0 && y != x1 && y != x2 && y != x3;
    walk w;
    walk_begin(&w, &args.walk, 5);
    for (; w.row < w.end; walk_next(&w, &args.walk, 5)) {
        const source start = make_source(&args, &w, 1, 0, x0, x1, x2, x3);
        for (long first = w.first; first < w.last; first += CHAIN_VECTORS * TENON_VW) {
            const long count = w.last - first;
            acc_v v[CHAIN_VECTORS], p[CHAIN_VECTORS], q[CHAIN_VECTORS];
            load_block(&start, first, count, v);
            for (int n = 0; n < args.steps; n++) {
                const chain_step_args step = args.step[n];
                const source a =
                    make_source(&args, &w, step.operand, args.alpha[n], x0, x1, x2, x3);
                const source b = make_source(&args, &w, step.addend, args.beta[n], x0, x1, x2, x3);
                const activation_args activation = {step.activation, a.scalar, b.scalar};
                if (step.op != CHAIN_ACTIVATE) {
                    load_block(&a, first, count, p);
                }
                if (step.op == CHAIN_FMA) {
                    load_block(&b, first, count, q);
                }
                run_step(step.op, &activation, v, p, q);
            }
            store_block(y + w.at[4], y_step, first, count, v, fresh);
        }
    }
}
