/*
 * The filters' transform for conv/forward/winograd.cl, where it is done once for all tiles.
 *
 * Global size: {panels, ceil(c / part), groups}, local size {1, 1, 1}. Macros:
 * conv/forward/winograd.clh and common/types.clh.
 */
#include "conv/forward/winograd_filter.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_winograd_filter(__global const data_t *w, __global acc_t *u, const winograd_filter_args args)
{
    const long panel = (long)get_global_id(0), group = (long)get_global_id(2);
    const long c0 = (long)get_global_id(1) * args.part,
               c1 = min(c0 + args.part, (long)args.filters.c);
    u += args.u_offset + group * args.group + panel * args.panel + c0 * PANEL;
    transform_filters(w + args.w_offset, &args.filters, group, panel, c0, c1, u, args.point);
}
