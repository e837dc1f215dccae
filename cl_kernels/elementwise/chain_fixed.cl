/*
 * Chain of operations with steps that are fixed at build time: y = the result of the steps
 * CHAIN_STEP0 and so on, starting with the value x0, element by element; otherwise as
 * elementwise/chain.cl. y may be any of the inputs.
 *
 * A work-item handles a piece of rows_each rows, by vectors; on a GPU, its vectors of one row.
 * Global size: at least {args.walk.items}.
 *
 * CHAIN_COUNT: number of steps, 1 to 8.
 * CHAIN_START, CHAIN_END: CHAIN_CONTIGUOUS (the default), CHAIN_STRIDED or, for the first,
 * CHAIN_SAME (elementwise/chain_args.h): how x0 and y vary along the row. CHAIN_STEP0 to
 * CHAIN_STEP7: CHAIN_CODE of each step. The choice of operands and the values of scalars are kernel
 * arguments. FUNCTION_MASK: the functions among the steps (common/function.clh), or 0. TENON_VW:
 * lanes of a vector. TENON_ACT_BUILD: the transcendental activation among the steps, or 0.
 *
 * TENON_DTYPE, TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef FUNCTION_MASK
#define FUNCTION_MASK 0L
#endif
#include "common/activation.clh"
#include "common/function.clh"
#include "common/walk.clh"
#include "elementwise/chain_args.h"

#ifndef CHAIN_COUNT
#define CHAIN_COUNT 1
#endif
#ifndef CHAIN_START
#define CHAIN_START CHAIN_CONTIGUOUS
#endif
#ifndef CHAIN_END
#define CHAIN_END CHAIN_CONTIGUOUS
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
#ifndef CHAIN_STEP3
#define CHAIN_STEP3 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif
#ifndef CHAIN_STEP4
#define CHAIN_STEP4 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif
#ifndef CHAIN_STEP5
#define CHAIN_STEP5 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif
#ifndef CHAIN_STEP6
#define CHAIN_STEP6 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif
#ifndef CHAIN_STEP7
#define CHAIN_STEP7 CHAIN_CODE(CHAIN_MULTIPLY, 0, 0, 0)
#endif

/* One operand along a row: its elements, or the value of all lanes. */
typedef struct source {
    __global const data_t *x;
    long stride;
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
TENON_INLINE source make_source(const int along, const chain_args *args, const inputs *in,
                                const walk *w, int number, acc_t scalar)
{
    const int i = number > 0 ? number - 1 : 0;
    source s;
    s.x = i == 0   ? in->x0 + w->at[0]
          : i == 1 ? in->x1 + w->at[1]
          : i == 2 ? in->x2 + w->at[2]
                   : in->x3 + w->at[3];
    s.stride = 1;
    if (along == CHAIN_STRIDED) {
        s.stride = i == 0   ? args->walk.step[0]
                   : i == 1 ? args->walk.step[1]
                   : i == 2 ? args->walk.step[2]
                            : args->walk.step[3];
    }
    s.same = splat(along != CHAIN_SAME ? 0 : number > 0 ? load_data(s.x, 0) : scalar);
    return s;
}

TENON_INLINE step_sources make_step(const int code, const int n, const chain_args *args,
                                    const inputs *in, const walk *w)
{
    step_sources s;
    s.alpha = TENON_FROM_BITS(args->alpha[n]);
    s.beta = TENON_FROM_BITS(args->beta[n]);
    s.operand = make_source(CHAIN_OPERAND_ALONG(code), args, in, w, args->step[n].operand, s.alpha);
    s.addend = make_source(CHAIN_ADDEND_ALONG(code), args, in, w, args->step[n].addend, s.beta);
    return s;
}

TENON_INLINE acc_v load_source(const int along, const source *s, long i, int lanes)
{
    return along == CHAIN_SAME         ? s->same
           : along == CHAIN_CONTIGUOUS ? load_lanes(s->x, i, 1, lanes)
                                       : load_lanes(s->x, i * s->stride, s->stride, lanes);
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
    const int op = CHAIN_OP(code);
    if (op >= CHAIN_UNARY) {
        return function_v(op - CHAIN_UNARY, v);
    }
    const acc_v p = load_source(CHAIN_OPERAND_ALONG(code), &s->operand, i, lanes);
    if (op >= CHAIN_BINARY) {
        return function2_v(op - CHAIN_BINARY + FUNCTION_FIRST_BINARY, v, p);
    }
    switch (op) {
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
    step_sources step[CHAIN_COUNT];
} row_sources;

/* Executes a statement for each step. */
#define EACH_STEP(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

TENON_INLINE row_sources make_row(const chain_args *args, const inputs *in, const walk *w)
{
    row_sources row;
    row.start = make_source(CHAIN_START, args, in, w, 1, 0);
#define MAKE_STEP(n)                                                                               \
    if (n < CHAIN_COUNT) {                                                                         \
        row.step[n < CHAIN_COUNT ? n : 0] = make_step(CHAIN_STEP##n, n, args, in, w);              \
    }
    EACH_STEP(MAKE_STEP)
    return row;
}

TENON_INLINE acc_v run_steps(const row_sources *row, long i, int lanes)
{
    acc_v v = load_source(CHAIN_START, &row->start, i, lanes);
#define RUN_STEP(n)                                                                                \
    if (n < CHAIN_COUNT) {                                                                         \
        v = run_step(CHAIN_STEP##n, v, &row->step[n < CHAIN_COUNT ? n : 0], i, lanes);             \
    }
    EACH_STEP(RUN_STEP)
    return v;
}

/* Handles the elements of a row. A loop with complete vectors is faster; functions, whose code is
 * long, are not compiled twice. */
TENON_INLINE void run_row(const row_sources *row, const walk *w, __global data_t *to, long stride,
                          int fresh)
{
    long i = w->first;
#if TENON_GPU
    for (; i < w->last; i += w->step) {
        const int lanes = (int)min(w->last - i, (long)w->unit);
        store_lanes(to, i * stride, stride, lanes, run_steps(row, i, lanes));
    }
#else
#if CHAIN_END == CHAIN_CONTIGUOUS && FUNCTION_MASK == 0
    for (; i + TENON_VW <= w->last; i += TENON_VW) {
        stream_data_v(to, i, run_steps(row, i, TENON_VW), fresh);
    }
#endif
    for (; i < w->last; i += TENON_VW) {
        const int lanes = (int)min(w->last - i, (long)TENON_VW);
        stream_lanes(to, i * stride, stride, lanes, run_steps(row, i, lanes), fresh);
    }
#endif
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
        run_row(&row, &w, y + w.at[4], CHAIN_END == CHAIN_CONTIGUOUS ? 1 : args.walk.step[4],
                fresh);
    }
}
