/* Internal interface of the normalization families. The gradient is a family of its own. */
#ifndef TN_OPS_NORM_INTERNAL_H
#define TN_OPS_NORM_INTERNAL_H

#include "dispatch/operation.h"
#include "norm/args.h"
#include "ops/common/epilogue.h"
#include "ops/common/stores.h"

#include <tenon/norm.h>

_Static_assert(sizeof(norm_args) <= TN_MAX_ARGS_SIZE, "a launch has no room for norm_args");

/* Indices of the public operands. */
enum {
    NORM_FORWARD_X,
    NORM_FORWARD_GAMMA,
    NORM_FORWARD_BETA,
    NORM_FORWARD_Y,
    NORM_FORWARD_MEAN,
    NORM_FORWARD_RSTD,
    NORM_FORWARD_RUNNING_MEAN,
    NORM_FORWARD_RUNNING_VARIANCE,
    NORM_FORWARD_OPERANDS
};
enum {
    NORM_BACKWARD_X,
    NORM_BACKWARD_DY,
    NORM_BACKWARD_GAMMA,
    NORM_BACKWARD_MEAN,
    NORM_BACKWARD_RSTD,
    NORM_BACKWARD_DX,
    NORM_BACKWARD_DGAMMA,
    NORM_BACKWARD_DBETA,
    NORM_BACKWARD_OPERANDS
};
enum { NORM_INFERENCE_OPERANDS = 6 }; /* x, gamma, beta, mean, variance, y */

/* Indices of a run's scalars. */
enum { NORM_SCALAR_EPSILON, NORM_SCALAR_MOMENTUM };

/* The operand index of absent operands. */
#define NORM_ABSENT 254

/* The operands of a call, indexed by their numbers in norm/args.h; NULL if absent. */
typedef struct norm_views {
    const char *name[NORM_VIEWS];
    const tenon_tensor *view[NORM_VIEWS];
    uint8_t operand[NORM_VIEWS]; /* indices in the call */
    bool backward, given;        /* given: the statistics are inputs and do not depend on x */
} norm_views;

/* Strides of operands in the problem's dimensions. */
typedef struct norm_strides {
    int64_t of[NORM_VIEWS][TENON_MAX_RANK];
} norm_strides;

/* The canonical problem. Each dimension is reduced (part of a set) or not, and gamma varies along
 * it or not. A group is a dimension of its own. */
typedef struct norm_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t flags;         /* NORM_* of norm/args.h */
    uint32_t backward;      /* 0 or 1 */
    uint32_t parameter_acc; /* 1 if gamma, beta and their gradients have the accumulator's type */
    uint32_t reduced;       /* bit d: dimension d is part of a set */
    uint32_t parameters;    /* bit d: gamma varies along dimension d */
    uint8_t operand[NORM_VIEWS];
    uint64_t rank;
    int64_t shape[TENON_MAX_RANK];
    norm_strides stride;
} norm_problem;

/* Names indexed by tenon_norm_kind; terminated by NULL. */
extern const char *const tn_norm_words[];

extern const tn_family tn_norm_family, tn_norm_backward_family;
extern const tn_solver tn_norm_sets, tn_norm_split, tn_norm_given, tn_norm_group;
extern const tn_solver tn_norm_backward_sets, tn_norm_backward_split, tn_norm_backward_group;

/* Validates the parameters and views of a call, whose x is present. */
tenon_status tn_norm_check(const char *caller, tenon_context *context,
                           const tenon_norm_params *params, const norm_views *views);

/* Fills in the problem of a validated call, whose x is not empty. */
void tn_norm_canonicalize(const tenon_norm_params *params, const norm_views *views,
                          norm_problem *problem);

/* Writes the shape of x with the channels split into groups, and the masks of the dimensions that
 * are reduced and of those along which parameters vary. Returns the rank of that shape. */
uint32_t tn_norm_dimensions(const tenon_norm_params *params, const tenon_tensor *x, int64_t *shape,
                            uint32_t *reduced, uint32_t *parameters);

/* Writes the strides of a view with the shape of `number` (NORM_X, NORM_GAMMA or NORM_MEAN). */
void tn_norm_strides(const tenon_norm_params *params, const tenon_tensor *x,
                     const tenon_tensor *view, int number, int64_t *stride);

/* Returns the operand with the shape of operand `number`: NORM_X, NORM_GAMMA or NORM_MEAN. */
int tn_norm_shape_of(bool backward, int number);

/* Sets the order of dimensions of a launch, those of `kept` first: shape, stride, kept, rank,
 * lines, sets and count. Dimensions are merged where the strides in `sets` and in `rest` allow it.
 */
