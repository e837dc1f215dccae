/*
 * Convolution of images with few channels, which are last, by filters that have been packed in
 * panels (packed/args.h), for CPUs. The taps of a filter along w and their channels are contiguous
 * in a row of the image, and those of the next pixel begin TENON_A_PITCH elements later. A row
 * under the filters is therefore copied once, with zeros for the padding, and read in place for all
 * of its pixels, instead of being gathered for each of them.
 *
 * A unit is a segment of a row of output pixels (n, o, p). A work-item computes shape.run units
 * for shape.tile_cols filters. Global size: {blocks of filters, ceil(units / run), 1}, local size
 * {1, 1, 1}. There is one group, and w has no dilation. The channels of x and y are contiguous; c
 * and bias may have any strides.
 *
 * TENON_A_PITCH: the channels times the stride along w.
 * TENON_STRIP: elements of the copied rows of a unit: a multiple of VW.
 * The other macros are those of packed/tile.clh; all of K is one block.
 */
#ifndef TENON_A_PITCH
#define TENON_A_PITCH 3
#endif
#ifndef TENON_STRIP
#define TENON_STRIP 8192
#endif
#include "packed/tile.clh" /* first: it has the defaults of the macros */

#include "packed/pixels.clh"
#include "packed/runs.clh"

/* A segment: its first pixel, its number of pixels, the image, and the position of the first tap.
 */
typedef struct strip_place {
    long first, count, n, at[3];
} strip_place;

TENON_INLINE strip_place find_strip(const conv_window *v, const packed_strips *shape, long unit)
{
    strip_place place;
    const long segment = cut_index(&unit, shape->segments), q = segment * shape->segment;
    place.first = unit * v->out[2] + q;
    place.count = min(shape->segment, v->out[2] - q);
    place.at[1] = under_tap(v, 1, cut_index(&unit, v->out[1]), 0);
    place.at[0] = under_tap(v, 0, cut_index(&unit, v->out[0]), 0);
    place.at[2] = under_tap(v, 2, q, 0);
    place.n = unit;
    return place;
}

/* Copies the part of a row of the image from column w on that is under the filters: `count`
 * elements. `row` is the first element of the row. */
TENON_INLINE void copy_row(__global const data_t *x, const conv_args *a, long span, long row,
                           long w, int count, __local acc_t *to)
{
    const int channels = (int)a->group_channels;
    const int begin = (int)min(max(-w, 0L) * channels, (long)count);
    const int end = (int)clamp((a->window.size[2] - w) * channels, (long)begin, (long)count);
    clear_run(to, begin);
    copy_run(x, span, to + begin, row + w * channels + begin, end - begin);
    clear_run(to + end, count - end);
}

/* Copies the rows of the image under a segment, shape.pitch elements apart. */
TENON_INLINE void fill_strip(__global const data_t *x, const conv_args *a,
                             const packed_strips *shape, const strip_place *place,
                             __local acc_t *to)
{
    const conv_window *v = &a->window;
    const int count = (int)(((place->count - 1) * v->stride[2] + v->filter[2]) * a->group_channels);
    for (long t = 0; t < v->filter[0]; t++) {
        const long d = place->at[0] + t * v->dilation[0];
        for (long r = 0; r < v->filter[1]; r++) {
            const long h = place->at[1] + r * v->dilation[1];
            if (inside(v, 0, d) && inside(v, 1, h)) {
                copy_row(x, a, shape->x_span,
                         place->n * a->x_stride[0] + d * a->x_stride[2] + h * a->x_stride[3],
                         place->at[2], count, to);
            } else {
                clear_run(to, count);
            }
            to += shape->pitch;
        }
    }
}

/* Multiplies a segment by the panels of filters n0 … n1 - 1. `e` is the epilogue of its pixels. */
TENON_LOCAL_FUNCTION void strip_product(const conv_args *a, const packed_strips *shape,
                                        const gemm_epilogue *e, __global const data_t *b, long n0,
                                        long n1, long pixels, __local acc_t *strip, acc_v *tile)
{
    const conv_window *v = &a->window;
    const int kc = (int)(v->filter[2] * a->group_channels),
              runs = (int)(v->filter[0] * v->filter[1]), pass = TENON_PASS_FIRST | TENON_PASS_LAST;
    const long panel = (long)kc * runs * TENON_PANEL, last = (n1 - 1) / TENON_PANEL;
    const int finished = finished_pass(e, pass);
    for (long m = 0; m < pixels;) {
        const int rows = panel_height(pixels - m);
        for (long n = n0; n < n1; n += TENON_NR) {
            const long number = n / TENON_PANEL;
            const int cols = (int)min((long)TENON_NR, n1 - n);
            const tile_place to = place_of(e, m, n, rows, cols, finished, strip);
            panel_tile(rows, strip + m * TENON_A_PITCH, b + number * panel,
                       number < last ? panel : 0, kc, runs, shape->pitch, &to, tile);
            complete_tile(&to, rows, 0, cols, pass, strip, tile);
        }
        m += rows;
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_conv_direct(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                   __global const data_t *bias, __global data_t *y,
                   GEMM_POST_POINTERS const packed_direct_args args)
{
    __local acc_v strip[TENON_STRIP / TENON_VW]; /* as vectors, for alignment */
    acc_v tile[TENON_MR * TENON_NV + 1];
    const conv_args *a = &args.conv;
    const packed_strips *shape = &args.shape;
    const long n0 = (long)get_global_id(0) * shape->tile_cols,
               n1 = min((long)a->group_filters, n0 + shape->tile_cols);
    const long begin = (long)get_global_id(1) * shape->run,
               end = min((long)shape->units, begin + shape->run);
    for (long unit = begin; unit < end; unit++) {
        const strip_place place = find_strip(&a->window, shape, unit);
        const gemm_epilogue e =
            pixel_epilogue(c, bias, y, PIXEL_POST a, shape->y_pixel, shape->c_pixel, place.first);
        fill_strip(x + a->x_offset, a, shape, &place, (__local acc_t *)strip);
        strip_product(a, shape, &e, w + a->w_offset, n0, n1, place.count, (__local acc_t *)strip,
                      tile);
    }
}
