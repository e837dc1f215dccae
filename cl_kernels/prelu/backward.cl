/*
 * Gradient of the parametric ReLU: dx = x > 0 ? dy : slope · dy, and dslope = the sum of (x > 0 ? 0
 * : x · dy) over the elements of each slope. dx and dslope may be x, slope or dy.
 *
 * The summed elements are distributed over args.segments segments. If there are several, their sums
 * are written to `partial`, acc_t[segments][slopes], and `finish` adds them in order. Otherwise
 * `partial` is not used.
 *
 * along: a work-item handles args.slopes_each slopes, one after the other. Its vectors lie along
 *   the last dimension, of which a unit is a piece. Global size: {segments, ceil(slopes /
 *   slopes_each)}.
 * across: a work-item handles args.slopes_each neighbors along the last dimension of slope. Its
 *   vectors lie across them, and a unit is one element for each. Global size: {segments,
 *   ceil(shape[kept - 1] / slopes_each), slopes / shape[kept - 1]}.
 * stream: as across with several segments, but on CPUs and in the order of memory: the sums of up
 *   to STREAM_VECTORS vectors are kept meanwhile.
 * finish: a work-item adds the sums of args.slopes_each slopes. Global size: {ceil(slopes /
 *   slopes_each)}.
 *
 * TENON_VW: lanes of a vector.
 * PRELU_GROUP: vectors of slopes that `across` processes at once.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef PRELU_GROUP
#define PRELU_GROUP 1
#endif
#include "common/rows.clh"
#include "prelu/args.h"

enum { X, SLOPE, DY, DX, DSLOPE };

/* Adds the offset of element `number` of dimensions [first, end). */
TENON_INLINE void step_to(const prelu_args *args, int first, int end, long number,
                          long at[PRELU_VIEWS])
{
    EACH_DOWN(d, first, end)
    {
        long index;
        TENON_DIVIDE(number, (long)args->shape[d], number, index)
        TENON_UNROLL
        for (int v = 0; v < PRELU_VIEWS; v++) {
            at[v] += index * args->stride[v][d];
        }
    }
}

TENON_INLINE void slope_at(const prelu_args *args, long number, long at[PRELU_VIEWS])
{
    TENON_UNROLL
    for (int v = 0; v < PRELU_VIEWS; v++) {
        at[v] = args->offset[v];
    }
    step_to(args, 0, args->kept, number, at);
}

/* Handles one vector along dimension d: writes dx, and returns `sum` plus the contribution to
 * dslope. */
TENON_INLINE acc_v run_vector(const prelu_args *args, int d, __global const data_t *x,
                              __global const data_t *dy, __global data_t *dx,
                              const long at[PRELU_VIEWS], long i, int lanes, acc_v slope, acc_v sum)
{
    const long x_step = entry_of(args->stride[X], d), dy_step = entry_of(args->stride[DY], d),
               dx_step = entry_of(args->stride[DX], d);
    const acc_v v = load_lanes(x, at[X] + i * x_step, x_step, lanes);
    const acc_v gradient = load_lanes(dy, at[DY] + i * dy_step, dy_step, lanes);
    const acc_v factor = v != v ? v : slope;
    store_lanes(dx, at[DX] + i * dx_step, dx_step, lanes,
                v > splat(0) ? gradient : factor * gradient);
    return sum + (v > splat(0) ? splat(0) : v * gradient);
}

TENON_INLINE acc_t sum_along(const prelu_args *args, long segment, __global const data_t *x,
                             __global const data_t *dy, __global data_t *dx,
                             const long start[PRELU_VIEWS], acc_v slope)
{
    const int inner = args->rank - 1;
    acc_v sum = splat(0);
    long unit = segment * args->segment_step;
    for (long n = 0; n < args->units_each && unit < args->units; n++, unit += args->unit_step) {
        const long first = unit % args->pieces * args->chunk;
        const long last = min(first + args->chunk, (long)entry_of(args->shape, inner));
        long at[PRELU_VIEWS];
        TENON_UNROLL
        for (int v = 0; v < PRELU_VIEWS; v++) {
            at[v] = start[v];
        }
        step_to(args, args->kept, inner, unit / args->pieces, at);
        for (long i = first; i < last; i += TENON_VW) {
            const int lanes = (int)min(last - i, (long)TENON_VW);
            sum = run_vector(args, inner, x, dy, dx, at, i, lanes, slope, sum);
        }
    }
    return sum_of_lanes(sum);
}

