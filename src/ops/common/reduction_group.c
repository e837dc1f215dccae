/* group, of every family of reductions: a row to a team of work-items. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/reduction.h"

/* docs/numerics.md counts on as many additions to a sum: four sums of a work-item's go side by
 * side. */
#define MOST_STEPS 256

static int64_t vectors_of(const tn_reduction_problem *p)
{
    const int64_t length = p->shape[p->rank - 1];
    return p->size == 0 ? 0 : p->size / length * tn_ceil_div(length, tn_gpu_lanes(p->dtype));
}

static bool is_too_long(const tn_reduction_problem *p, int32_t team)
{
    return vectors_of(p) > (int64_t)MOST_STEPS * TN_TEAM_VECTORS * team;
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    if (p->size == 0)
        return "the rows are empty";
    if (p->rank > 2)
        return "the rows have more than two dimensions that do not merge";
    return is_too_long(p, tn_team_group(context)) ? "the rows are too long" : NULL;
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    tn_team_tune(context, tn_reduction_count(p), vectors_of(p), &values[0]);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    return is_too_long((const tn_reduction_problem *)problem, values[0])
               ? "a team is too small for the rows"
               : tn_team_constrains(context, problem, values);
}

/* Whether neighbours in memory are those of different rows. */
static bool is_across(const tn_reduction_problem *p)
{
    const int64_t step = p->stride[REDUCTION_X][p->rank - 1];
    return step > 1 && p->kept_stride[REDUCTION_X][p->kept_rank - 1] < step;
}

/* A variance reads its rows twice. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double rows = (double)tn_reduction_count(p);
    const double inputs = p->element_size[REDUCTION_T] != 0 ? 2 : 1;
    const int64_t step = is_across(p) ? p->kept_stride[REDUCTION_X][p->kept_rank - 1]
                                      : p->stride[REDUCTION_X][p->rank - 1];
    const int64_t length = is_across(p) ? p->kept_shape[p->kept_rank - 1] : p->shape[p->rank - 1];
    double part = TN_GPU_SIDE_BY_SIDE * (length >= tn_gpu_lanes(p->dtype) ? 1 : 0.5);
    if (context->device.is_cpu) /* what keeps a GPU's work-items together costs a CPU */
        return 1e6 + 20 * rows * (double)p->size;
    if (step > 1)
        part = TN_GPU_LONG_ROWS;
    else if (values[0] == 1 && !is_across(p))
        part = tn_gpu_own_row((double)p->size * size);
    return tn_gpu_time(
        context, rows * (double)p->size * size * inputs * (p->kind == REDUCTION_VARIANCE ? 1.5 : 1),
        rows * values[0], part);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    char team[64];
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u %s%s", p->dtype,
                     tn_team_options(context, p->dtype, team),
                     tn_reduction_is_extremum(p) ? " -DTENON_EXTREMUM" : "");
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const int64_t group = tn_team_group(recording->context);
    char text[TN_OPTIONS_SIZE];
    reduction_args args;
    tn_launch launch = {.source = p->kind == REDUCTION_SQUARED_ERROR ? "loss/mse_forward_group"
                                  : tn_reduction_is_extremum(p)      ? "reduce/extremum_group"
                                                                     : "reduce/sum_group",
                        .options = text,
                        .kernel = "reduce_group",
                        .local = {(size_t)group},
                        .operand_count = REDUCTION_VIEWS};
    options(recording->context, problem, values, text);
    tn_reduction_fill(p, &args);
    args.pieces = 1;
    args.across = is_across(p);
    args.way = tn_team_way(values[0], tn_ceil_div(p->shape[p->rank - 1], tn_gpu_lanes(p->dtype)));
    for (int v = 0; v < REDUCTION_VIEWS; v++)
        launch.operands[v] = tn_reduction_operand(p, v);
    launch.global[0] = (size_t)tn_round_up(args.count * values[0], group);
    return tn_reduction_launch(operation, recording, p, &launch, &args);
}

const tn_solver tn_reduction_group = {.name = "group",
                                      .parameters = tn_team_parameter,
                                      .parameter_count = 1,
                                      .refuses = refuses,
                                      .tune = tune,
                                      .constrains = constrains,
                                      .estimate = estimate,
                                      .options = options,
                                      .record = record};
