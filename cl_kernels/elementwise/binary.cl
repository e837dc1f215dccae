/*
 * Binary operations: d = a ∘ b, element by element, over any strides (0 broadcasts). d may be a or
 * b.
 *
 * A work-item handles a piece of rows_each rows. It uses vectors if the last dimension of d is
 * contiguous, and those of a and b are contiguous or broadcast. On a GPU it handles its vectors of
 * one row. Global size: at least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_DTYPE, TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/types.clh"
#include "common/walk.clh"
#include "elementwise/args.h"

#define KIND_ADD       0
#define KIND_SUBTRACT  1
#define KIND_MULTIPLY  2
#define KIND_DIVIDE    3
#define KIND_MAX       4
#define KIND_MIN       5
#define KIND_SCALE_ADD 6
/* Scale-and-add with a coefficient that is 0, whose operand is not read. */
#define KIND_SCALE_A 7
#define KIND_SCALE_B 8
#define KIND_ZERO    9

#define READS_A(kind) ((kind) != KIND_SCALE_B && (kind) != KIND_ZERO)
#define READS_B(kind) ((kind) != KIND_SCALE_A && (kind) != KIND_ZERO)

/* Defines the operations for one element or a vector. If a is NaN, max and min select a; if b is
 * NaN, the comparisons are false and select b. */
#define DEFINE_COMBINE(name, type)                                                                 \
    TENON_INLINE type name(const int kind, type a, type b, acc_t alpha, acc_t beta)                \
    {                                                                                              \
        switch (kind) {                                                                            \
        case KIND_ADD:                                                                             \
            return a + b;                                                                          \
        case KIND_SUBTRACT:                                                                        \
            return a - b;                                                                          \
        case KIND_MULTIPLY:                                                                        \
            return a * b;                                                                          \
        case KIND_DIVIDE:                                                                          \
            return a / b;                                                                          \
        case KIND_MAX:                                                                             \
            return ((a > b) | (a != a)) ? a : b;                                                   \
        case KIND_MIN:                                                                             \
            return ((a < b) | (a != a)) ? a : b;                                                   \
        case KIND_SCALE_ADD:                                                                       \
            return (type)(alpha)*a + (type)(beta)*b;                                               \
        case KIND_SCALE_A:                                                                         \
            return (type)(alpha)*a;                                                                \
        case KIND_SCALE_B:                                                                         \
            return (type)(beta)*b;                                                                 \
        default:                                                                                   \
            return (type)(0);                                                                      \
        }                                                                                          \
    }
DEFINE_COMBINE(combine, acc_t)
DEFINE_COMBINE(combine_v, acc_v)

typedef struct row_args {
    long a_stride, b_stride, d_stride, count;
    acc_t alpha, beta;
} row_args;

#if TENON_GPU

/* Selects the operation once for all vectors: all kinds share one copy of the loads and stores. */
TENON_INLINE void combine_all(const int vectors, int kind, acc_v x[TENON_VECTORS],
                              const acc_v y[TENON_VECTORS], const row_args *row)
{
#define COMBINE(constant)                                                                          \
    case constant:                                                                                 \
        FOR_VECTORS(k, vectors)                                                                    \
        {                                                                                          \
            x[k] = combine_v(constant, x[k], y[k], row->alpha, row->beta);                         \
        }                                                                                          \
        break;
    switch (kind) {
        COMBINE(KIND_ADD)
        COMBINE(KIND_SUBTRACT)
        COMBINE(KIND_MULTIPLY)
        COMBINE(KIND_DIVIDE)
        COMBINE(KIND_MAX)
        COMBINE(KIND_MIN)
        COMBINE(KIND_SCALE_ADD)
        COMBINE(KIND_SCALE_A)
        COMBINE(KIND_SCALE_B)
        COMBINE(KIND_ZERO)
    }
#undef COMBINE
}

TENON_INLINE void block(const int vectors, const int whole, int kind, const span *s, long i,
                        __global const data_t *a, __global const data_t *b, __global data_t *d,
                        const row_args *row)
{
    acc_v x[TENON_VECTORS], y[TENON_VECTORS];
    FOR_VECTORS(k, vectors)
    {
        x[k] = y[k] = splat(0);
    }
    if (READS_A(kind)) {
        load_vectors(vectors, whole, s, a, i, row->a_stride, x);
    }
    if (READS_B(kind)) {
        load_vectors(vectors, whole, s, b, i, row->b_stride, y);
    }
    combine_all(vectors, kind, x, y, row);
    store_vectors(vectors, whole, s, d, i, row->d_stride, x, 1);
}

