/*
 * The gradient of RoI align (tenon/roi_align.h): a work-item computes up to ROI_CHANNELS channels
 * of args.each pixels of dx. It adds the contributions of the regions in their order.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/images.clh"
#include "roi_align/axis.clh"
#include "roi_align/backward_args.h"
#include "roi_align/maximum.clh"

/* Returns the sum of the weights that the samples of a bin have at an element along a dimension. */
TENON_INLINE acc_t weight_at(const roi_axis *a, int bin, int at, int size)
{
    acc_t sum = 0;
    for (int i = 0; i < a->samples; i++) {
        roi_sample s;
        if (find_sample(&s, a, bin, i, size)) {
            sum += s.low == at ? s.low_weight : (acc_t)0;
            sum += s.high == at ? s.high_weight : (acc_t)0;
        }
    }
    return sum;
}

/* Finds the bins from *first to *last that may have a weight at an element, with a spare one on
 * either side; all of them if the bins have no size. */
TENON_INLINE void find_bins(const roi_axis *a, int at, int size, int bins, int *first, int *last)
{
    *first = 0;
    *last = bins - 1;
    if (a->bin > 0 && a->bin < (acc_t)INFINITY) {
        const acc_t low = at == 0 ? (acc_t)-1 : (acc_t)(at - 1),
                    high = at == size - 1 ? (acc_t)size : (acc_t)(at + 1);
        *first = (int)clamp((low - a->start) / a->bin - 1, (acc_t)0, (acc_t)bins);
        *last = (int)clamp((high - a->start) / a->bin + 1, (acc_t)-1, (acc_t)(bins - 1));
    }
}

/* Adds the share of a region to the sums of the channels of a pixel. */
TENON_INLINE void add_region(acc_t *sum, __global const data_t *dy, const roi_args *args,
                             const roi_axis *h, const roi_axis *w, int row, int column,
                             int channels)
{
    int p, last, first_q, last_q;
    const acc_t samples = (acc_t)max(h->samples * w->samples, 1);
    find_bins(h, row, args->size[0], args->bins[0], &p, &last);
    find_bins(w, column, args->size[1], args->bins[1], &first_q, &last_q);
    for (; p <= last; p++) {
        const acc_t along_h = weight_at(h, p, row, args->size[0]);
        if (along_h == 0) {
            continue;
        }
        for (int q = first_q; q <= last_q; q++) {
            const acc_t along_w = weight_at(w, q, column, args->size[1]);
            if (along_w == 0) {
                continue;
            }
            const acc_t weight = along_h * along_w / samples;
            const long from = p * args->y_stride[2] + q * args->y_stride[3];
            TENON_UNROLL
            for (int c = 0; c < ROI_CHANNELS; c++) {
                if (c < channels) {
                    sum[c] += weight * load_data(dy, from + c * args->y_stride[1]);
                }
            }
        }
    }
}

/* Finds the maximum of a bin; x is at the first element of the channel. */
TENON_INLINE roi_maximum maximum_of(__global const data_t *x, const roi_backward_args *all,
                                    const roi_axis *h, const roi_axis *w, int p, int q)
{
    const long row = all->values_stride[2], column = all->values_stride[3];
    roi_maximum m = {0, 0, -1, -1, 0};
    for (int i = 0; i < h->samples; i++) {
        roi_sample v, u;
        const int has_row = find_sample(&v, h, p, i, all->forward.size[0]);
        for (int j = 0; j < w->samples; j++) {
            if (!has_row || !find_sample(&u, w, q, j, all->forward.size[1])) {
                take_element(&m, 0, 0, -1, -1);
                continue;
            }
            take_element(&m, v.low_weight * u.low_weight,
                         load_data(x, v.low * row + u.low * column), v.low, u.low);
            take_element(&m, v.low_weight * u.high_weight,
                         load_data(x, v.low * row + u.high * column), v.low, u.high);
            take_element(&m, v.high_weight * u.low_weight,
                         load_data(x, v.high * row + u.low * column), v.high, u.low);
            take_element(&m, v.high_weight * u.high_weight,
                         load_data(x, v.high * row + u.high * column), v.high, u.high);
        }
    }
    return m;
}

