/*
 * Gradient of a convolution's image (backward data) for CPUs. The columns, which are the product of
 * the transposed filters and y, are folded into the image directly from a register tile, and need
 * no workspace.
 *
 *     x[n, c, at] = act(alpha * (sum of y[n, k, o] * w[k, c, t]) + beta * c + bias)
 *
 * A work-group computes some channels of a group, a band of lines of x along h in one plane, and
 * some images. A row of its product is a tap of a channel, a column a pixel of y. Sums of x are
 * accumulated in local memory, in acc_t, with a separate plane for each phase of the stride, in
 * which the pixels under a tap are contiguous. Only outputs that exist are summed.
 *
 * Global size: {blocks of channels * groups, bands * planes of x, blocks of images}, local size {1,
 * 1, 1}.
 *
 * TENON_VW, TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and
 *   common/activation.clh.
 * TENON_MR, TENON_NV: rows, and vectors of columns, of the register tile.
 * TENON_KC: the maximum length of a block of the sum over filters.
 * TENON_ROWS: the maximum number of rows that are packed at once.
 * TENON_SUMS: elements of local memory for the sums.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_MR
#define TENON_MR 6
#endif
#ifndef TENON_NV
#define TENON_NV 4
#endif
#ifndef TENON_KC
#define TENON_KC 256
#endif
#ifndef TENON_ROWS
#define TENON_ROWS 96
#endif
#ifndef TENON_SUMS
#define TENON_SUMS 32768
#endif
#include "common/transpose.clh"
#include "conv/data/implicit_packed_sums.clh"

#define TENON_NR (TENON_VW * TENON_NV)
#if TENON_MR <= 4
#define W_PITCH 4
#elif TENON_MR <= 8
#define W_PITCH 8
#else
#define W_PITCH 16
#endif
#define W_TILE (W_PITCH * TENON_KC)

/* Segments of a panel, whose pixels are contiguous in a line of y, and their positions in the
 * sums for the first tap. */
typedef struct segment_table {
    int count;
    int column[TENON_NR], length[TENON_NR], sums[TENON_NR];
    long y[TENON_NR]; /* of each pixel; unused pixels repeat the last one */
} segment_table;

/* Returns the distance in a channel's sums of a tap from the first one. */
TENON_INLINE int tap_offset(const conv_data_packed_args *args, const data_block *b, int r, int s)
{
    const conv_window *v = &args->conv.window;
    const int phase = r % (int)args->phases[1] * (int)args->phases[2] + s % (int)args->phases[2];
    return phase * b->plane + (int)(r * v->dilation[1] / v->stride[1] * args->pitch) +
           (int)(s * v->dilation[2] / v->stride[2]);
}

/* Computes the start of the sums of rows [row, row + rows), each of which is a tap of a channel. */
TENON_INLINE void find_rows(__local int *table, const conv_data_packed_args *args,
                            const data_block *b, int row, int rows)
{
    const int width = (int)args->conv.window.filter[2];
    const int taps = width * (int)args->conv.window.filter[1];
    for (int i = 0; i < rows; i++) {
        const int c = (row + i) / taps, tap = (row + i) - c * taps;
        table[i] = c * b->channel_size + tap_offset(args, b, tap / width, tap % width);
    }
}

/* Computes the segments of pixels [first, first + count) of the work-group's lines and images;
 * `o` is the plane of y. */
TENON_INLINE void find_segments(__local segment_table *table, const conv_data_packed_args *args,
                                const data_block *b, long o, int first, int count)
{
    const conv_args *a = &args->conv;
    const int width = (int)a->window.out[2];
    int q = first % width, p = first / width % b->lines, n = first / width / b->lines, segment = -1;
    for (int i = 0; i < count; i++) {
        if (i == 0 || q == 0) {
            segment++;
            table->column[segment] = i;
            table->length[segment] = 0;
            table->sums[segment] = n * b->channels * b->channel_size + p * (int)args->pitch + q;
        }
        table->length[segment]++;
        table->y[i] = (b->image + n) * a->y_stride[0] + o * a->y_stride[2] +
                      (b->p0 + p) * a->y_stride[3] + q * a->y_stride[4];
        if (++q == width) {
            q = 0;
            if (++p == b->lines) {
                p = 0;
                n++;
            }
        }
    }
    for (int i = count; i < TENON_NR; i++) {
        table->y[i] = table->y[count - 1];
    }
    table->count = segment + 1;
}

/* Packs kc filters of y, from element `first` on, for a vector of pixels, `lanes` of which
 * exist. Transposes them if the filters are contiguous. Lanes past the pixels are never stored. */
