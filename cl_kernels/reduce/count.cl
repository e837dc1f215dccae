/*
 * y = the number of elements of each row of x that are not zero, or 1 if there is one (any), or if
 * all are (all), as selected by args.kind. A NaN is not zero. Elements of any type are compared as
 * integers, without the sign bit of a floating-point type.
 *
 * reduce_rows, reduce_columns, reduce_finish: see common/reduction.clh, with their global sizes.
 * The second input and the means are unused; the kernels have them only for a common signature. The
 * workspace has counts instead of sums.
 *
 * COUNT_SIZE: bytes of an element: 1, 2, 4 (the default) or 8.
 * COUNT_IS_REAL: 1 for a floating-point type; 0 (the default) for an integer.
 * TENON_VW: lanes of a vector.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/reduction.clh"
#include "reduce/place.clh"

#ifndef COUNT_SIZE
#define COUNT_SIZE 4
#endif
#ifndef COUNT_IS_REAL
#define COUNT_IS_REAL 0
#endif

#if COUNT_SIZE == 1
typedef uchar element_t;
#elif COUNT_SIZE == 2
typedef ushort element_t;
#elif COUNT_SIZE == 4
typedef uint element_t;
#else
typedef ulong element_t;
#endif
/* A place in the workspace, as wide as a sum of the type. */
#if COUNT_SIZE == 8 && COUNT_IS_REAL
typedef long count_t;
#else
typedef int count_t;
#endif

/* Columns that reduce_columns counts at a time. */
#define COUNT_COLUMNS (4 * TENON_VW)

TENON_INLINE int is_counted(element_t x)
{
    return (element_t)(x << COUNT_IS_REAL) != 0;
}

/* Returns the number of elements that are not zero in a piece of a row. */
TENON_INLINE int piece_count(__global const element_t *x, const reduction_args *args, long piece)
{
    const long stride = entry_of(args->stride[REDUCTION_X], args->rank - 1);
    int count = 0;
    stretch s;
    for (first_stretch(&s, args, piece); next_stretch(&s, args, args->size);) {
        __global const element_t *from = x + s.at[REDUCTION_X];
        if (stride == 1) {
            for (long i = 0; i < s.n; i++) {
                count += is_counted(from[i]);
            }
        } else {
            for (long i = 0; i < s.n; i++) {
                count += is_counted(from[i * stride]);
            }
        }
    }
    return count;
}

TENON_INLINE void store_count(__global void *y, long y_at, const reduction_args *args, int count)
{
    if (args->kind == REDUCTION_TOTAL) {
        ((__global REDUCTION_PLACE *)y)[y_at] = count;
    } else {
        ((__global uchar *)y)[y_at] = args->kind == REDUCTION_ANY ? count > 0 : count == args->size;
    }
}

TENON_KERNEL void reduce_rows(__global const element_t *x, __global const element_t *t,
                              __global void *y, __global void *means, __global count_t *workspace,
                              const reduction_args args)
{
    const long id = (long)get_global_id(0);
    long first, piece;
    TENON_DIVIDE(id, (long)args.pieces, first, piece)
    first *= args.chunk;
    const long last = min(first + args.chunk, (long)args.count);
    for (long row = first; row < last; row++) {
        long at[REDUCTION_VIEWS];
        row_begin(&args, args.kept_rank, row, at);
        const int count = piece_count(x + at[REDUCTION_X], &args, piece);
        if (args.stage == REDUCTION_WHOLE) {
            store_count(y, at[REDUCTION_Y], &args, count);
        } else {
            workspace[args.partials + piece * args.count + row] = count;
        }
    }
}

/* Counts the elements of `columns` rows, at most COUNT_COLUMNS. */
TENON_INLINE void columns_count(__global const element_t *x, const reduction_args *args, long piece,
                                int columns, int count[COUNT_COLUMNS])
{
    const long stride = entry_of(args->stride[REDUCTION_X], args->rank - 1);
    const long across = entry_of(args->kept_stride[REDUCTION_X], args->kept_rank - 1);
    stretch s;
    TENON_UNROLL
    for (int c = 0; c < COUNT_COLUMNS; c++) {
        count[c] = 0;
    }
    for (first_stretch(&s, args, piece); next_stretch(&s, args, args->size);) {
        __global const element_t *from = x + s.at[REDUCTION_X];
        for (long i = 0; i < s.n; i++, from += stride) {
            if (columns == COUNT_COLUMNS && across == 1) {
                TENON_UNROLL
                for (int c = 0; c < COUNT_COLUMNS; c++) {
                    count[c] += is_counted(from[c]);
                }
            } else {
                EACH_OF(c, COUNT_COLUMNS, columns)
                {
                    count[c] += is_counted(from[c * across]);
                }
            }
        }
    }
}

TENON_KERNEL void reduce_columns(__global const element_t *x, __global const element_t *t,
                                 __global void *y, __global void *means,
                                 __global count_t *workspace, const reduction_args args)
{
    const int inner = args.kept_rank - 1;
    const long xs = entry_of(args.kept_stride[REDUCTION_X], inner);
    const long ys = entry_of(args.kept_stride[REDUCTION_Y], inner);
    int count[COUNT_COLUMNS];
    column_work w;
    if (!column_work_of(&args, (long)get_global_id(0), &w)) {
        return;
    }
    for (long c = w.first; c < w.last; c += COUNT_COLUMNS) {
        const int columns = (int)min((long)COUNT_COLUMNS, w.last - c);
        columns_count(x + w.at[REDUCTION_X] + c * xs, &args, w.piece, columns, count);
        EACH_OF(i, COUNT_COLUMNS, columns)
        {
            if (args.stage == REDUCTION_WHOLE) {
                store_count(y, w.at[REDUCTION_Y] + (c + i) * ys, &args, count[i]);
            } else {
                workspace[args.partials + w.piece * args.count + w.row + c + i] = count[i];
            }
        }
    }
}

TENON_KERNEL void reduce_finish(__global void *y, __global void *means, __global count_t *workspace,
                                const reduction_args args)
{
    __local int count[REDUCTION_GROUP];
    const long row = get_group_id(0);
    const int me = (int)get_local_id(0), group = (int)get_local_size(0);
    int mine = 0;
    for (long piece = me; piece < args.pieces; piece += group) {
        mine += (int)workspace[args.partials + piece * args.count + row];
    }
    count[me] = mine;
    for (int half_group = group / 2; half_group > 0; half_group /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < half_group) {
            count[me] += count[me + half_group];
        }
    }
    if (me == 0) {
        long at[REDUCTION_VIEWS];
        row_begin(&args, args.kept_rank, row, at);
        store_count(y, at[REDUCTION_Y], &args, count[0]);
    }
}
