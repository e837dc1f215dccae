/* Reductions over a set of axes: the common part of tenon_reduce and of losses that are summed. A
 * row is the set of elements along the axes, and gives one result. The other dimensions, which are
 * kept, index the rows. */
#ifndef TN_OPS_COMMON_REDUCTION_H
#define TN_OPS_COMMON_REDUCTION_H

#include "common/reduction_args.h"
#include "ops/common/epilogue.h"

/* The index of the run's scalar that is passed as args.scale. */
#define TN_SCALAR_REDUCTION 0

typedef struct tn_reduction_problem {
    tn_problem head;
    uint32_t dtype; /* of the inputs */
    uint32_t kind;  /* args.kind; flags is args.flags */
    uint32_t flags;
    uint32_t rank, kept_rank;               /* at least 1 */
    uint32_t variant;                       /* REDUCTION_VARIANT of the build */
    uint32_t operand[REDUCTION_VIEWS];      /* operand index in the call */
    uint32_t element_size[REDUCTION_VIEWS]; /* bytes; 0 if absent */
    int64_t size, divisor;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[REDUCTION_INPUTS][TENON_MAX_RANK];
    int64_t kept_shape[TENON_MAX_RANK];
    int64_t kept_stride[REDUCTION_VIEWS][TENON_MAX_RANK];
} tn_reduction_problem;

/* The set of dimensions that are reduced. */
typedef struct tn_axes {
    bool reduced[TENON_MAX_RANK];
    uint32_t count;
} tn_axes;

/* Converts a list of axes, each from -rank to rank - 1 and without duplicates, to a set. An empty
 * list selects all axes. `argument` names the tensor of that rank. */
tenon_status tn_axes_check(const char *caller, uint32_t count, const int32_t *axes, uint32_t rank,
                           const char *argument, tn_axes *result);

/* Returns the number of elements along the axes; INT64_MAX on overflow (with an empty tensor). */
int64_t tn_axes_size(const tn_axes *axes, const tenon_tensor *x);

/* Checks that a view has the shape of x with the axes removed or of size 1. */
tenon_status tn_reduced_shape_check(const char *caller, const char *argument,
                                    const tenon_tensor *view, const tenon_tensor *x,
                                    const tn_axes *axes);

/* Gives a result the type of x and its shape with the axes removed. Returns false if the axes are
 * invalid. */
bool tn_reduced_shape(uint32_t count, const int32_t *axes, const tenon_tensor *x,
                      tenon_tensor *result);

/* Returns the stride of a validated result in a dimension of x; 0 along the axes. */
int64_t tn_reduced_stride(const tenon_tensor *view, const tenon_tensor *x, const tn_axes *axes,
                          uint32_t dimension);

/* Checks that a result has the type of x, or is f32 for a 16-bit x. */
tenon_status tn_reduced_dtype_check(const char *caller, const char *argument,
                                    const tenon_tensor *view, const tenon_tensor *x);

/* Fills in a problem of the variant REDUCTION_PLAIN from validated views, some of which may be
 * NULL. `operand` holds their indices in the call. The divisor is the row size. A problem with an
 * empty result is left empty. */
void tn_reduction_canonicalize(uint32_t kind, const tn_axes *axes,
                               const tenon_tensor *const view[REDUCTION_VIEWS],
                               const uint32_t operand[REDUCTION_VIEWS],
                               tn_reduction_problem *problem);

/* Solvers with vectors along the rows; with vectors across them; both also with the rows split into
 * pieces; and with a team of work-items per row. */
extern const tn_solver tn_reduction_rows, tn_reduction_columns, tn_reduction_split_rows,
    tn_reduction_split_columns, tn_reduction_group;

/* Returns bits for the kind and the flags: tn_family.paths. */
uint64_t tn_reduction_paths(const tn_problem *problem);

/* Return the TENON_DTYPE of a problem's builds, and the options that select its program. The
 * program that counts has elements of any type, and computes with none. */
#define TN_REDUCTION_OPTIONS 96
uint32_t tn_reduction_dtype(const tn_reduction_problem *problem);
const char *tn_reduction_options(const tn_reduction_problem *problem,
                                 char text[TN_REDUCTION_OPTIONS]);

/* Parts of these solvers: the number of rows; true for kinds that search for an element or its
 * index instead of summing; the arguments common to all launches; the operand to pass for a view;
 * and the recording of a launch whose source, kernel, options, sizes and operands are set. */
int64_t tn_reduction_count(const tn_reduction_problem *problem);
bool tn_reduction_is_extremum(const tn_reduction_problem *problem);
void tn_reduction_fill(const tn_reduction_problem *problem, reduction_args *args);
uint8_t tn_reduction_operand(const tn_reduction_problem *problem, int view);
tenon_status tn_reduction_launch(const char *caller, tn_recording *recording,
                                 const tn_reduction_problem *problem, tn_launch *launch,
                                 const reduction_args *args);

/* Returns a view for awkward cases. Two dimensions (1 and 3) are reduced, two are kept, all have
 * tails and gaps. The view is contiguous along the rows if `along`, else across them. */
tenon_tensor tn_reduction_awkward_view(tenon_dtype dtype, bool along, int64_t number);

/* For references: returns the elements of a host tensor as [row][index along the axes]. The caller
 * frees the array. NULL if memory is exhausted. */
double *tn_reduction_gather(const tenon_tensor *view, const tenon_tensor *x, const tn_axes *axes);

/* Returns a sum for references, whose error is only that of rounding the result. */
double tn_exact_sum(const double *x, int64_t count);

/* Returns the number of roundings that an element passes through in a device's sum of `count`
 * elements; docs/numerics.md derives it. */
double tn_sum_depth(int64_t count);

#endif
