/*
 * Test products by a matrix unit or its emulation: d += a b. a has M rows and steps * UNIT_K
 * columns and is row-major, b has N columns and is column-major, d is row-major. The test compares
 * d with a plain product. The kernel covers every load and multiply function of the unit.
 *
 * One work-group of LAYOUT_TEST_WARPS * UNIT_LANES work-items; each warp computes UNIT_TILES_M x
 * UNIT_TILES_N products.
 *
 * TENON_UNIT and related macros: see matrix/unit.clh.
 *
 * LAYOUT_TEST_EXCHANGE: an error that the test must detect. 1: lanes 0 and 1 exchange their parts
 *   of A; 2: of B; 3: of D. 0 (the default): none.
 */
#ifndef LAYOUT_TEST_EXCHANGE
#define LAYOUT_TEST_EXCHANGE 0
#endif

#define UNIT_TILES_M      2
#define UNIT_TILES_N      2
#define LAYOUT_TEST_WARPS 2

#include "matrix/layout_test_args.h"
#include "matrix/unit.clh"

#define ROWS       (UNIT_TILES_M * UNIT_M)
#define M          (LAYOUT_TEST_WARPS * ROWS)
#define N          (UNIT_TILES_N * UNIT_N)
#define ITEMS      (LAYOUT_TEST_WARPS * UNIT_LANES)
#define PER_16     (4 * UNIT_PACK) /* elements in 16 bytes */
#define UP(n)      (((n) + 2 * PER_16 - 1) / PER_16 * PER_16)
#define PITCH      UP(UNIT_K)
#define PITCH_M    UP(M)
#define PITCH_N    UP(N)
#define MOST(a, b) ((a) > (b) ? (a) : (b))

/* Returns the lane of a work-item, or a wrong one if the error to be tested is `what`. */
TENON_INLINE int lane_for(int what)
{
    const int lane = unit_lane();
    return LAYOUT_TEST_EXCHANGE == what && lane < 2 ? 1 - lane : lane;
}

/* Loads UNIT_K steps of `width` lines of x into local memory, along K or transposed. */
TENON_INLINE void fill(__local unit_t *tile, __global const unit_t *x, int width, long depth,
                       int pitch, int transposed)
{
    for (int i = (int)get_local_id(0); i < width * UNIT_K; i += ITEMS) {
        const int line = i / UNIT_K, k = i % UNIT_K;
        tile[transposed ? unit_place(pitch, k, line) : unit_place(pitch, line, k)] =
            x[line * depth + k];
    }
}

TENON_INLINE void multiply_straight(unit_d d[UNIT_TILES_M][UNIT_TILES_N],
                                    __local const unit_t *tile_a, __local const unit_t *tile_b,
                                    __local uint *scratch)
{
    unit_a a[UNIT_TILES_M];
    unit_b b[UNIT_TILES_N];
    for (int i = 0; i < UNIT_TILES_M; i++) {
        unit_a_load(&a[i], tile_a, PITCH, unit_warp() * ROWS + i * UNIT_M, 0, lane_for(1));
    }
    unit_b_load_pair(b, tile_b, PITCH, 0, 0, lane_for(2));
    unit_multiply_block(d, a, b, scratch, unit_lane());
}

TENON_INLINE void multiply_transposed(unit_d d[UNIT_TILES_M][UNIT_TILES_N],
                                      __local const unit_t *tile_a, __local const unit_t *tile_b,
                                      __local uint *scratch)
{
    unit_a a[UNIT_TILES_M];
    unit_b b[UNIT_TILES_N];
    for (int i = 0; i < UNIT_TILES_M; i++) {
        unit_a_load_transposed(&a[i], tile_a, PITCH_M, unit_warp() * ROWS + i * UNIT_M, 0,
                               lane_for(1));
    }
    unit_b_load_transposed_pair(b, tile_b, PITCH_N, 0, 0, lane_for(2));
    UNIT_UNROLL
    for (int t = 0; t < UNIT_TILES_M * UNIT_TILES_N; t++) {
        unit_multiply(&d[t / UNIT_TILES_N][t % UNIT_TILES_N], &a[t / UNIT_TILES_N],
                      &b[t % UNIT_TILES_N], scratch, unit_lane());
    }
}

/* Loads a warp's part of d into registers, or stores it. */
TENON_INLINE void move(__global unit_acc *out, unit_d d[UNIT_TILES_M][UNIT_TILES_N], int load)
{
    const int lane = lane_for(3);
    for (int t = 0; t < UNIT_TILES_M * UNIT_TILES_N; t++) {
        for (int i = 0; i < UNIT_D_COUNT; i++) {
            const int m = unit_warp() * ROWS + t / UNIT_TILES_N * UNIT_M + UNIT_D_ROW(lane, i);
            const int n = t % UNIT_TILES_N * UNIT_N + UNIT_D_COL(lane, i);
            if (load) {
                d[t / UNIT_TILES_N][t % UNIT_TILES_N].acc[i] = out[m * N + n];
            } else {
                out[m * N + n] = d[t / UNIT_TILES_N][t % UNIT_TILES_N].acc[i];
            }
        }
    }
}

UNIT_KERNEL __kernel void multiply(__global const unit_t *a, __global const unit_t *b,
                                   __global unit_acc *out, const layout_test_args args)
{
    __local unit_t tile_a[MOST(M * PITCH, UNIT_K * PITCH_M)] __attribute__((aligned(16)));
    __local unit_t tile_b[MOST(N * PITCH, UNIT_K * PITCH_N)] __attribute__((aligned(16)));
    UNIT_SCRATCH(scratch, LAYOUT_TEST_WARPS);
    const long depth = (long)args.steps * UNIT_K;
    unit_d d[UNIT_TILES_M][UNIT_TILES_N];
    move(out, d, 1);
    for (int step = 0; step < args.steps; step++) {
        fill(tile_a, a + step * UNIT_K, M, depth, args.transposed ? PITCH_M : PITCH,
             args.transposed);
        fill(tile_b, b + step * UNIT_K, N, depth, args.transposed ? PITCH_N : PITCH,
             args.transposed);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (args.transposed) {
            multiply_transposed(d, tile_a, tile_b, scratch);
        } else {
            multiply_straight(d, tile_a, tile_b, scratch);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    move(out, d, 0);
}
