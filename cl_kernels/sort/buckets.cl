/*
 * Divides long rows on CPUs into buckets that fit the caches of a core, and sorts each of these
 * there (sort/cached.clh), so that elements cross the memory twice. A sample of the row gives its
 * range of keys, which is divided into small intervals, and the buckets, each of which has
 * intervals that follow one another. Any sample gives a right result. A bucket that exceeds the
 * caches, because of a bad sample or of many equal elements, is sorted in y. If it is so large that
 * one work-item would take too long, the row is marked as uneven and left to the passes of
 * sort/radix.cl; but if its sampled keys are equal, it is probably sorted already.
 *
 * bucket_sample: chooses the buckets of a row. Global size: at least {rows}.
 * bucket_counts: counts the elements of each bucket in a piece of a row. Global size: at least
 *   {rows * pieces}.
 * bucket_places: computes where the buckets of each piece begin. Global size: at least {rows}.
 * bucket_move: moves the elements of a piece to the buckets. Global size: at least {rows * pieces}.
 * bucket_sort: sorts args.each buckets. Global size: at least {rows * buckets / each}.
 *
 * TENON_KEY: see sort/keys.clh. TENON_STREAM: see common/types.clh.
 */
#include "sort/cached.clh"
#include "sort/lines.clh"

DEFINE_BUFFER(key_buffer, key_t)
DEFINE_BUFFER(number_buffer, int)

/* How a row is divided. Interval i has the keys from least + (i << shift) on; the first and the
 * last interval have the smaller and greater keys as well. */
typedef struct division {
    ulong least;
    uint shift, last; /* the number of the last interval */
    uint uneven;      /* 1: the row is left to the passes of sort/radix.cl */
    uint reserved;
    uint begin[SORT_DIGITS + 1]; /* the place of each bucket */
    uchar is_alike[SORT_DIGITS]; /* the sampled keys of the bucket are equal */
} division;

/* The memory of a row: its division, the bucket of each interval; and for the choice of buckets the
 * elements of each interval in a sample, and the keys of the sample. */
typedef struct row_memory {
    __global division *division;
    __global uchar *bucket;
    __global uint *counts;
    __global key_t *sample;
} row_memory;

TENON_INLINE row_memory row_memory_of(__global uchar *w, const sort_args *args, long row)
{
    __global uchar *begin = w + args->rows_at + row * args->row_bytes;
    row_memory m;
    m.division = (__global division *)begin;
    m.counts = (__global uint *)(begin + SORT_DIVISION_BYTES);
    m.sample = (__global key_t *)(m.counts + args->intervals);
    m.bucket = (__global uchar *)(m.sample + args->samples);
    return m;
}

/* The same in registers. */
typedef struct classes {
    key_t least;
    uint shift, last;
    __global const uchar *bucket;
} classes;

TENON_INLINE classes classes_of(const row_memory *m)
{
    const classes c = {(key_t)m->division->least, m->division->shift, m->division->last, m->bucket};
    return c;
}

TENON_INLINE uint interval_of(key_t key, classes c)
{
    const key_t above = (key_t)(max(key, c.least) - c.least) >> c.shift;
    return (uint)min(above, (key_t)c.last);
}

TENON_INLINE void find_intervals(__global const key_t *from, key_rule rule, classes c,
                                 ushort interval[KEYS_VW])
{
    const keys_v least = (keys_v)(c.least);
    const keys_v above = (max(keys_at(from, rule), least) - least) >> (keys_v)((key_t)c.shift);
    vstore16(TENON_CAT(convert_ushort, KEYS_VW)(min(above, (keys_v)((key_t)c.last))), 0, interval);
}

/* Reads a sample: one element of each part of the row, at a random place. Sets the division's
 * intervals. */
TENON_INLINE void read_sample(__global const key_t *from, const sort_args *args,
                              const row_memory *m)
{
    const key_rule rule = rule_of(args);
    const long part = args->axis.size / args->samples, step = args->axis.axis[SORT_X];
    key_t least = (key_t) ~(key_t)0, most = 0;
    ulong random = 1;
    for (long i = 0; i < args->samples; i++) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        const long at = i * part + (long)((random >> 33) % (ulong)part);
        const key_t key = key_of(from[at * step], rule);
        m->sample[i] = key;
        least = min(least, key);
        most = max(most, key);
    }
    const ulong range = (ulong)(key_t)(most - least);
    uint shift = 0;
    while (range >> shift >= (ulong)args->intervals) {
        shift++;
    }
    m->division->least = least;
    m->division->shift = shift;
    m->division->last = (uint)(range >> shift);
}

/* Gives each interval a bucket, so that all buckets have about the same number of elements. An
 * interval with more than that has a bucket to itself. */
