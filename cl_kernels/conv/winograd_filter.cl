/*
 * The filters' transform for conv/winograd.cl: 3 x 3 filters to POINTS matrices, in vectors of
 * TENON_VW filters of a group. Lanes past a group's filters are zero.
 *
 * Global size: {panels * NV, ceil(c / part), groups}, local size {1, 1, 1}. Macros:
 * conv/winograd.clh and common/types.clh.
 */
#include "conv/winograd.clh"

#define TAPS 9

/* As many elements as a vector has, from each of `lanes` rows on, transposed: vector j has element j
 * of each. What lies past x's `span` is not read and not defined. */
TENON_INLINE void load_turned(__global const data_t *x, long at, long row, int lanes, long span,
                              acc_v square[TENON_VW])
{
    for (int l = 0; l < TENON_VW; l++) {
        const long i = at + l * row;
        square[l] = splat(0);
        if (l < lanes) {
            square[l] = i + TENON_VW <= span
                            ? load_data_v(x, i)
                            : load_lanes(x, i, 1, (int)min((long)TENON_VW - 1, span - i));
        }
    }
    turn_vectors(square);
}

/* The filters' taps, channel after channel, of as many channels as it takes to fill vectors; and how
 * many these are. */
TENON_INLINE int load_filters(__global const data_t *w, const winograd_filter_args *args, long at,
                              int lanes, int channels, acc_v taps[TAPS * TENON_VW])
{
    const long row = args->w_stride[0], channel = args->w_stride[1];
    acc_v square[TENON_VW];
    if (args->layout == WINOGRAD_STRIDED) {
        for (int t = 0; t < TAPS; t++) {
            taps[t] = load_lanes(w, at + args->tap[t], row, lanes);
        }
        return 1;
    }
    if (args->layout == WINOGRAD_CHANNELS) {
        for (int t = 0; t < TAPS; t++) {
            load_turned(w, at + args->tap[t], row, lanes, args->w_span, square);
            for (int c = 0; c < TENON_VW; c++) {
                taps[c * TAPS + t] = square[c];
            }
        }
        return min(channels, TENON_VW);
    }
    const int count = args->layout == WINOGRAD_TAPS ? 1 : min(channels, TENON_VW);
    for (int i = 0; i < count * TAPS; i += TENON_VW) {
        load_turned(w, at + i, row, lanes, args->w_span, taps + i);
    }
    return count;
}

/* u[point] of one channel. */
TENON_INLINE void transform_channel(const acc_v taps[TAPS], int flips, __global acc_t *u,
                                    long point)
{
    acc_v filter[TAPS], half_way[3 * SIDE], row[SIDE];
    for (int t = 0; t < TAPS; t++) {
        filter[t] = taps[flips ? TAPS - 1 - t : t];
    }
    for (int s = 0; s < 3; s++) {
        transform_filter(filter + s, 3, half_way + s, 3);
    }
    for (int i = 0; i < SIDE; i++) {
        transform_filter(half_way + 3 * i, 1, row, 1);
        for (int j = 0; j < SIDE; j++) {
            TENON_VSTORE(row[j], 0, u + (i * SIDE + j) * point);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_winograd_filter(__global const data_t *w, __global acc_t *u, const winograd_filter_args args)
{
    acc_v taps[TAPS * TENON_VW + TENON_VW];
    const long vector = (long)get_global_id(0), g = (long)get_global_id(2);
    const long k = vector * TENON_VW, c1 = min(((long)get_global_id(1) + 1) * args.part, (long)args.c);
    const int lanes = (int)min((long)TENON_VW, args.k - k); /* none where the panel ends in padding */
    w += args.w_offset;
    u += args.u_offset + g * args.group + vector / TENON_NV * args.panel + vector % TENON_NV * TENON_VW;
    for (long c = (long)get_global_id(1) * args.part; c < c1;) {
        const long at = (g * args.k + k) * args.w_stride[0] + c * args.w_stride[1];
        const int count = load_filters(w, &args, at, lanes, (int)min(c1 - c, (long)TENON_VW), taps);
        for (int i = 0; i < count; i++) {
            transform_channel(taps + i * TAPS, args.flips, u + (c + i) * PANEL, args.point);
        }
        c += count;
    }
}
