/*
 * What a device can do at most: one kernel a limit. Work-groups are one-dimensional, of any size.
 *
 * T         the type of the arithmetic kernels: float, double or half2; of a CPU a vector
 * E, LANES  what T is a vector of, and how many; E is not given where T is half2
 * NEEDS     0, or the extension that T wants: 16 for cl_khr_fp16, 64 for cl_khr_fp64
 * CPU       1: a work-item has a run of memory of its own, and reads it in vectors of 16; else
 *           neighbours read neighbours
 */
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

/* Independent chains of a work-item, to cover the latency of the multiply-add: as many as there are
 * registers for. */
#if CPU
#define CHAINS 12
#else
#define CHAINS 16
#endif
/* Multiply-adds of a chain between two looks at the counter. */
#define STEPS 8

/* All buffers have `count` float4, which the vectors and the work-items divide. */
#if CPU
typedef float16 piece;
#else
typedef float4 piece;
#endif
#define PIECES(count) ((count) * sizeof(float4) / sizeof(piece))

/* The pieces of a work-item: from, to, and from one to the next. */
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

/* Reads all of x so many times; the sums, one a work-item, keep the reads from being left out. */
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

/* x = x·p + q on CHAINS numbers at once. With p = 1/2 and q = 1 each ends at exactly 2, whatever it
 * began with; p and q are arguments, so that a compiler cannot know. */
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

/* Nothing: what a launch costs. */
__kernel void nothing(__global float *results)
{
    if (get_global_id(0) == 0)
        results[0] = 1.0f;
}
