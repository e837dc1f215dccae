/*
 * Scans along the rows of axis_args, in the order of the scan: position p is element p of a row, or
 * size - 1 - p with SCAN_REVERSE. A scan consists of blocks of SCAN_BLOCK elements, each of which
 * begins with the identity; the result of the blocks before it is added afterwards.
 *
 * scan_rows: scans args.each rows. Global size: at least {rows / each}.
 * scan_totals: combines the elements of a piece of a row. Global size: at least {rows * pieces}.
 * scan_pieces: scans a piece, after combining the totals of the pieces before it in their order.
 *   Global size: at least {rows * pieces}.
 * scan_columns: scans neighboring rows together: the last dimension of the rows is contiguous in
 *   both tensors. Global size: at least {rows / shape[rank - 1] * each}.
 *
 * TENON_DTYPE, TENON_INTEGER, TENON_STREAM, TENON_VW: see scan/values.clh.
 */
#include "scan/values.clh"

/* A row in the order of the scan. */
typedef struct line {
    __global const stored_t *x;
    __global stored_t *y;
    long x_step, y_step;
} line;

TENON_INLINE line line_of(__global const stored_t *x, __global stored_t *y, const scan_args *args,
                          long row)
{
    const axis_row r = axis_row_of(&args->axis, row, SCAN_OPERANDS);
    line l = {x + r.at[SCAN_X], y + r.at[SCAN_Y], args->axis.axis[SCAN_X], args->axis.axis[SCAN_Y]};
    if (args->flags & SCAN_REVERSE) {
        l.x += (args->axis.size - 1) * l.x_step;
        l.y += (args->axis.size - 1) * l.y_step;
        l.x_step = -l.x_step;
        l.y_step = -l.y_step;
    }
    return l;
}

#ifdef TENON_VW
#define LAST (TENON_VW - 1)

TENON_INLINE values_t backwards(values_t v)
{
    return v.s76543210;
}

/* Return the lanes moved up by one, two and four places; the first lanes are `fill`. */
TENON_INLINE values_t moved_1(values_t v, value_t fill)
{
    return (values_t)(fill, v.s0, v.s1, v.s2, v.s3, v.s4, v.s5, v.s6);
}

TENON_INLINE values_t moved_2(values_t v, value_t fill)
{
    return (values_t)(fill, fill, v.s0, v.s1, v.s2, v.s3, v.s4, v.s5);
}

TENON_INLINE values_t moved_4(values_t v, value_t fill)
{
    return (values_t)(fill, fill, fill, fill, v.s0, v.s1, v.s2, v.s3);
}

/* Loads and stores the eight values from position p on. `step` is 1 or -1. */
TENON_INLINE values_t load_ahead(__global const stored_t *x, long step, long p)
{
    return step > 0 ? load_values(x, p) : backwards(load_values(x, -p - LAST));
}

TENON_INLINE void store_ahead(__global stored_t *y, long step, long p, values_t v, int fresh)
{
    if (step > 0) {
        store_values(y, p, v, fresh);
    } else {
        store_values(y, -p - LAST, backwards(v), fresh);
    }
}

TENON_INLINE int has_vectors(long step)
{
    return step == 1 || step == -1;
}

/* Scans the lanes of a vector: of pairs, then of halves, then of all (J. Sklansky, "Conditional-sum
 * addition logic", 1960). Lanes are kept instead of combined with the identity, because shuffles
 * with zeros become expansions, which wait for the register that they write. */
TENON_INLINE values_t scan_vector(const int kind, values_t v)
{
    values_t j = join_v(kind, v.s00224466, v);
    v = (values_t)(v.s0, j.s1, v.s2, j.s3, v.s4, j.s5, v.s6, j.s7);
    j = join_v(kind, v.s01114555, v);
    v = (values_t)(v.s01, j.s23, v.s45, j.s67);
    j = join_v(kind, v.s01233333, v);
    return (values_t)(v.s0123, j.s4567);
}

