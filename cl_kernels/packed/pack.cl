/* Between a matrix of any strides, or a batch of them, and panels (packed/args.h says how these
 * lie). Elements are moved as they are.
 *
 *   pack_panels    panels = matrix, with zeros in the columns that the last panel lacks
 *   unpack_panels  matrix = panels
 *
 * A work-item does run_rows rows by run_cols columns, which lie in one panel. Global size:
 * {ceil(padded columns / run_cols), ceil(rows / run_rows), batch}; it may be larger.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh.
 */
#include "common/element.clh"
#include "packed/args.h"

/* The first element of matrix z of the tensor. */
TENON_INLINE long matrix_start(const pack_args *args, long z)
{
    long at = args->tensor_offset;
    for (int d = PACK_MAX_BATCH - 1; d >= 0; d--) {
        long outer = z / args->batch[d];
        at += (z - outer * args->batch[d]) * args->stride[d];
        z = outer;
    }
    return at;
}

/* What a work-item does: rows [k, k_end) of columns [n, n + width), of which `real` exist. */
typedef struct pack_part {
    long k, k_end, n, width, real;
    long tensor, packed; /* where row k, column n is */
} pack_part;

TENON_INLINE pack_part find_part(const pack_args *args)
{
    const long z = get_global_id(2);
    const long padded = (args->cols + args->panel - 1) / args->panel * args->panel;
    pack_part part;
    part.k = (long)get_global_id(1) * args->run_rows;
    part.n = (long)get_global_id(0) * args->run_cols;
    part.k_end = min(part.k + args->run_rows, args->rows);
    part.width = min(args->run_cols, padded - part.n);
    part.real = clamp(args->cols - part.n, 0L, max(part.width, 0L));
    part.tensor = matrix_start(args, z) + part.k * args->row + part.n * args->col;
    long number = part.n / args->panel;
    part.packed = args->packed_offset + z * args->rows * padded +
                  (number * args->rows + part.k) * args->panel + part.n - number * args->panel;
    return part;
}

__kernel void pack_panels(__global const element_t *tensor, __global element_t *packed,
                          const pack_args args)
{
    const pack_part part = find_part(&args);
    tensor += part.tensor;
    packed += part.packed;
    for (long k = part.k; k < part.k_end; k++) {
        copy_line(tensor, args.col, packed, 1, 0, part.real);
        fill_line(packed, 1, part.real, part.width, 0);
        tensor += args.row;
        packed += args.panel;
    }
}

__kernel void unpack_panels(__global const element_t *packed, __global element_t *tensor,
                            const pack_args args)
{
    const pack_part part = find_part(&args);
    tensor += part.tensor;
    packed += part.packed;
    for (long k = part.k; k < part.k_end; k++) {
        copy_line(packed, 1, tensor, args.col, 0, part.real);
        tensor += args.row;
        packed += args.panel;
    }
}
