/*
 * Direct convolution for CPUs: vectors lie along the filters, and elements of the image are
 * broadcast. Any strides and geometry.
 *
 * A work-group does a box of pixels for some filters of a group, a few channels at a time. It copies
 * what the box sees of the image into local memory, zeros for the padding, and then, panel by panel
 * of 2 * VW filters, lays the panel's taps as [tap][filter] and multiplies. A register tile is
 * TENON_RUNS runs of TENON_RUN pixels by one panel; the pixels of a run are neighbours in the copy,
 * whatever the step (see conv/cpu_direct_args.h), so that one table of offsets serves every
 * geometry. Sums wait in local memory as [panel][run][pixel][filter], and are turned where y is not
 * contiguous along its channels. An element is one chain of multiply-adds in the order of the taps.
 *
 * Global size: {boxes, ceil(filters of a group / args.filters), groups}, local size {1, 1, 1}. The
 * box of a work-group may reach past y, its last filters past the group's.
 *
 *   TENON_RUN      pixels of a run
 *   TENON_RUNS     runs of a tile; 2 * RUN * RUNS sums and 3 vectors must fit the registers
 *   TENON_SCRATCH  vectors of local memory
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

#include "common/square.clh"
#include "conv/cpu_direct_args.h"
#include "conv/vectors.clh"
#include "conv/window.clh"
#include "gemm/epilogue.clh"

#define PANEL_VECTORS 2
#define PANEL         (PANEL_VECTORS * TENON_VW)
#define RUN_VECTORS   (TENON_RUN * PANEL_VECTORS)

/* What a work-group does: images and pixels along o, p and q, and filters of group `group`. */
typedef struct direct_box {
    long first[4], count[4];
    long group, filter, filters;
    int runs_in_row, runs;
} direct_box;

TENON_INLINE direct_box find_box(const conv_direct_args *args)
{
    const long out[4] = {args->images, args->conv.window.out[0], args->conv.window.out[1],
                         args->conv.window.out[2]};
    direct_box box;
    long index = (long)get_global_id(0);
    for (int d = 3; d >= 0; d--) {
        const long size = args->box[d];
        box.first[d] = cut_index(&index, (out[d] + size - 1) / size) * size;
        box.count[d] = min(size, out[d] - box.first[d]);
    }
    box.filter = (long)get_global_id(1) * args->filters;
    box.filters = min(args->filters, args->conv.group_filters - box.filter);
    box.group = (long)get_global_id(2);
    box.runs_in_row = (int)((box.count[3] + TENON_RUN - 1) / TENON_RUN);
    box.runs = (int)(box.count[0] * box.count[1] * box.count[2]) * box.runs_in_row;
    return box;
}

/* The copy is [channel][image][phase along d][d][phase along h][h][phase along w][w]. */
typedef struct copy_strides {
    long phase[3], position[3], image;
} copy_strides;

TENON_INLINE copy_strides find_strides(const conv_direct_args *args)
{
    copy_strides s;
    long step = 1;
    for (int d = 2; d >= 0; d--) {
        s.position[d] = step;
        s.phase[d] = step * args->extent[d];
        step = s.phase[d] * args->phases[d];
    }
    s.image = step;
    return s;
}

/* Where the first pixel of each run lies in the copy. */
TENON_INLINE void find_runs(__local int *run_x, const copy_strides *s, const direct_box *box)
{
    for (long n = 0; n < box->count[0]; n++) {
        for (long o = 0; o < box->count[1]; o++) {
            for (long p = 0; p < box->count[2]; p++) {
                const long row = n * s->image + o * s->position[0] + p * s->position[1];
                for (int i = 0; i < box->runs_in_row; i++) {
                    *run_x++ = (int)(row + i * TENON_RUN);
                }
            }
        }
    }
}

/* Where tap `tap` finds its elements in the copy, along dimension d. */
TENON_INLINE long tap_offset(const conv_direct_args *args, const copy_strides *s, int d, long tap)
{
    const long phase = cut_index(&tap, args->meet_tap[d]);
    return phase * s->phase[d] + tap * args->meet_out[d] * s->position[d];
}

/* For each tap of so many channels, where it finds its elements in the copy, and where it lies in a
 * filter. */
TENON_INLINE void find_taps(__local int *tap_x, __local long *tap_w, const conv_direct_args *args,
                            const copy_strides *s, long channels)
{
    const tenon_i64 *filter = args->conv.window.filter, *w = args->conv.w_stride;
    const long taps = filter[0] * filter[1] * filter[2];
    const long tap_step = args->channel_last ? channels : 1, step = args->channel_last ? 1 : taps;
    long i = 0;
    for (long t = 0; t < filter[0]; t++) {
        for (long r = 0; r < filter[1]; r++) {
            for (long f = 0; f < filter[2]; f++) {
                const long in_copy = tap_offset(args, s, 0, t) + tap_offset(args, s, 1, r) +
                                     tap_offset(args, s, 2, f);
                const long in_filter = t * w[2] + r * w[3] + f * w[4];
                for (long c = 0; c < channels; c++) {
                    tap_x[i * tap_step + c * step] = (int)(in_copy + c * args->channel);
                    tap_w[i * tap_step + c * step] = in_filter + c * w[1];
                }
                i++;
            }
        }
    }
}

