/* Internal interface of the pooling families. The gradient is a family of its own. */
#ifndef TN_OPS_POOL_INTERNAL_H
#define TN_OPS_POOL_INTERNAL_H

#include "ops/common/epilogue.h"
#include "ops/common/images.h"
#include "pool/args.h"
#include "pool/windows_args.h"

#include <tenon/pool.h>

enum { POOL_X, POOL_Y, POOL_INDICES, POOL_OPERANDS };
enum {
    POOL_BACKWARD_X,
    POOL_BACKWARD_DY,
    POOL_BACKWARD_INDICES,
    POOL_BACKWARD_DX,
    POOL_BACKWARD_OPERANDS
};

/* N, C and three spatial dimensions. */
#define POOL_RANK TN_IMAGE_RANK

/* The canonical problem, in either direction, with three spatial dimensions. Those that the
 * caller's images lack come first and have one element. */
typedef struct pool_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t kind;  /* tenon_pool_kind */
    uint64_t flags; /* POOL_* of pool/args.h */
    int64_t n, c;
    int64_t size[3], out[3], window[3], step[3], dilation[3];
    int64_t start[3];           /* minus the padding */
    int64_t limit[3];           /* with POOL_COUNT_PADDED: taps before it count in an average */
    double p;                   /* of TENON_POOL_LP, otherwise 0 */
    int64_t x[POOL_RANK];       /* strides of x or dx */
    int64_t y[POOL_RANK];       /* of y or dy */
    int64_t indices[POOL_RANK]; /* 0 if absent */
    int64_t image[POOL_RANK];   /* of x if the gradient reads it, otherwise 0 */
} pool_problem;

extern const tn_family tn_pool_family, tn_pool_backward_family;
extern const tn_solver tn_pool_lines, tn_pool_windows;
extern const tn_solver tn_pool_backward_windows_scatter, tn_pool_backward_windows;
extern const tn_solver tn_pool_rows, tn_pool_channels, tn_pool_items, tn_pool_groups,
    tn_pool_values;
extern const tn_solver tn_pool_backward_scatter, tn_pool_backward_rows, tn_pool_backward_channels,
    tn_pool_backward_items;

/* Returns why only the solvers `windows` support a problem, or NULL. */
const char *tn_pool_is_special(const pool_problem *problem);

/* For solvers: the elements of all images of a size; the taps of a window; the arguments that
 * depend only on the problem; and functions that complete a launch and record it. */
double tn_pool_elements(const pool_problem *problem, const int64_t size[3]);
double tn_pool_taps(const pool_problem *problem);
pool_args tn_pool_arguments(const pool_problem *problem);
tenon_status tn_pool_record_forward(const char *caller, tn_recording *recording,
                                    const pool_problem *problem, const pool_args *args,
                                    tn_launch *launch);
tenon_status tn_pool_record_backward(const char *caller, tn_recording *recording,
                                     const pool_problem *problem, const pool_args *args,
                                     tn_launch *launch);

/* The same for the kernels of windows of every kind. The arguments of a launch are set, and begin
 * with a pool_windows_args. */
pool_windows_args tn_pool_windows_arguments(const pool_problem *problem);
tenon_status tn_pool_windows_record_forward(const char *caller, tn_recording *recording,
                                            const pool_problem *problem, tn_launch *launch);
tenon_status tn_pool_windows_record_backward(const char *caller, tn_recording *recording,
                                             const pool_problem *problem, tn_launch *launch);

/* Views with the names that the caller knows them by: x and y, or dx and dy. `image` is x, if the
 * gradient gets it. `image` and `indices` may be NULL. */
typedef struct pool_views {
    const char *x_name, *y_name;
    const tenon_tensor *x, *y, *indices, *image;
} pool_views;

/* Validates views together and fills in the problem. Each view must be valid on its own. */
tenon_status tn_pool_canonicalize(const char *caller, const tenon_pool_params *params,
                                  const pool_views *views, pool_problem *problem);

tn_prepare_function tn_pool_prepare, tn_pool_backward_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_pool_reference, tn_pool_backward_reference;
tn_fill_function tn_pool_backward_fill_valid;
tn_awkward_function tn_pool_awkward, tn_pool_backward_awkward;

#endif
