/* Arguments of the kernels of normalization.
 *
 * A launch sees the elements in its own order of dimensions: the first `kept` ones number the sets
 * (for the gradients of gamma and beta: the parameters), the rest are summed over. All operands run
 * over these dimensions, with stride 0 where they repeat. */
#ifndef TENON_NORM_ARGS_H
#define TENON_NORM_ARGS_H

#include "common/team_args.h"

/* The operands by their number in norm_args; the last four differ between the directions. */
#define NORM_X                0
#define NORM_GAMMA            1
#define NORM_MEAN             2
#define NORM_RSTD             3 /* with NORM_GIVEN the variance */
#define NORM_Y                4
#define NORM_BETA             5
#define NORM_RUNNING_MEAN     6
#define NORM_RUNNING_VARIANCE 7
#define NORM_DX               4
#define NORM_DY               5
#define NORM_DGAMMA           6 /* where the gradient of x reads sums of sets: the first */
#define NORM_DBETA            7 /* likewise, the second */
#define NORM_VIEWS            8

/* Flags. An operand that is there has the flag NORM_HAS(number). */
#define NORM_HAS(view) (1 << (view))
#define NORM_CENTERED  (1 << 8)  /* the mean counts: not RMS */
#define NORM_GIVEN     (1 << 9)  /* statistics are given and do not depend on x */
#define NORM_WEIGHTED  (1 << 10) /* gamma varies within a set, and weighs its sums */
#define NORM_TO_WORK   (1 << 11) /* sums go to the workspace, in pieces */

/* The most pieces and parts of a set, and the additions after which a sum starts afresh.
 * docs/numerics.md counts on them. */
#define NORM_MOST_PIECES 256
#define NORM_MOST_PARTS  64
#define NORM_BLOCK       256

typedef struct norm_args {
    tenon_i64 offset[NORM_VIEWS]; /* elements */
    tenon_i64 stride[NORM_VIEWS][8];
    tenon_i64 shape[8];
    tenon_i64 length, along[NORM_VIEWS]; /* of the last dimension: its size, the strides */
    tenon_i64 count;                     /* elements of a set */
    tenon_i64 sets;
    tenon_i64 parts;        /* a set's sums lie in the workspace in so many neighbouring parts */
    tenon_i64 chunk;        /* sets of a work-item, one after the other */
    tenon_i64 lines;        /* what is summed over but for its last dimension */
    tenon_i64 lines_each;   /* of a piece */
    tenon_i64 inner_pieces; /* pieces of a line; piece p has its units from p * first on, */
    tenon_i64 first;        /* at most `span` further, every `step`th */
    tenon_i64 span;
    tenon_i64 step;
    tenon_i64 pieces;   /* of a set */
    tenon_i64 items;    /* work-items that have something to do */
    tenon_i64 work;     /* the workspace's offset, in acc_t */
    tenon_i64 epsilon;  /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 momentum; /* likewise */
    tenon_i32 kept;
    tenon_i32 rank; /* above kept, at most 8 */
    tenon_i32 flags;
    tenon_i32 columns; /* TENON_COLUMNS of the kernel; teams ask when they run */
    team_way way;      /* of a team that does a set */
} norm_args;

#endif
