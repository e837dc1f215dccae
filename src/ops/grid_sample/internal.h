/* Internal interface of the grid sampling family. */
#ifndef TN_OPS_GRID_SAMPLE_INTERNAL_H
#define TN_OPS_GRID_SAMPLE_INTERNAL_H

#include "grid_sample/args.h"
#include "ops/common/epilogue.h"
#include "ops/common/images.h"

#include <tenon/grid_sample.h>

enum { GRID_X, GRID_PLACES, GRID_Y, GRID_OPERANDS };

/* The canonical problem. */
typedef struct grid_problem {
    tn_problem head;
    uint32_t dtype, flags;  /* GRID_ALIGNED, GRID_WIDE */
    uint32_t mode, padding; /* GRID_* of grid_sample/args.h */
    int64_t images, channels;
    int64_t size[2], out[2];     /* h and w of x and of y */
    int64_t x[4], grid[4], y[4]; /* strides */
} grid_problem;

extern const tn_family tn_grid_sample_family;
extern const tn_solver tn_grid_sample_items;

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_grid_sample_prepare;
tn_reference_function tn_grid_sample_reference;
tn_fill_function tn_grid_sample_fill_valid;
tn_awkward_function tn_grid_sample_awkward;

#endif