void tn_norm_space(const norm_problem *problem, uint32_t kept, const norm_strides *sets,
                   const norm_strides *rest, norm_args *args);

/* Divides the sets of args among work-items, each set in at most `pieces` pieces. */
#define NORM_WHOLE      1
#define NORM_SUMS       NORM_MOST_PIECES
#define NORM_ANY_PIECES INT32_MAX
void tn_norm_share(const tenon_context *context, const norm_problem *problem, int64_t pieces,
                   norm_args *args);

/* Divides all elements among work-items: by columns, or by lines or parts of lines. */
void tn_norm_elements(const tenon_context *context, const norm_problem *problem, uint32_t kept,
                      const norm_strides *stride, norm_args *args);

/* The layout of a choice: the division of the sets, and that of the separate sums for the
 * parameters' gradients. */
typedef struct norm_layout {
    norm_args sets, parameters;
} norm_layout;

/* Parts of the solvers: the build options of a launch; the estimated time; the bytes of workspace
 * for sums in pieces; and the number of vectors for `count` elements. */
void tn_norm_options(tenon_context *context, const norm_problem *problem, const tn_choice *choice,
                     const norm_args *args, char text[TN_OPTIONS_SIZE]);
void tn_norm_add_time(const tenon_context *context, const norm_problem *problem,
                      const norm_args *args, bool split, tn_choice *choice);
uint64_t tn_norm_work(const norm_problem *problem, const norm_args *args);
int64_t tn_norm_vectors(const tenon_context *context, const norm_problem *problem, int64_t count);

/* Records the launch of a kernel. `views` lists its operands in order, by their numbers in
 * norm/args.h, terminated by -1; NORM_WORK is the workspace. Operands whose bit is set in `in_work`
 * are in the workspace. */
#define NORM_WORK NORM_VIEWS
tenon_status tn_norm_launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                            const tn_choice *choice, const char *kernel, const int *views,
                            uint32_t in_work, const norm_args *args);

/* As tn_norm_launch, for a kernel with teams (ops/common/gpu.h). All of args is filled in except
 * `way`. */
tenon_status tn_norm_launch_team(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice,
                                 const char *source, const int *views, norm_args args);

/* Parts of norm_backward. The first three return true if dx needs sums over the sets, if these are
 * the parameters' gradients, and if those gradients need separate sums. The others add the separate
 * sums, whole or in pieces, to a choice, and launch them if they are needed. */
bool tn_norm_wants_sums(const norm_problem *problem);
bool tn_norm_sets_are_parameters(const norm_problem *problem);
bool tn_norm_wants_own_sums(const norm_problem *problem);
void tn_norm_configure_parameters(tenon_context *context, const norm_problem *problem, bool split,
                                  tn_choice *choice);
tenon_status tn_norm_launch_parameters(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice,
                                       bool split);
#define NORM_PARAMETERS (NORM_HAS(NORM_DGAMMA) | NORM_HAS(NORM_DBETA))

/* Returns the layout's sets, with the parameters' gradients as outputs if their sums are the same.
 */
norm_args tn_norm_set_args(const norm_problem *problem, const tn_choice *choice);

/* Return the number of sets (or parameters) if the dimensions in the mask `kept` are kept; the
 * number of elements of each; and the mask of the problem's sets. */
int64_t tn_norm_sets_of(const norm_problem *problem, uint32_t kept);
int64_t tn_norm_count_of(const norm_problem *problem, uint32_t kept);
uint32_t tn_norm_kept(const norm_problem *problem);
/* As tn_norm_kept, plus the innermost dimension if it is better to sum its entries separately: it
 * is short, and contiguous with a kept dimension. */
uint32_t tn_norm_parts(const norm_problem *problem);

/* Writes the strides of a set's index in the workspace, in the problem's dimensions. */
void tn_norm_work_strides(const norm_problem *problem, uint32_t kept, int64_t *stride);

/* Return the number in norm/args.h of an operation's operand, and a call's views by number. */
int tn_norm_number(const tn_operation *operation, uint32_t operand);
norm_views tn_norm_views(const tn_operation *operation, const tenon_tensor *const *operands);

/* Members of tn_operation and tn_family. */
tn_prepare_function tn_norm_prepare;
bool tn_norm_forward_reference(const tn_operation *operation, const tenon_norm_params *params,
                               const tenon_tensor *const *operands, tn_bounded *expected);
bool tn_norm_backward_reference(const tn_operation *operation, const tenon_norm_params *params,
                                const tenon_tensor *const *operands, tn_bounded *expected);
tn_awkward_function tn_norm_awkward;

#endif
