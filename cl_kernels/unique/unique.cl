/*
 * The different elements of x. Equal elements are neighbors in a line of `elements` keys, which is
 * x itself, a copy, or x sorted with the original index of each key (UNIQUE_HAS_ORDER). A head is
 * an element that differs from the one before it. The line is divided into blocks.
 *
 * unique_pack: copies x to a contiguous line. Global size: at least {blocks}.
 * unique_heads: stores the number of heads of a block, and the position of the last one or -1.
 *   Global size: at least {blocks}.
 * unique_write: writes the outputs of a block, and a share of the rest of the outputs. Global size:
 *   at least {blocks}.
 * unique_serial: a single work-item, which searches x for each different element in turn. Global
 *   size: {1}.
 *
 * TENON_KEY: see sort/keys.clh.
 */
#include "sort/keys.clh"

#include "unique/args.h"

/* Pointers to the outputs; absent ones are neither read nor written. */
typedef struct unique_outputs {
    __global key_t *y;
    __global int *first, *inverse, *counts;
} unique_outputs;

#define UNIQUE_OUTPUTS                                                                             \
    __global key_t *y, __global int *first, __global int *inverse, __global int *counts,           \
        __global int *count

TENON_INLINE unique_outputs outputs_of(UNIQUE_OUTPUTS, const unique_args *args)
{
    const unique_outputs out = {y + args->offset[UNIQUE_Y], first + args->offset[UNIQUE_FIRST],
                                inverse + args->offset[UNIQUE_INVERSE],
                                counts + args->offset[UNIQUE_COUNTS]};
    return out;
}

TENON_INLINE key_rule unique_rule(const unique_args *args)
{
    const key_rule rule = {(key_t)args->sign,     (key_t)args->negative_zero, (key_t)args->flip,
                           (key_t)args->infinity, (key_t)args->toggle,        (key_t) ~(key_t)0};
    return rule;
}

/* Returns the offset of element i of x, or of the inverse, from its first one. */
TENON_INLINE long unique_place(const unique_args *args, const int view, long i)
{
    long at = 0;
    EACH_DOWN(d, 0, (int)args->rank)
    {
        long index = i;
        if (d > 0) {
            TENON_DIVIDE(i, (long)args->shape[d], i, index)
        }
        at += index * args->stride[view][d];
    }
    return at;
}

TENON_INLINE void put_inverse(const unique_outputs *out, const unique_args *args, long i, long r)
{
    if (args->flags & UNIQUE_HAS_INVERSE) {
        out->inverse[unique_place(args, UNIQUE_SPACE_INVERSE, i)] = (int)r;
    }
}

/* Stores different element r, whose first index is i. */
TENON_INLINE void put_head(const unique_outputs *out, const unique_args *args, key_t bits, long i,
                           long r)
{
    if (r >= args->capacity) {
        return;
    }
    if (args->flags & UNIQUE_HAS_Y) {
        out->y[r * args->y_step] = bits;
    }
    if (args->flags & UNIQUE_HAS_FIRST) {
        out->first[r * args->first_step] = (int)i;
    }
}

TENON_INLINE void put_count(const unique_outputs *out, const unique_args *args, long r, long count)
{
    if ((args->flags & UNIQUE_HAS_COUNTS) && r >= 0 && r < args->capacity) {
        out->counts[r * args->counts_step] = (int)count;
    }
}

/* Fills places [first, last) of the outputs that have room for more elements. */
TENON_INLINE void put_rest(const unique_outputs *out, const unique_args *args, long first,
                           long last)
{
    for (long r = first; r < last; r++) {
        put_head(out, args, (key_t)0, -1, r);
        put_count(out, args, r, 0);
    }
}

TENON_KERNEL void unique_pack(__global const key_t *x, __global key_t *keys, const unique_args args)
{
    const long id = (long)get_global_id(0);
    const long last = min((id + 1) * args.length, (long)args.elements);
    for (long i = id * args.length; i < last; i++) {
        keys[args.keys_at + i] = x[args.offset[UNIQUE_X] + unique_place(&args, UNIQUE_SPACE_X, i)];
    }
}

TENON_INLINE int is_head(__global const key_t *keys, const unique_args *args, key_rule rule, long i)
{
    return i == 0 || key_of(keys[args->keys_at + i * args->keys_step], rule) !=
                         key_of(keys[args->keys_at + (i - 1) * args->keys_step], rule);
}

TENON_KERNEL void unique_heads(__global const key_t *keys, __global int *workspace,
                               const unique_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.blocks) {
        return;
    }
    const key_rule rule = unique_rule(&args);
    const long last = min((id + 1) * args.length, (long)args.elements);
    int heads = 0, latest = -1;
    for (long i = id * args.length; i < last; i++) {
        if (is_head(keys, &args, rule, i)) {
            heads++;
            latest = (int)i;
        }
    }
    workspace[args.blocks_at + 2 * id] = heads;
    workspace[args.blocks_at + 2 * id + 1] = latest;
}

