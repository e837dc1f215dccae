/*
 * The gradient of RoI align on CPUs (tenon/roi_align.h): a work-item clears args.each channels of
 * an image of dx, and adds to them the contributions of the regions in their order. It finds the
 * places of the samples of a region once. Vectors lie along the channels if these are contiguous in
 * dx and dy and the mode is the average.
 *
 * Global size: {ceil(channels / each), images}.
 *
 * TENON_DTYPE: f32 or f64, because dx holds the sums. TENON_VW: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 8
#endif
#include "roi_align/backward_args.h"
#include "roi_align/maximum.clh"
#include "roi_align/table.clh"

/* A work-item's channels of dx and of an image, and of dy of a region. */
typedef struct roi_planes {
    __global data_t *dx;
    __global const data_t *x, *dy;
    long channels;
} roi_planes;

/* The sums of the weights of a bin at elements along one dimension. */
typedef struct roi_weights {
    int count;
    int at[2 * ROI_MOST_SAMPLES];
    acc_t weight[2 * ROI_MOST_SAMPLES];
} roi_weights;

TENON_INLINE void add_weight(roi_weights *w, int at, acc_t weight)
{
    if (weight == 0) {
        return;
    }
    for (int i = w->count - 1; i >= max(w->count - 2, 0); i--) {
        if (w->at[i] == at) {
            w->weight[i] += weight;
            return;
        }
    }
    w->at[w->count] = at;
    w->weight[w->count++] = weight;
}

/* Sets the weights of a bin, multiplied by `factor`. */
TENON_INLINE void find_weights(roi_weights *w, const roi_table *t, int bin, acc_t factor)
{
    w->count = 0;
    for (int i = (bin - t->first) * t->samples; i < (bin - t->first + 1) * t->samples; i++) {
        if (t->exists[i]) {
            add_weight(w, t->sample[i].low, factor * t->sample[i].low_weight);
            add_weight(w, t->sample[i].high, factor * t->sample[i].high_weight);
        }
    }
}

/* Adds the average of bin (p, q) of all channels. */
TENON_FUNCTION void add_average(const roi_planes *planes, const roi_args *args,
                                const roi_weights *h, const roi_weights *w, int p, int q)
{
    const long dx_step = args->x_stride[1], dy_step = args->y_stride[1];
    __global const data_t *dy = planes->dy + p * args->y_stride[2] + q * args->y_stride[3];
    const long step = args->side_by_side ? TENON_VW : 1;
    for (long c = 0; c < planes->channels; c += step) {
        const int lanes = (int)min(planes->channels - c, (long)TENON_VW);
        __global data_t *dx = planes->dx + c * dx_step;
        if (args->side_by_side) {
            const acc_v share = load_lanes(dy, c, 1, lanes);
            for (int i = 0; i < h->count; i++) {
                const acc_v rows = share * splat(h->weight[i]);
                for (int j = 0; j < w->count; j++) {
                    const long to = h->at[i] * args->x_stride[2] + w->at[j] * args->x_stride[3];
                    store_lanes(dx, to, 1, lanes,
                                load_lanes(dx, to, 1, lanes) + rows * splat(w->weight[j]));
                }
            }
        } else {
            const acc_t share = load_data(dy, c * dy_step);
            for (int i = 0; i < h->count; i++) {
                const acc_t rows = share * h->weight[i];
                __global data_t *row = dx + h->at[i] * args->x_stride[2];
                for (int j = 0; j < w->count; j++) {
                    const long to = w->at[j] * args->x_stride[3];
                    store_data(row, to, load_data(row, to) + rows * w->weight[j]);
                }
            }
        }
    }
}

/* Takes the elements around a sample; x is at the first element of the channel. */
TENON_INLINE void take_sample(roi_maximum *m, __global const data_t *x, const tenon_i64 *stride,
                              const roi_sample *v, const roi_sample *u)
{
    __global const data_t *low = x + v->low * stride[2], *high = x + v->high * stride[2];
    const long left = u->low * stride[3], right = u->high * stride[3];
    take_element(m, v->low_weight * u->low_weight, load_data(low, left), v->low, u->low);
    take_element(m, v->low_weight * u->high_weight, load_data(low, right), v->low, u->high);
    take_element(m, v->high_weight * u->low_weight, load_data(high, left), v->high, u->low);
    take_element(m, v->high_weight * u->high_weight, load_data(high, right), v->high, u->high);
}

