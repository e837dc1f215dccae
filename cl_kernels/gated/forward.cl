/*
 * Gated linear unit: y = a · f(b), element by element, over any strides. y may be a or b.
 *
 * A work-item handles a piece of rows_each rows, in vectors along the last dimension; on a GPU, its
 * vectors of one row. Global size: at least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_DTYPE, TENON_ACT_BUILD: see common/types.clh and
 * common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/activation.clh"
#include "common/walk.clh"
#include "gated/args.h"

typedef struct operands {
    __global const data_t *a, *b;
    __global data_t *y;
    long a_step, b_step, y_step;
    int fresh;
} operands;

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        const operands *o, const activation_args *f)
{
    acc_v value[TENON_VECTORS], gate[TENON_VECTORS];
    load_vectors(vectors, whole, s, o->b, i, o->b_step, gate);
    load_vectors(vectors, whole, s, o->a, i, o->a_step, value);
    FOR_VECTORS(k, vectors)
    {
        value[k] = value[k] * activate_v(gate[k], f);
    }
    store_vectors(vectors, whole, s, o->y, i, o->y_step, value, o->fresh);
}

TENON_VECTOR_KERNEL void forward(__global const data_t *a, __global const data_t *b,
                                 __global data_t *y, const gated_args args)
{
    const activation_args f = {args.activation, TENON_FROM_BITS(args.alpha),
                               TENON_FROM_BITS(args.beta)};
    walk w;
    walk_begin(&w, &args.walk, 3);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args.walk, 3)
    {
        const operands o = {a + w.at[0],       b + w.at[1],       y + w.at[2],
                            args.walk.step[0], args.walk.step[1], args.walk.step[2],
                            y != a && y != b};
        EACH_BLOCK(&s,
                   is_vectorizable(o.a, o.a_step) && is_vectorizable(o.b, o.b_step) &&
                       is_vectorizable(o.y, o.y_step),
                   block(vectors, whole, &s, i, &o, &f))
    }
}
