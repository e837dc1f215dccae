/*
 * Masked put: the elements of a tensor (x of compact_args) where the mask is not zero are replaced
 * by those of a line (y of compact_args), one after the other. The mask is divided into blocks as
 * by compact/compact.cl, whose kernel counts the selected elements of each block.
 *
 * compact_put: replaces the elements of a block, as far as the line has args.capacity elements.
 * With a single block no counts are read. Global size: at least {blocks}.
 *
 * TENON_KEY: see compact/mask.clh.
 */
#include "compact/copy.clh"
#include "compact/mask.clh"

TENON_KERNEL void compact_put(__global const mask_t *mask, __global uchar *x,
                              __global const uchar *line, __global const int *workspace,
                              const compact_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.blocks) {
        return;
    }
    long from = 0;
    for (long b = 0; b < id; b++) {
        from += workspace[args.workspace + b];
    }
    const long last = min((id + 1) * args.length, (long)args.elements);
    const long step = entry_of(args.stride[COMPACT_MASK], (int)args.rank - 1),
               x_step = entry_of(args.stride[COMPACT_X], (int)args.rank - 1);
    for (long i = id * args.length; i < last && from < args.capacity;) {
        const run r = run_of(&args, i, last);
        __global const mask_t *own = mask + r.at[COMPACT_MASK];
        for (long e = 0; e < r.count; e++) {
            if (is_selected(own[e * step], &args)) {
                if (from < args.capacity) {
                    copy_element(line + (args.offset[COMPACT_Y] + from * args.step[0]) * args.size,
                                 x + (r.at[COMPACT_X] + e * x_step) * args.size, args.size);
                }
                from++;
            }
        }
        i += r.count;
    }
}
