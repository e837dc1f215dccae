/* Common parts of the solvers of tenon_segment_reduce and of its gradient. */
#ifndef TN_OPS_SEGMENT_LAUNCH_H
#define TN_OPS_SEGMENT_LAUNCH_H

#include "ops/segment/internal.h"

/* Work-items of a GPU's work-group. */
#define GPU_GROUP 64

/* The division of a launch: lanes and chunks of the columns; segments or rows per work-item, and
 * the number of work-items. */
typedef struct segment_layout {
    int64_t lanes, chunks, each, items;
    int64_t expanded;                /* bytes of the workspace for a row of each position */
    int64_t length, windows, values; /* positions of a block, and bytes of the blocks' results */
    int64_t counts, counted; /* start and size in bytes of the segments' numbers of rows in the
                              * workspace; size 0: each work-item counts them itself */
} segment_layout;

/* Returns the number of columns. */
int64_t tn_segment_columns(const segment_problem *p);

/* Sets a layout for `count` segments or rows, each of which has `work` elements in a column. */
void tn_segment_lay_out(const tenon_context *context, const segment_problem *p, int64_t count,
                        double work, segment_layout *l);

/* Returns the arguments that follow from the problem and the layout. */
segment_args tn_segment_args_of(const segment_problem *p, const segment_layout *l);

/* Lays out the segments' numbers of rows in the workspace from offset `at` on, if a gradient needs
 * them and the workspace may be as large. */
void tn_segment_counts_plan(const segment_problem *p, int64_t at, segment_layout *l);

/* Records the launches that count them, if they are laid out. `indices` and `segments` are the
 * numbers of these operands. */
tenon_status tn_segment_counts_record(const char *caller, tn_recording *recording,
                                      const segment_problem *p, const tn_choice *choice,
                                      const segment_layout *l, uint16_t indices, uint16_t segments);

/* Completes the patches and operands of a launch: `from` has the place `first`, and the lists of
 * the call the next ones. A list that the call does not have is replaced by `from`, because a
 * kernel argument must be valid memory. */
void tn_segment_lists(const segment_problem *p, uint16_t from, uint32_t first, tn_launch *launch,
                      tn_patch *patches);

/* A kernel, and the operands that it reads and writes besides the lists. */
typedef struct segment_kernel {
    const char *source, *name;
    uint16_t from, to;
    bool is_backward; /* `to` instead of `from` is the tensor with the rows */
} segment_kernel;

/* Records a launch of a kernel. */
tenon_status tn_segment_record(const char *caller, tn_recording *recording,
                               const segment_problem *p, const tn_choice *choice,
                               segment_args *args, const segment_layout *l,
                               const segment_kernel *kernel);

/* The same for a kernel of the gradient that computes dx from dy, after the counts of segments. */
tenon_status tn_segment_record_backward(const char *caller, tn_recording *recording,
                                        const segment_problem *p, const tn_choice *choice,
                                        const char *source, const char *name);

#endif
