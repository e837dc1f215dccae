/*
 * Gathers filters of any strides into a dense k × (c, r, s) matrix. One work-item an element; the
 * global size may be larger. TENON_DTYPE: see common/types.clh.
 */
#include "common/types.clh"
#include "conv/args.h"

__kernel void pack_filter(__global const data_t *w, __global data_t *packed,
                          const pack_filter_args args)
{
    long i = (long)get_global_id(0);
    if (i >= args.elements) {
        return;
    }
    long s = i % args.s, r = i / args.s % args.r, c = i / (args.s * args.r) % args.c;
    long k = i / (args.s * args.r * args.c);
    store_data(
        packed, args.packed_offset + i,
        load_data(w, args.w_offset + k * args.w_k + c * args.w_c + r * args.w_r + s * args.w_s));
}
