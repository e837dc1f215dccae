/* Arguments of the sort kernels. Offsets and strides are in elements, except for the workspace. */
#ifndef TENON_SORT_ARGS_H
#define TENON_SORT_ARGS_H

#include "common/axis_args.h"

/* The views of axis_args. */
enum { SORT_X, SORT_Y, SORT_INDICES, SORT_PAYLOAD, SORT_MOVED, SORT_VIEWS };

/* Flags: operands that are present; the first pass of a radix sort, which reads x, and the last
 * one, which writes the results; a search that skips equal elements. */
#define SORT_HAS_INDICES 1
#define SORT_HAS_PAYLOAD 2
#define SORT_FIRST       4
#define SORT_LAST        8
#define SORT_RIGHT       16
/* Passes that read or write y, and the indices, instead of the workspace. */
#define SORT_FROM_RESULTS 32
#define SORT_TO_RESULTS   64

/* Passes that skip rows that are not uneven (buckets.cl). */
#define SORT_UNEVEN_ROWS 128

/* Bytes of a row's division into buckets, and the member that tells whether the row is uneven, in
 * elements of 4 bytes. */
#define SORT_DIVISION_BYTES  1408
#define SORT_DIVISION_UNEVEN 4

/* Values of a digit of the radix sort. */
#define SORT_DIGITS 256

/* The bits of a digit of the sort of elements in a cache (cached.clh); and the elements of which
 * fewer have narrower digits, whose counts must not take longer than themselves. */
#define SORT_CACHED_BITS     11
#define SORT_CACHED_BITS_FEW 8
#define SORT_CACHED_FEW      8192

/* Rows of at most this many elements are kept in private memory on CPUs. */
#define SORT_SHORT 256

/* On CPUs, SORT_LANES rows with at most this many results are selected together. */
#define SORT_FEW   32
#define SORT_LANES 16

typedef struct sort_args {
    axis_args axis;
    tenon_i64 limit;  /* number of sorted elements of a row that are written */
    tenon_i64 pieces; /* of a row */
    tenon_i64 length; /* elements of a piece */
    tenon_i64 each;   /* rows per work-item */
    /* How bits are converted to keys whose unsigned order is that of the elements (keys.clh). */
    tenon_i64 sign, negative_zero, flip, infinity, toggle, last;
    tenon_i64 workspace; /* start of the workspace; like the following, in bytes */
    tenon_i64 keys_from, keys_to;
    tenon_i64 places_from, places_to;
    tenon_i64 counts_at, totals_at;
    /* Of the buckets of long rows (buckets.cl): the memory of the rows, and its bytes per row; the
     * sampled elements, intervals and buckets of a row; the elements of a bucket for which there is
     * memory in the caches, and those that a bucket may have if it is sorted in y. */
    tenon_i64 rows_at, row_bytes;
    tenon_i64 samples, intervals, buckets, room, most;
    tenon_i32 shift; /* of the digit */
    tenon_i32 flags;
    tenon_i32 payload_size; /* bytes of an element */
    tenon_i32 reserved;
} sort_args;

#endif
