/*
 * What a device can do at most: one kernel a limit. Work-groups are one-dimensional, of any size.
 *
 * T         the type of the arithmetic kernels: float, double or half2
 * NEEDS     0, or the extension that T wants: 16 for cl_khr_fp16, 64 for cl_khr_fp64
 * LOCAL     bytes of local memory that local_bytes takes
 */
#ifndef T
#define T float
#endif
#ifndef NEEDS
#define NEEDS 0
#endif
#ifndef LOCAL
#define LOCAL 1024
#endif

#if NEEDS == 16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#elif NEEDS == 64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT ON

/* Independent chains of a work-item, to cover the latency of the multiply-add. */
#define CHAINS 16
/* Multiply-adds of a chain between two looks at the counter. */
#define STEPS 8

/* Each work-item takes every n-th element, n being how many work-items there are. */
__kernel void copy(__global const float4 *x, __global float4 *y, ulong count)
{
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
        y[i] = x[i];
}

__kernel void write(__global float4 *y, ulong count, float value)
{
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
        y[i] = (float4)(value);
}

/* Reads all of x so many times; the sums, one a work-item, keep the reads from being left out. */
__kernel void read(__global const float4 *x, __global float *sums, ulong count, uint times)
{
    float4 a = (float4)(0.0f), b = a, c = a, d = a;
    const ulong step = get_global_size(0);
    for (uint t = 0; t < times; t++) {
        ulong i = get_global_id(0);
        for (; i + 3 * step < count; i += 4 * step) {
            a += x[i];
            b += x[i + step];
            c += x[i + 2 * step];
            d += x[i + 3 * step];
        }
        for (; i < count; i += step)
            a += x[i];
    }
    a += b + (c + d);
    sums[get_global_id(0)] = (a.x + a.y) + (a.z + a.w);
}

#define STEP(i)  x##i = x##i * p + q;
#define LOW(f)   f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#define HIGH(f)  f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
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
    results[get_global_id(0)] = (float)sum;
#endif
}

/* Nothing: what a launch costs. */
__kernel void nothing(__global float *results)
{
    if (get_global_id(0) == 0)
        results[0] = 1.0f;
}

/* Whether a work-group gets LOCAL bytes, and its work-items see what others have put there. */
__kernel void local_bytes(__global float *results)
{
    __local uint shared[LOCAL / 4];
    const uint size = (uint)get_local_size(0), id = (uint)get_local_id(0);
    for (uint i = id; i < LOCAL / 4; i += size)
        shared[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint wrong = 0;
    for (uint i = id; i < LOCAL / 4; i += size)
        wrong += shared[LOCAL / 4 - 1 - i] != LOCAL / 4 - 1 - i;
    results[get_global_id(0)] = wrong == 0 ? 1.0f : 0.0f;
}
