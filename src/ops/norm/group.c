/* The solvers norm/group and norm_backward/group: a team of work-items per set. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/norm/internal.h"

/* Maximum additions to one sum of a work-item. docs/numerics.md relies on it. */
#define MOST_STEPS NORM_BLOCK

static int64_t vectors_of(const norm_problem *p, const norm_args *args)
{
    return args->lines * tn_ceil_div(args->shape[args->rank - 1], tn_gpu_lanes(p->dtype));
}

/* Estimates the work. Sets that do not fit in registers are read for each sum, partly from the
 * cache. On a CPU the synchronization within work-groups dominates. */
static tn_work norm_group_work_of(const tenon_context *context, const norm_problem *p,
                                  const norm_args *args, int32_t team)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double inputs = p->backward ? 2 : 1;
    const int across = args->columns ? args->kept - 1 : args->rank - 1;
    const double elements = (double)args->sets * (double)args->count;
    const double times = vectors_of(p, args) <= (int64_t)team * TN_TEAM_VECTORS ? 1 : 2;
    const bool alone = team == 1 && !args->columns;
    return (tn_work){.launches = 1,
                     .items = (double)args->sets * team,
                     .single_elements = context->device.is_cpu ? 1e6 + 25 * elements : 0,
                     .bytes = elements * size * (inputs * times + 1),
                     .reads = args->stride[NORM_X][across] > 1 ? TN_SCATTERED
                              : alone ? tn_reads_of_row((double)args->count * size)
                                      : TN_COALESCED};
}

static const char *configure_sets(tenon_context *context, const norm_problem *p, tn_choice *choice)
{
    norm_args *args = &TN_LAYOUT(norm_layout, choice)->sets;
    char options[64];
    tn_norm_space(p, tn_norm_kept(p), &p->stride, &p->stride, args);
    const int64_t vectors = vectors_of(p, args);
    if (args->rank - args->kept > 2)
        return "a set has more than two dimensions that cannot be merged";
    if (vectors > (int64_t)MOST_STEPS * tn_team_group(context))
        return "the sets are too large";
    tn_team_tune(context, args->sets, vectors, choice);
    if (vectors > (int64_t)choice->values[0] * MOST_STEPS)
        choice->misfit = "the team is too small for the sets";
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = norm_group_work_of(context, p, args, choice->values[0]);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_PARAM_ACC=%u %s", p->dtype,
                      p->parameter_acc, tn_team_options(context, p->dtype, options));
    return NULL;
}

static const char *configure_forward(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const norm_problem *p = (const norm_problem *)problem;
    return (p->flags & NORM_GIVEN) != 0 ? "the statistics are given"
                                        : configure_sets(context, p, choice);
}

static const char *configure_backward(tenon_context *context, const tn_problem *problem,
                                      tn_choice *choice)
{
    const norm_problem *p = (const norm_problem *)problem;
    if (!tn_norm_wants_sums(p))
        return "dx needs no sums over the sets";
    tn_norm_configure_parameters(context, p, true, choice);
    return configure_sets(context, p, choice);
}

static tenon_status launch_forward(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    static const int views[] = {NORM_X,    NORM_GAMMA, NORM_BETA,         NORM_Y,
                                NORM_MEAN, NORM_RSTD,  NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE,
                                -1};
    return tn_norm_launch_team(caller, recording, problem, choice, "norm/forward_group", views,
                               TN_LAYOUT(const norm_layout, choice)->sets);
}

/* The gradients of the parameters are computed first, because dx may overwrite dy. */
static tenon_status launch_backward(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    static const int views[] = {NORM_X,  NORM_DY,     NORM_GAMMA, NORM_MEAN, NORM_RSTD,
                                NORM_DX, NORM_DGAMMA, NORM_DBETA, -1};
    TN_TRY(tn_norm_launch_parameters(caller, recording, problem, choice, true));
    return tn_norm_launch_team(caller, recording, problem, choice, "norm/backward_group", views,
                               tn_norm_set_args((const norm_problem *)problem, choice));
}

/* Sets of two dimensions: usual sizes, sizes that any team keeps in registers, and larger ones. */
static const char awkward[] =
    "height=1; height=1 width=tm+2; samples=2 channels=6 height=1 width=32*tm+7";

const tn_solver tn_norm_group = {
    .name = "group",
    .serves = "sets of at most 2¹⁸ elements and at most two dimensions after merging; a team of "
              "work-items per set, on GPUs",
    .awkward = awkward,
    TN_PARAMETERS(tn_team_parameter, 1),
    .configure = configure_forward,
    .launch = launch_forward};

const tn_solver tn_norm_backward_group = {
    .name = "group",
    .serves = "sets of at most 2¹⁸ elements and at most two dimensions after merging; a team of "
              "work-items per set, on GPUs",
    .needs = "workspace for partial sums of the parameters' gradients",
    .awkward = awkward,
    TN_PARAMETERS(tn_team_parameter, 1),
    .configure = configure_backward,
    .launch = launch_backward};
