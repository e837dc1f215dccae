/*
 * Convolution of i8 or u8 for CPUs with an instruction that adds products of small integers
 * (common/x86_dot.clh): a product whose rows are the pixels of the output and whose columns are the
 * filters. The filters are packed into the workspace as panels of words, and the words of the
 * pixels are read where they lie, in the image or in a copy of it. Sums are integers modulo 2^32,
 * hence exact in any order.
 *
 * conv_int8_dot_pack: packs the filters.
 * conv_int8_dot_copy: copies images with their padding, as words of channels. Images of u8 whose
 *   channels are contiguous and fill words are read in place.
 * conv_int8_dot: the product. Global size: {ceil(rows / block), panels * groups}.
 *
 * TENON_VW, TENON_MR, TENON_NV: a register tile has MR rows and NV vectors of columns.
 * TENON_DOT, TENON_DTYPE and others: see gemm/int8_words.clh and gemm/int8.clh.
 *
 * Zero points are applied to the sums as in gemm/int8_cpu_dot.cl.
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
#define TENON_NR (TENON_VW * TENON_NV)

#include "conv/int8/implicit_dot_pack.clh"
#include "gemm/cpu_unroll.clh"

#define ROWS (DOT_TILES * TENON_MR)                            /* of a block */
#define ROOM ((ROWS + TENON_VW - 1) / TENON_VW * TENON_VW + 1) /* rows of sums */

/* Pixels of a block: the byte of the image under the first tap, that tap's position, and the
 * pixel's offsets in y and c. */
typedef struct pixels {
    long x[ROWS], y[ROWS], c[ROWS];
    int at[3][ROWS];
} pixels;

TENON_INLINE void locate(__local pixels *p, const conv_int8_args *args, long first, int count)
{
    const conv_window *v = &args->window;
    long n = first, out[3];
    out[2] = cut_index(&n, v->out[2]);
    out[1] = cut_index(&n, v->out[1]);
    out[0] = cut_index(&n, v->out[0]);
    for (int i = 0; i < count; i++) {
        long x = n * args->x_stride[0], y = n * args->y_stride[0], c = n * args->c_stride[0];
        for (int d = 0; d < 3; d++) {
            const long at = under_tap(v, d, out[d], 0);
            p->at[d][i] = (int)at;
            x += at * args->x_stride[2 + d];
            y += out[d] * args->y_stride[2 + d];
            c += out[d] * args->c_stride[2 + d];
        }
        p->x[i] = x;
        p->y[i] = y;
        p->c[i] = c;
        if (++out[2] == v->out[2]) {
            out[2] = 0;
            if (++out[1] == v->out[1]) {
                out[1] = 0;
                if (++out[0] == v->out[0]) {
                    out[0] = 0;
                    n++;
                }
            }
        }
    }
}

/* Factors of a work-group: the channels of its group, a segment of padding, its panel. */
typedef struct factors {
    __global const uchar *image, *padding;
    __global const dot_v *panel;
} factors;

/* Returns the segment of a pixel under a tap. */
TENON_INLINE __global const uchar *segment(const factors *f, __local const pixels *p,
                                           const conv_int8_args *args, int i, const int *tap)
{
    const conv_window *v = &args->window;
    long x = p->x[i];
    bool is_inside = true;
    for (int d = 0; d < 3; d++) {
        const int shift = tap[d] * (int)v->dilation[d];
        x += shift * args->x_stride[2 + d];
        is_inside &= (uint)(p->at[d][i] + shift) < (uint)v->size[d];
    }
    return is_inside ? f->image + x : f->padding;
}

/* Goes to the next tap; returns false after the last one. */
TENON_INLINE bool next_tap(const conv_window *v, int *tap)
{
    for (int d = 2; d >= 0; d--) {
        if (++tap[d] < v->filter[d]) {
            return true;
        }
        tap[d] = 0;
    }
    return false;
}

/* Adds the products of the segments of `rows` pixels and a part of a panel. */
TENON_INLINE void multiply_segment(const int rows, dot_v sum[TENON_MR][TENON_NV],
                                   __global const uchar *const *a, __global const dot_v *b,
                                   long words)
{
    for (long g = 0; g < words; g++) {
        dot_v bg[TENON_NV];
        TILE_EACH_VECTOR(bg[v] = b[g * TENON_NV + v]);
        TILE_EACH_ROW(rows,
                      const dot_v x = (dot_v)(*(__global const unaligned_word *)(a[i] + 4 * g));
                      TILE_EACH_VECTOR(sum[i][v] = dot_words(sum[i][v], x, bg[v])));
    }
}

/* Computes the sums of `rows` pixels from `first` on, of which `count` exist. A constant `rows`
 * unrolls the loops over rows and vectors. */
