/*
 * Reductions of segments: a work-item combines the rows of args.each segments in a chunk of
 * neighboring columns, in blocks of SCAN_BLOCK positions. Chunks of more than one column need
 * columns that are contiguous in both tensors.
 *
 * segment_reduce: global size at least {segments / each * chunks}.
 *
 * TENON_INDEX, TENON_DTYPE, TENON_INTEGER, TENON_UNSIGNED, TENON_VW: see segment/segment.clh.
 */
#include "segment/segment.clh"

/* The rows of a segment: positions [begin, end). */
typedef struct segment_range {
    long begin, end;
} segment_range;

/* Adds the rows of positions [first, last) to *chain. Returns the number of rows. */
TENON_INLINE long add_rows(const int kind, __global const stored_t *x, const segment_inputs *in,
                           const segment_args *args, int count, segment_range r, columns_t *chain)
{
    long rows = 0;
    columns_t sum = *chain;
    for (long p = r.begin; p < r.end; p++) {
        const long row = row_of(in, args, p);
        if (row < 0) {
            continue;
        }
        columns_t value = load_columns(x + row * args->row_step[SEGMENT_ROWS], count);
        if (args->flags & SEGMENT_HAS_WEIGHTS) {
            value *= weight_of(in, args, p);
        }
        sum = JOIN_COLUMNS(kind, sum, value);
        rows++;
    }
    *chain = sum;
    return rows;
}

#ifdef TENON_VW
/* Combines the elements of a single contiguous column. */
TENON_INLINE value_t line_total(const int kind, __global const stored_t *x, segment_range r)
{
    values_t lanes = (values_t)(identity_of(kind));
    long p = r.begin;
    for (; p + TENON_VW <= r.end; p += TENON_VW) {
        lanes = join_v(kind, lanes, load_values(x, p));
    }
    value_t total = identity_of(kind), lane[TENON_VW];
    TENON_VSTORE(lanes, 0, lane);
    for (int i = 0; i < TENON_VW; i++) {
        total = join(kind, total, lane[i]);
    }
    for (; p < r.end; p++) {
        total = join(kind, total, load_value(x, p));
    }
    return total;
}
#endif

/* Returns true if the rows are the elements of a contiguous line, so that neighboring rows are
 * combined by vectors. */
TENON_INLINE int is_line(const segment_args *args, int count)
{
#ifdef TENON_VW
    return count == 1 && args->row_step[SEGMENT_ROWS] == 1 &&
           !(args->flags & (SEGMENT_HAS_INDICES | SEGMENT_HAS_WEIGHTS));
#else
    return 0;
#endif
}

TENON_INLINE void reduce_segment(const int kind, __global const stored_t *x,
                                 const segment_inputs *in, const segment_args *args, int count,
                                 segment_range whole, __global stored_t *y)
{
    const columns_t none = (columns_t)(identity_of(kind));
    const int line = is_line(args, count);
    columns_t total = none;
    long rows = 0;
    for (long p = whole.begin; p < whole.end;) {
        const segment_range r = {p, min(p + SCAN_BLOCK, whole.end)};
        columns_t chain = none;
#ifdef TENON_VW
        if (line) {
            chain = (columns_t)(line_total(kind, x, r));
            rows += r.end - r.begin;
        }
#endif
        if (!line) {
            rows += add_rows(kind, x, in, args, count, r, &chain);
        }
        total = JOIN_COLUMNS(kind, total, chain);
        p = r.end;
    }
#if !TENON_INTEGER
    if (args->kind == SEGMENT_MEAN) {
        total /= (value_t)max(rows, 1L);
    }
#endif
    store_columns(y, count, total);
}

/* Not inlined on CPUs, once for each kind. */
#define DEFINE_REDUCE(name, kind)                                                                  \
    TENON_FUNCTION void name(__global const stored_t *x, const segment_inputs *in,                 \
                             const segment_args *args, int count, segment_range whole,             \
                             __global stored_t *y)                                                 \
    {                                                                                              \
        reduce_segment(kind, x, in, args, count, whole, y);                                        \
    }
DEFINE_REDUCE(reduce_sum, SCAN_SUM)
DEFINE_REDUCE(reduce_product, SCAN_PRODUCT)
DEFINE_REDUCE(reduce_max, SCAN_MAX)
DEFINE_REDUCE(reduce_min, SCAN_MIN)

TENON_KERNEL void segment_reduce(__global const stored_t *x, SEGMENT_INPUTS, __global stored_t *y,
                                 const segment_args args)
{
    const long id = (long)get_global_id(0);
    const segment_inputs in = inputs_of(indices, weights, segments, &args);
    long group, chunk;
    TENON_DIVIDE(id, (long)args.chunks, group, chunk)
    const segment_columns c = columns_of(&args, chunk);
    const long last = min((group + 1) * args.each, (long)args.segments);
    __global const stored_t *rows = x + args.offset[SEGMENT_X] + c.at[SEGMENT_ROWS];
    for (long s = group * args.each; s < last; s++) {
        const segment_range r = {begin_of(&in, &args, s), begin_of(&in, &args, s + 1)};
        __global stored_t *to =
            y + args.offset[SEGMENT_Y] + c.at[SEGMENT_RESULTS] + s * args.row_step[SEGMENT_RESULTS];
        if (args.kind == SCAN_PRODUCT) {
            reduce_product(rows, &in, &args, c.count, r, to);
        } else if (args.kind == SCAN_MAX) {
            reduce_max(rows, &in, &args, c.count, r, to);
        } else if (args.kind == SCAN_MIN) {
            reduce_min(rows, &in, &args, c.count, r, to);
        } else {
            reduce_sum(rows, &in, &args, c.count, r, to);
        }
    }
}
