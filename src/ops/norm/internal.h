/* The normalization families within the library. The gradient is a family of its own. */
#ifndef TN_OPS_NORM_INTERNAL_H
#define TN_OPS_NORM_INTERNAL_H

#include "dispatch/operation.h"
#include "norm/args.h"
#include "ops/common/epilogue.h"
#include "ops/common/stores.h"

#include <tenon/norm.h>

_Static_assert(sizeof(norm_args) <= TN_MAX_ARGS_SIZE, "a launch has no room for norm_args");

/* The public operands, in their order. */
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

/* The scalars of a run. */
enum { NORM_SCALAR_EPSILON, NORM_SCALAR_MOMENTUM };

/* A number of no operand. */
#define NORM_ABSENT 254

/* The operands of a call by their numbers in norm/args.h; NULL where absent. */
typedef struct norm_views {
    const char *name[NORM_VIEWS];
    const tenon_tensor *view[NORM_VIEWS];
    uint8_t operand[NORM_VIEWS]; /* their numbers in the call */
    bool backward, given;        /* given: statistics that do not depend on x */
} norm_views;

/* Strides of operands over the problem's dimensions. */
typedef struct norm_strides {
    int64_t of[NORM_VIEWS][TENON_MAX_RANK];
} norm_strides;

/* The canonical problem: every dimension is within a set or not, and gamma steps along it or not.
 * (A group is a dimension of its own.) */
typedef struct norm_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t flags;         /* NORM_* of norm/args.h */
    uint32_t backward;      /* 0 or 1 */
    uint32_t parameter_acc; /* whether gamma and the like are of the accumulator's type */
    uint32_t reduced;       /* bit d: dimension d lies within a set */
    uint32_t parameters;    /* bit d: gamma steps along dimension d */
    uint8_t operand[NORM_VIEWS];
    uint64_t rank;
    int64_t shape[TENON_MAX_RANK];
    norm_strides stride;
} norm_problem;

/* The names by tenon_norm_kind; NULL ends them. */
extern const char *const tn_norm_words[];

extern const tn_family tn_norm_family, tn_norm_backward_family;
extern const tn_solver tn_norm_sets, tn_norm_split, tn_norm_given, tn_norm_group;
extern const tn_solver tn_norm_backward_sets, tn_norm_backward_split, tn_norm_backward_group;

/* Checks parameters and views of a call, which has x. */
tenon_status tn_norm_check(const char *caller, tenon_context *context,
                           const tenon_norm_params *params, const norm_views *views);

/* Fills in the problem of a call that has been checked, whose x is not empty. */
void tn_norm_canonicalise(const tenon_norm_params *params, const norm_views *views,
                          norm_problem *problem);

/* The dimensions of a set, of a parameter: what kind of normalization it is. Writes x's shape with
 * the channels split into groups; returns its rank. */
uint32_t tn_norm_dimensions(const tenon_norm_params *params, const tenon_tensor *x, int64_t *shape,
                            uint32_t *reduced, uint32_t *parameters);

/* Strides over these dimensions of a view that has x's shape, gamma's or the statistics'. */
void tn_norm_strides(const tenon_norm_params *params, const tenon_tensor *x,
                     const tenon_tensor *view, int number, int64_t *stride);

/* The operand whose shape operand `number` has: NORM_X, NORM_GAMMA or, as statistics, NORM_MEAN. */
int tn_norm_shape_of(bool backward, int number);

/* A launch's order of dimensions: those of `kept` first. Fills in shape, stride, kept, rank, lines,
 * sets, count. Dimensions merge where the strides of `sets` and of `rest` allow. */
void tn_norm_space(const norm_problem *problem, uint32_t kept, const norm_strides *sets,
                   const norm_strides *rest, norm_args *args);

/* Shares the sets of args out, each in at most that many pieces. */
#define NORM_WHOLE      1
#define NORM_SUMS       NORM_MOST_PIECES
#define NORM_ANY_PIECES INT32_MAX
void tn_norm_share(const tenon_context *context, const norm_problem *problem, int64_t pieces,
                   norm_args *args);

