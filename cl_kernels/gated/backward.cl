/*
 * Gradient of a gated linear unit: da = dy · f(b) and db = dy · a · f'(b), element by element, over
 * any strides. da and db may be a, b or dy.
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
#include "common/derivative.clh"
#include "common/walk.clh"
#include "gated/args.h"

typedef struct operands {
    __global const data_t *a, *b, *dy;
    __global data_t *da, *db;
    int da_fresh, db_fresh;
} operands;

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        const operands *o, const tenon_i64 *step, const activation_args *f)
{
    acc_v value[TENON_VECTORS], gate[TENON_VECTORS], gradient[TENON_VECTORS];
    load_vectors(vectors, whole, s, o->a, i, step[0], value);
    load_vectors(vectors, whole, s, o->b, i, step[1], gate);
    load_vectors(vectors, whole, s, o->dy, i, step[2], gradient);
    FOR_VECTORS(k, vectors)
    {
        value[k] = gradient[k] * value[k] * derivative_v(gate[k], f);
    }
    store_vectors(vectors, whole, s, o->db, i, step[4], value,
                  o->db_fresh); /* frees the registers of `value` */
    FOR_VECTORS(k, vectors)
    {
        gradient[k] = gradient[k] * activate_v(gate[k], f);
    }
    store_vectors(vectors, whole, s, o->da, i, step[3], gradient, o->da_fresh);
}

TENON_VECTOR_KERNEL void backward(__global const data_t *a, __global const data_t *b,
                                  __global const data_t *dy, __global data_t *da,
                                  __global data_t *db, const gated_args args)
{
    const activation_args f = {args.activation, TENON_FROM_BITS(args.alpha),
                               TENON_FROM_BITS(args.beta)};
    walk w;
    walk_begin(&w, &args.walk, 5);
    const span s = walk_span(&w);
    const tenon_i64 *step = args.walk.step;
    EACH_ROW(&w, &args.walk, 5)
    {
        const operands o = {a + w.at[0],
                            b + w.at[1],
                            dy + w.at[2],
                            da + w.at[3],
                            db + w.at[4],
                            da != a && da != b && da != dy,
                            db != a && db != b && db != dy};
        EACH_BLOCK(&s,
                   is_vectorizable(o.a, step[0]) && is_vectorizable(o.b, step[1]) &&
                       is_vectorizable(o.dy, step[2]) && is_vectorizable(o.da, step[3]) &&
                       is_vectorizable(o.db, step[4]),
                   block(vectors, whole, &s, i, &o, step, &f))
    }
}
