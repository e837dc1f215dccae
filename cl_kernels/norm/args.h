/*
 * Arguments of the normalization kernels.
 *
 * Each launch has its own order of dimensions. The first `kept` ones index the sets, each of which
 * is normalized separately (for the gradients of gamma and beta: the parameters); the kernel sums
 * over the rest. All operands have all dimensions, with stride 0 where they are broadcast.
 */
#ifndef TENON_NORM_ARGS_H
#define TENON_NORM_ARGS_H

#include "common/team_args.h"

/* Operand numbers in norm_args; the last four differ between forward and backward. */
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
#define NORM_DGAMMA           6 /* if the gradient of x reads the sums of sets: the first sum */
#define NORM_DBETA            7 /* likewise, the second sum */
#define NORM_VIEWS            8

/* Flags. A present operand has the flag NORM_HAS(number). */
#define NORM_HAS(view) (1 << (view))
#define NORM_CENTERED  (1 << 8)  /* the mean is subtracted: not RMS normalization */
#define NORM_GIVEN     (1 << 9)  /* statistics are given and do not depend on x */
#define NORM_WEIGHTED  (1 << 10) /* gamma varies within a set, and weights its sums */
#define NORM_TO_WORK   (1 << 11) /* sums are written to the workspace, per piece */

/* Maximum numbers of pieces and parts of a set, and of additions to a sum before it is added to
 * the total. The error bounds in docs/numerics.md depend on them. */
#define NORM_MOST_PIECES 256
#define NORM_MOST_PARTS  64
#define NORM_BLOCK       256

typedef struct norm_args {
    tenon_i64 offset[NORM_VIEWS]; /* elements */
    tenon_i64 stride[NORM_VIEWS][8];
    tenon_i64 shape[8];
    tenon_i64 length, along[NORM_VIEWS]; /* of the last dimension: size and strides */
    tenon_i64 count;                     /* elements per set */
    tenon_i64 sets;
    tenon_i64 parts;        /* neighboring entries of the workspace that belong to one set */
    tenon_i64 chunk;        /* sets per work-item, one after the other */
    tenon_i64 lines;        /* product of the summed sizes except the last */
    tenon_i64 lines_each;   /* per piece */
    tenon_i64 inner_pieces; /* pieces per line; piece p has units from p * first on, */
    tenon_i64 first;        /* within `span` units, every `step`th */
    tenon_i64 span;
    tenon_i64 step;
    tenon_i64 pieces;   /* per set */
    tenon_i64 items;    /* work-items that have work */
    tenon_i64 work;     /* offset of the workspace, in acc_t */
    tenon_i64 epsilon;  /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 momentum; /* likewise */
    tenon_i32 kept;
    tenon_i32 rank; /* greater than kept, at most 8 */
    tenon_i32 flags;
    tenon_i32 columns; /* TENON_COLUMNS of the kernel; a run-time argument for teams */
    team_way way;      /* iteration of a team over a set */
} norm_args;

#endif
