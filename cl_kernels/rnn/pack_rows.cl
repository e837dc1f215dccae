/*
 * Copies the recurrent weights of a layer to panels (rnn/args.h), on CPUs: squares of TENON_VW
 * units by TENON_VW columns are transposed in registers. A work-item copies RNN_PACKED_SQUARES
 * squares of each gate of a panel. Global size: {ceil(depth / (VW * RNN_PACKED_SQUARES)), panels,
 * directions}, local size {1, 1, 1}.
 *
 * TENON_VW: units of a panel. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#include "common/transpose.clh"
#include "rnn/args.h"

/* Returns the place of column k in a row. */
TENON_INLINE long column_of(const rnn_pack_args *args, long k)
{
    const long block = k / args->block;
    return ((block == 0   ? args->k_gate[0]
             : block == 1 ? args->k_gate[1]
             : block == 2 ? args->k_gate[2]
                          : args->k_gate[3]) +
            k % args->block) *
           args->stride[2];
}

/* Copies `columns` successive columns of `units` rows. `at` is the first element, and `pitch` the
 * distance from column to column in the panel. */
TENON_INLINE void pack_square(__global const data_t *from, long at, long row, long column,
                              int units, int columns, __global acc_t *to, long pitch)
{
    acc_v x[TENON_VW];
    if (units == TENON_VW && columns == TENON_VW && column == 1) {
#pragma unroll
        for (int i = 0; i < TENON_VW; i++) {
            x[i] = load_data_v(from, at + i * row);
        }
        transpose_square(x);
#pragma unroll
        for (int i = 0; i < TENON_VW; i++) {
            TENON_VSTORE(x[i], 0, to + i * pitch);
        }
        return;
    }
    for (int k = 0; k < columns; k++) {
        TENON_VSTORE(load_lanes(from, at + k * column, row, units), 0, to + k * pitch);
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
pack_rows(__global const data_t *from, __global acc_t *work, const rnn_pack_args args)
{
    const long panel = get_global_id(1), unit = panel * TENON_VW, d = get_global_id(2);
    const long first = get_global_id(0) * (TENON_VW * RNN_PACKED_SQUARES),
               last = min((long)args.depth, first + TENON_VW * RNN_PACKED_SQUARES);
    const int units = (int)min((long)TENON_VW, args.units - unit);
    const long panels = (args.units + TENON_VW - 1) / TENON_VW, pitch = args.gates * TENON_VW;
    __global const data_t *in = from + args.from_offset + d * args.stride[0];
    __global acc_t *to =
        work + args.work_offset + args.to + (d * panels + panel) * args.depth * pitch;
    for (int g = 0; g < args.gates; g++) {
        const long row = (args.gate[g] + unit) * args.stride[1];
        for (long k = first; k < last;) {
            const long rest = min(args.block - k % args.block, last - k);
            const int columns = (int)min((long)TENON_VW, rest);
            pack_square(in, row + column_of(&args, k), args.stride[1], args.stride[2], units,
                        columns, to + k * pitch + g * TENON_VW, pitch);
            k += columns;
        }
    }
}
