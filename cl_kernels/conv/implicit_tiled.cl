/* Convolution for GPUs as the product of gemm/tiled.cl, whose blocks of b are gathered from the
 * image: columns without a workspace. For each image and group, d is filters by pixels, a is
 * filters by taps.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(pixels / NB), ceil(filters / MB),
 * images * groups} work-groups. Macros: those of gemm/tiled_load.clh. Positions of taps in the padded
 * image fit 30 bits.
 *
 * Which element lies under a tap of a pixel is the sum of what the tap says and what the pixel
 * says: two tables in local memory, so that nothing is divided for an element.
 */
#include "conv/window.clh"
#include "gemm/tiled_load.clh"

/* The position of a pixel's first tap, or of a tap from the first, in each dimension, and its
 * element. */
typedef struct place {
    long element;
    int d, h, w;
    int there; /* 0 past the end */
} place;

TENON_INLINE void place_pixels(__local place *pixels, const conv_product_args *args, long n0,
                               int item)
{
    const conv_window *v = &args->window;
    for (int i = item; i < TENON_NB; i += ITEMS) {
        long o = n0 + i;
        const long q = cut_index(&o, v->out[2]), p = cut_index(&o, v->out[1]);
        const long d = under_tap(v, 0, o, 0), h = under_tap(v, 1, p, 0), w = under_tap(v, 2, q, 0);
        __local place *pixel = &pixels[i];
        pixel->element = d * args->x_stride[0] + h * args->x_stride[1] + w * args->x_stride[2];
        pixel->d = (int)d;
        pixel->h = (int)h;
        pixel->w = (int)w;
        pixel->there = n0 + i < args->gemm.n;
    }
}

TENON_INLINE void place_taps(__local place *taps, const conv_product_args *args, long k0, int item)
{
    const conv_window *v = &args->window;
    for (int i = item; i < TENON_KB; i += ITEMS) {
        long k = k0 + i, t, c;
        if (args->tap_step == 1) { /* a channel's taps lie together */
            t = cut_index(&k, args->taps);
            c = k;
        } else {
            c = cut_index(&k, args->channels);
            t = k;
        }
        const long w = cut_index(&t, v->filter[2]) * v->dilation[2];
        const long h = cut_index(&t, v->filter[1]) * v->dilation[1];
        const long d = t * v->dilation[0];
        __local place *tap = &taps[i];
        tap->element = c * args->channel + d * args->x_stride[0] + h * args->x_stride[1] +
                       w * args->x_stride[2];
        tap->d = (int)d;
        tap->h = (int)h;
        tap->w = (int)w;
        tap->there = k0 + i < args->gemm.k;
    }
}

/* Brings KB taps of NB pixels into tile[tap][pixel]. Neighbouring work-items read along whichever
 * is contiguous, the channels or the pixels. */
TENON_INLINE void gather_tile(__local acc_t *tile, __global const data_t *x,
                              const conv_product_args *args, __local const place *pixels,
                              __local const place *taps, int item)
{
    const uint size_d = (uint)args->window.size[0], size_h = (uint)args->window.size[1],
               size_w = (uint)args->window.size[2];
    const int along_k = args->channel == 1 && args->tap_step != 1;
    for (int i = item; i < TENON_NB * TENON_KB; i += ITEMS) {
        const int k = along_k ? i % TENON_KB : i / TENON_NB;
        const int n = along_k ? i / TENON_KB : i % TENON_NB;
        __local const place *tap = &taps[k], *pixel = &pixels[n];
        acc_t value = 0;
        if (tap->there && pixel->there && (uint)(tap->d + pixel->d) < size_d &&
            (uint)(tap->h + pixel->h) < size_h && (uint)(tap->w + pixel->w) < size_w) {
            value = load_data(x, tap->element + pixel->element);
        }
        tile[k * PITCH_B + n] = value;
    }
}

#define IMPLICIT_AREA (TILE_A + TILE_B > STAGED ? TILE_A + TILE_B : STAGED)

__kernel TILED_GROUP void conv_implicit_tiled(__global const data_t *w, __global const data_t *x,
                                              __global const data_t *c, __global const data_t *bias,
                                              __global out_t *y, conv_product_args args)
{
    __local TILE_MEMORY(area, IMPLICIT_AREA);
    __local acc_t *tile_a = area, *tile_b = area + TILE_A;
    __local place pixels[TENON_NB], taps[2][TENON_KB];
    acc_t sum[TENON_MR][TENON_NR];
    raw_t next_a[ITEM_READS(TENON_MB) * TENON_VL];
    long offset_a[ITEM_READS(TENON_MB)];
    const int item = local_item();
    const int row = item_row(item), col = item_col(item);
    const long n0 = (long)get_group_id(0) * TENON_NB, m0 = (long)get_group_id(1) * TENON_MB;
    const long z = (long)get_global_id(2), k_end = depth_at(&args.gemm, z);

    w += GEMM_START(args.gemm, a, z) + m0 * args.gemm.a_row;
    x += GEMM_START(args.gemm, b, z);
    clear_sums(sum);
    place_pixels(pixels, &args, n0, item);
    place_taps(taps[0], &args, 0, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_reader read_a = open_tiles(w, item, TENON_MB, PITCH_A, TENON_A_ALONG_K, args.gemm.a_row,
                                    args.gemm.a_col, args.gemm.m - m0, offset_a);
    int turn = 0;
    for (long k = 0; k < k_end; k += TENON_KB) {
        read_tile(next_a, &read_a, offset_a, k_end - k);
        put_tile(tile_a, &read_a, next_a);
        gather_tile(tile_b, x, &args, pixels, taps[turn], item);
        turn = 1 - turn;
        place_taps(taps[turn], &args, k + TENON_KB, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, tile_a, tile_b, row, col);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const gemm_epilogue e = make_epilogue(c, bias, y, &args.gemm, z);
    store_block(&e, &args.gemm, m0, args.gemm.m, n0, item, sum, area);
}
