/* Operations on up to six tensors of one shape, element by element, whose operands may differ in
 * type or be absent: random numbers, dropout, optimizers. */
#ifndef TN_OPS_COMMON_LINES_H
#define TN_OPS_COMMON_LINES_H

#include "common/lines_args.h"
#include "check/host.h"
#include "dispatch/operation.h"

/* All views over one collapsed index space, whose last dimension is where the lines lie. */
typedef struct tn_lines_problem {
    tn_problem head;
    uint32_t dtype;                           /* what kernels compute on */
    uint32_t kind;                            /* of the family's own */
    uint32_t flags;                           /* args.flags */
    uint32_t operands;                        /* the views that are operands: the first ones */
    uint32_t element_size[TENON_LINES_VIEWS]; /* bytes of an operand; 0 where absent */
    uint64_t rank;                            /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_LINES_VIEWS][TENON_MAX_RANK];
} tn_lines_problem;

/* Keeps the order of the elements, and adds a view of their numbers behind the operands. */
#define TN_LINES_NUMBERED UINT32_MAX

/* Fills in a problem from checked views of `views[by]`'s shape; one of a single element repeats,
 * and a NULL one is absent. Dimensions are sorted so that the strides of `by` fall, unless it is
 * TN_LINES_NUMBERED: then views[0] has the shape. */
void tn_lines_canonicalise(const tenon_tensor *const *views, uint32_t operands, uint32_t by,
                           tn_lines_problem *problem);

/* Refuses an operand that is of another shape than the first named. NULL passes. */
tenon_status tn_lines_shape_check(const char *caller, const char *argument,
                                  const tenon_tensor *tensor, const char *first_argument,
                                  const tenon_tensor *first);

int64_t tn_lines_elements(const tn_lines_problem *problem);

/* TENON_DTYPE and TENON_VW. */
void tn_lines_options(tenon_context *context, const tn_lines_problem *problem,
                      char text[TN_OPTIONS_SIZE]);

/* A launch on a problem: the layout of a choice whose solver makes one. */
typedef struct tn_lines_launch {
    const char *source, *kernel;
    int64_t cpu_chunk, gpu_chunk; /* elements of a piece, and of a CPU's work-item where lines are
                                     shorter */
    int32_t gpu_parts;            /* work-items of a GPU that share a piece; 0: one */
    int32_t gpu_vectors;          /* above 0: such a piece is a vector of gpu_chunk elements, or so
                                     many for each of its work-items (tn_stream_cut) */
    int64_t most_items;           /* 0: as many as there is work for */
    uint32_t bits, numbers;       /* scalars of the run: 64-bit ones first, then those in acc_t */
    uint32_t replaced;            /* 1 + the operand whose place the workspace takes; 0: none */
} tn_lines_launch;

/* tn_lines_options for a kernel that streams (cl_kernels/common/stream.clh) and computes from
 * `inputs` views: TENON_VECTORS as well. Sets the share in the launch. */
void tn_lines_stream(tenon_context *context, const tn_lines_problem *problem, uint32_t inputs,
                     tn_lines_launch *launch, char text[TN_OPTIONS_SIZE]);

/* How many work-items share the problem; what the launch will have. */
int64_t tn_lines_items(tenon_context *context, const tn_lines_problem *problem,
                       const tn_lines_launch *launch);

tenon_status tn_lines_record(const char *caller, tn_recording *recording,
                             const tn_lines_problem *problem, const tn_lines_launch *launch,
                             const char *options);

/* tn_solver.launch of such a solver. */
tenon_status tn_lines_launch_choice(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice);

/* A view of an awkward case: dense, past a piece of a work-item, or strided, with gaps that differ
 * from operand to operand. */
#define TN_LINES_LAYOUTS 2
tenon_tensor tn_lines_awkward(tenon_dtype dtype, uint32_t layout, uint32_t operand);

#endif