TENON_INLINE void run_kind(int kind, const span *s, __global const data_t *a,
                           __global const data_t *b, __global data_t *d, const row_args *row){
    EACH_BLOCK(s,
               is_vectorizable(a, row->a_stride) && is_vectorizable(b, row->b_stride) &&
                   is_vectorizable(d, row->d_stride),
               block(vectors, whole, kind, s, i, a, b, d, row))}

#else

TENON_INLINE long run_vectors(const int kind, __global const data_t *a, __global const data_t *b,
                              __global data_t *d, const row_args *row)
{
    const int a_steps = row->a_stride != 0, b_steps = row->b_stride != 0;
    acc_v a_value = splat(READS_A(kind) ? load_data(a, 0) : 0);
    acc_v b_value = splat(READS_B(kind) ? load_data(b, 0) : 0);
    long i = 0;
    for (; i + TENON_VW <= row->count; i += TENON_VW) {
        if (READS_A(kind) && a_steps) {
            a_value = load_data_v(a, i);
        }
        if (READS_B(kind) && b_steps) {
            b_value = load_data_v(b, i);
        }
        acc_v value = combine_v(kind, a_value, b_value, row->alpha, row->beta);
        stream_data_v(d, i, value, d != a && d != b);
    }
#if TENON_MASKS
    if (i < row->count) {
        const int lanes = (int)(row->count - i);
        if (READS_A(kind) && a_steps) {
            a_value = load_part(a + i, lanes, 0);
        }
        if (READS_B(kind) && b_steps) {
            b_value = load_part(b + i, lanes, 0);
        }
        store_part(d + i, lanes, combine_v(kind, a_value, b_value, row->alpha, row->beta));
        i = row->count;
    }
#endif
    return i;
}

/* Computes elements [s->first, s->last) of a row. */
TENON_INLINE void run(const int kind, const span *s, __global const data_t *a,
                      __global const data_t *b, __global data_t *d, const row_args *row)
{
    const long least = TENON_MASKS ? 1 : TENON_VW;
    long i = 0;
    a += s->first * row->a_stride;
    b += s->first * row->b_stride;
    d += s->first * row->d_stride;
    if (row->d_stride == 1 && row->a_stride <= 1 && row->b_stride <= 1 && row->count >= least) {
        i = run_vectors(kind, a, b, d, row);
    }
    for (; i < row->count; i++) {
        acc_t a_value = READS_A(kind) ? load_data(a, i * row->a_stride) : 0;
        acc_t b_value = READS_B(kind) ? load_data(b, i * row->b_stride) : 0;
        store_data(d, i * row->d_stride, combine(kind, a_value, b_value, row->alpha, row->beta));
    }
}

/* Selects the kind outside of the loop over the elements, which is compiled separately for each
 * kind. */
TENON_FUNCTION void run_kind(const int kind, const span *s, __global const data_t *a,
                             __global const data_t *b, __global data_t *d, const row_args *row)
{
#define RUN(k)                                                                                     \
    case k:                                                                                        \
        run(k, s, a, b, d, row);                                                                   \
        break;
    switch (kind) {
        RUN(KIND_ADD)
        RUN(KIND_SUBTRACT)
        RUN(KIND_MULTIPLY)
        RUN(KIND_DIVIDE)
        RUN(KIND_MAX)
        RUN(KIND_MIN)
        RUN(KIND_SCALE_ADD)
        RUN(KIND_SCALE_A)
        RUN(KIND_SCALE_B)
        RUN(KIND_ZERO)
    }
#undef RUN
}

#endif

TENON_INLINE int kind_of(const elementwise_args *args, acc_t alpha, acc_t beta)
{
    if (args->kind != KIND_SCALE_ADD || (alpha != 0 && beta != 0)) {
        return args->kind;
    }
    return alpha != 0 ? KIND_SCALE_A : beta != 0 ? KIND_SCALE_B : KIND_ZERO;
}

TENON_VECTOR_KERNEL void binary(__global const data_t *a, __global const data_t *b,
                                __global data_t *d, const elementwise_args args)
{
    row_args row;
    walk w;
    row.alpha = TENON_FROM_BITS(args.alpha);
    row.beta = TENON_FROM_BITS(args.beta);
    const int kind = kind_of(&args, row.alpha, row.beta);
    row.a_stride = args.walk.step[0];
    row.b_stride = args.walk.step[1];
    row.d_stride = args.walk.step[2];
    walk_begin(&w, &args.walk, 3);
    const span s = walk_span(&w);
    row.count = w.last - w.first;
    EACH_ROW(&w, &args.walk, 3)
    {
        run_kind(kind, &s, a + w.at[0], b + w.at[1], d + w.at[2], &row);
    }
}
