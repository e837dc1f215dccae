/*
 * Updates a dynamic loss scale; include/tenon/optimizer.h has the formula.
 *
 * The state has four floats: the scale, its inverse, the steps since the scale last changed, and
 * the number of skipped steps. Global size: 1.
 */
#include "common/kernel.clh"
#include "optimizer/loss_scale_args.h"

#define SCALAR(number) as_float((int)args.scalar[number])

TENON_KERNEL void loss_scale(__global const int *skip, __global float *state,
                             const loss_scale_args args)
{
    __global float *s = state + args.state;
    const long n = args.stride;
    const int skipped =
        args.is_byte ? ((__global const uchar *)skip)[args.skip] != 0 : skip[args.skip] != 0;
    float scale = s[0], count = s[2 * n] + 1;
    if (skipped) {
        scale = scale * SCALAR(1);
        count = 0;
        s[3 * n] += 1;
    } else if (count >= SCALAR(2)) {
        scale = scale * SCALAR(0);
        count = 0;
    }
    scale = scale < SCALAR(3) ? SCALAR(3) : scale;
    scale = scale > SCALAR(4) ? SCALAR(4) : scale;
    s[0] = scale;
    s[n] = 1 / scale;
    s[2 * n] = count;
}
