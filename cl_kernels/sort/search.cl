/*
 * Binary search: for each value (y) the number of elements of the sorted row (x) with a smaller
 * key, or with SORT_RIGHT of those without a greater one. A work-item handles args.length values of
 * a row; args.limit is the number of values in a row. Global size: at least {rows * pieces}.
 *
 * TENON_KEY: see sort/keys.clh.
 */
#include "sort/keys.clh"

/* Returns the number of elements whose key is less than `key`, or not greater if `right`. */
TENON_INLINE int place_of(__global const key_t *x, long step, long size, key_rule rule, key_t key,
                          int right)
{
    long low = 0, high = size;
    while (low < high) {
        const long middle = low + (high - low) / 2;
        const key_t other = key_of(x[middle * step], rule);
        if (other < key || (right && other == key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int)low;
}

TENON_KERNEL void search(__global const key_t *sorted, __global const key_t *values,
                         __global SORT_INDEX *indices, const sort_args args)
{
    const long id = (long)get_global_id(0), row = id / args.pieces;
    if (row >= args.axis.rows) {
        return;
    }
    const key_rule rule = rule_of(&args);
    const axis_row r = axis_row_of(&args.axis, row, SORT_INDICES + 1);
    const long first = id % args.pieces * args.length;
    const long last = min(first + args.length, (long)args.limit);
    for (long i = first; i < last; i++) {
        const key_t key = key_of(values[r.at[SORT_Y] + i * args.axis.axis[SORT_Y]], rule);
        indices[r.at[SORT_INDICES] + i * args.axis.axis[SORT_INDICES]] =
            place_of(sorted + r.at[SORT_X], args.axis.axis[SORT_X], args.axis.size, rule, key,
                     args.flags & SORT_RIGHT);
    }
}
