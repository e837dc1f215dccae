/* Arguments of conv/forward/winograd_gemm.cl. Sizes and strides are in elements: of the tensor's
 * type, or, in the workspace, of the accumulator type. */
#ifndef TENON_CONV_FORWARD_WINOGRAD_GEMM_ARGS_H
#define TENON_CONV_FORWARD_WINOGRAD_GEMM_ARGS_H

#include "conv/args.h"

/* A matrix for each point, with a row for each channel, or filter, of all groups and a column
 * for each tile of the set. */
typedef struct winograd_matrix {
    tenon_i64 at; /* offset in the workspace */
    tenon_i64 point, row, tile;
} winograd_matrix;

typedef struct winograd_gemm_args {
    conv_args conv;
    tenon_i64 work_offset;
    tenon_i64 u_point;           /* transformed filters u[point][filter][channel], at the start */
    winograd_matrix v, m;        /* transformed tiles; products */
    tenon_i64 channels, filters; /* of all groups */
    tenon_i32 tiles[2];          /* per image, along h and w */
    tenon_i32 first, count;      /* tiles of the set, among those of all images */
} winograd_gemm_args;

#endif
