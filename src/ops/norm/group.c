/* norm/group and norm_backward/group: a set to a team of work-items. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/norm/internal.h"

/* docs/numerics.md counts on as many additions to a sum of a work-item's. */
#define MOST_STEPS NORM_BLOCK

static void take_sets(const norm_problem *p, norm_args *args)
{
    tn_norm_space(p, tn_norm_kept(p), &p->stride, &p->stride, args);
}

static int64_t vectors_of(const norm_problem *p, const norm_args *args)
{
    return args->lines * tn_ceil_div(args->shape[args->rank - 1], tn_gpu_lanes(p->dtype));
}

static const char *refuses_shape(tenon_context *context, const norm_problem *p)
{
    norm_args args;
    take_sets(p, &args);
    if (args.rank - args.kept > 2)
        return "a set has more than two dimensions that do not merge";
    if (vectors_of(p, &args) > (int64_t)MOST_STEPS * tn_team_group(context))
        return "the sets are too large";
    return NULL;
}

static const char *refuses_forward(tenon_context *context, const tn_problem *problem)
{
    const norm_problem *p = (const norm_problem *)problem;
    return (p->flags & NORM_GIVEN) != 0 ? "the statistics are given" : refuses_shape(context, p);
}

static const char *refuses_backward(tenon_context *context, const tn_problem *problem)
{
    const norm_problem *p = (const norm_problem *)problem;
    return !tn_norm_wants_sums(p) ? "dx needs no sums" : refuses_shape(context, p);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    take_sets(p, &args);
    tn_team_tune(context, args.sets, vectors_of(p, &args), &values[0]);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    take_sets(p, &args);
    if (vectors_of(p, &args) > (int64_t)values[0] * MOST_STEPS)
        return "a team is too small for the sets";
    return tn_team_constrains(context, problem, values);
}

/* Sets that are not kept are read for each sum, the cache giving some. */
static double time_of(tenon_context *context, const norm_problem *p, int32_t team)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double inputs = p->backward ? 2 : 1;
    norm_args args;
    take_sets(p, &args);
    const int across = args.columns ? args.kept - 1 : args.rank - 1;
    const double elements = (double)args.sets * (double)args.count;
    const double times = vectors_of(p, &args) <= (int64_t)team * TN_TEAM_VECTORS ? 1 : 2;
    double part = TN_GPU_SIDE_BY_SIDE;
    if (context->device.is_cpu) /* what keeps a GPU's work-items together costs a CPU */
        return 1e6 + 20 * elements;
    if (args.stride[NORM_X][across] > 1)
        part = TN_GPU_LONG_ROWS;
    else if (team == 1 && !args.columns)
        part = tn_gpu_own_row((double)args.count * size);
    return tn_gpu_time(context, elements * size * (inputs * times + 1), (double)args.sets * team,
                       part);
}

static double estimate_forward(tenon_context *context, const tn_problem *problem,
                               const int32_t *values)
{
    return time_of(context, (const norm_problem *)problem, values[0]);
}

static double estimate_backward(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const norm_problem *p = (const norm_problem *)problem;
    return tn_norm_parameters_time(context, p) + time_of(context, p, values[0]);
}

static tenon_status record_forward(const char *operation, tn_recording *recording,
                                   const tn_problem *problem, const int32_t *values)
{
    static const int views[] = {NORM_X,    NORM_GAMMA, NORM_BETA,         NORM_Y,
                                NORM_MEAN, NORM_RSTD,  NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE,
                                -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    take_sets(p, &args);
    return tn_norm_record_team(operation, recording, p, "norm/forward_group", views, &args,
                               values[0]);
}

static uint64_t workspace_backward(tenon_context *context, const tn_problem *problem,
                                   const int32_t *values)
{
    (void)values;
    return tn_norm_parameters_work(context, (const norm_problem *)problem);
}

/* The gradients of the parameters come first: dx may be dy. */
static tenon_status record_backward(const char *operation, tn_recording *recording,
                                    const tn_problem *problem, const int32_t *values)
{
    static const int views[] = {NORM_X,  NORM_DY,     NORM_GAMMA, NORM_MEAN, NORM_RSTD,
                                NORM_DX, NORM_DGAMMA, NORM_DBETA, -1};
    const norm_problem *p = (const norm_problem *)problem;
    norm_args args;
    TN_TRY(tn_norm_record_parameters(operation, recording, p));
    take_sets(p, &args);
    if (!tn_norm_sets_are_parameters(p))
        args.flags &= ~NORM_PARAMETERS;
    return tn_norm_record_team(operation, recording, p, "norm/backward_group", views, &args,
                               values[0]);
}

/* Sets of two dimensions: of all sizes, those that any team keeps, and larger ones. */
static const char awkward[] =
    "height=1; height=1 width=tm+2; samples=2 channels=6 height=1 width=32*tm+7";

const tn_solver tn_norm_group = {.name = "group",
                                 .parameters = tn_team_parameter,
                                 .parameter_count = 1,
                                 .refuses = refuses_forward,
                                 .tune = tune,
                                 .constrains = constrains,
                                 .estimate = estimate_forward,
                                 .options = tn_norm_team_options,
                                 .awkward = awkward,
                                 .record = record_forward};

const tn_solver tn_norm_backward_group = {.name = "group",
                                          .parameters = tn_team_parameter,
                                          .parameter_count = 1,
                                          .refuses = refuses_backward,
                                          .tune = tune,
                                          .constrains = constrains,
                                          .workspace = workspace_backward,
                                          .estimate = estimate_backward,
                                          .options = tn_norm_team_options,
                                          .awkward = awkward,
                                          .record = record_backward};
