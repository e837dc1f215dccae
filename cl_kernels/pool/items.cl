/*
 * Pooling for GPUs: y = the maximum or the average of each window of x; for the maximum also its
 * position. Results are numbered along w, h, d, channels and images, or with args.side_by_side
 * along the channels first: neighboring work-items write contiguous elements of y.
 *
 * pool_forward_items: a work-item computes one result. Global size: {args.line_count} or more.
 * pool_forward_groups: for few results with large windows. A work-group of TENON_ITEMS computes
 *   args.lines results, a divisor of TENON_ITEMS; each work-item handles every (TENON_ITEMS /
 *   lines)-th tap of one result. Sums are added halves to halves, in an order that depends only on
 *   the sizes. Global size: {ceil(line_count / lines) * TENON_ITEMS}, local size: {TENON_ITEMS}.
 *
 * TENON_ITEMS: a power of two.
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average.
 *
 * TENON_DTYPE: see common/types.clh. indices is not written without POOL_HAS_INDICES.
 */
#define TENON_INDEX_32 1
#ifndef TENON_VW
#define TENON_VW 2
#endif
#ifndef TENON_ITEMS
#define TENON_ITEMS 128
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#include "pool/items.clh"

/* A result: offsets of its image, of itself and of its index, and its taps. */
typedef struct pool_result {
    long x, y, index;
    pool_taps taps[3];
} pool_result;

TENON_INLINE pool_result find_result(const pool_args *args, uint number)
{
    const pool_place p = find_place(args, number, args->out);
    pool_result r;
    r.x = args->x_offset + p.n * args->x_stride[0] + p.c * args->x_stride[1];
    r.y = args->y_offset + p.n * args->y_stride[0] + p.c * args->y_stride[1];
    r.index = args->index_offset + p.n * args->index_stride[0] + p.c * args->index_stride[1];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        r.y += p.at[d] * ARG(y_stride[2 + d]);
        r.index += p.at[d] * ARG(index_stride[2 + d]);
        find_taps(r.taps + d, args, d, p.at[d]);
    }
    return r;
}

TENON_KERNEL void pool_forward_items(__global const data_t *x, __global data_t *y,
                                     __global int *indices, const pool_args args)
{
    const uint number = (uint)get_global_id(0);
    if (number >= (uint)args.line_count) {
        return;
    }
    const pool_result r = find_result(&args, number);
#if TENON_POOL_MAX
    position_t where;
    store_data(y, r.y, maximum(x + r.x, &args, args.x_stride, r.taps, 0, &where));
    if (args.flags & POOL_HAS_INDICES) {
        indices[r.index] = (int)where;
    }
#else
    store_data(y, r.y, sum(x + r.x, &args, args.x_stride, r.taps, 0) / divisor_of(&args, r.taps));
#endif
}

/* Iteration of a work-item over the taps of a window, along w, h and d, `stride` taps at a time. */
typedef struct tap_walk {
    index_t at[3], step[3], left;
} tap_walk;

TENON_INLINE tap_walk walk_taps(const pool_taps *taps, index_t first, index_t stride)
{
    tap_walk walk;
    walk.left = taps[0].count * taps[1].count * taps[2].count - first;
    if (walk.left > 0) {
        index_t at = first / taps[2].count, step = stride / taps[2].count;
        walk.at[2] = first - at * taps[2].count;
        walk.step[2] = stride - step * taps[2].count;
        walk.at[0] = at / taps[1].count;
        walk.step[0] = step / taps[1].count;
        walk.at[1] = at - walk.at[0] * taps[1].count;
        walk.step[1] = step - walk.step[0] * taps[1].count;
    }
    return walk;
}

TENON_INLINE void walk_on(tap_walk *walk, const pool_taps *taps, index_t stride)
{
    walk->left -= stride;
    walk->at[2] += walk->step[2];
    if (walk->at[2] >= taps[2].count) {
        walk->at[2] -= taps[2].count;
        walk->at[1]++;
    }
    walk->at[1] += walk->step[1];
    if (walk->at[1] >= taps[1].count) {
        walk->at[1] -= taps[1].count;
        walk->at[0]++;
    }
    walk->at[0] += walk->step[0];
}

/* A work-item's part of a result: the sum of its taps, or the greatest tap and its position. */
typedef struct pool_share {
    acc_t value;
    position_t where;
} pool_share;

/* The position of no tap, greater than all others. */
#define NOWHERE ((position_t)INT_MAX)

/* Combines two parts. A NaN is greater than any number; of equal values the first is taken. */
TENON_INLINE pool_share join(pool_share a, pool_share b)
{
#if TENON_POOL_MAX
    const int equal = a.value == b.value || (a.value != a.value && b.value != b.value);
    const int greater = b.value > a.value || (b.value != b.value && a.value == a.value);
    return greater || (equal && b.where < a.where) ? b : a;
#else
    a.value += b.value;
    return a;
#endif
}

TENON_INLINE pool_share take_taps(__global const data_t *x, const pool_args *args,
                                  const pool_taps *taps, index_t first, index_t stride)
{
    pool_share share;
    share.value = TENON_POOL_MAX ? (acc_t)(-INFINITY) : (acc_t)0;
    share.where = NOWHERE;
    for (tap_walk walk = walk_taps(taps, first, stride); walk.left > 0;
         walk_on(&walk, taps, stride)) {
        const index_t d = taps[0].at + walk.at[0] * ARG(dilation[0]),
                      h = taps[1].at + walk.at[1] * ARG(dilation[1]),
                      w = taps[2].at + walk.at[2] * ARG(dilation[2]);
        pool_share tap;
        tap.value =
            load_data(x, d * ARG(x_stride[2]) + h * ARG(x_stride[3]) + w * ARG(x_stride[4]));
        tap.where = (position_t)((d * ARG(size[1]) + h) * ARG(size[2]) + w);
        share = join(share, tap);
    }
    return share;
}

TENON_KERNEL __attribute__((reqd_work_group_size(TENON_ITEMS, 1, 1))) void
pool_forward_groups(__global const data_t *x, __global data_t *y, __global int *indices,
                    const pool_args args)
{
    __local acc_t values[TENON_ITEMS];
    __local position_t places[TENON_ITEMS];
    const int item = (int)get_local_id(0), lanes = (int)args.lines;
    const uint number = (uint)get_group_id(0) * (uint)lanes + (uint)(item % lanes);
    const int is_result = number < (uint)args.line_count;
    const pool_result r = find_result(&args, is_result ? number : 0);
    pool_share share = take_taps(x + r.x, &args, r.taps, item / lanes, TENON_ITEMS / lanes);
    for (int rest = TENON_ITEMS / 2; rest >= lanes; rest /= 2) {
        values[item] = share.value;
        places[item] = share.where;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < rest) {
            pool_share other;
            other.value = values[item + rest];
            other.where = places[item + rest];
            share = join(share, other);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item >= lanes || !is_result) {
        return;
    }
#if TENON_POOL_MAX
    store_data(y, r.y, share.value);
    if (args.flags & POOL_HAS_INDICES) {
        const index_t first =
            (r.taps[0].at * (index_t)args.size[1] + r.taps[1].at) * (index_t)args.size[2] +
            r.taps[2].at;
        indices[r.index] = share.where == NOWHERE ? first : (int)share.where;
    }
#else
    store_data(y, r.y, share.value / divisor_of(&args, r.taps));
#endif
}
