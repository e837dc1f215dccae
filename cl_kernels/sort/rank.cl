/*
 * Sorts without workspace.
 *
 * rank_rows: the place of an element in its row is the number of elements that precede it: those
 *   with a smaller key, and earlier ones with the same key. A work-item handles args.each rows, or
 * a piece of args.length elements of a row. Global size: at least {rows / each * pieces}.
 * select_rows: keeps the first args.limit elements in the outputs, sorted, and inserts each element
 *   that precedes the last of them. On CPUs it handles SORT_LANES rows together if they have few
 *   results. Global size: at least {rows / each}.
 *
 * TENON_KEY: see sort/keys.clh.
 */
#include "sort/vectors.clh"

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

#if !TENON_GPU
typedef TENON_CAT(int, KEYS_VW) places_v;
#define TO_PLACES TENON_CAT(convert_int, KEYS_VW)

/* Inserts an element of each row before those with a greater key. keys[count] and places[count]
 * receive the element that is then the last. */
TENON_INLINE void insert_lanes(keys_v *keys, places_v *places, long count, keys_v key, long place)
{
    keys_v next_key = key;
    places_v next = (places_v)((int)place);
    for (long i = 0; i < count; i++) {
        const keys_v old_key = keys[i];
        const places_v old = places[i], is_before = TO_PLACES(key < old_key);
        keys[i] = min(next_key, old_key);
        places[i] = is_before ? next : old;
        next_key = max(next_key, old_key);
        next = is_before ? old : next;
    }
    keys[count] = next_key;
    places[count] = next;
}

/* The step of common/transpose.clh for bits of elements. */
TENON_INLINE void transpose_halves(const keys_v *from, keys_v *to)
{
#pragma unroll
    for (int i = 0; i < KEYS_VW / 2; i++) {
        keys_v low = from[i], high = from[i];
        low.even = from[i].lo;
        low.odd = from[i + KEYS_VW / 2].lo;
        high.even = from[i].hi;
        high.odd = from[i + KEYS_VW / 2].hi;
        to[2 * i] = low;
        to[2 * i + 1] = high;
    }
}

/* Loads elements `first` to first + count - 1 of each row: lane l of bits[i] is element first + i
 * of row l. */
TENON_INLINE void load_columns(__global const key_t *const *rows, long first, int count, long step,
                               keys_v *bits)
{
    if (step == 1 && count == KEYS_VW) {
        keys_v other[KEYS_VW];
#pragma unroll
        for (int l = 0; l < KEYS_VW; l++) {
            bits[l] = TENON_CAT(vload, KEYS_VW)(0, rows[l] + first);
        }
        transpose_halves(bits, other);
        transpose_halves(other, bits);
        transpose_halves(bits, other);
        transpose_halves(other, bits);
        return;
    }
    for (int i = 0; i < count; i++) {
        key_t column[KEYS_VW];
        for (int l = 0; l < KEYS_VW; l++) {
            column[l] = rows[l][(first + i) * step];
        }
        bits[i] = TENON_CAT(vload, KEYS_VW)(0, column);
    }
}

/* Selects in KEYS_VW rows from row r on, each of which has a lane. */
TENON_FUNCTION void select_lanes(SORT_OPERANDS, const sort_args *args, key_rule rule, long r)
{
    const long size = args->axis.size, step = args->axis.axis[SORT_X], limit = args->limit;
    keys_v keys[SORT_FEW + 1];
    places_v places[SORT_FEW + 1];
    keys_v bits[KEYS_VW];
    int place[KEYS_VW * SORT_FEW];
    __global const key_t *rows[KEYS_VW];
    for (int l = 0; l < KEYS_VW; l++) {
        rows[l] = x + axis_row_of(&args->axis, r + l, SORT_VIEWS).at[SORT_X];
    }
    for (long first = 0; first < size; first += KEYS_VW) {
        const int count = (int)min(size - first, (long)KEYS_VW);
        load_columns(rows, first, count, step, bits);
        for (int i = 0; i < count; i++) {
            const keys_v key = keys_of(bits[i], rule);
            if (first + i < limit) {
                insert_lanes(keys, places, first + i, key, first + i);
            } else if (any(key < keys[limit - 1])) {
                insert_lanes(keys, places, limit, key, first + i);
            }
        }
    }
    for (long k = 0; k < limit; k++) {
        TENON_CAT(vstore, KEYS_VW)(places[k], k, place);
    }
    for (int l = 0; l < KEYS_VW; l++) {
        const sort_row row = sort_row_of(x, y, indices, payload, moved, args, r + l);
        for (long k = 0; k < limit; k++) {
            const int from = place[k * KEYS_VW + l];
            put_sorted(&row, args, row.x[from * step], from, k);
        }
    }
}
#endif

TENON_KERNEL void select_rows(SORT_OPERANDS, const sort_args args)
{
    const key_rule rule = rule_of(&args);
    const long begin = (long)get_global_id(0) * args.each, step = args.axis.axis[SORT_X];
    const long end = min(begin + args.each, (long)args.axis.rows), limit = args.limit;
    long r = begin;
#if !TENON_GPU
    for (; limit <= SORT_FEW && r + KEYS_VW <= end; r += KEYS_VW) {
        select_lanes(x, y, indices, payload, moved, &args, rule, r);
    }
#endif
    for (; r < end; r++) {
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
