/* Arguments of the kernels that gather one factor of a product from an image
 * (conv/implicit_tiled.clh). */
#ifndef TENON_CONV_IMPLICIT_ARGS_H
#define TENON_CONV_IMPLICIT_ARGS_H

#include "gemm/args.h"

/* What the product's k, or its columns, count: images or channels, and a place in each of three
 * dimensions. Strides are in elements; those of the gathered image are taken modulo 2^32, so that
 * they may lead before its first element on the way to one within. */
typedef struct conv_side {
    tenon_i32 count[4];
    tenon_i32 image[4]; /* strides in the gathered image */
    tenon_i32 other[4]; /* for k those in a, for columns those in d */
    tenon_i32 position[3],
        start[3]; /* of the image, that a place stands for: start + i * position */
    tenon_i32 image_shift, other_shift;
} conv_side;

/* Local memory beside the blocks, in bytes: a column's entries in the tables `points` and
 * `targets`; a step's in `steps` and `a_at`, of which there are two, and `digits`; and room for a
 * conv_part. */
#define CONV_COLUMN_BYTES (16 + 8)
#define CONV_STEP_BYTES   (2 * 16 + 2 * 4 + 16)
#define CONV_PART_BYTES   256

typedef struct conv_tiled_args {
    gemm_args gemm; /* a's, c's, bias's and d's rows and groups; of b, its groups alone */
    conv_side depth, columns;
    tenon_i32 res[4];     /* of c, along what columns count */
    tenon_i32 size[3];    /* of the gathered image */
    tenon_i32 row_blocks; /* work-groups along m */
    tenon_i32 slice;      /* of k, that a work-group sums */
    tenon_i32 a_along_k;  /* 1: neighbouring work-items read a along k, otherwise along m */
    tenon_i32 d_along_m;  /* 1: they write d along m, otherwise along n */
    tenon_i32 aligned;    /* 1: runs of the image are aligned wherever its first element is */
    /* For gradients of the image, which columns count: the convolution's. Its outputs are then the
     * gathered image, whose strides and those of w and of the written image lie in depth.image,
     * depth.other and columns.other. */
    tenon_i32 stride[3], dilation[3], first[3], filter[3];
    tenon_i32 phases[3];      /* sub-filters: a position belongs to one by its remainder */
    tenon_i32 tap[3], out[3]; /* as in conv_subfilter */
    tenon_i32 whole[3];       /* of the written image */
} conv_tiled_args;

#endif