/* Scans whole vectors from position p up to `stop`. *chain is the result of the block so far.
 * Returns the first remaining position. */
TENON_INLINE long scan_vectors(const int kind, const line *l, long p, long stop, int exclusive,
                               value_t base, value_t *chain)
{
    const int fresh = (__global const stored_t *)l->y != l->x;
    values_t before = (values_t)(*chain);
    for (; p + TENON_VW <= stop; p += TENON_VW) {
        values_t v = load_ahead(l->x, l->x_step, p);
        v = scan_vector(kind, v);
        const values_t total = (values_t)(v.s7), sum = join_v(kind, before, v);
        const values_t out = exclusive ? moved_1(sum, before.s0) : sum;
        store_ahead(l->y, l->y_step, p, join_v(kind, (values_t)(base), out), fresh);
        /* The next vector waits for one sum. A comparison would take longer than the last lane. */
        before = kind == SCAN_SUM || kind == SCAN_PRODUCT ? join_v(kind, before, total)
                                                          : (values_t)(sum.s7);
    }
    *chain = before.s0;
    return p;
}

/* Combines whole vectors from position p up to `stop` with *chain. */
TENON_INLINE long total_vectors(const int kind, const line *l, long p, long stop, value_t *chain)
{
    const values_t none = (values_t)(identity_of(kind));
    values_t sums[4] = {none, none, none, none};
    for (; p + 4 * TENON_VW <= stop; p += 4 * TENON_VW) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sums[i] = join_v(kind, sums[i], load_ahead(l->x, l->x_step, p + i * TENON_VW));
        }
    }
    for (; p + TENON_VW <= stop; p += TENON_VW) {
        sums[0] = join_v(kind, sums[0], load_ahead(l->x, l->x_step, p));
    }
    values_t sum = join_v(kind, join_v(kind, sums[0], sums[1]), join_v(kind, sums[2], sums[3]));
    sum = join_v(kind, moved_4(sum, identity_of(kind)), sum);
    sum = join_v(kind, moved_2(sum, identity_of(kind)), sum);
    sum = join_v(kind, moved_1(sum, identity_of(kind)), sum);
    *chain = join(kind, *chain, sum.s7);
    return p;
}
#endif

/* Scans positions [first, last). `base` is the result of the positions before them. */
TENON_INLINE void scan_range(const int kind, const line *l, int exclusive, long first, long last,
                             value_t base)
{
    for (long p = first; p < last;) {
        const long stop = min(p + SCAN_BLOCK, last);
        value_t chain = identity_of(kind);
#ifdef TENON_VW
        if (has_vectors(l->x_step) && has_vectors(l->y_step)) {
            p = scan_vectors(kind, l, p, stop, exclusive, base, &chain);
        }
#endif
        for (; p < stop; p++) {
            const value_t next = join(kind, chain, load_value(l->x, p * l->x_step));
            store_value(l->y, p * l->y_step, join(kind, base, exclusive ? chain : next));
            chain = next;
        }
        base = join(kind, base, chain);
    }
}

TENON_INLINE value_t total_of_range(const int kind, const line *l, long first, long last)
{
    value_t base = identity_of(kind);
    for (long p = first; p < last;) {
        const long stop = min(p + SCAN_BLOCK, last);
        value_t chain = identity_of(kind);
#ifdef TENON_VW
        if (has_vectors(l->x_step)) {
            p = total_vectors(kind, l, p, stop, &chain);
        }
#endif
        for (; p < stop; p++) {
            chain = join(kind, chain, load_value(l->x, p * l->x_step));
        }
        base = join(kind, base, chain);
    }
    return base;
}

