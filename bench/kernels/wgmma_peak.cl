/* Measures how fast Hopper's wgmma multiplies operands in local memory, with its largest product,
 * 64 x 256. Work-groups are one-dimensional and have 128 or 256 work-items; groups of 128, four
 * warps, multiply, and all share the blocks. All elements of a block are equal, so their order does
 * not matter, and the strides in a descriptor may be any that stay within the block.
 *
 * As in matrix_peak.cl, but with two blocks of B, one of 1 and one of -1: each element of D returns
 * to 3 after both, and the last products add STEPS * K.
 *
 * TENON_UNIT_TYPE  a type of matrix/layout.h: MATRIX_F16, MATRIX_BF16, MATRIX_TF32 or MATRIX_I8
 * TENON_EMULATE    1: emulates the instruction in plain code */
#include "common/types.clh"
#include "matrix/layout.h"

#ifndef TENON_UNIT_TYPE
#define TENON_UNIT_TYPE MATRIX_F16
#endif
#ifndef TENON_EMULATE
#define TENON_EMULATE 1
#endif

#define STEPS 4 /* steps of K between two waits */
#define M     64
#define N     256
#define SUMS  128         /* elements of D per work-item */
#define WORDS (STEPS * 8) /* 32-bit words in a row: a step reads 32 bytes of it */

#if TENON_UNIT_TYPE == MATRIX_I8
typedef int sum_t;
#define SUM "+r"
#else
typedef float sum_t;
#define SUM "+f"
#endif

typedef struct sums {
    sum_t d[SUMS];
} sums;

#if TENON_EMULATE
/* Returns the value of an element of a word. */
TENON_INLINE sum_t number(uint word, int i)
{
#if TENON_UNIT_TYPE == MATRIX_I8
    return (char)(word >> 8 * i);
#elif TENON_UNIT_TYPE == MATRIX_F16
    const ushort bits = (ushort)(word >> 16 * i);
    return vload_half(0, (const half *)&bits);
#elif TENON_UNIT_TYPE == MATRIX_BF16
    return as_float(word >> 16 * i << 16);
#else
    return as_float(word);
#endif
}

TENON_INLINE void multiply(sums *s, __local const uint *a, __local const uint *b)
{
    sum_t total = 0;
    for (int w = 0; w < WORDS; w++) {
        for (int i = 0; i < 32 / MATRIX_BITS(TENON_UNIT_TYPE); i++) {
            total += number(a[w], i) * number(b[w], i);
        }
    }
    for (int i = 0; i < SUMS; i++) {
        s->d[i] += total;
    }
}

#else
#if TENON_UNIT_TYPE == MATRIX_F16
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
#define SCALES      "1, 1, 1, 0, 0"
#elif TENON_UNIT_TYPE == MATRIX_BF16
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
#define SCALES      "1, 1, 1, 0, 0"
#elif TENON_UNIT_TYPE == MATRIX_TF32
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32"
#define SCALES      "1, 1, 1"
#else
#define INSTRUCTION "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"
#define SCALES      "1"
#endif

#define OUT_1(s, i)  SUM((s)->d[i])
#define OUT_4(s, i)  OUT_1(s, i), OUT_1(s, (i) + 1), OUT_1(s, (i) + 2), OUT_1(s, (i) + 3)
#define OUT_16(s, i) OUT_4(s, i), OUT_4(s, (i) + 4), OUT_4(s, (i) + 8), OUT_4(s, (i) + 12)
#define OUT_64(s, i) OUT_16(s, i), OUT_16(s, (i) + 16), OUT_16(s, (i) + 32), OUT_16(s, (i) + 48)
/* The operands 0 to 127 by number. */
#define TEN(t)                                                                                     \
    "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"
#define FORTY(a, b, c, d) TEN(a) ", " TEN(b) ", " TEN(c) ", " TEN(d)
#define LAST_8            "%120, %121, %122, %123, %124, %125, %126, %127"
#define FIRST_80          FORTY("", "1", "2", "3") ", " FORTY("4", "5", "6", "7")
#define ALL_128           FIRST_80 ", " FORTY("8", "9", "10", "11") ", " LAST_8

/* Returns a descriptor without swizzling: the start address, and a stride of 128 bytes between core
 * matrices, in units of 16 bytes. */
TENON_INLINE ulong described(__local const uint *block)
{
    return ((ulong)((uint)(size_t)block >> 4 & 0x3fff)) | (ulong)8 << 16 | (ulong)8 << 32;
}

/* The sums are operands of the fences, so the compiler cannot move an access to them across a
 * fence. */
TENON_INLINE void multiply(sums *s, __local const uint *a, __local const uint *b)
{
    const ulong from_a = described(a), from_b = described(b);
    __asm__ volatile("" : OUT_64(s, 0), OUT_64(s, 64) : : "memory");
    __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        __asm__ volatile(INSTRUCTION " {" ALL_128 "}, %128, %129, " SCALES ";"
                         : OUT_64(s, 0), OUT_64(s, 64)
                         : "l"(from_a), "l"(from_b));
    }
    __asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    __asm__ volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __asm__ volatile("" : OUT_64(s, 0), OUT_64(s, 64) : : "memory");
}
#endif

TENON_INLINE void fill(__local uint *block, int count, uint word)
{
    for (int i = (int)get_local_id(0); i < count; i += (int)get_local_size(0)) {
        block[i] = word;
    }
}

/* `plus` and `minus` are words with elements 1 and -1; they are arguments, so the compiler cannot
 * evaluate the result. Each work-item writes the sum of its elements of D. */
__kernel void wgmma_peak(__global float *results, uint loops, uint plus, uint minus)
{
    __local uint4 memory[(M + 2 * N) * 8 / 4]; /* operands of one step */
    __local uint *const a = (__local uint *)memory, *const b = a + M * 8, *const c = b + N * 8;
    sums s;
    fill(a, (M + N) * 8, plus);
    fill(c, N * 8, minus);
#if !TENON_EMULATE
    __asm__ volatile("fence.proxy.async;" ::: "memory");
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        s.d[i] = 3;
    }
    for (uint i = 0; i < loops; i++) {
        multiply(&s, a, b);
        multiply(&s, a, c);
    }
    multiply(&s, a, b);
    sum_t total = 0;
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        total += s.d[i];
    }
    results[get_global_id(0)] = (float)total;
}