/* Shares all elements out: by columns, or one line or part of one after the other. */
void tn_norm_elements(const tenon_context *context, const norm_problem *problem, uint32_t kept,
                      const norm_strides *stride, norm_args *args);

/* The layout of a choice: how the sets are shared out, and the sums that the parameters' gradients
 * need of their own. */
typedef struct norm_layout {
    norm_args sets, parameters;
} norm_layout;

/* Parts of the solvers: what the kernel of a launch is compiled with; the time; the bytes
 * of workspace for sums in pieces; the vectors that hold `count` elements. */
void tn_norm_options(tenon_context *context, const norm_problem *problem, const tn_choice *choice,
                     const norm_args *args, char text[TN_OPTIONS_SIZE]);
void tn_norm_add_time(const tenon_context *context, const norm_problem *problem,
                      const norm_args *args, bool split, tn_choice *choice);
uint64_t tn_norm_work(const norm_problem *problem, const norm_args *args);
int64_t tn_norm_vectors(const tenon_context *context, const norm_problem *problem, int64_t count);

/* Records the launch of a kernel: `views` are the operands that it takes, in its order, by their
 * numbers in norm/args.h, NORM_WORK being the workspace; -1 ends them. Those with a bit of
 * `in_work` lie in the workspace. */
#define NORM_WORK NORM_VIEWS
tenon_status tn_norm_launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                            const tn_choice *choice, const char *kernel, const int *views,
                            uint32_t in_work, const norm_args *args);

/* The same of a kernel that works by teams (ops/common/gpu.h): all of args is filled in but the
 * team's way. */
tenon_status tn_norm_launch_team(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice,
                                 const char *source, const int *views, norm_args args);

/* norm_backward: whether dx needs sums over the sets, whether these are the parameters' gradients,
 * and whether those need sums of their own, in pieces or not: these are added to a choice, and
 * launched where they are needed. */
bool tn_norm_wants_sums(const norm_problem *problem);
bool tn_norm_sets_are_parameters(const norm_problem *problem);
bool tn_norm_wants_own_sums(const norm_problem *problem);
void tn_norm_configure_parameters(tenon_context *context, const norm_problem *problem, bool split,
                                  tn_choice *choice);
tenon_status tn_norm_launch_parameters(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice,
                                       bool split);
#define NORM_PARAMETERS (NORM_HAS(NORM_DGAMMA) | NORM_HAS(NORM_DBETA))

/* The layout's sets, which write the parameters' gradients only where these are theirs. */
norm_args tn_norm_set_args(const norm_problem *problem, const tn_choice *choice);

/* The sets (or parameters, by the dimensions `kept`) of a problem, and the elements of one. */
int64_t tn_norm_sets_of(const norm_problem *problem, uint32_t kept);
int64_t tn_norm_count_of(const norm_problem *problem, uint32_t kept);
uint32_t tn_norm_kept(const norm_problem *problem);
/* The same with the innermost dimension where sets are better summed in parts: it is short, and
 * contiguous with one that is kept. */
uint32_t tn_norm_parts(const norm_problem *problem);

/* Strides of the numbers of sets in the workspace, over the problem's dimensions. */
void tn_norm_work_strides(const norm_problem *problem, uint32_t kept, int64_t *stride);

/* The number in norm/args.h of an operation's operand, and all of a call's. */
int tn_norm_number(const tn_operation *operation, uint32_t operand);
norm_views tn_norm_views(const tn_operation *operation, const tenon_tensor *const *operands);

/* As tn_operation and tn_family have them. */
tn_prepare_function tn_norm_prepare;
bool tn_norm_forward_reference(const tn_operation *operation, const tenon_norm_params *params,
                               const tenon_tensor *const *operands, tn_bounded *expected);
bool tn_norm_backward_reference(const tn_operation *operation, const tenon_norm_params *params,
                                const tenon_tensor *const *operands, tn_bounded *expected);
tn_awkward_function tn_norm_awkward;

#endif
