/*
 * Direct convolution for CPUs: vectors lie along the filters, and image elements are broadcast. Any
 * strides and geometry.
 *
 * A work-group computes a box of pixels for some filters of a group, a few channels at a time. It
 * copies the image part under the box to local memory, with zeros for the padding. Then, for each
 * panel of 2 * VW filters, it packs the panel's taps as [tap][filter] and multiplies. A register
 * tile is TENON_RUNS runs of TENON_RUN pixels by one panel. The pixels of a run are contiguous in
 * the copy, whatever the stride (see conv/forward/cpu_direct_args.h), so one table of offsets
 * serves every geometry. Sums are kept in local memory as [panel][run][pixel][filter], and are
 * transposed if y is not contiguous along its channels. An element is one chain of multiply-adds in
 * the order of the taps.
 *
 * Global size: {boxes, ceil(filters of a group / args.filters), groups}, local size {1, 1, 1}. The
 * box of a work-group may extend past y, and its last filters past the group's.
 *
 * TENON_RUN: pixels per run.
 * TENON_RUNS: runs per tile; 2 * RUN * RUNS sums and 3 vectors must fit into the registers.
 * TENON_SCRATCH: vectors of local memory.
 * TENON_TAP_BATCH: the maximum number of taps at a time.
 *
 * TENON_VW, TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and
 * common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_RUN
#define TENON_RUN 7
#endif
#ifndef TENON_RUNS
#define TENON_RUNS 2
#endif
#ifndef TENON_SCRATCH
#define TENON_SCRATCH 8192
#endif
#ifndef TENON_TAP_BATCH
#define TENON_TAP_BATCH 1024
#endif

#define PANEL_VECTORS 2
#define PANEL         (PANEL_VECTORS * TENON_VW)
#define RUN_VECTORS   (TENON_RUN * PANEL_VECTORS)

#include "conv/forward/cpu_direct_store.clh"

/* Packs VW filters, `filters` of which exist, by `taps` taps: to[tap * PANEL_VECTORS]. */
TENON_INLINE void stage_filters(__local acc_v *to, __global const data_t *w, long w_filter,
                                __local const long *tap_w, int taps, long filters, int taps_join)
{
    if (w_filter == 1 && filters >= TENON_VW) {
        for (int t = 0; t < taps; t++) {
            to[t * PANEL_VECTORS] = load_data_v(w, tap_w[t]);
        }
        return;
    }
    int t = 0;
    for (int next; taps_join && t < taps && taps >= TENON_VW; t = next) {
        acc_v x[TENON_VW];
        const int first = min(t, taps - TENON_VW); /* the last square overlaps its predecessor */
        const long at = tap_w[first];
        next = first + TENON_VW;
        if (tap_w[next - 1] - at != TENON_VW - 1) {
            break;
        }
        if (filters >= TENON_VW) {
#pragma unroll
            for (int l = 0; l < TENON_VW; l++) {
                x[l] = load_data_v(w, at + l * w_filter);
            }
        } else {
            for (int l = 0; l < TENON_VW; l++) {
                x[l] = l < filters ? load_data_v(w, at + l * w_filter) : splat(0);
            }
        }
        transpose_square(x);
#pragma unroll
        for (int l = 0; l < TENON_VW; l++) {
            to[(first + l) * PANEL_VECTORS] = x[l];
        }
    }
    for (; t < taps; t++) {
        __local acc_t *lane = (__local acc_t *)(to + t * PANEL_VECTORS);
        for (int l = 0; l < TENON_VW; l++) {
            lane[l] = l < filters ? load_data(w, l * w_filter + tap_w[t]) : 0;
        }
    }
}

/* sums[run][pixel][filter] (+)= the copy times a panel's taps, for `runs` runs. `runs` is a
 * constant in every inlined copy, so the loops are unrolled and the sums stay in registers. */