TENON_VECTOR_KERNEL void along(__global const data_t *x, __global const data_t *slope,
                               __global const data_t *dy, __global data_t *dx,
                               __global data_t *dslope, __global acc_t *partial,
                               const prelu_args args)
{
    const long segment = (long)get_global_id(0);
    long k = (long)get_global_id(1) * args.slopes_each;
    const long end = min(k + args.slopes_each, (long)args.slopes);
    for (; k < end; k++) {
        long at[PRELU_VIEWS];
        slope_at(&args, k, at);
        acc_t sum = sum_along(&args, segment, x, dy, dx, at, splat(load_data(slope, at[SLOPE])));
        if (args.segments > 1) {
            partial[args.partial + segment * args.slopes + k] = sum;
        } else {
            store_data(dslope, at[DSLOPE], sum);
        }
    }
}

TENON_INLINE void store_sums(__global acc_t *partial, long i, int lanes, acc_v sum)
{
    acc_t lane[TENON_VW];
    if (lanes == TENON_VW) {
        TENON_VSTORE(sum, 0, partial + i);
        return;
    }
    TENON_VSTORE(sum, 0, lane);
    EACH_LANE(l, lanes)
    {
        partial[i + l] = lane[l];
    }
}

/* Adds PRELU_GROUP vectors of slopes from index `k` of their last dimension on, of which `count`
 * slopes exist. */
TENON_INLINE void sum_across(const prelu_args *args, long segment, __global const data_t *x,
                             __global const data_t *dy, __global data_t *dx,
                             const long start[PRELU_VIEWS], long k, long count,
                             const acc_v slope[PRELU_GROUP], acc_v sum[PRELU_GROUP])
{
    const int last = args->kept - 1;
    long unit = segment * args->segment_step;
    for (long n = 0; n < args->units_each && unit < args->units; n++, unit += args->unit_step) {
        long at[PRELU_VIEWS];
        TENON_UNROLL
        for (int v = 0; v < PRELU_VIEWS; v++) {
            at[v] = start[v];
        }
        step_to(args, args->kept, args->rank, unit, at);
        for (int g = 0; g < PRELU_GROUP; g++) {
            const int lanes = (int)clamp(count - g * TENON_VW, 0L, (long)TENON_VW);
            sum[g] =
                run_vector(args, last, x, dy, dx, at, k + g * TENON_VW, lanes, slope[g], sum[g]);
        }
    }
}

TENON_VECTOR_KERNEL void across(__global const data_t *x, __global const data_t *slope,
                                __global const data_t *dy, __global data_t *dx,
                                __global data_t *dslope, __global acc_t *partial,
                                const prelu_args args)
{
    const int d = args.kept - 1;
    const long segment = (long)get_global_id(0), inner = entry_of(args.shape, d);
    long k = (long)get_global_id(1) * args.slopes_each;
    const long row = (long)get_global_id(2), end = min(k + args.slopes_each, inner);
    const long slope_step = entry_of(args.stride[SLOPE], d),
               dslope_step = entry_of(args.stride[DSLOPE], d);
    long at[PRELU_VIEWS];
    slope_at(&args, row * inner, at);
    for (; k < end; k += PRELU_GROUP * TENON_VW) {
        acc_v slopes[PRELU_GROUP], sum[PRELU_GROUP];
        for (int g = 0; g < PRELU_GROUP; g++) {
            const int lanes = (int)clamp(end - k - g * TENON_VW, 0L, (long)TENON_VW);
            slopes[g] =
                load_lanes(slope, at[SLOPE] + (k + g * TENON_VW) * slope_step, slope_step, lanes);
            sum[g] = splat(0);
        }
        sum_across(&args, segment, x, dy, dx, at, k, end - k, slopes, sum);
        for (int g = 0; g < PRELU_GROUP; g++) {
            const int lanes = (int)clamp(end - k - g * TENON_VW, 0L, (long)TENON_VW);
            const long i = k + g * TENON_VW;
            if (args.segments > 1) {
                store_sums(partial, args.partial + segment * args.slopes + row * inner + i, lanes,
                           sum[g]);
            } else {
                store_lanes(dslope, at[DSLOPE] + i * dslope_step, dslope_step, lanes, sum[g]);
            }
        }
    }
}

