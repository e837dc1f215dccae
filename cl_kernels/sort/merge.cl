/*
 * Sorts rows on CPUs by merging (D. Knuth, "The Art of Computer Programming", volume 3, section
 * 5.2.4) with bitonic networks of vectors (K. Batcher, "Sorting networks and their applications",
 * 1968), without branches that depend on the elements.
 *
 * merge_rows: sorts args.each rows. Each work-item has two buffers of args.length words in the
 *   workspace, which merges of longer and longer runs write in turn. Global size: at least
 *   {rows / each}.
 *
 * TENON_KEY: see sort/keys.clh; at most 4.
 * TENON_NUMBERS: 1: words are keys with the places of the elements, from which the outputs are
 *   read. 0: words are keys, from which the elements are computed.
 */
#include "sort/keys.clh"

/* The lanes of a vector in pairs whose distance is 1, 2 and so on, and vectors that are all ones in
 * the upper lane of each pair. name_reverse pairs lanes from both ends. */
#if TENON_NUMBERS
#define WORD_NAME  ulong
#define WORD_VW    8
#define PAIRS_1(v) (v).s10325476
#define PAIRS_2(v) (v).s23016745
#define PAIRS_4(v) (v).s45670123
#define ENDS_4(v)  (v).s32107654
#define ENDS_8(v)  (v).s76543210
#define REVERSE(v) ENDS_8(v)
#define UPPER_1    (long8)(0, -1, 0, -1, 0, -1, 0, -1)
#define UPPER_2    (long8)(0, 0, -1, -1, 0, 0, -1, -1)
#define UPPER_4    (long8)(0, 0, 0, 0, -1, -1, -1, -1)
#else
#define WORD_NAME  uint
#define WORD_VW    16
#define PAIRS_1(v) (v).s1032547698badcfe
#define PAIRS_2(v) (v).s23016745ab89efcd
#define PAIRS_4(v) (v).s45670123cdef89ab
#define PAIRS_8(v) (v).s89abcdef01234567
#define ENDS_4(v)  (v).s32107654ba98fedc
#define ENDS_8(v)  (v).s76543210fedcba98
#define REVERSE(v) (v).sfedcba9876543210
#define UPPER_1    (int16)(0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1)
#define UPPER_2    (int16)(0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1)
#define UPPER_4    (int16)(0, 0, 0, 0, -1, -1, -1, -1, 0, 0, 0, 0, -1, -1, -1, -1)
#define UPPER_8    (int16)(0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1)
#endif
typedef WORD_NAME word_t;
typedef TENON_CAT(WORD_NAME, WORD_VW) words;
#define WORDS_LOAD  TENON_CAT(vload, WORD_VW)
#define WORDS_STORE TENON_CAT(vstore, WORD_VW)

/* Compares each lane of v with that of `other`, and keeps the greater one in the upper lanes. */
#define COMPARE(v, other, upper)                                                                   \
    ((upper) ? ((v) < (other) ? (other) : (v)) : ((v) < (other) ? (v) : (other)))

/* Sorts a vector that ascends and then descends, or the reverse. */
TENON_INLINE words sort_bitonic(words v)
{
#if WORD_VW == 16
    v = COMPARE(v, PAIRS_8(v), UPPER_8);
#endif
    v = COMPARE(v, PAIRS_4(v), UPPER_4);
    v = COMPARE(v, PAIRS_2(v), UPPER_2);
    return COMPARE(v, PAIRS_1(v), UPPER_1);
}

/* Sorts a vector. */
TENON_INLINE words sort_words(words v)
{
    v = COMPARE(v, PAIRS_1(v), UPPER_1);
    v = COMPARE(v, ENDS_4(v), UPPER_2);
    v = COMPARE(v, PAIRS_1(v), UPPER_1);
    v = COMPARE(v, ENDS_8(v), UPPER_4);
    v = COMPARE(v, PAIRS_2(v), UPPER_2);
    v = COMPARE(v, PAIRS_1(v), UPPER_1);
#if WORD_VW == 16
    v = COMPARE(v, REVERSE(v), UPPER_8);
    v = COMPARE(v, PAIRS_4(v), UPPER_4);
    v = COMPARE(v, PAIRS_2(v), UPPER_2);
    v = COMPARE(v, PAIRS_1(v), UPPER_1);
#endif
    return v;
}

/* Merges the sorted runs [0, middle) and [middle, end) of `from`, numbers of words that are
 * multiples of WORD_VW and not 0. The words of the greatest vector so far are kept, and the next
 * vector is that of the run whose next word is smaller. One word after the end is read. */
TENON_INLINE void merge_runs(__global const word_t *from, __global word_t *to, long middle,
                             long end)
{
    long a = WORD_VW, b = middle;
    words kept = WORDS_LOAD(0, from);
    for (long i = 0; i + WORD_VW < end; i += WORD_VW) {
        const int is_first = (b == end) | ((a != middle) & (from[a] <= from[b]));
        const long next = is_first ? a : b;
        const words v = REVERSE(WORDS_LOAD(0, from + next));
        const words least = v < kept ? v : kept, most = v < kept ? kept : v;
        a += is_first ? WORD_VW : 0;
        b += is_first ? 0 : WORD_VW;
        WORDS_STORE(sort_bitonic(least), 0, to + i);
        kept = sort_bitonic(most);
    }
    WORDS_STORE(kept, 0, to + end - WORD_VW);
}

