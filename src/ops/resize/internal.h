/* Internal interface of the resize families. The gradient is a family of its own. */
#ifndef TN_OPS_RESIZE_INTERNAL_H
#define TN_OPS_RESIZE_INTERNAL_H

#include "ops/common/epilogue.h"
#include "ops/common/images.h"
#include "resize/args.h"

#include <tenon/resize.h>

enum { RESIZE_X, RESIZE_Y, RESIZE_OPERANDS };
enum { RESIZE_BACKWARD_DY, RESIZE_BACKWARD_DX, RESIZE_BACKWARD_OPERANDS };

/* Scalars of a run. */
enum { RESIZE_SCALAR_CUBIC, RESIZE_SCALAR_EXTRAPOLATION };

/* N, C and three spatial dimensions. */
#define RESIZE_RANK TN_IMAGE_RANK

/* The largest size along a spatial dimension. */
#define RESIZE_MOST (INT64_C(1) << 28)

/* A number as an integer and a fraction, which is multiplied by 2^64. */
typedef struct resize_fixed {
    int64_t whole;
    uint64_t rest;
} resize_fixed;

/* The map of one dimension: see resize_axis in resize/args.h. */
typedef struct resize_map {
    resize_fixed step, start;
    double scale; /* factor of distances in the filter */
    int64_t taps, before;
    uint64_t is_normalized;
} resize_map;

/* The canonical problem, in either direction, with three spatial dimensions. Those that the
 * caller's images lack come first and have one element. */
typedef struct resize_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t mode;     /* tenon_resize_mode */
    uint32_t rounding; /* tenon_resize_rounding; 0 for other modes than nearest */
    uint32_t flags;    /* RESIZE_* of resize/args.h */
    uint64_t is_backward;
    int64_t n, c;
    int64_t in[3], out[3];
    resize_map map[3];
    int64_t x[RESIZE_RANK]; /* strides of x or dx */
    int64_t y[RESIZE_RANK]; /* of y or dy */
} resize_problem;

extern const tn_family tn_resize_family, tn_resize_backward_family;
extern const tn_solver tn_resize_items, tn_resize_rows;
extern const tn_solver tn_resize_backward_items, tn_resize_backward_rows;

/* Views with the names that the caller knows them by: x and y, or dx and dy. */
typedef struct resize_views {
    const char *x_name, *y_name;
    const tenon_tensor *x, *y;
} resize_views;

/* Validates parameters and views together and fills in the problem. Each view must be valid on its
 * own. */
tenon_status tn_resize_canonicalize(const char *caller, const tenon_resize_params *params,
                                    const resize_views *views, resize_problem *problem);

/* Fills in the maps of the problem, whose sizes are set, from valid parameters. `spatial` is the
 * number of dimensions of the caller's images; 0 if one of them is empty. */
void tn_resize_map(const tenon_resize_params *params, uint32_t spatial, resize_problem *problem);

/* For solvers: the arguments that depend only on the problem, and their patches for scalars. */
resize_filter tn_resize_filter(const resize_problem *problem);
void tn_resize_patch_filter(const resize_problem *problem, tn_launch *launch, tn_patch *patches,
                            size_t filter_at);

/* The elements of all images of a size, and the multiply-adds of a result without separation. */
double tn_resize_elements(const resize_problem *problem, const int64_t size[3]);
double tn_resize_taps(const resize_problem *problem);

tn_prepare_function tn_resize_prepare, tn_resize_backward_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_resize_reference, tn_resize_backward_reference;
tn_awkward_function tn_resize_awkward, tn_resize_backward_awkward;

/* Fills in the parameters and the views of a difficult case, in either direction. Returns false
 * past the last one. */
bool tn_resize_awkward_views(const resize_problem *like, uint32_t number, struct tn_case *c,
                             tenon_tensor *x, tenon_tensor *y);

#endif