#if TENON_CPU
/* Vectors of slopes whose sums `stream` keeps at once. */
#define STREAM_VECTORS 32

/* The position of a unit in the dimensions that are summed, and its start in each tensor. */
typedef struct place {
    long index[PRELU_RANK], at[PRELU_VIEWS];
} place;

TENON_INLINE void begin_unit(place *p, const prelu_args *args, long row, long unit)
{
    slope_at(args, row, p->at);
    step_to(args, args->kept, args->rank, unit, p->at);
    for (int d = args->rank - 1; d >= args->kept; d--) {
        p->index[d] = unit % args->shape[d];
        unit /= args->shape[d];
    }
}

TENON_INLINE void next_unit(place *p, const prelu_args *args)
{
    for (int d = args->rank - 1; d >= args->kept; d--) {
        const int turns = ++p->index[d] == args->shape[d];
        const long steps = turns ? 1 - args->shape[d] : 1;
        for (int v = 0; v < PRELU_VIEWS; v++) {
            p->at[v] += steps * args->stride[v][d];
        }
        if (!turns) {
            return;
        }
        p->index[d] = 0;
    }
}

TENON_VECTOR_KERNEL void stream(__global const data_t *x, __global const data_t *slope,
                                __global const data_t *dy, __global data_t *dx,
                                __global data_t *dslope, __global acc_t *partial,
                                const prelu_args args)
{
    const int d = args.kept - 1;
    const long segment = (long)get_global_id(0), row = (long)get_global_id(2);
    const long inner = args.shape[d], slope_step = args.stride[SLOPE][d];
    const long first = segment * args.segment_step;
    const long units = min((long)args.units_each, args.units - first);
    long k = (long)get_global_id(1) * args.slopes_each;
    const long end = min(k + args.slopes_each, inner);
    for (; k < end; k += STREAM_VECTORS * TENON_VW) {
        const long count = min(end - k, (long)STREAM_VECTORS * TENON_VW);
        acc_v slopes[STREAM_VECTORS], sum[STREAM_VECTORS];
        place p;
        begin_unit(&p, &args, row * inner, first);
        for (long i = 0, v = 0; i < count; i += TENON_VW, v++) {
            slopes[v] = load_lanes(slope, p.at[SLOPE] + (k + i) * slope_step, slope_step,
                                   (int)min(count - i, (long)TENON_VW));
            sum[v] = splat(0);
        }
        for (long n = 0; n < units; n++) {
            for (long i = 0, v = 0; i < count; i += TENON_VW, v++) {
                sum[v] = run_vector(&args, d, x, dy, dx, p.at, k + i,
                                    (int)min(count - i, (long)TENON_VW), slopes[v], sum[v]);
            }
            next_unit(&p, &args);
        }
        for (long i = 0, v = 0; i < count; i += TENON_VW, v++) {
            store_sums(partial, args.partial + segment * args.slopes + row * inner + k + i,
                       (int)min(count - i, (long)TENON_VW), sum[v]);
        }
    }
}
#endif

TENON_KERNEL void finish(__global const acc_t *partial, __global data_t *dslope,
                         const prelu_args args)
{
    long k = (long)get_global_id(0) * args.slopes_each;
    const long end = min(k + args.slopes_each, (long)args.slopes);
    for (; k < end; k++) {
        long at[PRELU_VIEWS];
        acc_t sum = 0;
        for (long segment = 0; segment < args.segments; segment++) {
            sum += partial[args.partial + segment * args.slopes + k];
        }
        slope_at(&args, k, at);
        store_data(dslope, at[DSLOPE], sum);
    }
}
