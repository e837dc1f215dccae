/*
 * Sorts without workspace.
 *
 * rank_rows: the place of an element in its row is the number of elements that precede it: those
 *   with a smaller key, and earlier ones with the same key. A work-item handles args.each rows, or
 * a piece of args.length elements of a row. Global size: at least {rows / each * pieces}.
 * select_rows: keeps the first args.limit elements in the outputs, sorted, and inserts each element
 *   that precedes the last of them. Global size: at least {rows / each}.
 *
 * TENON_KEY: see sort/keys.clh.
 */
#include "sort/keys.clh"

#if !TENON_GPU
/* rank_rows for a short row, whose keys are computed once. */
TENON_INLINE void rank_short_row(const sort_row *row, const sort_args *args, key_rule rule)
{
    const int size = (int)args->axis.size;
    const long step = args->axis.axis[SORT_X];
    key_t keys[SORT_SHORT];
    for (int i = 0; i < size; i++) {
        keys[i] = key_of(row->x[i * step], rule);
    }
    for (int i = 0; i < size; i++) {
        const key_t key = keys[i];
        int place = 0;
        for (int j = 0; j < i; j++) {
            place += keys[j] <= key;
        }
        for (int j = i + 1; j < size; j++) {
            place += keys[j] < key;
        }
        put_sorted(row, args, row->x[i * step], i, place);
    }
}
#endif

TENON_INLINE void rank_range(const sort_row *row, const sort_args *args, key_rule rule, long first,
                             long last)
{
    const long step = args->axis.axis[SORT_X];
    for (long i = first; i < last; i++) {
        const key_t bits = row->x[i * step], key = key_of(bits, rule);
        int place = 0;
        for (long j = 0; j < i; j++) {
            place += key_of(row->x[j * step], rule) <= key;
        }
        for (long j = i + 1; j < args->axis.size; j++) {
            place += key_of(row->x[j * step], rule) < key;
        }
        put_sorted(row, args, bits, i, place);
    }
}

TENON_KERNEL void rank_rows(SORT_OPERANDS, const sort_args args)
{
    const long id = (long)get_global_id(0), piece = id % args.pieces;
    const key_rule rule = rule_of(&args);
    const long begin = id / args.pieces * args.each;
    const long end = min(begin + args.each, (long)args.axis.rows);
    for (long r = begin; r < end; r++) {
        const sort_row row = sort_row_of(x, y, indices, payload, moved, &args, r);
#if !TENON_GPU
        if (args.axis.size <= SORT_SHORT) {
            rank_short_row(&row, &args, rule);
            continue;
        }
#endif
        rank_range(&row, &args, rule, piece * args.length,
                   min((piece + 1) * args.length, (long)args.axis.size));
    }
}

/* Inserts an element before those with a greater key. `count` elements are sorted. */
TENON_INLINE void insert(const sort_row *row, const sort_args *args, key_rule rule, key_t bits,
                         long from, long count)
{
    const long ys = args->axis.axis[SORT_Y], is = args->axis.axis[SORT_INDICES];
    const key_t key = key_of(bits, rule);
    long to = min(count, (long)args->limit - 1);
    for (; to > 0 && key_of(row->y[(to - 1) * ys], rule) > key; to--) {
        row->y[to * ys] = row->y[(to - 1) * ys];
        if (args->flags & SORT_HAS_INDICES) {
            row->indices[to * is] = row->indices[(to - 1) * is];
        }
    }
    put_sorted(row, args, bits, from, to);
}

TENON_KERNEL void select_rows(SORT_OPERANDS, const sort_args args)
{
    const key_rule rule = rule_of(&args);
    const long begin = (long)get_global_id(0) * args.each, step = args.axis.axis[SORT_X];
    const long end = min(begin + args.each, (long)args.axis.rows), limit = args.limit;
    for (long r = begin; r < end; r++) {
        const sort_row row = sort_row_of(x, y, indices, payload, moved, &args, r);
        key_t last = 0;
        for (long i = 0; i < args.axis.size; i++) {
            const key_t bits = row.x[i * step];
            if (i < limit || key_of(bits, rule) < last) {
                insert(&row, &args, rule, bits, i, min(i, limit));
                last = key_of(row.y[min(i, limit - 1) * args.axis.axis[SORT_Y]], rule);
            }
        }
    }
}
