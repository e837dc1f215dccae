/*
 * Gradient of gather: dx[a, r, b] = the sum of dy[a, i, b] over all i whose index is r, in the
 * order of i. A work-item computes args.rows_each rows r of one piece of one line (the last
 * dimension of a and b together). Global size: at least {args.items}.
 *
 * backward_scan: scans all indices for each row.
 * backward_sorted: finds a row's indices in the pairs that sort.cl has left in the workspace.
 *
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/types.clh"

#include "gather/list.clh"

/* Vectors of columns that are summed independently. */
#define VECTORS 4

typedef struct place {
    long dy, dx;      /* start of the line */
    long first, last; /* elements within the line */
    long row, end;    /* rows of the table */
} place;

TENON_INLINE place place_of(const gather_backward_args *args)
{
    long id = (long)get_global_id(0);
    long line = id / args->pieces % args->lines;
    place at = {.dy = args->dy_offset, .dx = args->dx_offset};
    at.first = id % args->pieces * args->chunk;
    at.last = min(at.first + args->chunk, (long)entry_of(args->shape, args->rank - 1));
    at.row = id / args->pieces / args->lines * args->rows_each;
    at.end = id < args->items ? min(at.row + args->rows_each, (long)args->rows) : at.row;
    EACH_DOWN(d, 0, (int)args->rank - 1)
    {
        long index;
        TENON_DIVIDE(line, (long)args->shape[d], line, index)
        at.dy += index * args->stride[0][d];
        at.dx += index * args->stride[1][d];
    }
    return at;
}

/* The indices of a row: [first, last) of a list of positions or, without a list, all indices
 * that select the row. */
typedef struct members {
    __global const int *numbers, *indices;
    long first, last;
    int row;
} members;

TENON_INLINE bool is_member(const members *m, const gather_backward_args *args, long i)
{
    return m->numbers != 0 || m->indices[list_at(&args->list, 0, i)] == m->row;
}

TENON_INLINE long dy_at(const members *m, const gather_backward_args *args, long i)
{
    return list_at(&args->list, 1, m->numbers != 0 ? m->numbers[i] : i);
}

TENON_INLINE void add_row(__global const data_t *dy, __global data_t *dx, const members *m,
                          const gather_backward_args *args, const place *at)
{
    const long ds = entry_of(args->stride[0], args->rank - 1),
               xs = entry_of(args->stride[1], args->rank - 1);
    const long to = at->dx + m->row * args->step;
    long c = at->first;
    for (; c + VECTORS * TENON_VW <= at->last; c += VECTORS * TENON_VW) {
        acc_v sum[VECTORS] = {splat(0), splat(0), splat(0), splat(0)};
        for (long i = m->first; i < m->last; i++) {
            if (is_member(m, args, i)) {
                long from = at->dy + dy_at(m, args, i);
                TENON_UNROLL
                for (int v = 0; v < VECTORS; v++) {
                    sum[v] += load_lanes(dy, from + (c + v * TENON_VW) * ds, ds, TENON_VW);
                }
            }
        }
        TENON_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            store_lanes(dx, to + (c + v * TENON_VW) * xs, xs, TENON_VW, sum[v]);
        }
    }
    for (; c < at->last; c += TENON_VW) {
        int lanes = (int)min((long)TENON_VW, at->last - c);
        acc_v sum = splat(0);
        for (long i = m->first; i < m->last; i++) {
            if (is_member(m, args, i)) {
                sum += load_lanes(dy, at->dy + dy_at(m, args, i) + c * ds, ds, lanes);
            }
        }
        store_lanes(dx, to + c * xs, xs, lanes, sum);
    }
}

/* Finds the range from the first to the last index that selects the row, once per row: the loops
 * over vectors then scan only this range. */
TENON_INLINE void find_members(members *m, const gather_backward_args *args)
{
    m->first = m->last = 0;
    for (long i = 0; i < args->list.count; i++) {
        if (is_member(m, args, i)) {
            m->first = m->last == 0 ? i : m->first;
            m->last = i + 1;
        }
    }
}

TENON_VECTOR_KERNEL void backward_scan(__global const data_t *dy, __global const int *indices,
                                       __global data_t *dx, const gather_backward_args args)
{
    place at = place_of(&args);
    members m = {.indices = indices + args.index_offset};
    for (long row = at.row; row < at.end; row++) {
        m.row = (int)row;
        find_members(&m, &args);
        add_row(dy, dx, &m, &args, &at);
    }
}

/* Returns the position of the first of the sorted rows that is not less than `row`. */
TENON_INLINE long first_of(__global const int *rows, long count, long row)
{
    long low = 0, high = count;
    while (low < high) {
        long middle = (low + high) / 2;
        if (rows[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

TENON_VECTOR_KERNEL void backward_sorted(__global const data_t *dy, __global const int *workspace,
                                         __global data_t *dx, const gather_backward_args args)
{
    place at = place_of(&args);
    __global const int *rows = workspace + args.workspace + args.sorted_at;
    members m = {.numbers = rows + args.list.count};
    m.last = at.row < at.end ? first_of(rows, args.list.count, at.row) : 0;
    for (long row = at.row; row < at.end; row++) {
        m.row = (int)row;
        m.first = m.last;
        while (m.last < args.list.count && rows[m.last] == row) {
            m.last++;
        }
        add_row(dy, dx, &m, &args, &at);
    }
}
