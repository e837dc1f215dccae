/*
 * Scatter: combines elements of y with the updates whose tuples have their key, in the order of the
 * tuples. A work-item processes one piece of one line of the columns (gather/args.h) for
 * args.each keys or pairs. Global size: at least {args.items}.
 *
 * scan: examines all tuples for each key.
 * sorted: processes pairs that sort.cl has left in the workspace. The first pair of a key processes
 *   all its pairs.
 *
 * TENON_BITS, TENON_DTYPE or TENON_COPY_SIZE, TENON_VW: see gather/value.clh.
 * TENON_INDEX, TENON_TUPLE: see gather/tuple.clh.
 */
#include "gather/value.clh"

#include "gather/list.clh"

/* Vectors of columns that are combined independently. */
#define VECTORS 4

typedef struct place {
    long update, y;   /* start of the line */
    long first, last; /* elements within the line */
    long item, end;   /* keys or pairs */
} place;

TENON_INLINE place place_of(const scatter_args *args, long count)
{
    long id = (long)get_global_id(0);
    long line = id / args->pieces % args->lines;
    place at = {.update = args->update_offset, .y = args->y_offset};
    at.first = id % args->pieces * args->chunk;
    at.last = min(at.first + args->chunk, (long)entry_of(args->shape, args->rank - 1));
    at.item = id / args->pieces / args->lines * args->each;
    at.end = id < args->items ? min(at.item + args->each, count) : at.item;
    EACH_DOWN(d, 0, (int)args->rank - 1)
    {
        long index;
        TENON_DIVIDE(line, (long)args->shape[d], line, index)
        at.update += index * args->stride[0][d];
        at.y += index * args->stride[1][d];
    }
    return at;
}

/* Returns the offset in y of the elements with a key. */
TENON_INLINE long key_at(const scatter_args *args, long key)
{
    long at = 0;
    EACH_DOWN(d, 1, (int)args->key_rank)
    {
        long index;
        TENON_DIVIDE(key, (long)args->key_shape[d], key, index)
        at += index * args->key_stride[d];
    }
    return at + key * args->key_stride[0];
}

/* The tuples of a key: [first, last) of a list of positions or, without a list, all tuples in this
 * range that have the key. */
typedef struct members {
    __global const int *numbers;
    __global const index_t *indices;
    long first, last;
    long key;
} members;

TENON_INLINE bool is_member(const members *m, const scatter_args *args, long i)
{
    return m->numbers != 0 || key_of(m->indices, &args->list, &args->tuple, i) == m->key;
}

TENON_INLINE long update_at(const members *m, const scatter_args *args, long i)
{
    return list_at(&args->list, GATHER_LIST_UPDATES, m->numbers != 0 ? m->numbers[i] : i);
}

TENON_INLINE void combine_key(__global const stored_t *updates, __global stored_t *y,
                              const members *m, const scatter_args *args, const place *at)
{
    const long us = entry_of(args->stride[0], args->rank - 1),
               ys = entry_of(args->stride[1], args->rank - 1);
    const long to = at->y + key_at(args, m->key);
    const value_t sign = (value_t)args->sign;
    long c = at->first;
    for (; c + VECTORS * TENON_VW <= at->last; c += VECTORS * TENON_VW) {
        value_v value[VECTORS];
        TENON_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            value[v] = load_values(y, to + (c + v * TENON_VW) * ys, ys, TENON_VW);
        }
        for (long i = m->first; i < m->last; i++) {
            if (is_member(m, args, i)) {
                const long from = at->update + update_at(m, args, i);
                TENON_UNROLL
                for (int v = 0; v < VECTORS; v++) {
                    value[v] = combine_v(
                        args->op, sign, value[v],
                        load_values(updates, from + (c + v * TENON_VW) * us, us, TENON_VW));
                }
            }
        }
        TENON_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            store_values(y, to + (c + v * TENON_VW) * ys, ys, TENON_VW, value[v]);
        }
    }
    for (; c < at->last; c += TENON_VW) {
        const int lanes = (int)min((long)TENON_VW, at->last - c);
        value_v value = load_values(y, to + c * ys, ys, lanes);
        for (long i = m->first; i < m->last; i++) {
            if (is_member(m, args, i)) {
                const long from = at->update + update_at(m, args, i);
                value = combine_v(args->op, sign, value,
                                  load_values(updates, from + c * us, us, lanes));
            }
        }
        store_values(y, to + c * ys, ys, lanes, value);
    }
}

/* Finds the range from the first to the last tuple that has the key, once per key: the loops over
 * vectors then scan only this range. */
TENON_INLINE void find_members(members *m, const scatter_args *args)
{
    m->first = m->last = 0;
    for (long i = 0; i < args->list.count; i++) {
        if (is_member(m, args, i)) {
            m->first = m->last == 0 ? i : m->first;
            m->last = i + 1;
        }
    }
}

TENON_VECTOR_KERNEL void scan(__global const stored_t *updates, __global const index_t *indices,
                              __global stored_t *y, const scatter_args args)
{
    const place at = place_of(&args, args.keys);
    members m = {.indices = indices + args.index_offset};
    for (long key = at.item; key < at.end; key++) {
        m.key = key;
        find_members(&m, &args);
        if (m.last > 0) {
            combine_key(updates, y, &m, &args, &at);
        }
    }
}

TENON_VECTOR_KERNEL void sorted(__global const stored_t *updates, __global const int *workspace,
                                __global stored_t *y, const scatter_args args)
{
    const long count = args.list.count;
    const place at = place_of(&args, count);
    __global const int *keys = workspace + args.workspace + args.sorted_at;
    members m = {.numbers = keys + count};
    for (long i = at.item; i < at.end; i++) {
        m.key = keys[i];
        if (m.key < args.keys && (i == 0 || keys[i - 1] != m.key)) {
            m.first = i;
            m.last = i + 1;
            while (m.last < count && keys[m.last] == m.key) {
                m.last++;
            }
            combine_key(updates, y, &m, &args, &at);
        }
    }
}
