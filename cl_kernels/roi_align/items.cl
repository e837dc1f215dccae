/*
 * RoI align (tenon/roi_align.h): a work-item computes args.each results, numbered along w, h,
 * channels and regions, or with args.side_by_side along the channels first.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/images.clh"
#include "roi_align/axis.clh"

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