/* Adds dy of the bins of a region whose maximum is at a pixel to the sums of its channels. */
TENON_INLINE void add_maxima(acc_t *sum, __global const data_t *x, __global const data_t *dy,
                             const roi_backward_args *all, const roi_axis *h, const roi_axis *w,
                             int row, int column, int channels)
{
    const roi_args *args = &all->forward;
    int p, last, first_q, last_q;
    find_bins(h, row, args->size[0], args->bins[0], &p, &last);
    find_bins(w, column, args->size[1], args->bins[1], &first_q, &last_q);
    for (; p <= last; p++) {
        if (weight_at(h, p, row, args->size[0]) == 0) {
            continue;
        }
        for (int q = first_q; q <= last_q; q++) {
            if (weight_at(w, q, column, args->size[1]) == 0) {
                continue;
            }
            const long from = p * args->y_stride[2] + q * args->y_stride[3];
            TENON_UNROLL
            for (int c = 0; c < ROI_CHANNELS; c++) {
                if (c < channels) {
                    const roi_maximum m =
                        maximum_of(x + c * all->values_stride[1], all, h, w, p, q);
                    if (m.row == row && m.column == column) {
                        sum[c] += m.weight * load_data(dy, from + c * args->y_stride[1]);
                    }
                }
            }
        }
    }
}

TENON_KERNEL void roi_align_backward(__global const data_t *x, __global const data_t *dy,
                                     __global const data_t *rois, __global const int *indices,
                                     __global data_t *dx, const roi_backward_args all)
{
    const roi_args *args = &all.forward;
    const long blocks = (args->channels + ROI_CHANNELS - 1) / ROI_CHANNELS;
    long number = (long)get_global_id(0) * args->each;
    const long end = min(number + args->each, (long)args->count);
    for (; number < end; number++) {
        image_place p;
        acc_t sum[ROI_CHANNELS];
        find_image_place(&p, number, blocks, args->side_by_side, 1, args->size[0], args->size[1]);
        const long c = p.c * ROI_CHANNELS;
        const int channels = (int)min(args->channels - c, (long)ROI_CHANNELS);
        TENON_UNROLL
        for (int i = 0; i < ROI_CHANNELS; i++) {
            sum[i] = 0;
        }
        for (long r = 0; r < all.regions; r++) {
            if (indices[args->index_offset + r * args->index_stride] != p.n) {
                continue;
            }
            const long roi = args->roi_offset + r * args->roi_stride[0], step = args->roi_stride[1];
            roi_axis h, w;
            find_axis(&w, args, load_data(rois, roi), load_data(rois, roi + 2 * step),
                      args->bins[1]);
            find_axis(&h, args, load_data(rois, roi + step), load_data(rois, roi + 3 * step),
                      args->bins[0]);
            const long at = args->y_offset + r * args->y_stride[0] + c * args->y_stride[1];
            if (args->flags & ROI_MAX) {
                add_maxima(sum,
                           x + all.values_offset + p.n * all.values_stride[0] +
                               c * all.values_stride[1],
                           dy + at, &all, &h, &w, (int)p.at[1], (int)p.at[2], channels);
            } else {
                add_region(sum, dy + at, args, &h, &w, (int)p.at[1], (int)p.at[2], channels);
            }
        }
        const long to = args->x_offset + p.n * args->x_stride[0] + c * args->x_stride[1] +
                        p.at[1] * args->x_stride[2] + p.at[2] * args->x_stride[3];
        TENON_UNROLL
        for (int i = 0; i < ROI_CHANNELS; i++) {
            if (i < channels) {
                store_data(dx, to + i * args->x_stride[1], sum[i]);
            }
        }
    }
}