TENON_INLINE void pack_vector(__local acc_v *to, __global const data_t *y,
                              const conv_data_packed_args *args, __local const long *at, int lanes,
                              long first, int kc)
{
    const long filter = args->conv.y_stride[1], last = first + at[0] + (kc - 1) * filter;
    int k = 0;
    if (at[lanes - 1] - at[0] == (lanes - 1) * args->conv.y_stride[4] &&
        args->conv.y_stride[4] == 1 && last + TENON_VW <= args->y_span) {
        for (; k < kc; k++) {
            to[k * TENON_NV] = load_data_v(y, first + at[0] + k * filter);
        }
    } else if (filter == 1) {
        for (; k + TENON_VW <= kc; k += TENON_VW) {
            acc_v x[TENON_VW];
#pragma unroll
            for (int l = 0; l < TENON_VW; l++) {
                x[l] = load_data_v(y, first + at[l] + k);
            }
            transpose_square(x);
#pragma unroll
            for (int l = 0; l < TENON_VW; l++) {
                to[(k + l) * TENON_NV] = x[l];
            }
        }
    }
    for (; k < kc; k++) {
        __local acc_t *lane = (__local acc_t *)(to + k * TENON_NV);
        for (int l = 0; l < TENON_VW; l++) {
            lane[l] = load_data(y, first + at[l] + k * filter);
        }
    }
}

#if TENON_DATA_IS_ACC
TENON_INLINE void copy_rows(__local acc_t *to, __global const data_t *w)
{
    TENON_CAT(vstore, W_PITCH)(TENON_CAT(vload, W_PITCH)(0, w), 0, to);
}
#endif

/* Packs rows [row, row + rows) of the transposed filters, k by k, as tiles of [k][W_PITCH]. */
TENON_INLINE void pack_filters(__local acc_t *to, __global const data_t *w,
                               const conv_data_packed_args *args, const data_block *b, long t,
                               int row, int rows, long k0, int kc)
{
    const conv_args *a = &args->conv;
    const int width = (int)a->window.filter[2], taps = width * (int)a->window.filter[1];
    const long from = (b->group * a->group_filters + k0) * a->w_stride[0] +
                      b->channel * a->w_stride[1] + t * a->w_stride[2];
    int i = 0;
#if TENON_DATA_IS_ACC
    if (args->rows_join) {
        /* Lanes past the rows of a tile are not used, but must be readable. */
        const long end = from + (kc - 1) * a->w_stride[0] + row;
        for (; i + TENON_MR <= rows && end + i + W_PITCH <= args->w_span; i += TENON_MR) {
        }
        for (int k = 0; k < kc; k++) {
            for (int m = 0; m < i; m += TENON_MR) {
                copy_rows(to + m / TENON_MR * W_TILE + k * W_PITCH,
                          w + from + k * a->w_stride[0] + row + m);
            }
        }
    }
#endif
    for (; i < rows; i++) {
        __local acc_t *out = to + i / TENON_MR * W_TILE + i % TENON_MR;
        const int c = (row + i) / taps, tap = (row + i) - c * taps;
        const long at =
            from + c * a->w_stride[1] + tap / width * a->w_stride[3] + tap % width * a->w_stride[4];
        for (int k = 0; k < kc; k++) {
            out[k * W_PITCH] = load_data(w, at + k * a->w_stride[0]);
        }
    }
}

TENON_INLINE void multiply_step(acc_v sum[TENON_MR][TENON_NV], __local const acc_t *w,
                                __local const acc_v *y)
{
    acc_v yk[TENON_NV];
#pragma unroll
    for (int v = 0; v < TENON_NV; v++) {
        yk[v] = y[v];
    }
#pragma unroll
    for (int i = 0; i < TENON_MR; i++) {
        const acc_v wi = splat(w[i]);
#pragma unroll
        for (int v = 0; v < TENON_NV; v++) {
            sum[i][v] = TENON_FMA(wi, yk[v], sum[i][v]);
        }
    }
}

TENON_INLINE void multiply_tile(__local const acc_t *w, __local const acc_v *y, int kc, acc_v *tile)
{
    acc_v sum[TENON_MR][TENON_NV];
#pragma unroll
    for (int i = 0; i < TENON_MR; i++) {
#pragma unroll
        for (int v = 0; v < TENON_NV; v++) {
            sum[i][v] = splat(0);
        }
    }
    for (int k = 0; k < kc; k++) {
        multiply_step(sum, w + k * W_PITCH, y + k * TENON_NV);
    }
#pragma unroll
    for (int i = 0; i < TENON_MR; i++) {
#pragma unroll
        for (int v = 0; v < TENON_NV; v++) {
            tile[i * TENON_NV + v] = sum[i][v];
        }
    }
}

/* Adds a row of a tile, which is a tap, to the sums of its pixels. Lanes past the segment store
 * the old value. Full vectors use the same code, since PoCL splits a plain vector sum here. */
