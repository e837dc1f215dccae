/*
 * Sum of the squares of a tensor's elements.
 *
 * square_sum: views x and the sums. Each work-item adds pieces of x's lines (common/lines.clh),
 *   with any strides, and stores the sum in the element with its index.
 * square_sum_add: work-item i adds the elements [i · each, min((i + 1) · each, count)) of `sums` in
 *   their order, and stores the result in element i of `total`. Global size: at least {items}.
 *
 * args.flags: bit 0: add to the output. Partial sums are kept in a workspace.
 *
 * TENON_VW, TENON_DTYPE, TENON_VECTORS: see common/types.clh and common/stream.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/lines.clh"
#include "common/rows.clh"

#define ADD 1

/* Adds the squares of a block. The vectors of a work-item are summed independently. */
TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        __global const data_t *x, long stride, acc_v total[TENON_VECTORS])
{
    acc_v v[TENON_VECTORS];
    load_vectors(vectors, whole, s, x, i, stride, v);
    FOR_VECTORS(k, vectors)
    {
        total[k] = TENON_FMA(v[k], v[k], total[k]);
    }
}

TENON_INLINE void leave(__global acc_t *sums, const lines_args *args, long item, acc_t sum)
{
    if (item < args->items * args->parts) {
        long at = args->offset[1] + item;
        sums[at] = (args->flags & ADD) != 0 ? sums[at] + sum : sum;
    }
}

TENON_VECTOR_KERNEL void square_sum(__global const data_t *x, __global acc_t *sums,
                                    const lines_args args)
{
    const long stride = args.along[0];
    acc_v total[TENON_VECTORS];
    lines w;
    FOR_VECTORS(k, TENON_VECTORS)
    {
        total[k] = splat(0);
    }
    for (lines_begin(&w, &args, 1); w.left > 0; lines_next(&w, &args, 1)) {
        const span s = lines_span(&w, &args);
        __global const data_t *line = x + w.at[0];
        EACH_BLOCK(&s, is_vectorizable(line, stride),
                   block(vectors, whole, &s, i, line, stride, total))
    }
    for (int k = 1; k < TENON_VECTORS; k++) {
        total[0] += total[k];
    }
    leave(sums, &args, (long)get_global_id(0), sum_of_lanes(total[0]));
}

TENON_KERNEL void square_sum_add(__global const acc_t *sums, __global acc_t *total,
                                 const lines_args args)
{
    const long item = (long)get_global_id(0), first = item * args.each;
    const long last = min(first + args.each, (long)args.count);
    acc_t sum = 0;
    for (long i = first; i < last; i++) {
        sum += sums[args.offset[0] + i];
    }
    leave(total, &args, item, sum);
}