/* Sorts each vector, then merges runs until one is left. Returns the buffer that has it. */
TENON_INLINE __global word_t *sort_buffer(__global word_t *from, __global word_t *to, long count)
{
    for (long i = 0; i < count; i += WORD_VW) {
        WORDS_STORE(sort_words(WORDS_LOAD(0, from + i)), 0, from + i);
    }
    for (long run = WORD_VW; run < count; run *= 2) {
        for (long i = 0; i < count; i += 2 * run) {
            const long end = min(2 * run, count - i);
            if (end > run) {
                merge_runs(from + i, to + i, run, end);
                continue;
            }
            for (long j = 0; j < end; j += WORD_VW) {
                WORDS_STORE(WORDS_LOAD(0, from + i + j), 0, to + i + j);
            }
        }
        __global word_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

#if !TENON_NUMBERS
/* The number of a row's elements that their keys do not tell: NaNs, and zeros of both signs if one
 * is negative. */
typedef struct alike {
    int nans, negative_zeros;
} alike;

TENON_INLINE alike read_keys(__global const key_t *x, long step, long size, key_rule rule,
                             __global word_t *to)
{
    alike found = {0, 0};
    for (long i = 0; i < size; i++) {
        const key_t bits = x[i * step];
        to[i] = key_of(bits, rule);
        found.nans += (key_t)(bits & (key_t)~rule.sign) > rule.infinity;
        found.negative_zeros += bits == rule.negative_zero && bits != 0;
    }
    return found;
}

/* Returns the bits whose key is given; those of no NaN, and no negative zero. */
TENON_INLINE key_t bits_of(key_t key, key_rule rule)
{
    const key_t number = key ^ rule.toggle;
    return number ^ ((number & rule.sign) != 0 ? rule.flip : (key_t)0);
}

/* Writes the elements of which keys are equal, in the order of x. */
TENON_INLINE void put_alike(const sort_row *row, const sort_args *args, key_rule rule, alike found,
                            __global const word_t *sorted)
{
    const long size = args->axis.size, step = args->axis.axis[SORT_X];
    const key_t zero_key = key_of(0, rule);
    long nan = size - found.nans, zero = 0;
    while (zero < size && sorted[zero] < zero_key) {
        zero++;
    }
    for (long i = 0; i < size; i++) {
        const key_t bits = row->x[i * step];
        if ((key_t)(bits & (key_t)~rule.sign) > rule.infinity) {
            put_sorted(row, args, bits, i, nan++);
        } else if (found.negative_zeros != 0 && key_of(bits, rule) == zero_key) {
            put_sorted(row, args, bits, i, zero++);
        }
    }
}
#endif

TENON_INLINE void merge_row(const sort_row *row, const sort_args *args, __global word_t *buffer)
{
    const key_rule rule = rule_of(args);
    const long size = args->axis.size, step = args->axis.axis[SORT_X];
    const long count = (size + WORD_VW - 1) / WORD_VW * WORD_VW;
#if TENON_NUMBERS
    for (long i = 0; i < size; i++) {
        buffer[i] = (ulong)key_of(row->x[i * step], rule) << 32 | (ulong)i;
    }
#else
    const alike found = step == 1 ? read_keys(row->x, 1, size, rule, buffer)
                                  : read_keys(row->x, step, size, rule, buffer);
#endif
    for (long i = size; i < count; i++) {
        buffer[i] = ~(word_t)0;
    }
    __global const word_t *sorted = sort_buffer(buffer, buffer + args->length, count);
    const long limit = min(size, (long)args->limit);
#if TENON_NUMBERS
    for (long i = 0; i < limit; i++) {
        const long from = (long)(sorted[i] & 0xffffffffUL);
        put_sorted(row, args, row->x[from * step], from, i);
    }
#else
    const long to = args->axis.axis[SORT_Y];
    if (to == 1) {
        for (long i = 0; i < limit; i++) {
            row->y[i] = bits_of((key_t)sorted[i], rule);
        }
    } else {
        for (long i = 0; i < limit; i++) {
            row->y[i * to] = bits_of((key_t)sorted[i], rule);
        }
    }
    if (found.nans + found.negative_zeros > 0) {
        put_alike(row, args, rule, found, sorted);
    }
#endif
}

TENON_KERNEL void merge_rows(SORT_OPERANDS, __global uchar *workspace, const sort_args args)
{
    const long id = (long)get_global_id(0), begin = id * args.each;
    const long end = min(begin + args.each, (long)args.axis.rows);
    __global word_t *buffer =
        (__global word_t *)(workspace + args.workspace) + id * 2 * args.length;
    for (long r = begin; r < end; r++) {
        const sort_row row = sort_row_of(x, y, indices, payload, moved, &args, r);
        merge_row(&row, &args, buffer);
    }
}
