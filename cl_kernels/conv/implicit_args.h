/* Arguments of the kernels that gather one factor of a product from an image
 * (conv/implicit_tiled.clh). */
#ifndef TENON_CONV_IMPLICIT_ARGS_H
#define TENON_CONV_IMPLICIT_ARGS_H

#include "gemm/args.h"

/* The index space of the product's k, or of its columns: images or channels, and a position in
 * each of three dimensions. Strides are in elements. Strides in the gathered image are computed
 * modulo 2^32: intermediate sums may point before its first element. */
typedef struct conv_side {
    tenon_i32 count[4];
    tenon_i32 image[4]; /* strides in the gathered image */
    tenon_i32 other[4]; /* for k: strides in a; for columns: strides in d */
    tenon_i32 position[3],
        start[3]; /* position in the gathered image of index i: start + i * position */
    tenon_i32 image_shift, other_shift;
} conv_side;

/* Local memory in addition to the blocks, in bytes: per column, the entries of the tables
 * `points` and `targets`; per step, the entries of `steps` and `a_at`, of which there are two,
 * and of `digits`; and the size of a conv_part. */
#define CONV_COLUMN_BYTES (16 + 8)
#define CONV_STEP_BYTES   (2 * 16 + 2 * 4 + 16)
#define CONV_PART_BYTES   256

typedef struct conv_tiled_args {
    gemm_args gemm; /* rows and groups of a, c, bias and d; of b, only its groups */
    conv_side depth, columns;
    tenon_i32 res[4];     /* strides of c along the index space of the columns */
    tenon_i32 size[3];    /* of the gathered image */
    tenon_i32 row_blocks; /* work-groups along m */
    tenon_i32 slice;      /* steps of k per work-group */
    tenon_i32 a_along_k;  /* 1: neighboring work-items read a along k, otherwise along m */
    tenon_i32 d_along_m;  /* 1: neighboring work-items write d along m, otherwise along n */
    tenon_i32 aligned;    /* 1: runs of the image are aligned if its first element is */
    /* The geometry of the convolution, for gradients of the image, whose pixels are the columns.
     * The gathered image is then the convolution's output. Its strides are in depth.image, those
     * of w in depth.other, and those of the result in columns.other. */
    tenon_i32 stride[3], dilation[3], first[3], filter[3];
    tenon_i32 phases[3];      /* sub-filters: a position's remainder selects one */
    tenon_i32 tap[3], out[3]; /* as in conv_subfilter */
    tenon_i32 whole[3];       /* size of the result */
} conv_tiled_args;

#endif
