/* Copies filters with any strides to a dense k × (c, t, r, s) matrix. One work-item per element;
 * the global size may be larger. TENON_DTYPE: see common/types.clh. */
#include "conv/window.clh"

TENON_KERNEL void pack_filter(__global const data_t *w, __global data_t *packed,
                              const pack_filter_args args)
{
    long i = (long)get_global_id(0);
    if (i >= args.elements) {
        return;
    }
    long at = i;
    long s = cut_index(&at, args.filter[2]), r = cut_index(&at, args.filter[1]);
    long t = cut_index(&at, args.filter[0]), c = cut_index(&at, args.c), k = at;
    store_data(packed, args.packed_offset + i,
               load_data(w, args.w_offset + k * args.w_stride[0] + c * args.w_stride[1] +
                                t * args.w_stride[2] + r * args.w_stride[3] +
                                s * args.w_stride[4]));
}