/* Writes the elements of a block. `r` is the number of heads before it, and `start` the position of
 * the last one of them. */
TENON_INLINE void write_block(__global const key_t *keys, __global const int *order,
                              const unique_outputs *out, const unique_args *args, long block,
                              long r, long start)
{
    const key_rule rule = unique_rule(args);
    const long last = min((block + 1) * args->length, (long)args->elements);
    for (long i = block * args->length; i < last; i++) {
        const long own = args->flags & UNIQUE_HAS_ORDER ? (long)order[args->order_at + i] : i;
        if (is_head(keys, args, rule, i)) {
            put_count(out, args, r - 1, i - start);
            put_head(out, args, keys[args->keys_at + i * args->keys_step], own, r);
            start = i;
            r++;
        }
        put_inverse(out, args, own, r - 1);
        if (i + 1 == args->elements) {
            put_count(out, args, r - 1, i + 1 - start);
        }
    }
}

TENON_KERNEL void unique_write(__global const key_t *keys, UNIQUE_OUTPUTS,
                               __global const int *workspace, const unique_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.blocks) {
        return;
    }
    const unique_outputs out = outputs_of(y, first, inverse, counts, count, &args);
    long before = 0, total = 0, start = 0;
    for (long b = 0; b < args.blocks; b++) {
        const int heads = workspace[args.blocks_at + 2 * b];
        if (b < id && heads > 0) {
            before += heads;
            start = workspace[args.blocks_at + 2 * b + 1];
        }
        total += heads;
    }
    write_block(keys, workspace, &out, &args, id, before, start);
    if (id == 0) {
        count[args.offset[UNIQUE_COUNT]] = (int)total;
    }
    const long rest = max((long)args.capacity - total, 0L);
    const long share = (rest + args.blocks - 1) / args.blocks;
    const long from = min(total + id * share, (long)args.capacity);
    put_rest(&out, &args, from, min(from + share, (long)args.capacity));
}

/* Returns the index of the first element with the least key that is greater than `below`, or the
 * least of all; -1 if there is none. */
TENON_INLINE long next_least(__global const key_t *x, const unique_args *args, key_rule rule,
                             int all, key_t below, key_t *least)
{
    long found = -1;
    for (long i = 0; i < args->elements; i++) {
        const key_t key = key_of(x[unique_place(args, UNIQUE_SPACE_X, i)], rule);
        if ((all || key > below) && (found < 0 || key < *least)) {
            *least = key;
            found = i;
        }
    }
    return found;
}

/* Returns the number of different elements. */
TENON_INLINE long write_sorted(__global const key_t *x, const unique_outputs *out,
                               const unique_args *args, key_rule rule)
{
    key_t key = 0;
    for (long r = 0;; r++) {
        key_t next = 0;
        const long head = next_least(x, args, rule, r == 0, key, &next);
        if (head < 0) {
            return r;
        }
        long equal = 0;
        key = next;
        for (long i = head; i < args->elements; i++) {
            if (key_of(x[unique_place(args, UNIQUE_SPACE_X, i)], rule) == key) {
                put_inverse(out, args, i, r);
                equal++;
            }
        }
        put_head(out, args, x[unique_place(args, UNIQUE_SPACE_X, head)], head, r);
        put_count(out, args, r, equal);
    }
}

/* Returns the number of runs. */
TENON_INLINE long write_runs(__global const key_t *x, const unique_outputs *out,
                             const unique_args *args, key_rule rule)
{
    long r = 0, start = 0;
    key_t before = 0;
    for (long i = 0; i < args->elements; i++) {
        const key_t bits = x[unique_place(args, UNIQUE_SPACE_X, i)], key = key_of(bits, rule);
        if (i == 0 || key != before) {
            put_count(out, args, r - 1, i - start);
            put_head(out, args, bits, i, r);
            start = i;
            r++;
        }
        put_inverse(out, args, i, r - 1);
        before = key;
    }
    put_count(out, args, r - 1, args->elements - start);
    return r;
}

TENON_KERNEL void unique_serial(__global const key_t *x, UNIQUE_OUTPUTS, const unique_args args)
{
    if (get_global_id(0) > 0) {
        return;
    }
    const unique_outputs out = outputs_of(y, first, inverse, counts, count, &args);
    const key_rule rule = unique_rule(&args);
    __global const key_t *own = x + args.offset[UNIQUE_X];
    const long total = args.flags & UNIQUE_RUNS ? write_runs(own, &out, &args, rule)
                                                : write_sorted(own, &out, &args, rule);
    count[args.offset[UNIQUE_COUNT]] = (int)total;
    put_rest(&out, &args, total, args.capacity);
}
