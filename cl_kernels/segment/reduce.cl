/*
 * Reductions of segments, in chunks of neighboring columns and in blocks of SCAN_BLOCK positions.
 * Chunks of more than one column need columns that are contiguous in both tensors.
 *
 * segment_reduce: a work-item combines the rows of args.each segments. Global size at least
 *   {segments / each * chunks}.
 *
 * With windows of args.length positions, segments of more than args.length positions are divided
 * into blocks of this length. Each window contains the start of at most one block that continues a
 * segment, whose result has slot 2 * window of the workspace, and of at most one first block of a
 * segment that has more of them, whose result has slot 2 * window + 1.
 * segment_blocks: a work-item combines the blocks that begin in a window, and stores the results of
 *   segments that have only one block. Global size at least {(positions / length + 1) * chunks}.
 * segment_join: a work-item combines the blocks of args.each segments in their order. Global size
 *   as for segment_reduce.
 *
 * TENON_INDEX, TENON_SEGMENT, TENON_DTYPE, TENON_INTEGER, TENON_UNSIGNED, TENON_VW: see
 * segment/segment.clh.
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

/* Combines the rows of positions in blocks of SCAN_BLOCK, and counts them. */
TENON_INLINE columns_t combine_rows(const int kind, __global const stored_t *x,
                                    const segment_inputs *in, const segment_args *args, int count,
                                    segment_range whole, long *rows)
{
    const columns_t none = (columns_t)(identity_of(kind));
    const int line = is_line(args, count);
    columns_t total = none;
    *rows = 0;
    for (long p = whole.begin; p < whole.end;) {
        const segment_range r = {p, min(p + SCAN_BLOCK, whole.end)};
        columns_t chain = none;
#ifdef TENON_VW
        if (line) {
            chain = (columns_t)(line_total(kind, x, r));
            *rows += r.end - r.begin;
        }
#endif
        if (!line) {
            *rows += add_rows(kind, x, in, args, count, r, &chain);
        }
        total = JOIN_COLUMNS(kind, total, chain);
        p = r.end;
    }
    return total;
}

/* The result of a range of positions. */
typedef struct segment_total {
    columns_t columns;
    long rows;
} segment_total;

/* Not inlined on CPUs, once for each kind. */
#define DEFINE_COMBINE(name, kind)                                                                 \
    TENON_FUNCTION void name(__global const stored_t *x, const segment_inputs *in,                 \
                             const segment_args *args, int count, segment_range r,                 \
                             segment_total *total)                                                 \
    {                                                                                              \
        total->columns = combine_rows(kind, x, in, args, count, r, &total->rows);                  \
    }
DEFINE_COMBINE(combine_sum, SCAN_SUM)
DEFINE_COMBINE(combine_product, SCAN_PRODUCT)
DEFINE_COMBINE(combine_max, SCAN_MAX)
DEFINE_COMBINE(combine_min, SCAN_MIN)

TENON_INLINE void combine(__global const stored_t *x, const segment_inputs *in,
                          const segment_args *args, int count, segment_range r,
                          segment_total *total)
{
    if (args->kind == SCAN_PRODUCT) {
        combine_product(x, in, args, count, r, total);
    } else if (args->kind == SCAN_MAX) {
        combine_max(x, in, args, count, r, total);
    } else if (args->kind == SCAN_MIN) {
        combine_min(x, in, args, count, r, total);
    } else {
        combine_sum(x, in, args, count, r, total);
    }
}

/* Stores the result of a segment in y, which is at the columns of the first one. */
TENON_INLINE void store_total(__global stored_t *y, const segment_args *args, int count, long s,
                              segment_total *total)
{
#if !TENON_INTEGER
    if (args->kind == SEGMENT_MEAN) {
        total->columns /= (value_t)max(total->rows, 1L);
    }
#endif
    store_columns(y + s * args->row_step[SEGMENT_RESULTS], count, total->columns);
}

TENON_INLINE segment_range range_of(const segment_inputs *in, const segment_args *args, long s)
{
    const segment_range r = {begin_of(in, args, s), begin_of(in, args, s + 1)};
    return r;
}

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
    __global stored_t *to = y + args.offset[SEGMENT_Y] + c.at[SEGMENT_RESULTS];
    for (long s = group * args.each; s < last; s++) {
        segment_total total;
        combine(rows, &in, &args, c.count, range_of(&in, &args, s), &total);
        store_total(to, &args, c.count, s, &total);
    }
}

/* The workspace of segment_blocks: results of blocks, and their numbers of rows. */
typedef struct segment_parts {
    __global value_t *values;
    __global long *counts;
    long chunk;
} segment_parts;

#define SEGMENT_PARTS __global value_t *values, __global long *counts

TENON_INLINE void store_block(const segment_parts *parts, const segment_args *args, int count,
                              long slot, const segment_total *total)
{
    __global value_t *to = parts->values + (slot * args->chunks + parts->chunk) * args->lanes;
#ifdef TENON_VW
    value_t x[TENON_VW];
    TENON_VSTORE(total->columns, 0, x);
    for (int c = 0; c < count; c++) {
        to[c] = x[c];
    }
#else
    to[0] = total->columns;
#endif
    if (parts->chunk == 0) {
        parts->counts[slot] = total->rows;
    }
}