TENON_INLINE void fold_row(__local acc_t *sums, const acc_t *row,
                           __local const segment_table *table, acc_v numbers)
{
    for (int i = 0; i < table->count; i++) {
        __local acc_t *to = sums + table->sums[i];
        const acc_t *from = row + table->column[i];
        for (int left = table->length[i]; left > 0; left -= TENON_VW) {
            const acc_v old = TENON_VLOAD(0, to);
            TENON_VSTORE(numbers < splat(left) ? old + TENON_VLOAD(0, from) : old, 0, to);
            to += TENON_VW;
            from += TENON_VW;
        }
    }
}

/* Multiplies the packed rows by a panel. */
TENON_INLINE void multiply_panel(__local acc_t *sums, __local const acc_t *w,
                                 __local const acc_v *y, __local const segment_table *table,
                                 __local const int *row_sums, int rows, int kc)
{
    acc_v tile[TENON_MR * TENON_NV + 1]; /* the last vector may reach past the tile */
    tile[TENON_MR * TENON_NV] = splat(0);
    acc_v numbers;
    for (int l = 0; l < TENON_VW; l++) {
        ((acc_t *)&numbers)[l] = l;
    }
    for (int m = 0; m < rows; m += TENON_MR) {
        multiply_tile(w + m / TENON_MR * W_TILE, y, kc, tile);
        for (int i = 0; i < min(TENON_MR, rows - m); i++) {
            fold_row(sums + row_sums[m + i], (const acc_t *)(tile + i * TENON_NV), table, numbers);
        }
    }
}

/* Adds the contribution of tap t along the first dimension; o is the plane of y that it reads. */
TENON_LOCAL_FUNCTION void add_plane(__local acc_t *sums, __local acc_t *packed_w,
                                    __local acc_v *packed_y, __local segment_table *table,
                                    __local int *row_sums, __global const data_t *w,
                                    __global const data_t *y, const conv_data_packed_args *args,
                                    const data_block *b, long t, long o)
{
    const conv_args *a = &args->conv;
    const int all = b->channels * (int)(a->window.filter[1] * a->window.filter[2]);
    const int pixels = b->images * b->lines * (int)a->window.out[2];
    const long blocks = (a->group_filters + TENON_KC - 1) / TENON_KC;
    const long length = (a->group_filters + blocks - 1) / blocks;
    for (long k0 = 0; k0 < a->group_filters; k0 += length) {
        const int kc = (int)min(length, a->group_filters - k0);
        for (int row = 0; row < all; row += TENON_ROWS) {
            const int rows = min(TENON_ROWS, all - row);
            find_rows(row_sums, args, b, row, rows);
            pack_filters(packed_w, w, args, b, t, row, rows, k0, kc);
            for (int first = 0; first < pixels; first += TENON_NR) {
                find_segments(table, args, b, o, first, min(TENON_NR, pixels - first));
                for (int v = 0; v < TENON_NV; v++) {
                    const int lanes = clamp(pixels - first - v * TENON_VW, 1, TENON_VW);
                    pack_vector(packed_y + v, y, args, table->y + v * TENON_VW, lanes,
                                (b->group * a->group_filters + k0) * a->y_stride[1], kc);
                }
                multiply_panel(sums, packed_w, packed_y, table, row_sums, rows, kc);
            }
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_data_packed(__global data_t *x, __global const data_t *w, __global const data_t *c,
                 __global const data_t *bias, __global const data_t *y,
                 const conv_data_packed_args args)
{
    __local acc_v sums[TENON_SUMS / TENON_VW + 2]; /* the last vector may reach past the sums */
    __local acc_t packed_w[(TENON_ROWS + TENON_MR - 1) / TENON_MR * W_TILE];
    __local acc_v packed_y[TENON_KC * TENON_NV];
    __local segment_table table;
    __local int row_sums[TENON_ROWS];
    const conv_window *v = &args.conv.window;
    const data_block b = find_block(&args);
    const int size = b.images * b.channels * b.channel_size;
    for (int i = 0; i < size / TENON_VW + 2; i++) {
        sums[i] = splat(0);
    }
    for (long t = 0; t < v->filter[0]; t++) {
        const long reach = b.d - v->start[0] - t * v->dilation[0], o = reach / v->stride[0];
        if (b.lines > 0 && reach >= 0 && o * v->stride[0] == reach && o < v->out[0]) {
            add_plane((__local acc_t *)sums, packed_w, packed_y, &table, row_sums,
                      w + args.conv.w_offset, y + args.conv.y_offset, &args, &b, t, o);
        }
    }
    write_lines(x, c, bias, &args, &b, (__local const acc_t *)sums);
}
