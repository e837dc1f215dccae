/*
 * Functions of one or two tensors: d = f(a), or d = f(a, b), element by element, over any strides
 * (0 broadcasts). d may be a or b.
 *
 * A work-item handles a piece of rows_each rows, by vectors; on a GPU, its vectors of one row.
 * Global size: at least {args.walk.items}.
 *
 * FUNCTION_INPUTS: 1 (the default) or 2. The kernel for one input has no b.
 * FUNCTION_KIND: the function of the build, or -1 (the default): args.kind selects one of one
 * input. TENON_VW: lanes of a vector.
 *
 * FUNCTION_MASK: see common/function.clh. TENON_VECTORS: see common/stream.clh. TENON_DTYPE,
 * TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/function.clh"
#include "common/walk.clh"
#include "function/args.h"

#ifndef FUNCTION_INPUTS
#define FUNCTION_INPUTS 1
#endif
#ifndef FUNCTION_KIND
#define FUNCTION_KIND -1
#endif

/* A row of each tensor, and its strides. */
typedef struct rows {
    __global const data_t *a, *b;
    __global data_t *d;
    long a_step, b_step, d_step;
} rows;

TENON_INLINE acc_v value_of(const int kind, acc_v x, acc_v y)
{
#if FUNCTION_INPUTS == 2
    return function2_v(kind, x, y);
#else
    return function_v(kind, x);
#endif
}

TENON_INLINE void block(const int kind, const int vectors, const int whole, const span *s, long i,
                        const rows *row)
{
    acc_v x[TENON_VECTORS], y[TENON_VECTORS];
    load_vectors(vectors, whole, s, row->a, i, row->a_step, x);
#if FUNCTION_INPUTS == 2
    load_vectors(vectors, whole, s, row->b, i, row->b_step, y);
#else
    y[0] = splat(0);
#endif
    FOR_VECTORS(k, vectors)
    {
        x[k] = value_of(kind, x[k], y[FUNCTION_INPUTS == 2 ? k : 0]);
    }
    store_vectors(vectors, whole, s, row->d, i, row->d_step, x,
                  row->d != row->a && (FUNCTION_INPUTS == 1 || row->d != row->b));
}

/* A constant `kind` is selected outside of the loop over the elements. */
TENON_INLINE void run(const int kind, const span *s, const rows *row)
{
    EACH_BLOCK(s,
               is_vectorizable(row->a, row->a_step) &&
                   (FUNCTION_INPUTS == 1 || is_vectorizable(row->b, row->b_step)) &&
                   is_vectorizable(row->d, row->d_step),
               block(kind, vectors, whole, s, i, row))
}

#if !TENON_GPU && FUNCTION_KIND < 0
/* Selects the function outside of the loop, which is compiled separately for each. */
#define RUN_CASE(number, NAME, name, is_build, ulps, device, reference)                            \
    case number:                                                                                   \
        if (!(is_build)) {                                                                         \
            run(number, s, row);                                                                   \
        }                                                                                          \
        break;

TENON_FUNCTION void run_kind(const int kind, const span *s, const rows *row)
{
    switch (kind) {
        TENON_UNARY_FUNCTIONS(RUN_CASE)
    }
}
#else
TENON_FUNCTION void run_kind(const int kind, const span *s, const rows *row)
{
    run(FUNCTION_KIND >= 0 ? FUNCTION_KIND : kind, s, row);
}
#endif

#if FUNCTION_INPUTS == 2
TENON_VECTOR_KERNEL void function_rows(__global const data_t *a, __global const data_t *b,
                                       __global data_t *d, const function_args args)
#else
TENON_VECTOR_KERNEL void function_rows(__global const data_t *a, __global data_t *d,
                                       const function_args args)
#endif
{
    walk w;
    rows row = {a, a, d, args.walk.step[0], args.walk.step[1], args.walk.step[FUNCTION_INPUTS]};
    walk_begin(&w, &args.walk, FUNCTION_INPUTS + 1);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args.walk, FUNCTION_INPUTS + 1)
    {
        row.a = a + w.at[0];
#if FUNCTION_INPUTS == 2
        row.b = b + w.at[1];
#endif
        row.d = d + w.at[FUNCTION_INPUTS];
        run_kind(args.kind, &s, &row);
    }
}
