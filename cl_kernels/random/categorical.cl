/*
 * Draws a class for each row; include/tenon/random.h has the definition.
 *
 * Views: the first elements of the rows, y, and the linear indices of y's elements, which increase
 * by 1 along a line. single[0]: classes, single[1]: the stride between them. args.flags: bit 0:
 * logits. A work-item handles pieces of lines (common/lines.clh). Scalars: 0 the seed, 1 the
 * sequence.
 *
 * TENON_OUT_BYTES: see random/results.clh; TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#include "random/word.clh"

#include "common/math.clh"

#define LOGITS 1

#if TENON_DTYPE == TENON_DTYPE_F64
#define UNIT(x) ((acc_t)(x)*0x1p-32)
#else
#define UNIT(x) ((acc_t)((x) >> 8) * 0x1p-24f)
#endif

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

TENON_INLINE long draw(row *r, uint word)
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

TENON_KERNEL void categorical(__global const data_t *x, __global out_t *y, const singles_args args)
{
    const philox_stream stream = philox_begin(&args.lines);
    lines w;
    lines_begin(&w, &args.lines, 3);
    EACH_PIECE(&w, &args.lines, 3)
    {
        for (long i = w.first; i < w.last; i++) {
            row r = {x,
                     w.at[0] + i * args.lines.along[0],
                     args.single[1],
                     args.single[0],
                     args.lines.flags & LOGITS,
                     0};
            const uint word = word_of(&stream, (ulong)(w.at[2] + i));
            y[w.at[1] + i * args.lines.along[1]] = (out_t)draw(&r, word);
        }
    }
}