/* Adds dy of bin (p, q) of all channels to their maxima. */
TENON_FUNCTION void add_maxima(const roi_planes *planes, const roi_backward_args *all,
                               const roi_table *h, const roi_table *w, int p, int q)
{
    const roi_args *args = &all->forward;
    const int row = (p - h->first) * h->samples, column = (q - w->first) * w->samples;
    for (long c = 0; c < planes->channels; c++) {
        roi_maximum m = {0, 0, -1, -1, 0};
        for (int i = row; i < row + h->samples; i++) {
            for (int j = column; j < column + w->samples; j++) {
                if (h->exists[i] && w->exists[j]) {
                    take_sample(&m, planes->x + c * all->values_stride[1], all->values_stride,
                                &h->sample[i], &w->sample[j]);
                } else {
                    take_element(&m, 0, 0, -1, -1);
                }
            }
        }
        if (m.row >= 0) {
            __global data_t *dx = planes->dx + c * args->x_stride[1] + m.row * args->x_stride[2] +
                                  m.column * args->x_stride[3];
            store_data(dx, 0,
                       load_data(dx, 0) +
                           m.weight *
                               load_data(planes->dy, c * args->y_stride[1] + p * args->y_stride[2] +
                                                         q * args->y_stride[3]));
        }
    }
}

/* Adds the bins of two tables. */
TENON_INLINE void add_bins(const roi_planes *planes, const roi_backward_args *all,
                           const roi_table *h, const roi_table *w)
{
    const roi_args *args = &all->forward;
    const acc_t share = 1 / (acc_t)max(h->samples * w->samples, 1);
    roi_weights rows, columns;
    for (int p = h->first; p < h->last; p++) {
        if (!(args->flags & ROI_MAX)) {
            find_weights(&rows, h, p, share);
        }
        for (int q = w->first; q < w->last; q++) {
            if (args->flags & ROI_MAX) {
                add_maxima(planes, all, h, w, p, q);
            } else if (rows.count > 0) {
                find_weights(&columns, w, q, 1);
                add_average(planes, args, &rows, &columns, p, q);
            }
        }
    }
}

/* Sets a work-item's channels to zeros, with the innermost loop along contiguous elements. */
TENON_INLINE void clear_planes(const roi_planes *planes, const roi_args *args)
{
    const long along[3] = {planes->channels, args->size[0], args->size[1]};
    const int inner = args->side_by_side ? 0 : 2, outer = 2 - inner;
    const long step = args->x_stride[1 + inner];
    for (long i = 0; i < along[outer]; i++) {
        for (long j = 0; j < along[1]; j++) {
            __global data_t *line =
                planes->dx + i * args->x_stride[1 + outer] + j * args->x_stride[2];
            for (long k = 0; k < along[inner]; k += TENON_VW) {
                store_lanes(line, k * step, step, (int)min(along[inner] - k, (long)TENON_VW),
                            splat(0));
            }
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
roi_align_scatter(__global const data_t *x, __global const data_t *dy, __global const data_t *rois,
                  __global const int *indices, __global data_t *dx, const roi_backward_args all)
{
    const roi_args *args = &all.forward;
    const long c = (long)get_global_id(0) * args->each, n = (long)get_global_id(1);
    const long step = args->roi_stride[1];
    roi_axis h, w;
    roi_table rows, columns;
    roi_planes planes = {dx + args->x_offset + n * args->x_stride[0] + c * args->x_stride[1],
                         x + all.values_offset + n * all.values_stride[0] +
                             c * all.values_stride[1],
                         dy, min((long)args->each, args->channels - c)};
    clear_planes(&planes, args);
    for (long r = 0; r < all.regions; r++) {
        const long roi = args->roi_offset + r * args->roi_stride[0];
        if (indices[args->index_offset + r * args->index_stride] != n) {
            continue;
        }
        planes.dy = dy + args->y_offset + r * args->y_stride[0] + c * args->y_stride[1];
        find_axis(&w, args, load_data(rois, roi), load_data(rois, roi + 2 * step), args->bins[1]);
        find_axis(&h, args, load_data(rois, roi + step), load_data(rois, roi + 3 * step),
                  args->bins[0]);
        for (int p = 0; p < args->bins[0]; p = rows.last) {
            fill_table(&rows, &h, p, args->bins[0], args->size[0]);
            for (int q = 0; q < args->bins[1]; q = columns.last) {
                fill_table(&columns, &w, q, args->bins[1], args->size[1]);
                add_bins(&planes, &all, &rows, &columns);
            }
        }
    }
}
