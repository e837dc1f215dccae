/*
 * RoI align on CPUs (tenon/roi_align.h): a work-item computes args.each channels of a region. It
 * finds the places of the samples along each dimension once, and keeps them in private tables.
 * Vectors lie along the channels if these are contiguous in x and y. The order of the sums is that
 * of roi_align/items.cl.
 *
 * Global size: {ceil(channels / each), regions}.
 *
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 8
#endif
#include "roi_align/table.clh"

/* Defines the average or the maximum of bin (p, q), of one channel or of several; x is at the first
 * element. A maximum that is NaN remains NaN. */
#define ROI_DEFINE_BIN(name, type, load)                                                           \
    TENON_INLINE type name(__global const data_t *x, const roi_args *args, const roi_table *h,     \
                           const roi_table *w, int p, int q, int lanes)                            \
    {                                                                                              \
        const roi_sample *rows = h->sample + (p - h->first) * h->samples,                          \
                         *columns = w->sample + (q - w->first) * w->samples;                       \
        const int *has_row = h->exists + (p - h->first) * h->samples,                              \
                  *has_column = w->exists + (q - w->first) * w->samples;                           \
        type sum = (type)(0), best = (type)(0);                                                    \
        for (int i = 0; i < h->samples; i++) {                                                     \
            __global const data_t *low = x + rows[i].low * args->x_stride[2],                      \
                                  *high = x + rows[i].high * args->x_stride[2];                    \
            for (int j = 0; j < w->samples; j++) {                                                 \
                type a = (type)(0), b = (type)(0), c = (type)(0), d = (type)(0);                   \
                if (has_row[i] && has_column[j]) {                                                 \
                    const roi_sample u = columns[j];                                               \
                    const long left = u.low * args->x_stride[3],                                   \
                               right = u.high * args->x_stride[3];                                 \
                    a = (type)(rows[i].low_weight * u.low_weight) * load(low, left, lanes);        \
                    b = (type)(rows[i].low_weight * u.high_weight) * load(low, right, lanes);      \
                    c = (type)(rows[i].high_weight * u.low_weight) * load(high, left, lanes);      \
                    d = (type)(rows[i].high_weight * u.high_weight) * load(high, right, lanes);    \
                }                                                                                  \
                sum += (a + b) + (c + d);                                                          \
                if (args->flags & ROI_MAX) {                                                       \
                    const type ab = (a > b) | (a != a) ? a : b, cd = (c > d) | (c != c) ? c : d;   \
                    const type most = (ab > cd) | (ab != ab) ? ab : cd;                            \
                    const type next = (most > best) | (most != most) ? most : best;                \
                    best = i + j == 0 ? most : next;                                               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return args->flags & ROI_MAX ? best                                                        \
                                     : sum / (type)((acc_t)max(h->samples * w->samples, 1));       \
    }
#define LOAD_ONE(p, at, lanes)  load_data(p, at)
#define LOAD_SOME(p, at, lanes) load_lanes(p, at, 1, lanes)
ROI_DEFINE_BIN(bin_of_channel, acc_t, LOAD_ONE)
ROI_DEFINE_BIN(bin_of_channels, acc_v, LOAD_SOME)

/* Computes the bins of two tables; x and y are at the first of `channels` channels. */
TENON_FUNCTION void do_bins(__global const data_t *x, __global data_t *y, const roi_args *args,
                            const roi_table *h, const roi_table *w, long channels)
{
    const long step = args->side_by_side ? TENON_VW : 1;
    for (long c = 0; c < channels; c += step) {
        __global const data_t *from = x + c * args->x_stride[1];
        const int lanes = (int)min(channels - c, (long)TENON_VW);
        for (int p = h->first; p < h->last; p++) {
            for (int q = w->first; q < w->last; q++) {
                const long to =
                    c * args->y_stride[1] + p * args->y_stride[2] + q * args->y_stride[3];
                if (args->side_by_side) {
                    store_lanes(y, to, 1, lanes, bin_of_channels(from, args, h, w, p, q, lanes));
                } else {
                    store_data(y, to, bin_of_channel(from, args, h, w, p, q, 1));
                }
            }
        }
    }
}

TENON_INLINE void fill_region(__global data_t *y, const roi_args *args, long channels, acc_t value)
{
    for (long c = 0; c < channels; c++) {
        for (int p = 0; p < args->bins[0]; p++) {
            for (int q = 0; q < args->bins[1]; q++) {
                store_data(y, c * args->y_stride[1] + p * args->y_stride[2] + q * args->y_stride[3],
                           value);
            }
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
roi_align_tables(__global const data_t *x, __global const data_t *rois, __global const int *indices,
                 __global data_t *y, const roi_args args)
{
    const long c = (long)get_global_id(0) * args.each, r = (long)get_global_id(1);
    const long channels = min((long)args.each, args.channels - c);
    const long roi = args.roi_offset + r * args.roi_stride[0], step = args.roi_stride[1];
    const int image = indices[args.index_offset + r * args.index_stride];
    roi_axis h, w;
    roi_table rows, columns;
    y += args.y_offset + r * args.y_stride[0] + c * args.y_stride[1];
    if (image < 0 || image >= args.images) {
        fill_region(y, &args, channels, (acc_t)NAN);
        return;
    }
    x += args.x_offset + image * args.x_stride[0] + c * args.x_stride[1];
    find_axis(&w, &args, load_data(rois, roi), load_data(rois, roi + 2 * step), args.bins[1]);
    find_axis(&h, &args, load_data(rois, roi + step), load_data(rois, roi + 3 * step),
              args.bins[0]);
    for (int p = 0; p < args.bins[0]; p = rows.last) {
        fill_table(&rows, &h, p, args.bins[0], args.size[0]);
        for (int q = 0; q < args.bins[1]; q = columns.last) {
            fill_table(&columns, &w, q, args.bins[1], args.size[1]);
            do_bins(x, y, &args, &rows, &columns, channels);
        }
    }
}