TENON_INLINE void multiply_rows(const int rows, const factors *f, const conv_int8_dot_args *args,
                                __local const pixels *p, int first, int count, __local uint *sums)
{
    dot_v sum[TENON_MR][TENON_NV];
    int tap[3] = {0, 0, 0};
    __global const dot_v *b = f->panel;
    TILE_EACH_SUM(rows, sum[i][v] = (dot_v)(0));
    do {
        __global const uchar *a[TENON_MR];
        TILE_EACH_ROW(rows, a[i] = segment(f, p, &args->conv, first + min(i, count - 1), tap));
        multiply_segment(rows, sum, a, b, args->words);
        b += args->words * TENON_NV;
    } while (next_tap(&args->conv.window, tap));
    TILE_EACH_SUM(rows, TENON_VSTORE(sum[i][v], 0, sums + i * TENON_NR + v * TENON_VW));
}

/* Computes the sums of a block. A single last row is computed as two equal ones: the sums have room
 * for the second. */
TENON_LOCAL_FUNCTION void multiply_block(const factors *f, const conv_int8_dot_args *args,
                                         __local const pixels *p, int rows, __local uint *sums)
{
    for (int m = 0; m < rows;) {
        const int left = rows - m;
        __local uint *to = sums + m * TENON_NR;
#if TENON_MR > 2
        if (left >= TENON_MR) {
            multiply_rows(TENON_MR, f, args, p, m, TENON_MR, to);
            m += TENON_MR;
            continue;
        }
#endif
        const int count = min(left, min(TENON_MR, 2));
        multiply_rows(min(TENON_MR, 2), f, args, p, m, count, to);
        m += count;
    }
}

/* Returns the sum of all steps of a pixel. */
TENON_INLINE uint sum_of_pixel(const factors *f, const conv_int8_dot_args *args,
                               __local const pixels *p, int i)
{
    dot_v count = (dot_v)(0);
    int tap[3] = {0, 0, 0};
    do {
        __global const uchar *a = segment(f, p, &args->conv, i, tap);
        for (long g = 0; g < args->words; g += TENON_VW) {
            count =
                dot_words(count, raw_words(a + 4 * g, 4 * (args->words - g)), (dot_v)(ALL_STEPS));
        }
    } while (next_tap(&args->conv.window, tap));
    uint lane[TENON_VW], sum = 0;
    TENON_VSTORE(count, 0, lane);
    for (int l = 0; l < TENON_VW; l++) {
        sum += lane[l];
    }
    return sum;
}

/* Zero points in terms of packed values, and the steps of K. */
typedef struct shifts {
    uint x, depth;
    bool counts; /* the zero points of w are not all zero */
} shifts;

/* Stores a block whose pixels have their filters in the fastest dimension, or any other than
 * below. */
TENON_LOCAL_FUNCTION void store_rows(const int8_epilogue *all, const conv_int8_args *args,
                                     const shifts *z, __global const uchar *zero_w,
                                     __local const pixels *p, int rows, long k, int cols,
                                     __local const uint *sums, __local const uint *row_sums,
                                     __global const uint *col_sums)
{
    const bool plain = stores_sums(all, &args->product);
    int8_epilogue e = *all;
    for (int r = 0; r < rows; r++) {
        __global int *y = (__global int *)all->d + all->d_start + p->y[r] + k;
        e.d_start = all->d_start + p->y[r];
        e.c_start = all->c_start + p->c[r];
        for (int s = 0; s < cols; s += TENON_VW) {
            dot_v x = TENON_VLOAD(0, sums + r * TENON_NR + s) -
                      (dot_v)(z->x) * TENON_VLOAD(0, col_sums + s);
            if (z->counts) {
                const int_v zw = zero_points(zero_w, &args->product, INT8_ZERO_B, 0, k + s,
                                             cols - s, args->product.b_sign) +
                                 (int_v)(B_SHIFT(&args->product));
                x -= (dot_v)(row_sums[r] - z->depth * z->x) * TENON_TO_UINT_V(zw);
            }
            if (plain && cols - s >= TENON_VW) {
                TENON_VSTORE(TENON_CAT(as_int, TENON_VW)(x), 0, y + s);
            } else {
                int8_store_v(&e, &args->product, 0, k + s, cols - s, 0, x);
            }
        }
    }
}

/* Returns how many pixels from `first` on, at most VW, are contiguous in y and in c. */
TENON_INLINE int side_by_side(__local const pixels *p, int first, int rows)
{
    const int most = min(rows - first, TENON_VW), last = first + most - 1;
    if (p->y[last] - p->y[first] == most - 1 && p->c[last] - p->c[first] == most - 1) {
        return most;
    }
    int count = 1;
    while (p->y[first + count] - p->y[first] == count &&
           p->c[first + count] - p->c[first] == count) {
        count++;
    }
    return count;
}

