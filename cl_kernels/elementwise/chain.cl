/*
 * Chain of operations: y = the result of args.steps steps, starting with the value x0, element by
 * element over any strides (0 broadcasts). y may be any of the inputs.
 *
 * A work-item handles a piece of rows_each rows, in blocks of CHAIN_VECTORS vectors along the last
 * dimension: each step is decoded once per block. Inputs that no step uses are not read. On a GPU,
 * common/stream.clh assigns the vectors of a block. Global size: at least {args.walk.items}.
 *
 * CHAIN_VECTORS: vectors per block.
 * TENON_VW: lanes of a vector.
 * TENON_ACT_BUILD: the one transcendental activation that a chain may contain, or 0.
 *
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

/* Returns step n. */
TENON_INLINE chain_step_args step_of(const chain_args *args, int n)
{
#if TENON_GPU
    chain_step_args step = {0, 0, 0, 0};
#pragma unroll
    for (int m = 0; m < CHAIN_STEPS; m++) {
        const int mask = -(int)(m == n); /* as in entry_of */
        step.op |= args->step[m].op & mask;
        step.operand |= args->step[m].operand & mask;
        step.addend |= args->step[m].addend & mask;
        step.activation |= args->step[m].activation & mask;
    }
    return step;
#else
    return args->step[n];
#endif
}

/* Returns the distance between vectors of a block. */
TENON_INLINE long gap_of(const walk *w)
{
#if TENON_GPU
    return w->step;
#else
    return TENON_VW;
#endif
}

/* One operand of a step along a row: a tensor or a scalar. */
typedef struct source {
    __global const data_t *x; /* the row; not read if the operand is a scalar */
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
#if TENON_GPU
    s.stride = (args->walk.step[0] & -(long)(i == 0)) | (args->walk.step[1] & -(long)(i == 1)) |
               (args->walk.step[2] & -(long)(i == 2)) | (args->walk.step[3] & -(long)(i == 3));
#else
    s.stride = args->walk.step[i];
#endif
    s.is_scalar = number == 0;
    s.scalar = TENON_FROM_BITS(bits);
    return s;
}

/* A block: its first element, the distance between its vectors, and the end of the row's piece. */
typedef struct place {
    long first, gap, last;
} place;

TENON_INLINE int is_full(const place *at)
{
    return at->first + (CHAIN_VECTORS - 1) * at->gap + TENON_VW <= at->last;
}

/* Returns the number of elements of vector g. */
TENON_INLINE int lanes_of(const place *at, int g)
{
    return (int)clamp(at->last - at->first - g * at->gap, 0L, (long)TENON_VW);
}

/* Loads a block. Lanes past the end are not read, and are undefined. */
TENON_INLINE void load_block(const source *s, const place *at, acc_v block[CHAIN_VECTORS])
{
    if (s->is_scalar || s->stride == 0) {
        const acc_v same = splat(s->is_scalar ? s->scalar : load_data(s->x, 0));
        TENON_UNROLL
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            block[g] = same;
        }
#if TENON_GPU
    } else if (s->stride == 1 && is_full(at) && is_aligned(s->x, at->first)) {
        TENON_UNROLL
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            block[g] = load_aligned_v(s->x, at->first + g * at->gap);
        }
#else
    } else if (s->stride == 1 && is_full(at)) {
        TENON_UNROLL
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            block[g] = load_data_v(s->x, at->first + g * at->gap);
        }
#endif
    } else {
        TENON_UNROLL
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            block[g] =
                load_lanes(s->x, (at->first + g * at->gap) * s->stride, s->stride, lanes_of(at, g));
        }
    }
}

TENON_INLINE void store_block(__global data_t *y, long stride, const place *at,
                              const acc_v block[CHAIN_VECTORS], int fresh)
{
    if (stride == 1 && is_full(at)) {
        TENON_UNROLL
        for (int g = 0; g < CHAIN_VECTORS; g++) {
            stream_data_v(y, at->first + g * at->gap, block[g], fresh);
        }
        return;
    }
    TENON_UNROLL
    for (int g = 0; g < CHAIN_VECTORS; g++) {
        store_lanes(y, (at->first + g * at->gap) * stride, stride, lanes_of(at, g), block[g]);
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
    TENON_UNROLL                                                                                   \
    for (int g = 0; g < CHAIN_VECTORS; g++) {                                                      \
        v[g] = (expression);                                                                       \
    }                                                                                              \
    break;

/* Executes a step. As in tenon_elementwise, a NaN in either operand propagates. */
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
    const int fresh = y != x0 && y != x1 && y != x2 && y != x3;
    walk w;
    walk_begin(&w, &args.walk, 5);
    const long gap = gap_of(&w);
    EACH_ROW(&w, &args.walk, 5)
    {
        const source start = make_source(&args, &w, 1, 0, x0, x1, x2, x3);
        for (long first = w.first; first < w.last; first += CHAIN_VECTORS * gap) {
            const place at = {first, gap, w.last};
            acc_v v[CHAIN_VECTORS], p[CHAIN_VECTORS], q[CHAIN_VECTORS];
            load_block(&start, &at, v);
            for (int n = 0; n < args.steps; n++) {
                const chain_step_args step = step_of(&args, n);
                const source a =
                    make_source(&args, &w, step.operand, entry_of(args.alpha, n), x0, x1, x2, x3);
                const source b =
                    make_source(&args, &w, step.addend, entry_of(args.beta, n), x0, x1, x2, x3);
                const activation_args activation = {step.activation, a.scalar, b.scalar};
                if (step.op != CHAIN_ACTIVATE) {
                    load_block(&a, &at, p);
                }
                if (step.op == CHAIN_FMA) {
                    load_block(&b, &at, q);
                }
                run_step(step.op, &activation, v, p, q);
            }
            store_block(y + w.at[4], args.walk.step[4], &at, v, fresh);
        }
    }
}