TENON_INLINE columns_t load_block(const segment_parts *parts, const segment_args *args, int count,
                                  long slot)
{
    __global const value_t *from =
        parts->values + (slot * args->chunks + parts->chunk) * args->lanes;
#ifdef TENON_VW
    value_t x[TENON_VW];
    for (int c = 0; c < TENON_VW; c++) {
        x[c] = c < count ? from[c] : 0;
    }
    return TENON_VLOAD(0, x);
#else
    return from[0];
#endif
}

/* Returns the first segment that begins at or after the start of a window. */
TENON_INLINE long first_of(const segment_inputs *in, const segment_args *args, long window)
{
    const long position = window * args->length;
    long first;
    if (window == 0) {
        return 0;
    }
    if (position > args->positions) {
        return args->segments;
    }
    if (args->flags & SEGMENT_HAS_IDS) {
        first =
            min((long)in->segments[(position - 1) * args->segment_step], args->segments - 1) + 1;
    } else if (args->flags & SEGMENT_HAS_OFFSETS) {
        first = entries_below(in->segments, args->segment_step, args->segments, position, 0);
    } else {
        const long each = args->positions / args->segments;
        first = each == 0 ? args->segments : (position + each - 1) / each;
    }
    return min(max(first, 0L), (long)args->segments);
}

/* Returns the block that begins at an offset from the start of a segment. */
TENON_INLINE segment_range block_at(segment_range r, long offset, const segment_args *args)
{
    const segment_range block = {r.begin + offset, min(r.begin + offset + args->length, r.end)};
    return block;
}

TENON_KERNEL void segment_blocks(__global const stored_t *x, SEGMENT_INPUTS, __global stored_t *y,
                                 SEGMENT_PARTS, const segment_args args)
{
    const long id = (long)get_global_id(0);
    const segment_inputs in = inputs_of(indices, weights, segments, &args);
    long window, chunk;
    TENON_DIVIDE(id, (long)args.chunks, window, chunk)
    if (window > args.positions / args.length) {
        return;
    }
    const segment_columns c = columns_of(&args, chunk);
    const segment_parts parts = {values + args.values_at, counts + args.counts_at, chunk};
    __global const stored_t *rows = x + args.offset[SEGMENT_X] + c.at[SEGMENT_ROWS];
    __global stored_t *to = y + args.offset[SEGMENT_Y] + c.at[SEGMENT_RESULTS];
    const long position = window * args.length;
    segment_total total;
    if (window > 0 && position < args.positions) {
        const segment_range r = range_of(&in, &args, segment_of(&in, &args, position));
        const long offset = (position - r.begin + args.length - 1) / args.length * args.length;
        if (r.begin < position && r.begin + offset < r.end) {
            combine(rows, &in, &args, c.count, block_at(r, offset, &args), &total);
            store_block(&parts, &args, c.count, 2 * window, &total);
        }
    }
    const long last = first_of(&in, &args, window + 1);
    for (long s = first_of(&in, &args, window); s < last; s++) {
        const segment_range r = range_of(&in, &args, s);
        combine(rows, &in, &args, c.count, block_at(r, 0, &args), &total);
        if (r.end - r.begin <= args.length) {
            store_total(to, &args, c.count, s, &total);
        } else {
            store_block(&parts, &args, c.count, 2 * window + 1, &total);
        }
    }
}

TENON_KERNEL void segment_join(SEGMENT_INPUTS, __global stored_t *y, SEGMENT_PARTS,
                               const segment_args args)
{
    const long id = (long)get_global_id(0);
    const segment_inputs in = inputs_of(indices, weights, segments, &args);
    const int kind = args.kind == SEGMENT_MEAN ? SCAN_SUM : args.kind;
    long group, chunk;
    TENON_DIVIDE(id, (long)args.chunks, group, chunk)
    const segment_columns c = columns_of(&args, chunk);
    const segment_parts parts = {values + args.values_at, counts + args.counts_at, chunk};
    const long last = min((group + 1) * args.each, (long)args.segments);
    for (long s = group * args.each; s < last; s++) {
        const segment_range r = range_of(&in, &args, s);
        const long blocks = (r.end - r.begin + args.length - 1) / args.length,
                   window = r.begin / args.length;
        if (r.end - r.begin <= args.length) {
            continue;
        }
        segment_total total = {load_block(&parts, &args, c.count, 2 * window + 1),
                               parts.counts[2 * window + 1]};
        for (long block = 1; block < blocks; block++) {
            const long slot = 2 * (window + block);
            total.columns =
                JOIN_COLUMNS(kind, total.columns, load_block(&parts, &args, c.count, slot));
            total.rows += parts.counts[slot];
        }
        store_total(y + args.offset[SEGMENT_Y] + c.at[SEGMENT_RESULTS], &args, c.count, s, &total);
    }
}