TENON_INLINE void multiply_runs(const int runs, __local acc_v *sums, __local const acc_t *copy,
                                __local const int *run_x, __local const int *tap_x,
                                __local const acc_v *filters, int taps, int is_first)
{
    acc_v sum[TENON_RUNS][RUN_VECTORS];
    __local const acc_t *x[TENON_RUNS];
#pragma unroll
    for (int r = 0; r < runs; r++) {
        x[r] = copy + run_x[r];
#pragma unroll
        for (int i = 0; i < RUN_VECTORS; i++) {
            sum[r][i] = is_first ? splat(0) : sums[r * RUN_VECTORS + i];
        }
    }
    for (int t = 0; t < taps; t++) {
        const int by = tap_x[t];
        const acc_v w0 = filters[0], w1 = filters[1];
        filters += PANEL_VECTORS;
#pragma unroll
        for (int r = 0; r < runs; r++) {
#pragma unroll
            for (int i = 0; i < TENON_RUN; i++) {
                const acc_v pixel = splat(x[r][by + i]);
                sum[r][2 * i] = TENON_FMA(pixel, w0, sum[r][2 * i]);
                sum[r][2 * i + 1] = TENON_FMA(pixel, w1, sum[r][2 * i + 1]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < runs; r++) {
#pragma unroll
        for (int i = 0; i < RUN_VECTORS; i++) {
            sums[r * RUN_VECTORS + i] = sum[r][i];
        }
    }
}

TENON_LOCAL_FUNCTION void multiply_panel(__local acc_v *sums, __local const acc_t *copy,
                                         __local const int *run_x, __local const int *tap_x,
                                         __local const acc_v *filters, int runs, int taps,
                                         int is_first)
{
    int r = 0;
    for (; r + TENON_RUNS <= runs; r += TENON_RUNS) {
        multiply_runs(TENON_RUNS, sums + r * RUN_VECTORS, copy, run_x + r, tap_x, filters, taps,
                      is_first);
    }
    for (; r < runs; r++) {
        multiply_runs(1, sums + r * RUN_VECTORS, copy, run_x + r, tap_x, filters, taps, is_first);
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_cpu_direct(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                __global const data_t *bias, __global data_t *y, const conv_direct_args args)
{
    __local acc_v scratch[TENON_SCRATCH];
    __local long tap_w[TENON_TAP_BATCH];
    __local int tap_x[TENON_TAP_BATCH], run_x[CONV_DIRECT_RUNS];
    __local line_span spans[TENON_TAP_BATCH];
    __local acc_t *copy = (__local acc_t *)scratch;
    __local acc_v *sums = scratch + args.sums_at, *filters = scratch + args.filters_at;
    const conv_window *v = &args.conv.window;
    const int taps = (int)(v->filter[0] * v->filter[1] * v->filter[2]);
    const direct_box box = find_box(&args);
    const copy_strides s = find_strides(&args);
    const int panel_vectors = box.runs * RUN_VECTORS;
    long found = 0;

    x += args.conv.x_offset + box.first[0] * args.conv.x_stride[0] +
         box.group * args.conv.group_channels * args.conv.x_stride[1];
    w += args.conv.w_offset +
         (box.group * args.conv.group_filters + box.filter) * args.conv.w_stride[0];
    find_runs(run_x, &s, &box);
    find_spans(spans, &args, &box);
    const long channels = args.conv.flags & CONV_SKIP_XW ? 0 : args.conv.group_channels;
    if (channels == 0) {
        for (int i = 0; i < (box.filters + PANEL - 1) / PANEL * panel_vectors; i++) {
            sums[i] = splat(0);
        }
    }
    for (long c0 = 0; c0 < channels; c0 += args.channels) {
        const long some = min(args.channels, channels - c0);
        if (some != found) {
            find_taps(tap_x, tap_w, &args, &s, some);
            found = some;
        }
        for (long i = 0; i < some * box.count[0]; i++) {
            const long n = i % box.count[0], channel = i / box.count[0];
            copy_channel(copy + channel * args.channel + n * s.image, x + n * args.conv.x_stride[0],
                         (c0 + channel) * args.conv.x_stride[1], &args, &box, spans);
        }
        for (long f = 0; f < box.filters; f += PANEL) {
            __global const data_t *from =
                w + f * args.conv.w_stride[0] + c0 * args.conv.w_stride[1];
            for (int i = 0; i < PANEL_VECTORS; i++) {
                stage_filters(filters + i, from + i * TENON_VW * args.conv.w_stride[0],
                              args.conv.w_stride[0], tap_w, (int)some * taps,
                              box.filters - f - i * TENON_VW, args.taps_join);
            }
            multiply_panel(sums + f / PANEL * panel_vectors, copy, run_x, tap_x, filters, box.runs,
                           (int)some * taps, c0 == 0);
        }
    }
    store_box(&args, &box, c, bias, y, copy, sums);
}
