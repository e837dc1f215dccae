/*
 * Scans of segments along the rows of axis_args, in the order of the scan: position p is element p
 * of a row, or size - 1 - p with SCAN_REVERSE. A segment begins at each position whose number
 * differs from that of the position before it. Within a segment, blocks of SCAN_BLOCK elements
 * begin with the identity; the result of the blocks before is added afterwards.
 *
 * segment_scan_rows: scans args.each rows. Global size: at least {rows / each}.
 * segment_scan_totals: stores the result of the last segment of a piece of a row, as far as it is
 * in the piece, and whether a segment begins in the piece. Global size: at least {rows * pieces}.
 * segment_scan_pieces: scans a piece, after combining the results of the pieces before it. Global
 *   size: at least {rows * pieces}.
 *
 * TENON_DTYPE, TENON_INTEGER, TENON_UNSIGNED: see scan/values.clh.
 */
#include "scan/values.clh"

#include "segment/args.h"
#include "segment/type.clh"

/* A row in the order of the scan. */
typedef struct segment_line {
    __global const stored_t *x;
    __global const segment_t *segments;
    __global stored_t *y;
    long x_step, segments_step, y_step;
} segment_line;

#define SEGMENT_LINE                                                                               \
    __global const stored_t *x, __global const segment_t *segments, __global stored_t *y

TENON_INLINE segment_line segment_line_of(SEGMENT_LINE, const segment_scan_args *args, long row)
{
    const axis_row r = axis_row_of(&args->axis, row, SEGMENT_SCAN_OPERANDS);
    segment_line l = {x + r.at[SEGMENT_SCAN_X],
                      segments + r.at[SEGMENT_SCAN_SEGMENTS],
                      y + r.at[SEGMENT_SCAN_Y],
                      args->axis.axis[SEGMENT_SCAN_X],
                      args->axis.axis[SEGMENT_SCAN_SEGMENTS],
                      args->axis.axis[SEGMENT_SCAN_Y]};
    if (args->flags & SCAN_REVERSE) {
        const long last = args->axis.size - 1;
        l.x += last * l.x_step;
        l.segments += last * l.segments_step;
        l.y += last * l.y_step;
        l.x_step = -l.x_step;
        l.segments_step = -l.segments_step;
        l.y_step = -l.y_step;
    }
    return l;
}

/* Returns true if a segment begins at position p; the first position continues what is before. */
TENON_INLINE int begins(const segment_line *l, long p)
{
    return p > 0 && l->segments[p * l->segments_step] != l->segments[(p - 1) * l->segments_step];
}

/* Scans positions [first, last), and stores the results if `stores`. `base` is the result of the
 * segment's positions before them. Returns the result of the last segment, and sets *has_begun if
 * one begins. */
TENON_INLINE value_t scan_segments(const int kind, const segment_line *l, int flags,
                                   const int stores, long first, long last, value_t base,
                                   int *has_begun)
{
    const value_t none = identity_of(kind);
    int begun = 0;
    for (long p = first; p < last;) {
        const long stop = min(p + SCAN_BLOCK, last);
        value_t chain = none;
        for (; p < stop; p++) {
            if (begins(l, p)) {
                base = none;
                chain = none;
                begun = 1;
            }
            const value_t next = join(kind, chain, load_value(l->x, p * l->x_step));
            if (stores) {
                store_value(l->y, p * l->y_step,
                            join(kind, base, flags & SCAN_EXCLUSIVE ? chain : next));
            }
            chain = next;
        }
        base = join(kind, base, chain);
    }
    *has_begun = begun;
    return base;
}

/* Not inlined on CPUs: the kernels share it. */
TENON_FUNCTION value_t scan_any(const segment_scan_args *args, const segment_line *l, int stores,
                                long first, long last, value_t base, int *has_begun)
{
    const segment_line own = *l; /* stores to y cannot change it */
#define SCAN_BY(kind)                                                                              \
    (stores ? scan_segments(kind, &own, args->flags, 1, first, last, base, has_begun)              \
            : scan_segments(kind, &own, args->flags, 0, first, last, base, has_begun))
    switch (args->kind) {
    case SCAN_SUM:
        return SCAN_BY(SCAN_SUM);
    case SCAN_PRODUCT:
        return SCAN_BY(SCAN_PRODUCT);
    case SCAN_MAX:
        return SCAN_BY(SCAN_MAX);
    default:
        return SCAN_BY(SCAN_MIN);
    }
}

TENON_KERNEL void segment_scan_rows(SEGMENT_LINE, const segment_scan_args args)
{
    const long from = (long)get_global_id(0) * args.each;
    const long to = min(from + args.each, (long)args.axis.rows);
    int has_begun;
    for (long row = from; row < to; row++) {
        const segment_line l = segment_line_of(x, segments, y, &args, row);
        scan_any(&args, &l, 1, 0, args.axis.size, identity_of(args.kind), &has_begun);
    }
}

TENON_KERNEL void segment_scan_totals(__global const stored_t *x,
                                      __global const segment_t *segments, __global value_t *totals,
                                      __global int *marks, const segment_scan_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    const long row = id / args.pieces, first = id % args.pieces * args.length;
    const long last = min(first + args.length, (long)args.axis.size);
    const segment_line l = segment_line_of(x, segments, (__global stored_t *)x, &args, row);
    int has_begun;
    totals[args.workspace + id] =
        scan_any(&args, &l, 0, first, last, identity_of(args.kind), &has_begun);
    marks[args.begins_at + id] = has_begun;
}

TENON_KERNEL void segment_scan_pieces(SEGMENT_LINE, __global const value_t *totals,
                                      __global const int *marks, const segment_scan_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    const long row = id / args.pieces, piece = id % args.pieces, first = piece * args.length;
    const long last = min(first + args.length, (long)args.axis.size);
    const segment_line l = segment_line_of(x, segments, y, &args, row);
    value_t base = identity_of(args.kind);
    for (long i = id - piece; i < id; i++) {
        const value_t total = totals[args.workspace + i];
        base = marks[args.begins_at + i] ? total : join(args.kind, base, total);
    }
    int has_begun;
    scan_any(&args, &l, 1, first, last, base, &has_begun);
}
