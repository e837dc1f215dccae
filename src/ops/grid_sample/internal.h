/* Internal interface of the grid sampling family. */
#ifndef TN_OPS_GRID_SAMPLE_INTERNAL_H
#define TN_OPS_GRID_SAMPLE_INTERNAL_H

#include "grid_sample/args.h"
#include "ops/common/epilogue.h"
#include "ops/common/images.h"

#include <tenon/grid_sample.h>

enum { GRID_X, GRID_PLACES, GRID_Y, GRID_OPERANDS };

/* Operands of the gradient. */
enum {
    GRID_BACKWARD_X,
    GRID_BACKWARD_PLACES,
    GRID_DY,
    GRID_DX,
    GRID_DPLACES,
    GRID_BACKWARD_OPERANDS
};

/* The canonical problem. Images have three spatial dimensions, of which the first is absent if
 * `dims` is 2. */
typedef struct grid_problem {
    tn_problem head;
    uint32_t dtype, flags;  /* GRID_ALIGNED, GRID_WIDE */
    uint32_t mode, padding; /* GRID_* of grid_sample/args.h */
    uint64_t dims;
    int64_t images, channels;
    int64_t size[3], out[3];     /* of x and of y */
    int64_t x[5], grid[5], y[5]; /* strides */
} grid_problem;

/* The canonical problem of the gradient: y is dy. */
typedef struct grid_backward_problem {
    grid_problem forward;
    uint64_t has_dx, has_dgrid;
    int64_t dx[5], dgrid[5];
} grid_backward_problem;

extern const tn_family tn_grid_sample_family, tn_grid_sample_backward_family;
extern const tn_solver tn_grid_sample_items, tn_grid_sample_backward_bands;

/* The views of a call, with the names of x and y. */
typedef struct grid_views {
    const char *x_name, *y_name;
    const tenon_tensor *x, *grid, *y;
} grid_views;

/* Checks the parameters and the views of a call, and writes the problem. */
tenon_status tn_grid_take(const tn_call *call, const tenon_grid_sample_params *params,
                          const grid_views *views, grid_problem *p);

/* Writes the strides of a grid. */
void tn_grid_strides(int64_t to[5], const tenon_tensor *grid);

/* Returns the arguments of the kernels, without the count and the shares of work-items. */
grid_args tn_grid_arguments(const grid_problem *p);

/* Bits for the mode, the padding, the dimensions and the flags. */
uint64_t tn_grid_paths(const tn_problem *problem);

/* A place along one dimension, in elements, and the error of a device's. */
typedef struct grid_place {
    double at, error;
} grid_place;

/* Finds a place along d, h and w from its coordinates in the grid. The first of two dimensions is
 * exact. */
void tn_grid_find_place(const tenon_grid_sample_params *params, const double *coordinates,
                        uint32_t dims, const int64_t size[3], double roundoff, grid_place at[3]);

/* Returns the index of an element of the padded image; -1 for a zero. */
int64_t tn_grid_element(const int64_t given[3], const int64_t size[3],
                        const tenon_grid_sample_params *params);

/* Returns the weight of an element at a distance from a place, in the modes linear and cubic. */
double tn_grid_filter(uint32_t mode, double distance);

/* Returns the sizes of three spatial dimensions. */
void tn_grid_sizes(const tenon_tensor *view, int64_t size[3]);

/* Writes the parameters and views of an awkward case like a problem. */
void tn_grid_awkward_views(const grid_problem *like, tenon_grid_sample_params *params,
                           tenon_tensor *x, tenon_tensor *grid, tenon_tensor *y);

/* The roundings of interpolations and of their sums of products, in roundoffs. */
#define GRID_LINEAR_ROUNDINGS 16
#define GRID_CUBIC_ROUNDINGS  300

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_grid_sample_prepare, tn_grid_sample_backward_prepare;
tn_reference_function tn_grid_sample_reference, tn_grid_sample_backward_reference;
tn_fill_function tn_grid_sample_fill_valid, tn_grid_sample_backward_fill_valid;
tn_awkward_function tn_grid_sample_awkward, tn_grid_sample_backward_awkward;

#endif
