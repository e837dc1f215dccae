/* The solvers norm/sets, norm/split and norm/given. */
#include "base/checked.h"
#include "ops/norm/internal.h"

#include <string.h>

/* Divides the work of the partial sums, which read only x. If x is contiguous along a short
 * dimension of the sets, vectors lie across it, and norm_combine adds up the sums of its entries.
 */
static void share_partial(const tenon_context *context, const norm_problem *p, norm_args *args)
{
    norm_strides x = {.of = {{0}}};
    memcpy(x.of[NORM_X], p->stride.of[NORM_X], sizeof x.of[NORM_X]);
    tn_norm_space(p, tn_norm_parts(p), &x, &x, args);
    tn_norm_share(context, p, NORM_SUMS, args);
}

static void share_sets(const tenon_context *context, const norm_problem *p, norm_args *args)
{
    tn_norm_space(p, tn_norm_kept(p), &p->stride, &p->stride, args);
    tn_norm_share(context, p, NORM_WHOLE, args);
}

/* Allows non-temporal stores if the vectors of x and y are contiguous. */
static void norm_forward_tune(tenon_context *context, const norm_problem *p, const norm_args *sets,
                              tn_choice *choice)
{
    const int across = sets->columns ? sets->kept - 1 : sets->rank - 1;
    const bool dense = sets->stride[NORM_X][across] == 1 && sets->stride[NORM_Y][across] == 1;
    tn_stores_configure(context, dense ? tn_stores_bytes(p->dtype, sets->sets * sets->count) : 0,
                        choice);
}

static const char *norm_forward_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    const norm_problem *p = (const norm_problem *)problem;
    const bool is_given = (p->flags & NORM_GIVEN) != 0;
    const bool split = tn_is_solver(choice->solver, &tn_norm_split);
    norm_args *args = &TN_LAYOUT(norm_layout, choice)->sets;
    if (is_given != tn_is_solver(choice->solver, &tn_norm_given))
        return is_given ? "the statistics are given" : "the statistics are computed from x";
    share_sets(context, p, args);
    norm_forward_tune(context, p, args, choice);
    if (choice->misfit != NULL)
        return NULL;
    tn_norm_options(context, p, choice, args, choice->options);
    if (split) {
        share_partial(context, p, args);
        choice->workspace = tn_norm_work(p, args);
    }
    tn_norm_add_time(context, p, args, split, choice);
    return NULL;
}

static tenon_status launch_sets(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    static const int views[] = {NORM_X,    NORM_GAMMA, NORM_BETA,         NORM_Y,
                                NORM_MEAN, NORM_RSTD,  NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE,
                                -1};
    return tn_norm_launch(caller, recording, problem, choice, "norm_sets", views, 0,
                          &TN_LAYOUT(const norm_layout, choice)->sets);
}

/* Launches the kernel for y, with given statistics or those in the workspace at `work`. */
static tenon_status launch_apply(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice, bool in_work,
                                 int64_t work)
{
    static const int views[] = {NORM_X, NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_RSTD, NORM_Y, -1};
    const norm_problem *p = (const norm_problem *)problem;
    const uint32_t kept = in_work ? tn_norm_parts(p) : tn_norm_kept(p);
    norm_strides stride = p->stride;
    norm_args args;
    for (int v = NORM_MEAN; v <= NORM_RSTD && in_work; v++)
        tn_norm_work_strides(p, kept, stride.of[v]);
    for (int v = NORM_RUNNING_MEAN; v < NORM_VIEWS; v++)
        memset(stride.of[v], 0, sizeof stride.of[v]);
    tn_norm_elements(recording->context, p, kept, &stride, &args);
    if (in_work) {
        args.offset[NORM_MEAN] = work;
        args.offset[NORM_RSTD] = work + tn_norm_sets_of(p, kept);
    }
    return tn_norm_launch(caller, recording, problem, choice, "norm_apply", views,
                          in_work ? 1u << NORM_MEAN | 1u << NORM_RSTD : 0, &args);
}

/* Launches norm_combine for the pieces of `partial`. */
static tenon_status launch_combine(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice,
                                   const norm_args *partial)
{
    static const int views[] = {
        NORM_WORK, NORM_MEAN, NORM_RSTD, NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE, -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_strides x = {.of = {{0}}};
    norm_args sets, args = *partial;
    memcpy(x.of[NORM_X], p->stride.of[NORM_X], sizeof x.of[NORM_X]);
    /* The same pieces, but keeps only the dimensions in which the outputs differ. */
    tn_norm_space(p, tn_norm_parts(p), &p->stride, &x, &sets);
    memcpy(args.shape, sets.shape, sizeof args.shape);
    memcpy(args.stride, sets.stride, sizeof args.stride);
    args.kept = sets.kept;
    args.rank = sets.rank;
    args.sets = tn_norm_sets_of(p, tn_norm_kept(p));
    args.count = tn_norm_count_of(p, tn_norm_kept(p));
    args.parts = partial->sets / args.sets;
    args.items = tn_norm_vectors(recording->context, p, args.sets);
    return tn_norm_launch(caller, recording, problem, choice, "norm_combine", views, 0, &args);
}

static tenon_status launch_split(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    static const int views[] = {NORM_X, NORM_WORK, -1};
    const norm_args *args = &TN_LAYOUT(const norm_layout, choice)->sets;
    TN_TRY(tn_norm_launch(caller, recording, problem, choice, "norm_partial", views, 0, args));
    TN_TRY(launch_combine(caller, recording, problem, choice, args));
    return launch_apply(caller, recording, problem, choice, true, 2 * args->pieces * args->sets);
}

static tenon_status launch_given(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    return launch_apply(caller, recording, problem, choice, false, 0);
}

const tn_solver tn_norm_sets = {
    .name = "sets",
    .serves = "everything except given statistics; a work-item handles whole sets",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = norm_forward_configure,
    .launch = launch_sets};

const tn_solver tn_norm_split = {
    .name = "split",
    .serves =
        "everything except given statistics; splits sets into pieces, best for few sets of many "
        "elements",
    .needs = "workspace for partial sums",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = norm_forward_configure,
    .launch = launch_split};

const tn_solver tn_norm_given = {.name = "given",
                                 .serves = "given statistics: inference with batch normalization",
                                 TN_PARAMETERS(tn_stores_parameter, 1),
                                 .configure = norm_forward_configure,
                                 .launch = launch_given};