TENON_INLINE void choose_buckets(const sort_args *args, const row_memory *m, classes c)
{
    ulong before = 0;
    for (uint i = 0; i <= c.last; i++) {
        m->counts[i] = 0;
    }
    for (long i = 0; i < args->samples; i++) {
        m->counts[interval_of(m->sample[i], c)]++;
    }
    for (uint i = 0; i <= c.last; i++) {
        const ulong here = m->counts[i], middle = 2 * before + here;
        const ulong bucket = middle * (ulong)args->buckets / (2 * (ulong)args->samples);
        m->bucket[i] = (uchar)min(bucket, (ulong)args->buckets - 1);
        before += here;
    }
}

TENON_INLINE void find_alike(const sort_args *args, const row_memory *m, classes c)
{
    key_t seen[SORT_DIGITS];
    uchar state[SORT_DIGITS]; /* 0: no element; 1: equal ones; 2: different ones */
    for (int b = 0; b < SORT_DIGITS; b++) {
        state[b] = 0;
    }
    for (long i = 0; i < args->samples; i++) {
        const key_t key = m->sample[i];
        const int b = m->bucket[interval_of(key, c)];
        state[b] = state[b] == 0 || (state[b] == 1 && seen[b] == key) ? 1 : 2;
        seen[b] = key;
    }
    for (int b = 0; b < SORT_DIGITS; b++) {
        m->division->is_alike[b] = state[b] == 1;
    }
}

TENON_KERNEL void bucket_sample(__global const key_t *x, __global uchar *workspace,
                                const sort_args args)
{
    const long row = (long)get_global_id(0);
    if (row >= args.axis.rows) {
        return;
    }
    const row_memory m = row_memory_of(workspace + args.workspace, &args, row);
    read_sample(x + axis_row_of(&args.axis, row, 1).at[SORT_X], &args, &m);
    const classes c = classes_of(&m);
    choose_buckets(&args, &m, c);
    find_alike(&args, &m, c);
}

/* A piece of a row: its elements [first, last). */
typedef struct part {
    long row, first, last;
    __global const key_t *from;
    long step;
} part;

TENON_INLINE part part_of(__global const key_t *x, const sort_args *args, long id)
{
    part p = {.row = id / args->pieces, .first = id % args->pieces * args->length};
    p.last = min(p.first + args->length, (long)args->axis.size);
    p.from = x + axis_row_of(&args->axis, p.row, 1).at[SORT_X];
    p.step = args->axis.axis[SORT_X];
    return p;
}

TENON_FUNCTION void count_buckets(const part *p, key_rule rule, const classes *given,
                                  __global uint *out)
{
    enum { HISTOGRAMS = 4 };
    const classes c = *given;
    uint counts[HISTOGRAMS][SORT_DIGITS];
    ushort interval[KEYS_VW];
    long i = p->first;
    for (int h = 0; h < HISTOGRAMS; h++) {
        for (int d = 0; d < SORT_DIGITS; d++) {
            counts[h][d] = 0;
        }
    }
    if (p->step == 1) {
        for (; i + KEYS_VW <= p->last; i += KEYS_VW) {
            find_intervals(p->from + i, rule, c, interval);
#pragma unroll
            for (int l = 0; l < KEYS_VW; l++) {
                counts[l % HISTOGRAMS][c.bucket[interval[l]]]++;
            }
        }
    }
    for (; i < p->last; i++) {
        counts[0][c.bucket[interval_of(key_of(p->from[i * p->step], rule), c)]]++;
    }
    for (int d = 0; d < SORT_DIGITS; d++) {
        out[d] = counts[0][d] + counts[1][d] + counts[2][d] + counts[3][d];
    }
}

TENON_INLINE __global uint *piece_counts(__global uchar *w, const sort_args *args, long id)
{
    return (__global uint *)(w + args->counts_at) + id * SORT_DIGITS;
}

TENON_KERNEL void bucket_counts(__global const key_t *x, __global uchar *workspace,
                                const sort_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    __global uchar *w = workspace + args.workspace;
    const part p = part_of(x, &args, id);
    const row_memory m = row_memory_of(w, &args, p.row);
    const classes c = classes_of(&m);
    count_buckets(&p, rule_of(&args), &c, piece_counts(w, &args, id));
}

TENON_KERNEL void bucket_places(__global uchar *workspace, const sort_args args)
{
    const long row = (long)get_global_id(0);
    if (row >= args.axis.rows) {
        return;
    }
    __global uchar *w = workspace + args.workspace;
    __global uint *counts = piece_counts(w, &args, row * args.pieces);
    __global division *division = row_memory_of(w, &args, row).division;
    uint place = 0, uneven = 0;
    for (int b = 0; b < SORT_DIGITS; b++) {
        division->begin[b] = place;
        for (long i = 0; i < args.pieces; i++) {
            const uint here = counts[i * SORT_DIGITS + b];
            counts[i * SORT_DIGITS + b] = place;
            place += here;
        }
        const uint size = place - division->begin[b];
        uneven |= size > args.room &&
                  !(has_dense_results(&args) && (size <= args.most || division->is_alike[b]));
    }
    division->begin[SORT_DIGITS] = place;
    division->uneven = uneven;
}