/* A line of the copy: element j is x[first + j * pitch] for j in [low, high), otherwise 0. Whole
 * vectors are written, the last one past the line. */
TENON_INLINE void copy_line(__local acc_t *to, __global const data_t *x, long first, long pitch,
                            long low, long high, long extent, long span)
{
    lane_t number[TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        number[l] = l;
    }
    const lane_v lanes = TENON_VLOAD(0, number);
    for (long j = 0; j < extent; j += TENON_VW) {
        const long from = first + j * pitch;
        if (pitch <= 2 && pitch > 0 && from >= 0 && from + pitch * TENON_VW <= span) {
            const acc_v value = load_pitch(x, from, (int)pitch);
            const lane_v at = lanes + (lane_v)((lane_t)j);
            const lane_v is_there =
                (at >= (lane_v)((lane_t)low)) & (at < (lane_v)((lane_t)high));
            TENON_VSTORE(is_there ? value : splat(0), 0, to + j);
        } else {
            for (long l = j; l < j + TENON_VW; l++) {
                to[l] = l >= low && l < high ? load_data(x, first + l * pitch) : 0;
            }
        }
    }
}

/* All lines of one row of the image, `row` being where it begins, under the box's pixels. */
TENON_INLINE __local acc_t *copy_row(__local acc_t *to, __global const data_t *x,
                                     const conv_direct_args *args, const direct_box *box, long row,
                                     int in_image)
{
    const conv_window *v = &args->conv.window;
    const long step = v->step[2], x_w = args->conv.x_stride[4], extent = args->extent[2];
    for (long f = 0; f < args->phases[2]; f++) {
        const long w = under_tap(v, 2, box->first[3], f);
        const long low = w < 0 ? (step - 1 - w) / step : 0;
        const long high = v->size[2] > w ? (v->size[2] - w + step - 1) / step : 0;
        copy_line(to, x, row + w * x_w, step * x_w, min(low, extent),
                  in_image ? min(high, extent) : 0, extent, args->x_span);
        to += extent;
    }
    return to;
}

/* What the box sees of one image in the channel that begins at `channel`; x is the image. */
TENON_INLINE void copy_channel(__local acc_t *to, __global const data_t *x, long channel,
                               const conv_direct_args *args, const direct_box *box)
{
    const conv_window *v = &args->conv.window;
    for (long ft = 0; ft < args->phases[0]; ft++) {
        for (long o = 0; o < args->extent[0]; o++) {
            const long d = under_tap(v, 0, box->first[1] + o, ft);
            for (long fr = 0; fr < args->phases[1]; fr++) {
                for (long p = 0; p < args->extent[1]; p++) {
                    const long h = under_tap(v, 1, box->first[2] + p, fr);
                    const long row =
                        channel + d * args->conv.x_stride[2] + h * args->conv.x_stride[3];
                    to = copy_row(to, x, args, box, row, inside(v, 0, d) && inside(v, 1, h));
                }
            }
        }
    }
}

