/* The solvers norm_backward/sets and norm_backward/split. */
#include "base/checked.h"
#include "ops/norm/internal.h"

#include <string.h>

static bool wants_parameters(const norm_problem *p)
{
    return (p->flags & NORM_PARAMETERS) != 0;
}

/* Batch normalization only: the sums of a set are the gradients of its parameters. */
bool tn_norm_sets_are_parameters(const norm_problem *p)
{
    return tn_norm_kept(p) == p->parameters && (p->flags & NORM_WEIGHTED) == 0;
}

static bool has_dx(const norm_problem *p)
{
    return (p->flags & NORM_HAS(NORM_DX)) != 0;
}

/* Returns true if dx needs sums over the sets. */
bool tn_norm_wants_sums(const norm_problem *p)
{
    return has_dx(p) && (p->flags & NORM_GIVEN) == 0;
}

/* Returns true if the gradients of the parameters need separate sums. */
bool tn_norm_wants_own_sums(const norm_problem *p)
{
    return wants_parameters(p) && !(tn_norm_wants_sums(p) && tn_norm_sets_are_parameters(p));
}

static void share(const tenon_context *context, const norm_problem *p, uint32_t kept, bool split,
                  norm_args *args)
{
    tn_norm_space(p, kept, &p->stride, &p->stride, args);
    tn_norm_share(context, p, split ? NORM_SUMS : NORM_WHOLE, args);
}

void tn_norm_configure_parameters(tenon_context *context, const norm_problem *p, bool split,
                                  tn_choice *choice)
{
    norm_args *args = &TN_LAYOUT(norm_layout, choice)->parameters;
    if (!tn_norm_wants_own_sums(p))
        return;
    share(context, p, p->parameters, split, args);
    choice->workspace = split ? tn_norm_work(p, args) : 0;
    tn_norm_add_time(context, p, args, split, choice);
}

static const char *norm_backward_configure(tenon_context *context, const tn_problem *problem,
                                           tn_choice *choice)
{
    const norm_problem *p = (const norm_problem *)problem;
    const bool split = tn_is_solver(choice->solver, &tn_norm_backward_split);
    norm_args *args = &TN_LAYOUT(norm_layout, choice)->sets;
    tn_norm_configure_parameters(context, p, split, choice);
    share(context, p, tn_norm_kept(p), split, args);
    if (has_dx(p))
        tn_norm_add_time(context, p, args, split, choice);
    if (split && tn_norm_wants_sums(p) && tn_norm_work(p, args) > choice->workspace)
        choice->workspace = tn_norm_work(p, args);
    tn_norm_options(context, p, choice, args, choice->options);
    return NULL;
}

/* Launches the sums of dy and dy · h, per set or per parameter as `args` says. */
static tenon_status launch_sums(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice,
                                const norm_args *args)
{
    static const int sums[] = {NORM_X,    NORM_DY,     NORM_GAMMA, NORM_MEAN, NORM_RSTD,
                               NORM_WORK, NORM_DGAMMA, NORM_DBETA, -1};
    return tn_norm_launch(caller, recording, problem, choice, "norm_sums", sums, 0, args);
}

/* As launch_sums, but in pieces, which are then added up. The totals are written to dgamma and
 * dbeta if the flags have them, and to the workspace if `to_work`. */
static tenon_status launch_pieces(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice, bool to_work,
                                  norm_args args)
{
    static const int views[] = {NORM_WORK, NORM_DGAMMA, NORM_DBETA, -1};
    args.flags |= NORM_TO_WORK;
    TN_TRY(launch_sums(caller, recording, problem, choice, &args));
    if (!to_work)
        args.flags &= ~NORM_TO_WORK;
    args.items = tn_norm_vectors(recording->context, (const norm_problem *)problem, args.sets);
    return tn_norm_launch(caller, recording, problem, choice, "norm_reduce", views, 0, &args);
}

/* Only sums over sets are weighted by gamma. */
tenon_status tn_norm_launch_parameters(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice,
                                       bool split)
{
    norm_args args = TN_LAYOUT(const norm_layout, choice)->parameters;
    args.flags &= ~NORM_WEIGHTED;
    if (!tn_norm_wants_own_sums((const norm_problem *)problem))
        return TENON_OK;
    return split ? launch_pieces(caller, recording, problem, choice, false, args)
                 : launch_sums(caller, recording, problem, choice, &args);
}

norm_args tn_norm_set_args(const norm_problem *p, const tn_choice *choice)
{
    norm_args args = TN_LAYOUT(const norm_layout, choice)->sets;
    if (!tn_norm_sets_are_parameters(p))
        args.flags &= ~NORM_PARAMETERS;
    return args;
}

/* Launches the computation of dx. Sums that it needs are in the workspace at `work`. */
static tenon_status launch_gradient(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice,
                                    int64_t work)
{
    static const int views[] = {NORM_X,    NORM_DY,     NORM_GAMMA, NORM_MEAN,
                                NORM_RSTD, NORM_DGAMMA, NORM_DX,    -1};
    const norm_problem *p = (const norm_problem *)problem;
    const uint32_t kept = tn_norm_kept(p);
    norm_strides stride = p->stride;
    norm_args args;
    if (!has_dx(p))
        return TENON_OK;
    for (int v = NORM_DGAMMA; v <= NORM_DBETA; v++)
        tn_norm_work_strides(p, kept, stride.of[v]);
    tn_norm_elements(recording->context, p, kept, &stride, &args);
    args.offset[NORM_DGAMMA] = work;
    args.offset[NORM_DBETA] = work + tn_norm_sets_of(p, kept);
    return tn_norm_launch(caller, recording, problem, choice, "norm_gradient", views,
                          tn_norm_wants_sums(p) ? 1u << NORM_DGAMMA | 1u << NORM_DBETA : 0, &args);
}

/* The gradients of the parameters are computed first, because dx may overwrite dy. */
static tenon_status launch_sets(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    static const int views[] = {NORM_X,  NORM_DY,     NORM_GAMMA, NORM_MEAN, NORM_RSTD,
                                NORM_DX, NORM_DGAMMA, NORM_DBETA, -1};
    const norm_problem *p = (const norm_problem *)problem;
    TN_TRY(tn_norm_launch_parameters(caller, recording, problem, choice, false));
    if (!tn_norm_wants_sums(p))
        return launch_gradient(caller, recording, problem, choice, 0);
    const norm_args args = tn_norm_set_args(p, choice);
    return tn_norm_launch(caller, recording, problem, choice, "norm_whole", views, 0, &args);
}

static tenon_status launch_split(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const norm_problem *p = (const norm_problem *)problem;
    const norm_args args = tn_norm_set_args(p, choice);
    TN_TRY(tn_norm_launch_parameters(caller, recording, problem, choice, true));
    if (tn_norm_wants_sums(p))
        TN_TRY(launch_pieces(caller, recording, problem, choice, true, args));
    return launch_gradient(caller, recording, problem, choice, 2 * args.pieces * args.sets);
}

const tn_solver tn_norm_backward_sets = {.name = "sets",
                                         .serves = "everything; a work-item handles whole sets",
                                         .configure = norm_backward_configure,
                                         .launch = launch_sets};

const tn_solver tn_norm_backward_split = {
    .name = "split",
    .serves = "everything; splits sets into pieces, best for few sets of many elements",
    .needs = "workspace for partial sums",
    .configure = norm_backward_configure,
    .launch = launch_split};
