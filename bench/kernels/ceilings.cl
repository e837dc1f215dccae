/* Kernels that measure the limits of a device, one for each limit. Work-groups are one-dimensional
 * and may have any size.
 *
 * T         the type of the arithmetic kernels: float, double or half2; a vector on a CPU
 * E, LANES  element type and width of the vector T; E is undefined if T is half2
 * NEEDS     0, or the extension that T requires: 16 for cl_khr_fp16, 64 for cl_khr_fp64
 * CPU       1: each work-item reads a contiguous range of its own in vectors of 16; otherwise
 *           accesses of neighboring work-items are coalesced */
#ifndef T
#define T float
#endif
#ifndef NEEDS
#define NEEDS 0
#endif
#ifndef E
#define E T
#endif
#ifndef LANES
#define LANES 1
#endif
#ifndef CPU
#define CPU 0
#endif

#if NEEDS == 16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#elif NEEDS == 64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT ON

/* Independent chains per work-item, to hide the latency of the multiply-add: as many as fit into
 * the registers. */
#if CPU
#define CHAINS 12
#else
#define CHAINS 16
#endif
/* Multiply-adds of a chain between two tests of the counter. */
#define STEPS 8

/* All buffers have `count` float4, a multiple of the vector size and of the number of work-items.
 */
#if CPU
typedef float16 piece;
#else
typedef float4 piece;
#endif
#define PIECES(count) ((count) * sizeof(float4) / sizeof(piece))

/* The pieces of a work-item: the first, the end, and the step between them. */
typedef struct share {
    ulong first, end, step;
} share;

static share share_of(ulong count)
{
    share s = {get_global_id(0), PIECES(count), get_global_size(0)};
#if CPU
    const ulong own = s.end / s.step;
    s.first *= own;
    s.end = s.first + own;
    s.step = 1;
#endif
    return s;
}

__kernel void copy(__global const piece *x, __global piece *y, ulong count)
{
    const share s = share_of(count);
    for (ulong i = s.first; i < s.end; i += s.step)
        y[i] = x[i];
}

__kernel void write(__global piece *y, ulong count, float value)
{
    const share s = share_of(count);
    for (ulong i = s.first; i < s.end; i += s.step)
        y[i] = (piece)(value);
}

/* Reads all of x `times` times. Each work-item stores a sum, so the reads are not optimized away.
 */
__kernel void read(__global const piece *x, __global float *sums, ulong count, uint times)
{
    piece a = (piece)(0.0f), b = a, c = a, d = a;
    const share s = share_of(count);
    for (uint t = 0; t < times; t++) {
        ulong i = s.first;
        for (; i + 3 * s.step < s.end; i += 4 * s.step) {
            a += x[i];
            b += x[i + s.step];
            c += x[i + 2 * s.step];
            d += x[i + 3 * s.step];
        }
        for (; i < s.end; i += s.step)
            a += x[i];
    }
    a += b + (c + d);
#if CPU
    const float8 half_sum = a.lo + a.hi;
    const float4 e = half_sum.lo + half_sum.hi;
#else
    const float4 e = a;
#endif
    sums[get_global_id(0)] = (e.x + e.y) + (e.z + e.w);
}

#define STEP(i) x##i = x##i * p + q;
#define LOW(f)  f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#if CPU
#define HIGH(f) f(8) f(9) f(10) f(11)
#else
#define HIGH(f) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#endif
#define ALL(f)   LOW(f) HIGH(f)
#define BEGIN(i) T x##i = p * (T)(i);
#define ADD(i)   sum += x##i;

/* Computes x = x·p + q on CHAINS numbers at once. With p = 1/2 and q = 1 each converges to exactly
 * 2, whatever its initial value. p and q are arguments, so the compiler cannot evaluate the result.
 */
__kernel void multiply_add(__global float *results, uint loops, float p_value, float q_value)
{
    const T p = (T)(p_value), q = (T)(q_value);
    ALL(BEGIN)
    for (uint i = 0; i < loops; i++) {
        ALL(STEP) ALL(STEP) ALL(STEP) ALL(STEP) ALL(STEP) ALL(STEP) ALL(STEP) ALL(STEP)
    }
    T sum = (T)(0);
    ALL(ADD)
#if NEEDS == 16
    results[get_global_id(0)] = (float)sum.x + (float)sum.y;
#else
    const E *elements = (const E *)&sum;
    float total = 0;
    for (int i = 0; i < LANES; i++)
        total += (float)elements[i];
    results[get_global_id(0)] = total;
#endif
}

/* An empty kernel, to measure the cost of a launch. */
__kernel void nothing(__global float *results)
{
    if (get_global_id(0) == 0)
        results[0] = 1.0f;
}
