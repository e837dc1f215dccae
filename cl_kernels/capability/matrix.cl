/*
 * Probe of a matrix unit: checks every element of a product of small integers, in each warp of the
 * work-group. Local size: 64.
 *
 * TENON_UNIT and related macros: see matrix/unit.clh.
 */
#include "capability/args.h"
#include "matrix/unit.clh"

#define PER_16 (4 * UNIT_PACK) /* elements in 16 bytes */
#define PITCH  ((UNIT_K + PER_16 - 1) / PER_16 * PER_16 + PER_16)
#define ITEMS  64

/* Test values from -3 to 3, which all types represent exactly. */
TENON_INLINE int value_a(int row, int k)
{
    return (5 * row + 3 * k) % 7 - 3;
}

TENON_INLINE int value_b(int column, int k)
{
    return (2 * column + 4 * k + column * k) % 7 - 3;
}

TENON_INLINE void put(__local unit_t *at, int value)
{
#if TENON_UNIT_TYPE == MATRIX_F16
    vstore_half((float)value, 0, (__local half *)at);
#elif TENON_UNIT_TYPE == MATRIX_BF16
    *at = (ushort)(as_uint((float)value) >> 16);
#else
    *at = (unit_t)value;
#endif
}

#if TENON_BLOCK_2D && TENON_UNIT == MATRIX_XMX_16
#include "matrix/block_2d.clh"

/* A matrix of 16 rows of 32 elements, all different, stored after the results. */
#define ROWS    16
#define COLUMNS 32
TENON_INLINE ushort element_2d(int row, int col)
{
    return row < ROWS && col < COLUMNS ? (ushort)(1 + row * COLUMNS + col) : 0;
}

TENON_INLINE uint pair_2d(int row, int col, int next_row)
{
    return element_2d(row, col) | (uint)element_2d(next_row, col) << 16;
}

/* True if both kinds of 2D block reads give each lane its part, including zeros outside the
 * matrix. */
TENON_INLINE int reads_2d(__global ushort *memory, int item, int lane)
{
    const block_2d m = {memory, 2 * COLUMNS, ROWS, 2 * COLUMNS};
    int right = 1;
    for (int i = item; i < ROWS * COLUMNS; i += ITEMS) {
        memory[i] = element_2d(i / COLUMNS, i % COLUMNS);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int row = 0; row < ROWS; row += 12) {
        uint first[4], second[4], part[8];
        unit_a_read_2d(first, second, &m, row, row / 6 * 8, lane);
        unit_b_read_2d(part, &m, row / 6 * 4, row / 12 * 16, lane);
        for (int w = 0; w < 4; w++) {
            const int at = row + 2 * w, k = row / 6 * 8 + lane;
            right &= first[w] == pair_2d(at, k, at + 1) && second[w] == pair_2d(at, k + 16, at + 1);
        }
        for (int w = 0; w < 8; w++) {
            const int k = row / 6 * 4 + 2 * w;
            right &= part[w] == pair_2d(k, row / 12 * 16 + lane, k + 1);
        }
    }
    return right;
}
#define READS_2D(result, item, lane) reads_2d((__global ushort *)((result) + ITEMS), item, lane)
#else
#define READS_2D(result, item, lane) 1
#endif

UNIT_KERNEL __kernel void trial(__global int *result, const trial_args args)
{
    __local unit_t a[UNIT_M * PITCH] __attribute__((aligned(16)));
    __local unit_t b[UNIT_N * PITCH] __attribute__((aligned(16)));
    UNIT_SCRATCH(scratch, ITEMS / UNIT_LANES);
    const int item = (int)get_local_id(0), lane = unit_lane();
    for (int i = item; i < UNIT_M * UNIT_K; i += ITEMS) {
        put(&a[i / UNIT_K * PITCH + i % UNIT_K], value_a(i / UNIT_K, i % UNIT_K) * args.one);
    }
    for (int i = item; i < UNIT_N * UNIT_K; i += ITEMS) {
        put(&b[i / UNIT_K * PITCH + i % UNIT_K], value_b(i / UNIT_K, i % UNIT_K) * args.one);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    unit_a part_a;
    unit_b part_b;
    unit_d d;
    unit_clear(&d);
    unit_a_load(&part_a, a, PITCH, 0, 0, lane);
    unit_b_load(&part_b, b, PITCH, 0, 0, lane);
    unit_multiply(&d, &part_a, &part_b, scratch, lane);
    int right = READS_2D(result, item, lane);
    for (int i = 0; i < UNIT_D_COUNT; i++) {
        int sum = 0;
        for (int k = 0; k < UNIT_K; k++) {
            sum += value_a(UNIT_D_ROW(lane, i), k) * value_b(UNIT_D_COL(lane, i), k);
        }
        right &= d.acc[i] == (unit_acc)sum;
    }
    result[get_global_id(0)] = right;
}
