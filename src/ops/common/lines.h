/* Element-wise operations on up to six tensors of one shape, whose operands may be of different
 * types or absent: random numbers, dropout, optimizers. */
#ifndef TN_OPS_COMMON_LINES_H
#define TN_OPS_COMMON_LINES_H

#include "common/singles_args.h"
#include "check/host.h"
#include "dispatch/operation.h"

/* All views over one collapsed index space. Lines run along its last dimension. */
typedef struct tn_lines_problem {
    tn_problem head;
    uint32_t dtype;    /* element type that kernels compute with */
    uint32_t kind;     /* specific to the family */
    uint32_t flags;    /* args.flags */
    uint32_t operands; /* the first views are operands; one more may be the element index */
    uint32_t element_size[TENON_LINES_VIEWS]; /* bytes of an operand; 0 if absent */
    uint32_t singles; /* operands of one element after these; kernels have singles_args */
    uint32_t single_size[TENON_LINES_SINGLES]; /* bytes of their elements; 0 if absent */
    int64_t number[TENON_LINES_SINGLES]; /* numbers for kernels with singles_args and no singles */
    uint64_t rank;                       /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[TENON_LINES_VIEWS][TENON_MAX_RANK];
} tn_lines_problem;

/* A value of `by` below: keeps the order of elements, and appends a view of their indices. */
#define TN_LINES_NUMBERED UINT32_MAX

/* Fills in a problem from validated views of the shape of `views[by]`. A view with a single element
 * is broadcast, a NULL view is an absent operand. Dimensions are sorted by decreasing stride of
 * view `by`. With TN_LINES_NUMBERED they are not sorted, and views[0] has the shape. */
void tn_lines_canonicalize(const tenon_tensor *const *views, uint32_t operands, uint32_t by,
                           tn_lines_problem *problem);

/* Checks that an operand has the shape of `first`. A NULL tensor passes. */
tenon_status tn_lines_shape_check(const char *caller, const char *argument,
                                  const tenon_tensor *tensor, const char *first_argument,
                                  const tenon_tensor *first);

int64_t tn_lines_elements(const tn_lines_problem *problem);

/* Writes the options for TENON_DTYPE, TENON_VW and TENON_GPU. */
void tn_lines_options(tenon_context *context, const tn_lines_problem *problem,
                      char text[TN_OPTIONS_SIZE]);

/* A launch on such a problem. Solvers with one launch use it as the layout of their choice. */
typedef struct tn_lines_launch {
    const char *source, *kernel;
    int64_t cpu_chunk, gpu_chunk; /* elements of a piece; on a CPU also the least number of elements
                                     per work-item if lines are shorter */
    int32_t gpu_parts;            /* work-items of a GPU that share a piece; 0 means 1 */
    int32_t gpu_vectors; /* above 0: gpu_chunk is a vector, and pieces are cut by tn_stream_cut with
                            up to this number of vectors per work-item */
    int64_t most_items;  /* 0: no limit */
    uint32_t bits,
        numbers;       /* number of the run's scalars: first 64-bit ones, then those in acc_t */
    uint32_t replaced; /* 1 + index of the operand that the workspace replaces; 0: none */
} tn_lines_launch;

/* As tn_lines_options, plus TENON_VECTORS, for a kernel that streams (cl_kernels/common/stream.clh)
 * and computes from `inputs` views. Sets gpu_chunk and gpu_vectors of the launch. */
void tn_lines_stream(tenon_context *context, const tn_lines_problem *problem, uint32_t inputs,
                     tn_lines_launch *launch, char text[TN_OPTIONS_SIZE]);

/* Returns the number of work-items with work that the launch will have. */
int64_t tn_lines_items(tenon_context *context, const tn_lines_problem *problem,
                       const tn_lines_launch *launch);

tenon_status tn_lines_record(const char *caller, tn_recording *recording,
                             const tn_lines_problem *problem, const tn_lines_launch *launch,
                             const char *options);

/* Records the launch of such a solver: its tn_solver.launch. */
tenon_status tn_lines_launch_choice(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice);

/* Returns a view for awkward cases: dense and longer than a work-item's piece, or strided with gaps
 * that differ between operands. */
#define TN_LINES_LAYOUTS 2
tenon_tensor tn_lines_awkward(tenon_dtype dtype, uint32_t layout, uint32_t operand);

#endif
