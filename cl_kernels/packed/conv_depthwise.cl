/*
 * Depthwise convolution of images with their channels last by filters that have been packed in
 * panels (packed/args.h), for CPUs. Each group has one channel and TENON_SHARE filters. Vectors run
 * along the filters.
 *
 * A work-item computes shape.run rows of a segment of the pixels of a plane (n, o), for shape.chunk
 * filters: shape.slice vectors of filters at a time. PIXELS neighboring results share the loads of
 * taps and of the image. The zeros of the padding are multiplied: an infinite filter element gives
 * NaN there.
 *
 * With TENON_IN_PLACE the image is read in place (packed/depthwise_in_place.clh). Otherwise the
 * rows under a row of results are copied to __local memory (packed/depthwise_copied.clh), as acc_t,
 * with zeros for the padding, and for each filter the channel that it reads. With shape.reuses, a
 * row of the image is copied once for all rows of results under which it lies; with
 * shape.prefetches, the rows of the next ones are prefetched.
 *
 * Global size: {n * o * shape.segments * shape.parts, ceil(filters / chunk), 1}, local size
 * {1, 1, 1}. The channels of x and y are contiguous; c and bias may have any strides.
 *
 * TENON_TAPS: 3, 5 or 7: the taps along w, without dilation; their loop is unrolled. 0: any window.
 * TENON_STEP: with TENON_TAPS: the stride along w, 1 or 2.
 * TENON_SHARE: filters per channel.
 * TENON_PV: vectors per row of a panel.
 * TENON_VW: lanes of a vector.
 * TENON_IN_PLACE: 1: the image is read in place. This requires TENON_TAPS, one filter per channel,
 *   whole vectors of filters, rows in one segment, and in a row of results, the last tap along w of
 *   the first one and the first tap of the last one in the image.
 * TENON_STRIP: otherwise: elements of the copied rows: a multiple of VW.
 * TENON_BUILTIN_PREFETCH: see packed/tile.clh.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD, TENON_POST: see common/types.clh,
 * common/activation.clh and conv/post.clh.
 */
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_STEP
#define TENON_STEP 1
#endif
#ifndef TENON_SHARE
#define TENON_SHARE 1
#endif
#ifndef TENON_PV
#define TENON_PV 2
#endif
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_STRIP
#define TENON_STRIP 8192
#endif
#ifndef TENON_IN_PLACE
#define TENON_IN_PLACE 0
#endif
#ifndef TENON_BUILTIN_PREFETCH
#define TENON_BUILTIN_PREFETCH 0
#endif
#include "packed/depthwise_results.clh" /* first: a file is included once */

#if TENON_IN_PLACE
#include "packed/depthwise_in_place.clh"
#else
#include "packed/depthwise_copied.clh"
#endif

/* Returns the part of work-item `number` of a block of filters that begins with k0. */
TENON_INLINE packed_part find_part(const packed_depthwise_args *args, long number, long k0)
{
    const conv_window *v = &args->conv.window;
    packed_part part;
    part.p0 = cut_index(&number, args->shape.parts) * args->shape.run;
    part.p1 = min(part.p0 + args->shape.run, (long)v->out[1]);
    part.q = cut_index(&number, args->shape.segments) * args->shape.segment;
    part.count = min((long)args->shape.segment, v->out[2] - part.q);
    part.o = cut_index(&number, v->out[0]);
    part.n = number;
    part.k0 = k0;
    part.k1 = min(k0 + args->shape.chunk, (long)args->shape.filters);
    return part;
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_conv_depthwise(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                      __global const data_t *bias, __global data_t *y,
                      CONV_POST_POINTERS const packed_depthwise_args args)
{
#if !TENON_IN_PLACE
    __local acc_v rows[TENON_STRIP / TENON_VW];
#endif
    const conv_args *a = &args.conv;
    const packed_part part =
        find_part(&args, get_global_id(0), (long)get_global_id(1) * args.shape.chunk);
    packed_operands o;
    o.x = x + a->x_offset;
    o.w = w + a->w_offset;
    o.c = c + a->c_offset;
    o.bias = bias + a->bias_offset;
#if TENON_POST
    o.post_scale = post_scale + a->post_scale_offset;
    o.post_shift = post_shift + a->post_shift_offset;
    o.residual = residual + a->residual_offset;
#endif
    o.y = y + a->y_offset;
    o.activation.kind = a->activation;
    o.activation.alpha = TENON_FROM_BITS(a->act_alpha);
    o.activation.beta = TENON_FROM_BITS(a->act_beta);
    o.finishes = can_finish(&o, a);
#if TENON_IN_PLACE
    do_part(&o, &args, &part);
#else
    do_part(&o, &args, &part, rows);
#endif
}
