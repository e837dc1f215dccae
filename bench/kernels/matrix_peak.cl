/* Measures how fast a matrix unit multiplies operands in registers. The macros are those of
 * matrix/unit.clh. Work-groups are one-dimensional and consist of whole warps.
 *
 * All elements of A are 1, those of B alternately 1 and -1. Each element of D therefore returns to
 * its initial value 3 after every second product; the last product adds UNIT_K. */
#define UNIT_TILES_M 2
#define UNIT_TILES_N 4

#include "matrix/unit.clh"

TENON_INLINE void set_a(unit_a *a, uint word)
{
    for (int i = 0; i < UNIT_A_WORDS; i++) {
        a->w[i] = word;
    }
}

TENON_INLINE void set_b(unit_b *b, uint word)
{
    for (int i = 0; i < UNIT_B_WORDS; i++) {
        b->w[i] = word;
    }
}

/* `plus` and `minus` are words with elements 1 and -1; they are arguments, so the compiler cannot
 * evaluate the result. Each work-item writes the sum of its elements of D. */
UNIT_KERNEL __kernel void matrix_peak(__global float *results, uint loops, uint plus, uint minus)
{
    UNIT_SCRATCH(scratch, 256 / UNIT_LANES);
    const int lane = unit_lane();
    unit_a a[UNIT_TILES_M];
    unit_b b[UNIT_TILES_N], c[UNIT_TILES_N];
    unit_d d[UNIT_TILES_M][UNIT_TILES_N];
    for (int i = 0; i < UNIT_TILES_M; i++) {
        set_a(&a[i], plus);
    }
    for (int j = 0; j < UNIT_TILES_N; j++) {
        set_b(&b[j], plus);
        set_b(&c[j], minus);
    }
    for (int t = 0; t < UNIT_TILES_M * UNIT_TILES_N; t++) {
        for (int i = 0; i < UNIT_D_COUNT; i++) {
            d[t / UNIT_TILES_N][t % UNIT_TILES_N].acc[i] = 3;
        }
    }
    for (uint i = 0; i < loops; i++) {
        unit_multiply_block(d, a, b, scratch, lane);
        unit_multiply_block(d, a, c, scratch, lane);
    }
    unit_multiply_block(d, a, b, scratch, lane);
    float sum = 0;
    for (int t = 0; t < UNIT_TILES_M * UNIT_TILES_N; t++) {
        for (int i = 0; i < UNIT_D_COUNT; i++) {
            sum += (float)d[t / UNIT_TILES_N][t % UNIT_TILES_N].acc[i];
        }
    }
    results[get_global_id(0)] = sum;
}
