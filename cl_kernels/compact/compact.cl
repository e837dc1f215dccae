/*
 * Compaction: the elements of x, and their indices, where the mask is not zero. The mask is divided
 * into blocks of args.length elements in row-major order.
 *
 * compact_counts: counts the selected elements of a block. Global size: at least {blocks}.
 * compact_write: stores those of a block after those of the blocks before it, and a share of the
 *   rest of the outputs. With a single block no counts are read. Global size: at least {blocks}.
 *
 * TENON_KEY: see compact/mask.clh.
 */
#include "compact/mask.clh"

TENON_KERNEL void compact_counts(__global const mask_t *mask, __global int *workspace,
                                 const compact_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.blocks) {
        return;
    }
    const long last = min((id + 1) * args.length, (long)args.elements);
    const long step = entry_of(args.stride[COMPACT_MASK], (int)args.rank - 1);
    int count = 0;
    for (long i = id * args.length; i < last;) {
        const run r = run_of(&args, i, last);
        __global const mask_t *line = mask + r.at[COMPACT_MASK];
        for (long e = 0; e < r.count; e++) {
            count += is_selected(line[e * step], &args);
        }
        i += r.count;
    }
    workspace[args.workspace + id] = count;
}

/* Pointers to the outputs. */
typedef struct compact_outputs {
    __global uchar *y;
    __global int *indices;
} compact_outputs;

#include "compact/copy.clh"

/* Writes element i, which is at `x`, as selected element `to`. */
TENON_INLINE void put_selected(const compact_outputs *out, const compact_args *args,
                               __global const uchar *x, long i, long to)
{
    __global int *index = out->indices + to * args->step[1];
    if (args->flags & COMPACT_HAS_X) {
        copy_element(x, out->y + to * args->step[0] * args->size, args->size);
    }
    if (args->flags & COMPACT_COORDINATES) {
        EACH_DOWN(d, 0, (int)args->dimensions)
        {
            long rest, own;
            TENON_DIVIDE(i, (long)args->sizes[d], rest, own)
            index[d * args->coordinate_step] = (int)own;
            i = rest;
        }
    } else if (args->flags & COMPACT_HAS_INDICES) {
        *index = (int)i;
    }
}

/* Writes the rest of the outputs: elements [first, last). */
TENON_INLINE void put_rest(const compact_outputs *out, const compact_args *args, long first,
                           long last)
{
    const long coordinates = args->flags & COMPACT_COORDINATES ? args->dimensions : 1;
    for (long to = first; to < last; to++) {
        if (args->flags & COMPACT_HAS_X) {
            __global uchar *element = out->y + to * args->step[0] * args->size;
            for (int b = 0; b < args->size; b++) {
                element[b] = 0;
            }
        }
        if (args->flags & COMPACT_HAS_INDICES) {
            for (long d = 0; d < coordinates; d++) {
                out->indices[to * args->step[1] + d * args->coordinate_step] = -1;
            }
        }
    }
}

/* Writes the selected elements of a block from place `to` on. Returns the next place. */
TENON_INLINE long write_block(__global const mask_t *mask, __global const uchar *x,
                              const compact_outputs *out, const compact_args *args, long block,
                              long to)
{
    const long last = min((block + 1) * args->length, (long)args->elements);
    const long step = entry_of(args->stride[COMPACT_MASK], (int)args->rank - 1),
               x_step = entry_of(args->stride[COMPACT_X], (int)args->rank - 1) * args->size;
    for (long i = block * args->length; i < last;) {
        const run r = run_of(args, i, last);
        __global const mask_t *line = mask + r.at[COMPACT_MASK];
        __global const uchar *x_line = x + r.at[COMPACT_X] * args->size;
        for (long e = 0; e < r.count; e++) {
            if (is_selected(line[e * step], args)) {
                if (to < args->capacity) {
                    put_selected(out, args, x_line + e * x_step, i + e, to);
                }
                to++;
            }
        }
        i += r.count;
    }
    return to;
}

TENON_KERNEL void compact_write(__global const mask_t *mask, __global const uchar *x,
                                __global uchar *y, __global int *indices, __global int *count,
                                __global const int *workspace, const compact_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.blocks) {
        return;
    }
    const compact_outputs out = {y + args.offset[COMPACT_Y] * args.size,
                                 indices + args.offset[COMPACT_INDICES]};
    long before = 0, total = 0;
    if (args.blocks > 1) {
        for (long b = 0; b < args.blocks; b++) {
            before += b < id ? workspace[args.workspace + b] : 0;
            total += workspace[args.workspace + b];
        }
    }
    const long next = write_block(mask, x, &out, &args, id, before);
    total = args.blocks > 1 ? total : next;
    if (id == 0) {
        count[args.offset[COMPACT_COUNT]] = (int)total;
    }
    const long rest = max((long)args.capacity - total, 0L);
    const long share = (rest + args.blocks - 1) / args.blocks;
    const long first = min(total + id * share, (long)args.capacity);
    put_rest(&out, &args, first, min(first + share, (long)args.capacity));
}
