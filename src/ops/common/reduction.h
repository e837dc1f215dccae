/* Reductions over a set of axes: what tenon_reduce and the losses that sum share. A row is what
 * lies along the axes and gives one result; the other dimensions, which are kept, count the rows.
 */
#ifndef TN_OPS_COMMON_REDUCTION_H
#define TN_OPS_COMMON_REDUCTION_H

#include "common/reduction_args.h"
#include "ops/common/epilogue.h"

/* The scalar that a run gives to the kernel's args.scale. */
#define TN_SCALAR_REDUCTION 0

typedef struct tn_reduction_problem {
    tn_problem head;
    uint32_t dtype; /* of the inputs */
    uint32_t kind;  /* args.kind, and so on */
    uint32_t flags;
    uint32_t rank, kept_rank; /* at least 1 */
    uint32_t reserved;
    uint32_t operand[REDUCTION_VIEWS];      /* its number in the call */
    uint32_t element_size[REDUCTION_VIEWS]; /* bytes; 0 where absent */
    int64_t size, divisor;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[REDUCTION_INPUTS][TENON_MAX_RANK];
    int64_t kept_shape[TENON_MAX_RANK];
    int64_t kept_stride[REDUCTION_VIEWS][TENON_MAX_RANK];
} tn_reduction_problem;

/* Which dimensions of a tensor are reduced. */
typedef struct tn_axes {
    bool reduced[TENON_MAX_RANK];
    uint32_t count;
} tn_axes;

/* Axes from 0 to rank - 1, or from -rank to -1 counted from the end, each once; none stands for
 * all. `argument` is what has the rank. */
tenon_status tn_axes_check(const char *caller, uint32_t count, const int32_t *axes, uint32_t rank,
                           const char *argument, tn_axes *result);

/* The elements along the axes; INT64_MAX where there are more, as an empty tensor may have. */
int64_t tn_axes_size(const tn_axes *axes, const tenon_tensor *x);

/* Refuses a view that has not x's shape with the axes left out or of size 1. */
tenon_status tn_reduced_shape_check(const char *caller, const char *argument,
                                    const tenon_tensor *view, const tenon_tensor *x,
                                    const tn_axes *axes);

/* A checked result's stride in one of x's dimensions; 0 along the axes. */
int64_t tn_reduced_stride(const tenon_tensor *view, const tenon_tensor *x, const tn_axes *axes,
                          uint32_t dimension);

/* Refuses a result that is neither of x's type nor f32 for a 16-bit x. */
tenon_status tn_reduced_dtype_check(const char *caller, const char *argument,
                                    const tenon_tensor *view, const tenon_tensor *x);

/* Fills in a problem from checked views, of which some may be NULL; `operand` has their numbers in
 * the call. The divisor is that of a mean. A problem without a result is left empty. */
void tn_reduction_canonicalise(uint32_t kind, const tn_axes *axes,
                               const tenon_tensor *const view[REDUCTION_VIEWS],
                               const uint32_t operand[REDUCTION_VIEWS],
                               tn_reduction_problem *problem);

/* Vectors along the rows, vectors across them, both with the rows cut into pieces, and rows done by
 * teams of work-items. */
extern const tn_solver tn_reduction_rows, tn_reduction_columns, tn_reduction_split_rows,
    tn_reduction_split_columns, tn_reduction_group;

/* tn_family's: the kind and the flags. */
uint64_t tn_reduction_paths(const tn_problem *problem);

/* Parts of these: how many rows there are; whether places or elements are sought rather than sums;
 * what all launches have in args; the operand that stands for a view; a launch that has its source,
 * kernel, options, sizes and operands. */
int64_t tn_reduction_count(const tn_reduction_problem *problem);
bool tn_reduction_is_extremum(const tn_reduction_problem *problem);
void tn_reduction_fill(const tn_reduction_problem *problem, reduction_args *args);
uint8_t tn_reduction_operand(const tn_reduction_problem *problem, int view);
tenon_status tn_reduction_launch(const char *caller, tn_recording *recording,
                                 const tn_reduction_problem *problem, tn_launch *launch,
                                 const reduction_args *args);

/* A view for awkward cases: rows in two dimensions (1 and 3), kept ones in two, all with tails and
 * gaps, contiguous along the rows or across them. */
tenon_tensor tn_reduction_awkward_view(tenon_dtype dtype, bool along, int64_t number);

/* For references: the elements of host memory as [row][place along the axes], which the caller
 * frees. NULL without memory. */
double *tn_reduction_gather(const tenon_tensor *view, const tenon_tensor *x, const tn_axes *axes);

/* A sum whose own error is that of rounding its result: a reference's. */
double tn_exact_sum(const double *x, int64_t count);

/* The roundings that an element passes through in a device's sum of `count`; docs/numerics.md
 * derives it. */
double tn_sum_depth(int64_t count);

#endif
