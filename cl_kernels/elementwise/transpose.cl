/*
 * Transposing copy: y = x, where x is contiguous along one dimension (down the rows) and y along
 * another (across the columns). The other dimensions index planes.
 *
 * transpose: a work-item handles a block of args.block_columns columns and args.block_rows rows, in
 *   squares of TENON_VW that are transposed in registers, and proceeds along x. Global size:
 *   {blocks[0] * blocks[1] * planes}.
 * transpose_local: a work-group handles a square of TRANSPOSE_TILE, which is transposed in local
 *   memory: reads and writes are coalesced. Local size: {TRANSPOSE_TILE, TRANSPOSE_ITEMS}; one
 *   work-group per block.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh.
 */
#include "common/dimensions.clh"
#include "common/element.clh"

#include "elementwise/transpose_args.h"

typedef struct plane {
    long x, y;        /* start of the plane */
    long column, row; /* of the block */
} plane;

TENON_INLINE plane plane_of(const transpose_args *args, long block)
{
    plane p = {args->offset[0], args->offset[1], 0, 0};
    TENON_DIVIDE(block, (long)args->blocks[0], block, p.column)
    TENON_DIVIDE(block, (long)args->blocks[1], block, p.row)
    p.column *= args->block_columns;
    p.row *= args->block_rows;
    EACH_DOWN(d, 0, (int)args->rank)
    {
        long index;
        TENON_DIVIDE(block, (long)args->shape[d], block, index)
        p.x += index * args->stride[0][d];
        p.y += index * args->stride[1][d];
    }
    return p;
}

/* Interleaves each vector of the first half with its counterpart in the second half.
 * log2(TENON_VW) repetitions transpose the square (H. Stone, "Parallel processing with the
 * perfect shuffle", IEEE Transactions on Computers 20, 1971). */
TENON_INLINE void shuffle_halves(const element_v *from, element_v *to)
{
    TENON_UNROLL
    for (int i = 0; i < TENON_VW / 2; i++) {
        to[2 * i].even = from[i].lo;
        to[2 * i].odd = from[i + TENON_VW / 2].lo;
        to[2 * i + 1].even = from[i].hi;
        to[2 * i + 1].odd = from[i + TENON_VW / 2].hi;
    }
}

TENON_INLINE void turn_square(__global const element_t *x, long x_step, __global element_t *y,
                              long y_step)
{
    element_v a[TENON_VW], b[TENON_VW];
    TENON_UNROLL
    for (int i = 0; i < TENON_VW; i++) {
        a[i] = TENON_VLOAD(0, x + i * x_step);
    }
    shuffle_halves(a, b);
#if TENON_VW >= 4
    shuffle_halves(b, a);
#endif
#if TENON_VW >= 8
    shuffle_halves(a, b);
#endif
#if TENON_VW >= 16
    shuffle_halves(b, a);
#endif
    TENON_UNROLL
    for (int i = 0; i < TENON_VW; i++) {
#if TENON_VW == 4 || TENON_VW == 16
        stream_elements(y + i * y_step, a[i], 1);
#else
        stream_elements(y + i * y_step, b[i], 1);
#endif
    }
}

TENON_INLINE void turn_rest(__global const element_t *x, long x_step, __global element_t *y,
                            long y_step, long rows, long columns)
{
    for (long r = 0; r < rows; r++) {
        for (long c = 0; c < columns; c++) {
            y[r * y_step + c] = x[c * x_step + r];
        }
    }
}

TENON_KERNEL void transpose(__global const element_t *x, __global element_t *y,
                            const transpose_args args)
{
    const plane p = plane_of(&args, (long)get_global_id(0));
    const long columns = min(p.column + args.block_columns, (long)args.columns);
    const long rows = min(p.row + args.block_rows, (long)args.rows);
    for (long c = p.column; c < columns; c += TENON_VW) {
        const long wide = min((long)TENON_VW, columns - c);
        for (long r = p.row; r < rows; r += TENON_VW) {
            const long high = min((long)TENON_VW, rows - r);
            __global const element_t *from = x + p.x + c * args.x_step + r;
            __global element_t *to = y + p.y + r * args.y_step + c;
            if (high == TENON_VW && wide == TENON_VW) {
                turn_square(from, args.x_step, to, args.y_step);
            } else {
                turn_rest(from, args.x_step, to, args.y_step, high, wide);
            }
        }
    }
}

TENON_KERNEL __attribute__((reqd_work_group_size(TRANSPOSE_TILE, TRANSPOSE_ITEMS, 1))) void
transpose_local(__global const element_t *x, __global element_t *y, const transpose_args args)
{
    /* One column of padding avoids bank conflicts within a row. */
    __local element_t tile[TRANSPOSE_TILE * (TRANSPOSE_TILE + 1)];
    const plane p = plane_of(&args, (long)get_group_id(0));
    const int inner = (int)get_local_id(0), outer = (int)get_local_id(1);
    for (int i = outer; i < TRANSPOSE_TILE; i += TRANSPOSE_ITEMS) {
        if (p.row + inner < args.rows && p.column + i < args.columns) {
            tile[i * (TRANSPOSE_TILE + 1) + inner] =
                x[p.x + (p.column + i) * args.x_step + p.row + inner];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = outer; i < TRANSPOSE_TILE; i += TRANSPOSE_ITEMS) {
        if (p.column + inner < args.columns && p.row + i < args.rows) {
            y[p.y + (p.row + i) * args.y_step + p.column + inner] =
                tile[inner * (TRANSPOSE_TILE + 1) + i];
        }
    }
}
