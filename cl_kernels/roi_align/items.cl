/*
 * RoI align (tenon/roi_align.h): a work-item computes args.each results, numbered along w, h,
 * channels and regions, or with args.side_by_side along the channels first.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/images.clh"
#include "roi_align/args.h"

/* The bins of a region along one dimension: where they begin, and their size and samples. */
typedef struct roi_axis {
    acc_t start, bin;
    int samples;
} roi_axis;

/* Counts the samples by products, which are exact, because a quotient is not. */
TENON_INLINE void find_axis(roi_axis *a, const roi_args *args, acc_t first, acc_t last, int bins)
{
    const acc_t scale = TENON_FROM_BITS(args->scale),
                shift = args->flags & ROI_UNSHIFTED ? (acc_t)0 : (acc_t)0.5f;
    a->start = first * scale - shift;
    acc_t length = last * scale - shift - a->start;
    if ((args->flags & ROI_UNSHIFTED) && length < 1) {
        length = 1;
    }
    a->bin = length / (acc_t)bins;
    a->samples = args->samples;
    if (args->samples == 0) {
        int n = length > 0 ? (int)min(a->bin, (acc_t)ROI_MOST_SAMPLES) : 0;
        while (n > 0 && (acc_t)(n - 1) * (acc_t)bins >= length) {
            n--;
        }
        while (n < ROI_MOST_SAMPLES && (acc_t)n * (acc_t)bins < length) {
            n++;
        }
        a->samples = n;
    }
}

/* The elements around a sample along one dimension, and their weights. */
typedef struct roi_sample {
    int low, high;
    acc_t low_weight, high_weight;
} roi_sample;

/* Returns false for a sample outside x. */
TENON_INLINE int find_sample(roi_sample *s, const roi_axis *a, int bin, int sample, int size)
{
    const acc_t at =
        a->start + (acc_t)bin * a->bin + ((acc_t)sample + (acc_t)0.5f) * a->bin / (acc_t)a->samples;
    if (!(at >= -1 && at <= (acc_t)size)) {
        return 0;
    }
    const acc_t inside = at > 0 ? at : 0;
    s->low = min((int)inside, size - 1);
    s->high = min(s->low + 1, size - 1);
    s->high_weight = s->high == s->low ? 0 : inside - (acc_t)s->low;
    s->low_weight = 1 - s->high_weight;
    return 1;
}

/* Returns the average or the maximum of a bin; x is at the first element of the channel. */
TENON_INLINE acc_t result_of(__global const data_t *x, const roi_args *args, const roi_axis *h,
                             const roi_axis *w, const image_place *p)
{
    const long row = args->x_stride[2], column = args->x_stride[3];
    acc_t sum = 0, best = 0;
    int has_best = 0;
    for (int i = 0; i < h->samples; i++) {
        roi_sample v, u;
        const int has_row = find_sample(&v, h, (int)p->at[1], i, args->size[0]);
        for (int j = 0; j < w->samples; j++) {
            acc_t a = 0, b = 0, c = 0, d = 0;
            if (has_row && find_sample(&u, w, (int)p->at[2], j, args->size[1])) {
                a = v.low_weight * u.low_weight * load_data(x, v.low * row + u.low * column);
                b = v.low_weight * u.high_weight * load_data(x, v.low * row + u.high * column);
                c = v.high_weight * u.low_weight * load_data(x, v.high * row + u.low * column);
                d = v.high_weight * u.high_weight * load_data(x, v.high * row + u.high * column);
            }
            sum += (a + b) + (c + d);
            const acc_t ab = a > b || a != a ? a : b, cd = c > d || c != c ? c : d,
                        most = ab > cd || ab != ab ? ab : cd;
            best = !has_best || most > best || most != most ? most : best;
            has_best = 1;
            if (best != best) {
                return best;
            }
        }
    }
    if (args->flags & ROI_MAX) {
        return best;
    }
    return sum / (acc_t)max(h->samples * w->samples, 1);
}

TENON_KERNEL void roi_align(__global const data_t *x, __global const data_t *rois,
                            __global const int *indices, __global data_t *y, const roi_args args)
{
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place p;
        find_image_place(&p, number, args.channels, args.side_by_side, 1, args.bins[0],
                         args.bins[1]);
        const long to = args.y_offset + p.n * args.y_stride[0] + p.c * args.y_stride[1] +
                        p.at[1] * args.y_stride[2] + p.at[2] * args.y_stride[3];
        const int image = indices[args.index_offset + p.n * args.index_stride];
        if (image < 0 || image >= args.images) {
            store_data(y, to, (acc_t)NAN);
            continue;
        }
        const long roi = args.roi_offset + p.n * args.roi_stride[0], step = args.roi_stride[1];
        roi_axis h, w;
        find_axis(&w, &args, load_data(rois, roi), load_data(rois, roi + 2 * step), args.bins[1]);
        find_axis(&h, &args, load_data(rois, roi + step), load_data(rois, roi + 3 * step),
                  args.bins[0]);
        store_data(y, to,
                   result_of(x + args.x_offset + image * args.x_stride[0] + p.c * args.x_stride[1],
                             &args, &h, &w, &p));
    }
}