/* Stores the results of one filter. */
TENON_INLINE void store_filter(const int8_epilogue *all, const conv_int8_args *args,
                               __local const pixels *p, int first, int rows, long k, dot_v x)
{
    uint lane[2 * TENON_VW];
    int8_epilogue e = *all;
    TENON_VSTORE(x, 0, lane);
    TENON_VSTORE(x, 1, lane);
    for (int l = 0; l < min(rows - first, TENON_VW);) {
        const int count = min(side_by_side(p, first + l, rows), TENON_VW - l);
        e.d_start = all->d_start + p->y[first + l];
        e.c_start = all->c_start + p->c[first + l];
        int8_store_v(&e, &args->product, k, 0, count, 0, TENON_VLOAD(0, lane + l));
        l += count;
    }
}

/* Stores a block whose pixels are contiguous, filter by filter. */
TENON_LOCAL_FUNCTION void store_turned(const int8_epilogue *e, const conv_int8_args *args,
                                       const shifts *z, __global const uchar *zero_w,
                                       __local const pixels *p, int rows, long k, int cols,
                                       __local const uint *sums, __local const uint *row_sums,
                                       __global const uint *col_sums)
{
    for (int r = 0; r < rows; r += TENON_VW) {
        const dot_v counted = TENON_VLOAD(0, row_sums + r) - (dot_v)(z->depth * z->x);
        for (int s = 0; s < cols; s += TENON_VW) {
            dot_v x[TENON_VW];
            for (int l = 0; l < TENON_VW; l++) {
                x[l] = TENON_VLOAD(0, sums + (r + l) * TENON_NR + s);
            }
            transpose_words(x);
            for (int l = 0; l < min(TENON_VW, cols - s); l++) {
                x[l] -= (dot_v)(z->x * col_sums[s + l]);
                if (z->counts) {
                    const int zw = zero_point(zero_w, &args->product, INT8_ZERO_B, k + s + l, 0,
                                              args->product.b_sign) +
                                   B_SHIFT(&args->product);
                    x[l] -= counted * (dot_v)((uint)zw);
                }
                store_filter(e, args, p, r, rows, k + s + l, x[l]);
            }
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_int8_dot(INT8_POINTERS, const conv_int8_dot_args args)
{
    __local uint sums[ROOM * TENON_NR], row_sums[ROOM + TENON_VW];
    __local pixels place;
    const long number = get_global_id(1), group = number / args.panels,
               panel = number % args.panels;
    const long k = panel * TENON_NR, segments = args.conv.window.filter[0] *
                                                args.conv.window.filter[1] *
                                                args.conv.window.filter[2];
    const int cols = (int)min((long)TENON_NR, args.conv.group_filters - k);
    const long first = get_global_id(0) * args.block;
    __global const uint *panels = (__global const uint *)b + args.panels_offset;
    const factors f = {
        .image = a + args.conv.product.gemm.a_offset + group * args.conv.x_stride[1],
        .padding = (__global const uchar *)(panels + args.padding_at),
        .panel = (__global const dot_v *)(panels + number * segments * args.words * TENON_NR)};
    __global const uint *col_sums = panels + args.sums_at + number * TENON_NR;
    const int8_args *product = &args.conv.product;
    const int8_epilogue e = MAKE_INT8_EPILOGUE(product, 0);
    const shifts z = {.x = (uint)(zero_point(zero_a, product, INT8_ZERO_A, 0, 0, product->a_sign) +
                                  A_SHIFT(product)),
                      .depth = (uint)(segments * args.words * TENON_GROUP),
                      .counts = B_SHIFT(product) != 0 || INT8_HAS(product, INT8_ZERO_B)};
    const long k_of_all = group * args.conv.group_filters + k;
    const long end = min(first + args.block, (long)args.rows);
    for (long m = first; m < end; m += ROWS) {
        const int rows = (int)min((long)ROWS, end - m);
        locate(&place, &args.conv, m, rows);
        multiply_block(&f, &args, &place, rows, sums);
        for (int r = 0; r < rows && z.counts; r++) {
            row_sums[r] = sum_of_pixel(&f, &args, &place, r);
        }
        if (args.turned) {
            store_turned(&e, &args.conv, &z, zero_b, &place, rows, k_of_all, cols, sums, row_sums,
                         col_sums);
        } else {
            store_rows(&e, &args.conv, &z, zero_b, &place, rows, k_of_all, cols, sums, row_sums,
                       col_sums);
        }
    }
}