TENON_FUNCTION void move_bucket_keys(const part *p, key_rule rule, const classes *given,
                                     __global key_t *to, __global const uint *places)
{
    BUFFER_LINES(lines, key_t);
    const classes c = *given;
    uint first[SORT_DIGITS], next[SORT_DIGITS];
    ushort interval[KEYS_VW];
    __global const key_t *from = p->from;
    const long last = p->last, step = p->step;
    long i = p->first;
    const key_buffer buffer = key_buffer_of(lines, first, to);
    for (int d = 0; d < SORT_DIGITS; d++) {
        first[d] = next[d] = places[d];
    }
    for (; step == 1 && i + KEYS_VW <= last; i += KEYS_VW) {
        find_intervals(from + i, rule, c, interval);
#pragma unroll
        for (int l = 0; l < KEYS_VW; l++) {
            const int d = c.bucket[interval[l]];
            key_buffer_add(buffer, d, next[d]++, from[i + l]);
        }
    }
    for (; i < last; i++) {
        const key_t bits = from[i * step];
        const int d = c.bucket[interval_of(key_of(bits, rule), c)];
        key_buffer_add(buffer, d, next[d]++, bits);
    }
    key_buffer_end(buffer, next);
}

/* The same with the places in x. */
TENON_FUNCTION void move_bucket_numbers(const part *p, key_rule rule, const classes *given,
                                        __global key_t *to, __global int *numbers,
                                        __global const uint *places)
{
    BUFFER_LINES(lines, key_t);
    BUFFER_LINES(number_lines, int);
    const classes c = *given;
    uint first[SORT_DIGITS], next[SORT_DIGITS];
    __global const key_t *from = p->from;
    const long last = p->last, step = p->step;
    const key_buffer keys = key_buffer_of(lines, first, to);
    const number_buffer places_of = number_buffer_of(number_lines, first, numbers);
    for (int d = 0; d < SORT_DIGITS; d++) {
        first[d] = next[d] = places[d];
    }
    for (long i = p->first; i < last; i++) {
        const key_t bits = from[i * step];
        const int d = c.bucket[interval_of(key_of(bits, rule), c)];
        const uint place = next[d]++;
        key_buffer_add(keys, d, place, bits);
        number_buffer_add(places_of, d, place, (int)i);
    }
    key_buffer_end(keys, next);
    number_buffer_end(places_of, next);
}

TENON_KERNEL void bucket_move(__global const key_t *x, __global uchar *workspace,
                              const sort_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    __global uchar *w = workspace + args.workspace;
    const part p = part_of(x, &args, id);
    const row_memory m = row_memory_of(w, &args, p.row);
    const classes c = classes_of(&m);
    const long at = p.row * args.axis.size;
    __global key_t *keys = (__global key_t *)(w + args.keys_to) + at;
    __global int *numbers = (__global int *)(w + args.places_to) + at;
    if (m.division->uneven) {
        return;
    }
    if (args.flags & (SORT_HAS_INDICES | SORT_HAS_PAYLOAD)) {
        move_bucket_numbers(&p, rule_of(&args), &c, keys, numbers, piece_counts(w, &args, id));
    } else {
        move_bucket_keys(&p, rule_of(&args), &c, keys, piece_counts(w, &args, id));
    }
}

TENON_KERNEL void bucket_sort(SORT_OPERANDS, __global uchar *workspace, const sort_args args)
{
    const long id = (long)get_global_id(0), total = args.axis.rows * args.buckets;
    const long begin = id * args.each, end = min(begin + args.each, total);
    const int numbered = args.flags & (SORT_HAS_INDICES | SORT_HAS_PAYLOAD);
    __global uchar *w = workspace + args.workspace;
    __global key_t *own = (__global key_t *)(w + args.keys_from) + id * args.room;
    __global int *own_numbers = (__global int *)(w + args.places_from) + id * args.room;
    for (long i = begin; i < end; i++) {
        const long r = i / args.buckets, b = i % args.buckets;
        __global const division *division = row_memory_of(w, &args, r).division;
        const long first = division->begin[b], size = (long)division->begin[b + 1] - first;
        if (division->uneven || size == 0) {
            continue;
        }
        const sort_row row = sort_row_of(x, y, indices, payload, moved, &args, r);
        __global key_t *keys = (__global key_t *)(w + args.keys_to) + r * args.axis.size + first;
        __global int *numbers = (__global int *)(w + args.places_to) + r * args.axis.size + first;
        const cached_run run = {keys, numbered ? numbers : 0, size};
        const int fits = size <= args.room;
        const cached_buffers buffers = {
            {fits ? own : row.y + first, keys},
            {fits ? own_numbers : SORT_NUMBERS(row.indices) + first, numbers}};
        sort_cached(&row, &args, run, &buffers, first, !fits);
    }
}
