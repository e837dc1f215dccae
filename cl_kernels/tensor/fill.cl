/*
 * Sets the elements of a strided view to one value. One work-item per element; the global size may
 * be larger.
 *
 * ELEMENT_SIZE: bytes of an element: 1, 2, 4 or 8.
 */
#include "tensor/args.h"

#include "common/dimensions.clh"

#ifndef ELEMENT_SIZE
#define ELEMENT_SIZE 4
#endif
#if ELEMENT_SIZE == 1
typedef uchar element_t;
#elif ELEMENT_SIZE == 2
typedef ushort element_t;
#elif ELEMENT_SIZE == 4
typedef uint element_t;
#else
typedef ulong element_t;
#endif

TENON_KERNEL void fill(__global element_t *data, const fill_args args)
{
    long rest = (long)get_global_id(0);
    if (rest >= args.elements)
        return;
    long at = args.offset;
    EACH_DOWN(d, 0, args.rank)
    {
        long index;
        TENON_DIVIDE(rest, (long)args.shape[d], rest, index)
        at += index * args.stride[d];
    }
    data[at] = (element_t)args.value;
}
