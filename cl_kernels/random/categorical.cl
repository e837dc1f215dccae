/*
 * Draws a class for each row; include/tenon/random.h has the definition.
 *
 * Views: the first elements of the rows, y, and the linear indices of y's elements, which increase
 * by 1 along a line. single[0]: classes, single[1]: the stride between them. args.flags: bit 0:
 * logits. A work-item handles pieces of lines (common/lines.clh), on CPUs several rows together.
 * Scalars: 0 the seed, 1 the sequence.
 *
 * TENON_OUT_BYTES: see random/results.clh; TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#include "random/word.clh"

#include "common/math.clh"
#include "common/transpose.clh"

#define LOGITS 1

#if TENON_DTYPE == TENON_DTYPE_F64
#define UNIT(x) ((acc_t)(x)*0x1p-32)
#else
#define UNIT(x) ((acc_t)((x) >> 8) * 0x1p-24f)
#endif

#if TENON_GPU

#define ROWS 1

typedef struct row {
    __global const data_t *x;
    long first, stride, classes;
    int is_logits;
    acc_t most; /* the greatest logit */
} row;

TENON_INLINE acc_t weight_of(const row *r, long k)
{
    const acc_t x = load_data(r->x, r->first + k * r->stride);
    if (r->is_logits) {
        return math_exp(x - r->most);
    }
    return x > 0 || isnan(x) ? x : 0;
}

TENON_INLINE long draw_class(row *r, uint word)
{
    acc_t total = 0, sum = 0;
    long drawn = -1;
    r->most = load_data(r->x, r->first);
    for (long k = 1; k < r->classes; k++) {
        const acc_t x = load_data(r->x, r->first + k * r->stride);
        r->most = x > r->most ? x : r->most;
    }
    for (long k = 0; k < r->classes; k++) {
        total += weight_of(r, k);
    }
    if (!(total > 0) || isinf(total)) {
        return -1;
    }
    const acc_t target = UNIT(word) * total;
    for (long k = 0; k < r->classes && !(sum > target); k++) {
        const acc_t weight = weight_of(r, k);
        sum += weight;
        drawn = weight > 0 ? k : drawn;
    }
    return drawn;
}

TENON_INLINE void draw(row *r, const philox_stream *stream, const lines *w, long along, long i,
                       int rows, __global out_t *y, long step)
{
    r->first = w->at[0] + i * along;
    y[w->at[1] + i * step] = (out_t)draw_class(r, word_of(stream, (ulong)(w->at[2] + i)));
}

#else

#define ROWS TENON_VW
#define SUMS 32 /* partial sums of each row that are kept */

/* Rows whose weights are added together, one in each lane. */
typedef struct row {
    __global const data_t *x;
    long first[TENON_VW];
    long stride, classes;
    int is_logits;
    acc_v most; /* the greatest logits */
} row;

TENON_INLINE acc_v weights_of(int is_logits, acc_v x, acc_v most)
{
    const acc_v zero = splat(0);
    return is_logits ? math_exp_falling_v(x - most) : (x > zero || x != x) ? x : zero;
}

TENON_FUNCTION void find_most(row *r)
{
    acc_v most[TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        most[l] = splat(-INFINITY);
    }
    for (long k = 0; k < r->classes; k += TENON_VW) {
        const int lanes = (int)min(r->classes - k, (long)TENON_VW);
        for (int l = 0; l < TENON_VW; l++) {
            const long at = r->first[l] + k * r->stride;
            const acc_v x = lanes == TENON_VW ? load_lanes(r->x, at, r->stride, TENON_VW)
                                              : load_filled(r->x, at, r->stride, lanes, -INFINITY);
            most[l] = x > most[l] ? x : most[l];
        }
    }
    transpose_square(most);
    r->most = most[0];
    for (int l = 1; l < TENON_VW; l++) {
        r->most = most[l] > r->most ? most[l] : r->most;
    }
}

/* Returns the sums of the rows' weights, added in the order of the classes. sums[s] receives the
 * sum of the first (s + 1) * each classes, where `each` is a multiple of TENON_VW. */
TENON_FUNCTION acc_v add_weights(const row *r, long each, acc_v *sums)
{
    acc_v v[TENON_VW], sum = splat(0);
    int s = 0;
    for (long first = 0; first < r->classes; first += each) {
        const long last = min(first + each, r->classes);
        for (long k = first; k < last; k += TENON_VW) {
            const int lanes = (int)min(last - k, (long)TENON_VW);
            for (int l = 0; l < TENON_VW; l++) {
                v[l] = load_lanes(r->x, r->first[l] + k * r->stride, r->stride, lanes);
            }
            transpose_square(v);
            for (int j = 0; j < lanes; j++) {
                sum += weights_of(r->is_logits, v[j], r->most);
            }
        }
        sums[s++] = sum;
    }
    return sum;
}

