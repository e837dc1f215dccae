/*
 * One pass of a radix sort by the digit at args.shift (D. Knuth, "The Art of Computer Programming",
 * volume 3, section 5.2.5). Elements with equal digits keep their order. The bits of elements move,
 * and with them the places in x, if indices or a payload are requested; keys are computed from the
 * bits. A row is divided into pieces of args.length elements.
 *
 * radix_counts: counts the occurrences of each digit in a piece. Global size: at least {rows *
 *   pieces}.
 * radix_places: computes the prefix sums of a digit's counts over the pieces of a row. Global size:
 *   at least {rows * SORT_DIGITS}.
 * radix_move: moves the elements of a piece to their places. Global size: at least {rows * pieces}.
 *
 * TENON_KEY: see sort/keys.clh. TENON_STREAM: see common/types.clh.
 */
#include "sort/keys.clh"

/* A piece of a row: its elements [first, last), and its input. */
typedef struct piece {
    long row, first, last;
    __global const key_t *from;
    long step;
} piece;

TENON_INLINE piece piece_of(__global const key_t *x, __global const key_t *y,
                            __global const uchar *workspace, const sort_args *args, long id)
{
    const long row = id / args->pieces, size = args->axis.size;
    piece p = {.row = row, .first = id % args->pieces * args->length};
    p.last = min(p.first + args->length, size);
    if (args->flags & SORT_FIRST) {
        p.from = x + axis_row_of(&args->axis, row, 1).at[SORT_X];
        p.step = args->axis.axis[SORT_X];
    } else if (args->flags & SORT_FROM_RESULTS) {
        p.from = y + axis_row_of(&args->axis, row, 2).at[SORT_Y];
        p.step = 1;
    } else {
        p.from = (__global const key_t *)(workspace + args->keys_from) + row * size;
        p.step = 1;
    }
    return p;
}

TENON_INLINE int digit_of(key_t bits, key_rule rule, int shift)
{
    return (int)(key_of(bits, rule) >> shift) & (SORT_DIGITS - 1);
}

TENON_INLINE __global uint *counts_of(__global uchar *workspace, const sort_args *args, long id)
{
    return (__global uint *)(workspace + args->counts_at) + id * SORT_DIGITS;
}

/* Returns whether a row was sorted already, by buckets. */
TENON_INLINE int is_done(__global const uchar *w, const sort_args *args, long row)
{
#if TENON_GPU
    return 0;
#else
    __global const uint *division =
        (__global const uint *)(w + args->rows_at + row * args->row_bytes);
    return (args->flags & SORT_UNEVEN_ROWS) && !division[SORT_DIVISION_UNEVEN];
#endif
}

/* Outputs of a pass for a row in contiguous memory; `numbers` is used if there are places. */
typedef struct dense_outputs {
    __global key_t *keys;
    __global int *numbers;
} dense_outputs;

#if TENON_GPU
TENON_INLINE void count_digits(const piece *p, key_rule rule, int shift, __global uint *out)
{
    for (int d = 0; d < SORT_DIGITS; d++) {
        out[d] = 0;
    }
    for (long i = p->first; i < p->last; i++) {
        out[digit_of(p->from[i * p->step], rule, shift)]++;
    }
}
#else
#include "sort/buffered.clh"
#endif

TENON_KERNEL void radix_counts(__global const key_t *x, __global const key_t *y,
                               __global uchar *workspace, const sort_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    __global uchar *w = workspace + args.workspace;
    const piece p = piece_of(x, y, w, &args, id);
    if (is_done(w, &args, p.row)) {
        return;
    }
    count_digits(&p, rule_of(&args), args.shift, counts_of(w, &args, id));
}

TENON_KERNEL void radix_places(__global uchar *workspace, const sort_args args)
{
    const long id = (long)get_global_id(0), row = id / SORT_DIGITS;
    if (row >= args.axis.rows) {
        return;
    }
    __global uchar *w = workspace + args.workspace;
    if (is_done(w, &args, row)) {
        return;
    }
    __global uint *counts = counts_of(w, &args, row * args.pieces) + id % SORT_DIGITS;
    uint before = 0;
    for (long i = 0; i < args.pieces; i++) {
        const uint here = counts[i * SORT_DIGITS];
        counts[i * SORT_DIGITS] = before;
        before += here;
    }
    ((__global uint *)(w + args.totals_at))[id] = before;
}

/* Moves a piece to any outputs. `places` has the next place of each digit. */
TENON_INLINE void move_piece(const piece *p, const sort_row *row, const sort_args *args,
                             const dense_outputs *to, __global const int *from,
                             __global uint *places)
{
    const key_rule rule = rule_of(args);
    const int placed = args->flags & (SORT_HAS_INDICES | SORT_HAS_PAYLOAD);
    for (long i = p->first; i < p->last; i++) {
        const key_t bits = p->from[i * p->step];
        const uint place = places[digit_of(bits, rule, args->shift)]++;
        const int number = (args->flags & SORT_FIRST) || !placed ? (int)i : from[i];
        if (args->flags & SORT_LAST) {
            put_sorted(row, args, bits, number, place);
        } else {
            to->keys[place] = bits;
            if (placed) {
                to->numbers[place] = number;
            }
        }
    }
}

TENON_KERNEL void radix_move(SORT_OPERANDS, __global uchar *workspace, const sort_args args)
{
    const long id = (long)get_global_id(0), size = args.axis.size;
    if (id >= args.axis.rows * args.pieces) {
        return;
    }
    __global uchar *w = workspace + args.workspace;
    const piece p = piece_of(x, y, w, &args, id);
    if (is_done(w, &args, p.row)) {
        return;
    }
    const sort_row row = sort_row_of(x, y, indices, payload, moved, &args, p.row);
    __global const int *from = (__global const int *)(w + args.places_from) + p.row * size;
    dense_outputs to = {(__global key_t *)(w + args.keys_to) + p.row * size,
                        (__global int *)(w + args.places_to) + p.row * size};
    if (args.flags & SORT_TO_RESULTS) {
        to.keys = row.y;
    }
    if (args.flags & SORT_HAS_INDICES) {
        from = args.flags & SORT_FROM_RESULTS ? SORT_NUMBERS(row.indices) : from;
        to.numbers = args.flags & SORT_TO_RESULTS ? SORT_NUMBERS(row.indices) : to.numbers;
    }
    __global const uint *totals = (__global const uint *)(w + args.totals_at) + p.row * SORT_DIGITS;
    __global uint *places = counts_of(w, &args, id);
    uint start = 0;
    for (int d = 0; d < SORT_DIGITS; d++) {
        places[d] += start;
        start += totals[d];
    }
#if !TENON_GPU
    if (find_dense_outputs(&row, &args, &to) && p.step == 1) {
        move_dense(&p, &args, &to, from, places);
        return;
    }
#endif
    move_piece(&p, &row, &args, &to, from, places);
}
