/* Tries a matrix unit: every element of one product of small integers, by each warp of the
 * work-group. Local size: 64.
 *
 * TENON_UNIT and the macros that go with it: see matrix/unit.clh.
 */
#include "capability/args.h"
#include "matrix/unit.clh"

#define PER_16 (4 * UNIT_PACK) /* elements in 16 bytes */
#define PITCH  ((UNIT_K + PER_16 - 1) / PER_16 * PER_16 + PER_16)
#define ITEMS  64

/* From -3 to 3, which all types hold. */
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
    int right = 1;
    for (int i = 0; i < UNIT_D_COUNT; i++) {
        int sum = 0;
        for (int k = 0; k < UNIT_K; k++) {
            sum += value_a(UNIT_D_ROW(lane, i), k) * value_b(UNIT_D_COL(lane, i), k);
        }
        right &= d.acc[i] == (unit_acc)sum;
    }
    result[get_global_id(0)] = right;
}
