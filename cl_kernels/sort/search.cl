/*
 * Binary search: for each value (y) the number of elements of the sorted row (x) with a smaller
 * key, or with SORT_RIGHT of those without a greater one. A work-item handles args.length values of
 * a row; args.limit is the number of values in a row. Global size: at least {rows * pieces}.
 *
 * On CPUs the searches of several values take turns, so that they wait for memory together.
 *
 * TENON_KEY: see sort/keys.clh.
 */
#include "sort/keys.clh"

/* Searches that take turns. */
#if TENON_GPU
#define SEARCHES 1
#else
#define SEARCHES 16
#endif

/* Sets places[i] to the number of elements whose key is less than keys[i], or not greater if
 * `right` is 1. */
TENON_INLINE void find_places(__global const key_t *x, long step, int size, key_rule rule,
                              const key_t *keys, int right, int *places)
{
    TENON_UNROLL
    for (int i = 0; i < SEARCHES; i++) {
        places[i] = 0;
    }
    /* The first step is not from the middle: in a row whose size is a power of two, the elements
     * that all searches read would have distances for which caches have few places. */
    int skip = max((int)((long)size * 6 / 13), 1);
    for (int left = size; left > 0; skip = left - left / 2) {
        TENON_UNROLL
        for (int i = 0; i < SEARCHES; i++) {
            const key_t other = key_of(x[(long)(places[i] + skip - 1) * step], rule);
            places[i] += ((other < keys[i]) | (right & (other == keys[i]))) ? skip : 0;
        }
        left -= skip;
    }
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
    const int right = (args.flags & SORT_RIGHT) != 0;
    for (long i = first; i < last; i += SEARCHES) {
        key_t keys[SEARCHES];
        int places[SEARCHES];
        TENON_UNROLL
        for (int l = 0; l < SEARCHES; l++) {
            keys[l] =
                key_of(values[r.at[SORT_Y] + min(i + l, last - 1) * args.axis.axis[SORT_Y]], rule);
        }
        find_places(sorted + r.at[SORT_X], args.axis.axis[SORT_X], (int)args.axis.size, rule, keys,
                    right, places);
        TENON_UNROLL
        for (int l = 0; l < SEARCHES; l++) {
            if (i + l < last) {
                indices[r.at[SORT_INDICES] + (i + l) * args.axis.axis[SORT_INDICES]] = places[l];
            }
        }
    }
}
