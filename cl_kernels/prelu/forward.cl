/*
 * Parametric ReLU: y = x > 0 ? x : slope · x, element by element, over any strides (0 broadcasts).
 * y may be x or slope.
 *
 * A work-item handles a piece of rows_each rows, in vectors along the last dimension; on a GPU, its
 * vectors of one row. Global size: at least {args.items}.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/types.clh"
#include "common/walk.clh"

typedef struct operands {
    __global const data_t *x, *slope;
    __global data_t *y;
    long x_step, slope_step, y_step;
    int fresh;
} operands;

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        const operands *o)
{
    acc_v x[TENON_VECTORS], slope[TENON_VECTORS];
    load_vectors(vectors, whole, s, o->slope, i, o->slope_step, slope);
    load_vectors(vectors, whole, s, o->x, i, o->x_step, x);
    FOR_VECTORS(k, vectors)
    {
        x[k] = x[k] > splat(0) ? x[k] : slope[k] * x[k];
    }
    store_vectors(vectors, whole, s, o->y, i, o->y_step, x, o->fresh);
}

TENON_VECTOR_KERNEL void forward(__global const data_t *x, __global const data_t *slope,
                                 __global data_t *y, const walk_args args)
{
    walk w;
    walk_begin(&w, &args, 3);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args, 3)
    {
        const operands o = {x + w.at[0],  slope + w.at[1], y + w.at[2], args.step[0],
                            args.step[1], args.step[2],    y != x};
        EACH_BLOCK(&s,
                   is_vectorizable(o.x, o.x_step) && is_vectorizable(o.slope, o.slope_step) &&
                       is_vectorizable(o.y, o.y_step),
                   block(vectors, whole, &s, i, &o))
    }
}
