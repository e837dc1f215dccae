/* Operations on the rows of tensors: what softmax and the losses share. A row is what lies along
 * one axis; the other dimensions count the rows. */
#ifndef TN_OPS_COMMON_ROWS_H
#define TN_OPS_COMMON_ROWS_H

#include "base/shape.h"
#include "common/rows_args.h"
#include "ops/common/epilogue.h"

/* The scalar that a run gives to the kernel's args.scale. */
#define TN_SCALAR_ROWS 0

typedef struct tn_rows_problem {
    tn_problem head;
    uint32_t dtype;                          /* what kernels compute on */
    uint32_t views;                          /* the operands, in the order of the kernel's */
    uint32_t element_size[TENON_ROWS_VIEWS]; /* bytes */
    uint32_t backward;                       /* which of the family's programs; a family's own */
    uint32_t flag;                           /* args.flag */
    int64_t value;                           /* args.value */
    int64_t size;                            /* along the axis */
    int64_t axis[TENON_ROWS_VIEWS];
    uint64_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_ROWS_VIEWS][TENON_MAX_RANK];
} tn_rows_problem;

/* An axis from 0 to rank - 1, or from -rank to -1 counted from the end, made the first form. */
tenon_status tn_axis_check(const char *caller, int32_t axis, uint32_t rank, const char *argument,
                           uint32_t *result);

/* Where the order of dimensions is free: with the strides of a view falling, more of them merge,
 * and neighbours along the last one are neighbours in memory. */
void tn_space_sort(tn_space *space, uint32_t by);

/* Fills in a problem from checked, non-empty views of one shape, but that some may lack the axis;
 * `views[by]` has it. Its dimensions are sorted so that the strides of `by` fall. A NULL view is an
 * absent operand. */
void tn_rows_canonicalise(const tenon_tensor *const *views, uint32_t count, uint32_t by,
                          uint32_t axis, tn_rows_problem *problem);

/* The layout of a choice: a launch of a kernel of cl_kernels/common/rows.clh's form. */
typedef struct tn_rows_layout {
    rows_args args;
    size_t global[2], local[2]; /* global[1] is 0 where there is one dimension */
} tn_rows_layout;

/* tn_solver's, of the solvers `rows` and `columns`, and of those whose rows are done by teams
 * (ops/common/gpu.h). */
const char *tn_rows_configure(tenon_context *context, const tn_problem *problem, tn_choice *choice);
const char *tn_columns_configure(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice);
const char *tn_rows_group_configure(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice);

/* All of these solvers but their launch functions; `along` names the axis. */
#define TN_ROWS_SOLVER(along)                                                                      \
    .name = "rows", .serves = "everything; vectors lie along the " along,                          \
    .configure = tn_rows_configure
#define TN_COLUMNS_SOLVER(along)                                                                   \
    .name = "columns", .serves = "everything; vectors lie across the " along,                      \
    .configure = tn_columns_configure
#define TN_ROWS_GROUP_SOLVER                                                                       \
    .name = "group",                                                                               \
    .serves = "rows of 2³⁰ elements at most; a row to a team of work-items, on GPUs",              \
    .awkward = TN_ROWS_GROUP_AWKWARD, TN_PARAMETERS(tn_team_parameter, 1),                         \
    .configure = tn_rows_group_configure

/* Records the launch of any of these. */
tenon_status tn_rows_launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                            const tn_choice *choice, const char *source, const char *kernel);

/* For these: the rows of a problem; the layout with what the problem says. */
int64_t tn_rows_count(const tn_rows_problem *problem);
tn_rows_layout *tn_rows_layout_of(const tn_rows_problem *problem, tn_choice *choice);

/* What is read and written, each input so many times. */
double tn_rows_bytes(const tn_rows_problem *problem, double times);

/* For awkward cases, of which each two have one size: rows about an axis that is the middle one,
 * all with tails, contiguous along it in cases of even number and across it in the others. `step`
 * lies between neighbours, and `gap` more elements behind a line of them. */
tenon_tensor tn_rows_awkward_view(const tn_rows_problem *like, const tn_choice *choice,
                                  uint32_t number, int64_t step, int64_t gap);
/* Those of teams: rows that a team keeps, and longer ones. */
#define TN_ROWS_GROUP_AWKWARD "size=4*tm+1; size=32*tm+5 outer=1 inner=3"

/* tn_family's, of families whose flag has two bits at most. */
uint64_t tn_rows_paths(const tn_problem *problem);

#endif