/* VW filters, of which `filters` are there, by so many taps: to[tap * PANEL_VECTORS]. */
TENON_INLINE void lay_filters(__local acc_v *to, __global const data_t *w, long w_filter,
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
        const int first = min(t, taps - TENON_VW); /* the last square begins earlier */
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
        turn_square(x);
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

/* sums[run][pixel][filter] (+)= the copy times a panel's taps, for `runs` runs. `runs` is a constant
 * wherever this is inlined, so that the loops unroll and the sums live in registers. */
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

TENON_INLINE void multiply_panel(__local acc_v *sums, __local const acc_t *copy,
                                 __local const int *run_x, __local const int *tap_x,
                                 __local const acc_v *filters, int runs, int taps, int is_first)
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

/* One line of pixels of y, which is contiguous in memory or has one stride. */
typedef struct pixel_line {
    long pixels;   /* so many */
    int slot, row; /* where the first one's sums are, and pixels until a row of runs ends */
    int row_slots;
} pixel_line;

/* d[filter, pixel] for a line of pixels and the VW filters from `filter` on. */
TENON_INLINE void store_turned(const gemm_epilogue *e, const pixel_line *line, long filter,
                               int filters, __local acc_t *none, __local const acc_v *sums)
{
    int slot = line->slot, column = 0;
    for (long i = 0; i < line->pixels; i += TENON_VW) {
        const int lanes = (int)min((long)TENON_VW, line->pixels - i);
        acc_v x[TENON_VW];
        for (int l = 0; l < TENON_VW; l++) {
            x[l] = sums[slot * PANEL_VECTORS];
            if (l + 1 < lanes || lanes == TENON_VW) {
                slot++;
                if (++column == line->row) {
                    column = 0;
                    slot += line->row_slots - line->row;
                }
            }
        }
        turn_square(x);
        for (int f = 0; f < min(filters, TENON_VW); f++) {
            epilogue_store_v(e, filter + f, i, lanes, TENON_PASS_ONLY, none, x[f]);
        }
    }
}

/* The same where the filters are the columns of d, and the pixels its rows. */
TENON_INLINE void store_straight(const gemm_epilogue *e, const pixel_line *line, long filter,
                                 int filters, __local acc_t *none, __local const acc_v *sums)
{
    int slot = line->slot, column = 0;
    for (long i = 0; i < line->pixels; i++) {
        epilogue_store_v(e, i, filter, filters, TENON_PASS_ONLY, none, sums[slot * PANEL_VECTORS]);
        slot++;
        if (++column == line->row) {
            column = 0;
            slot += line->row_slots - line->row;
        }
    }
}

TENON_INLINE gemm_epilogue direct_epilogue(const conv_direct_args *args, const direct_box *box,
                                           __global const data_t *c, __global const data_t *bias,
                                           __global data_t *y, int turned)
{
    const conv_args *a = &args->conv;
    const long first = box->group * a->group_filters;
    gemm_epilogue e;
    e.c = c + a->c_offset + first * a->c_stride[1];
    e.bias = bias + a->bias_offset + first * a->bias_k;
    e.d = y + a->y_offset + first * a->y_stride[1];
    e.c_row = turned ? a->c_stride[1] : a->c_stride[4];
    e.c_col = turned ? a->c_stride[4] : a->c_stride[1];
    e.bias_row = turned ? a->bias_k : 0;
    e.bias_col = turned ? 0 : a->bias_k;
    e.d_row = turned ? a->y_stride[1] : a->y_stride[4];
    e.d_col = turned ? a->y_stride[4] : a->y_stride[1];
    e.alpha = TENON_FROM_BITS(a->alpha);
    e.beta = TENON_FROM_BITS(a->beta);
    e.flags = a->flags;
    e.activation.kind = a->activation;
    e.activation.alpha = TENON_FROM_BITS(a->act_alpha);
    e.activation.beta = TENON_FROM_BITS(a->act_beta);
    return e;
}

/* All lines of the box, each joining as many rows as y allows. */
TENON_INLINE void store_box(const conv_direct_args *args, const direct_box *box,
                            __global const data_t *c, __global const data_t *bias,
                            __global data_t *y, __local acc_t *none, __local const acc_v *sums)
{
    const tenon_i64 *ys = args->conv.y_stride, *cs = args->conv.c_stride;
    const int turned = ys[1] != 1;
    const gemm_epilogue whole = direct_epilogue(args, box, c, bias, y, turned);
    const long planes = args->join == 2 ? 1 : box->count[1];
    const long rows = args->join >= 1 ? 1 : box->count[2];
    pixel_line line = {box->count[3], 0, (int)box->count[3], box->runs_in_row * TENON_RUN};
    line.pixels *= (args->join == 2 ? box->count[1] : 1) * (args->join >= 1 ? box->count[2] : 1);
    const int slots = line.row_slots * (int)(line.pixels / box->count[3]);
    for (long n = 0; n < box->count[0]; n++) {
        for (long o = 0; o < planes; o++) {
            for (long p = 0; p < rows; p++) {
                const long at[] = {box->first[0] + n, box->first[1] + o, box->first[2] + p};
                gemm_epilogue e = whole;
                e.c += at[0] * cs[0] + at[1] * cs[2] + at[2] * cs[3] + box->first[3] * cs[4];
                e.d += at[0] * ys[0] + at[1] * ys[2] + at[2] * ys[3] + box->first[3] * ys[4];
                for (int f = 0; f < box->filters; f += TENON_VW) {
                    __local const acc_v *from =
                        sums + (long)(f / PANEL) * box->runs * RUN_VECTORS + f % PANEL / TENON_VW;
                    const int filters = (int)box->filters - f;
                    if (turned) {
                        store_turned(&e, &line, box->filter + f, filters, none, from);
                    } else {
                        store_straight(&e, &line, box->filter + f, filters, none, from);
                    }
                }
                line.slot += slots;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_cpu_direct(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                __global const data_t *bias, __global data_t *y, const conv_direct_args args)
{
    __local acc_v scratch[TENON_SCRATCH];
    __local long tap_w[CONV_DIRECT_TAPS];
    __local int tap_x[CONV_DIRECT_TAPS], run_x[CONV_DIRECT_RUNS];
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
            copy_channel(copy + channel * args.channel + n * s.image,
                         x + n * args.conv.x_stride[0], (c0 + channel) * args.conv.x_stride[1],
                         &args, &box);
        }
        for (long f = 0; f < box.filters; f += PANEL) {
            __global const data_t *from =
                w + f * args.conv.w_stride[0] + c0 * args.conv.w_stride[1];
            for (int i = 0; i < PANEL_VECTORS; i++) {
                lay_filters(filters + i, from + i * TENON_VW * args.conv.w_stride[0],
                            args.conv.w_stride[0], tap_w, (int)some * taps,
                            box.filters - f - i * TENON_VW, args.taps_join);
            }
            multiply_panel(sums + f / PANEL * panel_vectors, copy, run_x, tap_x, filters, box.runs,
                           (int)some * taps, c0 == 0);
        }
    }
    store_box(&args, &box, c, bias, y, copy, sums);
}