/* Executes `call`, in which `kind` is a constant, for the kind of a scan. */
#define WITH_KIND(args, call)                                                                      \
    switch ((args)->kind) {                                                                        \
    case SCAN_SUM: {                                                                               \
        const int kind = SCAN_SUM;                                                                 \
        call;                                                                                      \
        break;                                                                                     \
    }                                                                                              \
    case SCAN_PRODUCT: {                                                                           \
        const int kind = SCAN_PRODUCT;                                                             \
        call;                                                                                      \
        break;                                                                                     \
    }                                                                                              \
    case SCAN_MAX: {                                                                               \
        const int kind = SCAN_MAX;                                                                 \
        call;                                                                                      \
        break;                                                                                     \
    }                                                                                              \
    default: {                                                                                     \
        const int kind = SCAN_MIN;                                                                 \
        call;                                                                                      \
        break;                                                                                     \
    }                                                                                              \
    }

/* Not inlined on CPUs: the kernels share it. */
TENON_FUNCTION void scan_any(const scan_args *args, const line *l, long first, long last,
                             value_t base)
{
    const int exclusive = args->flags & SCAN_EXCLUSIVE;
    const line own = *l; /* stores to y cannot change it */
    WITH_KIND(args, scan_range(kind, &own, exclusive, first, last, base))
}

TENON_KERNEL void scan_rows(__global const stored_t *x, __global stored_t *y, const scan_args args)
{
    const long first = (long)get_global_id(0) * args.each;
    const long last = min(first + args.each, (long)args.axis.rows);
    for (long row = first; row < last; row++) {
        const line l = line_of(x, y, &args, row);
        scan_any(&args, &l, 0, args.axis.size, identity_of(args.kind));
    }
}

TENON_KERNEL void scan_totals(__global const stored_t *x, __global value_t *totals,
                              const scan_args args)
{
    const long id = (long)get_global_id(0);
    const long row = id / args.pieces, piece = id % args.pieces, first = piece * args.length;
    if (row >= args.axis.rows || piece == args.pieces - 1) {
        return; /* nothing follows the last piece */
    }
    const long last = min(first + args.length, (long)args.axis.size);
    const line l = line_of(x, (__global stored_t *)x, &args, row);
    value_t total = 0;
    WITH_KIND(&args, total = total_of_range(kind, &l, first, last))
    totals[args.workspace + id] = total;
}

TENON_KERNEL void scan_pieces(__global const stored_t *x, __global const value_t *totals,
                              __global stored_t *y, const scan_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    const long row = id / args.pieces, piece = id % args.pieces, first = piece * args.length;
    const long last = min(first + args.length, (long)args.axis.size);
    const line l = line_of(x, y, &args, row);
    value_t base = identity_of(args.kind);
    for (long i = id - piece; i < id; i++) {
        base = join(args.kind, base, totals[args.workspace + i]);
    }
    scan_any(&args, &l, first, last, base);
}

#include "scan/columns.clh"

TENON_INLINE void scan_column_range(const int kind, const line *l, int exclusive, long size,
                                    int count)
{
    const columns_t none = (columns_t)(identity_of(kind));
    columns_t base = none;
    for (long p = 0; p < size;) {
        const long stop = min(p + SCAN_BLOCK, size);
        columns_t chain = none;
        for (; p < stop; p++) {
            const columns_t next =
                JOIN_COLUMNS(kind, chain, load_columns(l->x + p * l->x_step, count));
            store_columns(l->y + p * l->y_step, count,
                          JOIN_COLUMNS(kind, base, exclusive ? chain : next));
            chain = next;
        }
        base = JOIN_COLUMNS(kind, base, chain);
    }
}

TENON_KERNEL void scan_columns(__global const stored_t *x, __global stored_t *y,
                               const scan_args args)
{
    const long id = (long)get_global_id(0),
               width = entry_of(args.axis.shape, (int)args.axis.rank - 1);
    const long column = id % args.each * COLUMNS, row = id / args.each * width + column;
    if (row >= args.axis.rows) {
        return;
    }
    const line l = line_of(x, y, &args, row);
    const int exclusive = args.flags & SCAN_EXCLUSIVE;
    const int count = (int)min((long)COLUMNS, width - column);
    WITH_KIND(&args, scan_column_range(kind, &l, exclusive, args.axis.size, count))
}