/* Returns the same for a single row, in each lane. */
TENON_FUNCTION acc_v add_row(const row *r, long each, acc_v *sums)
{
    acc_t weight[TENON_VW], sum = 0;
    int s = 0;
    for (long first = 0; first < r->classes; first += each) {
        const long last = min(first + each, r->classes);
        for (long k = first; k < last; k += TENON_VW) {
            const int lanes = (int)min(last - k, (long)TENON_VW);
            const acc_v x = load_lanes(r->x, r->first[0] + k * r->stride, r->stride, lanes);
            TENON_VSTORE(weights_of(r->is_logits, x, r->most), 0, weight);
            for (int j = 0; j < lanes; j++) {
                sum += weight[j];
            }
        }
        sums[s++] = splat(sum);
    }
    return splat(sum);
}

/* Returns the first class of row l, from class k on, whose sum exceeds the target, or -1. `sum` is
 * that of the classes before k. */
TENON_INLINE long find_class(const row *r, int l, acc_t most, long k, acc_t sum, acc_t target)
{
    acc_t weight[TENON_VW];
    for (; k < r->classes; k += TENON_VW) {
        const int lanes = (int)min(r->classes - k, (long)TENON_VW);
        const acc_v x = load_lanes(r->x, r->first[l] + k * r->stride, r->stride, lanes);
        TENON_VSTORE(weights_of(r->is_logits, x, splat(most)), 0, weight);
        for (int j = 0; j < lanes; j++) {
            sum += weight[j];
            if (sum > target) {
                return k + j;
            }
        }
    }
    return -1;
}

/* Returns the last class of row l with a positive weight. */
TENON_INLINE long last_class(const row *r, int l, acc_t most)
{
    long k = r->classes - 1;
    for (; k > 0; k--) {
        acc_t weight[TENON_VW];
        const acc_v x = splat(load_data(r->x, r->first[l] + k * r->stride));
        TENON_VSTORE(weights_of(r->is_logits, x, splat(most)), 0, weight);
        if (weight[0] > 0) {
            break;
        }
    }
    return k;
}

/* Sets word[l] to the word of element n + l; those of TENON_VW elements from a multiple of it are
 * computed together. */
TENON_INLINE void words_of(const philox_stream *stream, ulong n, int count, uint *word)
{
    const ulong first = n / TENON_VW * TENON_VW;
    uint all[2 * TENON_VW];
    for (int i = 0; i < 2; i++) {
        const ulong at = first + i * TENON_VW;
        const int which = (int)(at % (4 * PHILOX_BLOCKS)) / PHILOX_BLOCKS;
        uint_v x[4];
        if (at < n + count) {
            philox(stream, at / (4 * PHILOX_BLOCKS) * PHILOX_BLOCKS + at % PHILOX_BLOCKS, x);
            TENON_VSTORE(which == 0 ? x[0] : which == 1 ? x[1] : which == 2 ? x[2] : x[3], i, all);
        }
    }
    for (int l = 0; l < count; l++) {
        word[l] = all[n - first + l];
    }
}

/* Draws for the elements i to i + rows - 1 of the line. */
TENON_INLINE void draw(row *r, const philox_stream *stream, const lines *w, long along, long i,
                       int rows, __global out_t *y, long step)
{
    const long each = (r->classes + SUMS * TENON_VW - 1) / (SUMS * TENON_VW) * TENON_VW;
    acc_v sums[SUMS];
    acc_t most[TENON_VW], total[TENON_VW], kept[SUMS * TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        r->first[l] = w->at[0] + (i + min(l, rows - 1)) * along;
    }
    r->most = splat(0);
    if (r->is_logits) {
        find_most(r);
    }
    TENON_VSTORE(rows == 1 ? add_row(r, each, sums) : add_weights(r, each, sums), 0, total);
    TENON_VSTORE(r->most, 0, most);
    for (int s = 0; s * each < r->classes; s++) {
        TENON_VSTORE(sums[s], s, kept);
    }
    uint word[TENON_VW];
    words_of(stream, (ulong)(w->at[2] + i), rows, word);
    for (int l = 0; l < rows; l++) {
        const acc_t target = UNIT(word[l]) * total[l];
        long s = 0, k = -1;
        if (total[l] > 0 && !isinf(total[l])) {
            while ((s + 1) * each < r->classes && !(kept[s * TENON_VW + l] > target)) {
                s++;
            }
            k = find_class(r, l, most[l], s * each, s > 0 ? kept[(s - 1) * TENON_VW + l] : 0,
                           target);
            k = k < 0 ? last_class(r, l, most[l]) : k;
        }
        y[w->at[1] + (i + l) * step] = (out_t)k;
    }
}

#endif

TENON_KERNEL void categorical(__global const data_t *x, __global out_t *y, const singles_args args)
{
    const philox_stream stream = philox_begin(&args.lines);
    const long along = args.lines.along[0], step = args.lines.along[1];
    row r;
    r.x = x;
    r.stride = args.single[1];
    r.classes = args.single[0];
    r.is_logits = args.lines.flags & LOGITS;
    lines w;
    lines_begin(&w, &args.lines, 3);
    EACH_PIECE(&w, &args.lines, 3)
    {
        for (long i = w.first; i < w.last; i += ROWS) {
            draw(&r, &stream, &w, along, i, (int)min(w.last - i, (long)ROWS), y, step);
        }
    }
}
