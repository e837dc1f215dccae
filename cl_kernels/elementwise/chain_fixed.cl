/*
 * Chain of operations with steps that are fixed at build time: y = the result of the steps
 * CHAIN_STEP0 and so on, starting with the value x0, element by element; otherwise as
 * elementwise/chain.cl. y may be any of the inputs.
 *
 * Along the last dimension y is contiguous, and each input is contiguous or broadcast. A work-item
 * handles a piece of rows_each rows. Global size: at least {args.walk.items}.
 *
 * CHAIN_COUNT: number of steps, 1 to 3.
 * CHAIN_START: 1 if x0 is contiguous, 0 if it is broadcast.
 * CHAIN_STEP0, CHAIN_STEP1, CHAIN_STEP2: CHAIN_CODE of each step (elementwise/chain_args.h). The
 *   choice of operands and the values of scalars are kernel arguments.
 * TENON_VW: lanes of a vector.
 * TENON_ACT_BUILD: the transcendental activation among the steps, or 0.
 *
 * TENON_DTYPE, TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/activation.clh"
#include "common/walk.clh"
#include "elementwise/chain_args.h"

#ifndef CHAIN_COUNT
#define CHAIN_COUNT 1
#endif
#ifndef CHAIN_START
#define CHAIN_START 1
#endif
#ifndef CHAIN_STEP0
#define CHAIN_STEP0 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif
#ifndef CHAIN_STEP1
#define CHAIN_STEP1 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif
#ifndef CHAIN_STEP2
#define CHAIN_STEP2 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif

/* One operand along a row: its elements, or the value of all lanes. */
typedef struct source {
    __global const data_t *x;
    acc_v same;
} source;

/* Operands of a step along a row. */
typedef struct step_sources {
    source operand, addend;
    acc_t alpha, beta;
} step_sources;

typedef struct inputs {
    __global const data_t *x0, *x1, *x2, *x3;
} inputs;

/* `number` is 0 for the scalar, else the index of an input plus 1. */
TENON_INLINE source make_source(const int along, const inputs *in, const walk *w, int number,
                                acc_t scalar)
{
    const int i = number > 0 ? number - 1 : 0;
    source s;
    s.x = (i == 0 ? in->x0 : i == 1 ? in->x1 : i == 2 ? in->x2 : in->x3) + w->at[i];
    s.same = splat(along ? 0 : number > 0 ? load_data(s.x, 0) : scalar);
    return s;
}

TENON_INLINE step_sources make_step(const int code, const int n, const chain_args *args,
                                    const inputs *in, const walk *w)
{
    step_sources s;
    s.alpha = TENON_FROM_BITS(args->alpha[n]);
    s.beta = TENON_FROM_BITS(args->beta[n]);
    s.operand = make_source(CHAIN_OPERAND_ALONG(code), in, w, args->step[n].operand, s.alpha);
    s.addend = make_source(CHAIN_ADDEND_ALONG(code), in, w, args->step[n].addend, s.beta);
    return s;
}

TENON_INLINE acc_v load_source(const int along, const source *s, long i, int lanes)
{
    return along ? load_lanes(s->x, i, 1, lanes) : s->same;
}

TENON_DEFINE_RUN_TIME_ACTIVATE(activate_run_time_v, acc_v)

TENON_INLINE acc_v activate_as(const int kind, acc_v v, const step_sources *s)
{
    const activation_args activation = {kind, s->alpha, s->beta};
#if TENON_ACT_BUILD != TENON_ACT_IDENTITY
    if (kind == TENON_ACT_BUILD) {
        return activate_v(v, &activation);
    }
#endif
    return activate_run_time_v(v, &activation);
}

/* Executes a step; `code` is a constant. A NaN in either operand propagates. */
TENON_INLINE acc_v run_step(const int code, acc_v v, const step_sources *s, long i, int lanes)
{
    const acc_v p = load_source(CHAIN_OPERAND_ALONG(code), &s->operand, i, lanes);
    switch (CHAIN_OP(code)) {
    case CHAIN_ADD:
        return v + p;
    case CHAIN_SUBTRACT:
        return v - p;
    case CHAIN_MULTIPLY:
        return v * p;
    case CHAIN_DIVIDE:
        return v / p;
    case CHAIN_MAX:
        return ((v > p) | (v != v)) ? v : p;
    case CHAIN_MIN:
        return ((v < p) | (v != v)) ? v : p;
    case CHAIN_FMA:
        return TENON_FMA(v, p, load_source(CHAIN_ADDEND_ALONG(code), &s->addend, i, lanes));
    default:
        return activate_as(CHAIN_ACTIVATION(code), v, s);
    }
}

typedef struct row_sources {
    source start;
    step_sources step0, step1, step2;
} row_sources;

TENON_INLINE row_sources make_row(const chain_args *args, const inputs *in, const walk *w)
{
    row_sources row;
    row.start = make_source(CHAIN_START, in, w, 1, 0);
    row.step0 = make_step(CHAIN_STEP0, 0, args, in, w);
    row.step1 = make_step(CHAIN_STEP1, CHAIN_COUNT > 1 ? 1 : 0, args, in, w);
    row.step2 = make_step(CHAIN_STEP2, CHAIN_COUNT > 2 ? 2 : 0, args, in, w);
    return row;
}

TENON_INLINE acc_v run_steps(const row_sources *row, long i, int lanes)
{
    acc_v v = load_source(CHAIN_START, &row->start, i, lanes);
    v = run_step(CHAIN_STEP0, v, &row->step0, i, lanes);
#if CHAIN_COUNT > 1
    v = run_step(CHAIN_STEP1, v, &row->step1, i, lanes);
#endif
#if CHAIN_COUNT > 2
    v = run_step(CHAIN_STEP2, v, &row->step2, i, lanes);
#endif
    return v;
}

TENON_VECTOR_KERNEL void chain_fixed(__global const data_t *x0, __global const data_t *x1,
                                     __global const data_t *x2, __global const data_t *x3,
                                     __global data_t *y, const chain_args args)
{
    const inputs in = {x0, x1, x2, x3};
    const int fresh = y != x0 && y != x1 && y != x2 && y != x3;
    walk w;
    walk_begin(&w, &args.walk, 5);
    EACH_ROW(&w, &args.walk, 5)
    {
        const row_sources row = make_row(&args, &in, &w);
        __global data_t *to = y + w.at[4];
        long i = w.first;
        for (; i + TENON_VW <= w.last; i += TENON_VW) {
            stream_data_v(to, i, run_steps(&row, i, TENON_VW), fresh);
        }
        if (i < w.last) {
            const int lanes = (int)(w.last - i);
            store_lanes(to, i, 1, lanes, run_steps(&row, i, lanes));
        }
    }
}
