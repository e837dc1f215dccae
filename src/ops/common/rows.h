/* Operations on the rows of tensors: the common part of softmax and the losses. A row is the set of
 * elements along one axis. The other dimensions index the rows. */
#ifndef TN_OPS_COMMON_ROWS_H
#define TN_OPS_COMMON_ROWS_H

#include "base/shape.h"
#include "common/rows_args.h"
#include "ops/common/epilogue.h"

/* The index of the run's scalar that is passed as args.scale. */
#define TN_SCALAR_ROWS 0

typedef struct tn_rows_problem {
    tn_problem head;
    uint32_t dtype;                          /* element type that kernels compute with */
    uint32_t views;                          /* number of operands, in the order of the kernel's */
    uint32_t element_size[TENON_ROWS_VIEWS]; /* bytes */
    uint32_t backward;                       /* specific to the family: its programs */
    uint32_t flag;                           /* args.flag */
    int64_t value;                           /* args.value */
    int64_t size;                            /* elements of a row */
    int64_t axis[TENON_ROWS_VIEWS];
    uint64_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_ROWS_VIEWS][TENON_MAX_RANK];
} tn_rows_problem;

/* Validates an axis from -rank to rank - 1, and converts it to one from 0 to rank - 1. */
tenon_status tn_axis_check(const char *caller, int32_t axis, uint32_t rank, const char *argument,
                           uint32_t *result);

/* Fills in the space of two views of one shape, in row-major order and merged where possible; the
 * second one may be NULL. Without dimensions or elements it has one dimension, of size 1 or 0.
 * Returns the number of elements. */
int64_t tn_space_of_two(const tenon_tensor *first, const tenon_tensor *second, tn_space *space);

/* Sorts dimensions by decreasing stride of view `by`, if their order is free. More of them can then
 * be merged, and neighbors along the last one are neighbors in memory. */
void tn_space_sort(tn_space *space, uint32_t by);

/* Fills in a problem from validated, non-empty views of one shape. Views other than `views[by]` may
 * lack the axis. Dimensions are sorted by decreasing stride of view `by`. A NULL view is an absent
 * operand. */
void tn_rows_canonicalize(const tenon_tensor *const *views, uint32_t count, uint32_t by,
                          uint32_t axis, tn_rows_problem *problem);

/* The layout of a choice: a launch of a kernel that has the form of cl_kernels/common/rows.clh. */
typedef struct tn_rows_layout {
    rows_args args;
    size_t global[2], local[2]; /* global[1] is 0 for a one-dimensional launch */
} tn_rows_layout;

/* tn_solver.configure of the solvers `rows` and `columns`, and of `group`, which assigns a team to
 * each row (ops/common/gpu.h). */
const char *tn_rows_configure(tenon_context *context, const tn_problem *problem, tn_choice *choice);
const char *tn_columns_configure(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice);
const char *tn_rows_group_configure(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice);

/* Initializers of these solvers, without the launch function. `along` names the axis. */
#define TN_ROWS_SOLVER(along)                                                                      \
    .name = "rows", .serves = "everything; vectors along the " along, .configure = tn_rows_configure
#define TN_COLUMNS_SOLVER(along)                                                                   \
    .name = "columns", .serves = "everything; vectors across the " along,                          \
    .configure = tn_columns_configure
#define TN_ROWS_GROUP_SOLVER                                                                       \
    .name = "group",                                                                               \
    .serves = "rows of at most 2³⁰ elements; a team of work-items per row, on GPUs",               \
    .awkward = TN_ROWS_GROUP_AWKWARD, TN_PARAMETERS(tn_team_parameter, 1),                         \
    .configure = tn_rows_group_configure

/* Records the launch of any of these solvers. */
tenon_status tn_rows_launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                            const tn_choice *choice, const char *source, const char *kernel);

/* Parts of these solvers: the number of rows, and the layout as far as the problem determines it.
 */
int64_t tn_rows_count(const tn_rows_problem *problem);
tn_rows_layout *tn_rows_layout_of(const tn_rows_problem *problem, tn_choice *choice);

/* Returns the bytes read and written if each input is read `times` times. */
double tn_rows_bytes(const tn_rows_problem *problem, double times);

/* Returns a view for awkward cases. Cases 2n and 2n + 1 have the same sizes: the axis is the middle
 * dimension, and all sizes leave tails. Even cases are contiguous along the axis, odd ones across
 * it. `step` is the distance between neighbors; `gap` more elements follow each line. */
tenon_tensor tn_rows_awkward_view(const tn_rows_problem *like, const tn_choice *choice,
                                  uint32_t number, int64_t step, int64_t gap);
/* Sizes of awkward cases for teams: rows that a team keeps in registers, and longer ones. */
#define TN_ROWS_GROUP_AWKWARD "size=4*tm+1; size=32*tm+5 outer=1 inner=3"

/* Returns bits for the flag, which has at most two bits: tn_family.paths. */
uint64_t tn_rows_paths(const tn_problem *problem);

#endif
