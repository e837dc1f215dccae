/* Arguments of reductions: every index of the kept dimensions (a row) gives one result, which is
 * computed from the elements along the reduced dimensions. */
#ifndef TENON_COMMON_REDUCTION_ARGS_H
#define TENON_COMMON_REDUCTION_ARGS_H

#include "common/team_args.h"

/* Indices of the tensors. A second input has the reduced dimensions as well. */
#define REDUCTION_X      0
#define REDUCTION_T      1
#define REDUCTION_Y      2
#define REDUCTION_MEANS  3
#define REDUCTION_VIEWS  4
#define REDUCTION_INPUTS 2

/* The kind of reduction: the numbers of tenon_reduce_kind, and one more. */
#define REDUCTION_SUM           0
#define REDUCTION_MEAN          1
#define REDUCTION_MAX           2
#define REDUCTION_MIN           3
#define REDUCTION_ARGMAX        4
#define REDUCTION_ARGMIN        5
#define REDUCTION_SUM_SQUARES   6
#define REDUCTION_NORM          7
#define REDUCTION_VARIANCE      8
#define REDUCTION_SQUARED_ERROR 9

/* Kinds of the variant REDUCTION_COUNT. */
#define REDUCTION_ANY   10 /* 1 if an element is not zero */
#define REDUCTION_ALL   11 /* 1 if no element is zero */
#define REDUCTION_TOTAL 12 /* the number of elements that are not zero */

/* Variants of the kinds, which have builds of their own (REDUCTION_VARIANT). */
#define REDUCTION_PLAIN       0
#define REDUCTION_ABS         1 /* of the absolute values: sum, maximum */
#define REDUCTION_PRODUCT     2 /* the product: sum */
#define REDUCTION_LAST        3 /* the last of equal elements: positions */
#define REDUCTION_LOG_SUM_EXP 4 /* the logarithm of the sum of the exponentials: maximum */
#define REDUCTION_COUNT       5 /* of elements that are not zero, of any type */

/* Bits of args.flags. */
#define REDUCTION_WIDE      1 /* y and the means hold acc_t instead of the type of x */
#define REDUCTION_HAS_MEANS 2 /* the means of a variance are returned as well */

/* Stages of the work, one per launch. */
#define REDUCTION_WHOLE   0 /* whole rows */
#define REDUCTION_PARTIAL 1 /* pieces of rows; for a variance, sums for its means */
#define REDUCTION_SQUARES 2 /* pieces of rows; for a variance, squares about the means */

typedef struct reduction_args {
    tenon_i64 offset[REDUCTION_VIEWS]; /* elements */
    tenon_i64 kept_stride[REDUCTION_VIEWS][8];
    tenon_i64 kept_shape[8];
    tenon_i64 stride[REDUCTION_INPUTS][8];
    tenon_i64 shape[8];
    tenon_i64 size;            /* elements of a row: the product of `shape` */
    tenon_i64 count;           /* rows: the product of `kept_shape` */
    tenon_i64 chunk;           /* rows per work-item */
    tenon_i64 run;             /* consecutive elements of a row that a piece has at a time */
    tenon_i64 pieces;          /* per row */
    tenon_i64 partials;        /* start of the workspace, in acc_t */
    tenon_i64 divisor;         /* divisor of a mean or a variance */
    tenon_i64 scale;           /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i32 kept_rank, rank; /* at least 1 each */
    tenon_i32 kind, flags, stage;
    tenon_i32 across; /* teams: consecutive rows, not elements of a row, are neighbors in memory */
    team_way way;     /* iteration of a team over a row */
} reduction_args;

#endif
