/* The solver `group` of all reduction families: a team of work-items per row. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/reduction.h"

/* Maximum additions to one partial sum, of which a work-item has four. docs/numerics.md relies on
 * it. */
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

/* Returns true if neighbors in memory belong to different rows. */
static bool is_across(const tn_reduction_problem *p)
{
    const int64_t step = p->stride[REDUCTION_X][p->rank - 1];
    return step > 1 && p->kept_stride[REDUCTION_X][p->kept_rank - 1] < step;
}

/* A variance reads its rows twice. On a CPU the synchronization of work-groups dominates. */
static tn_work common_reduction_group_work_of(const tenon_context *context,
                                              const tn_reduction_problem *p, int32_t team)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double rows = (double)tn_reduction_count(p), elements = rows * (double)p->size;
    const double inputs = p->element_size[REDUCTION_T] != 0 ? 2 : 1;
    const int64_t step = is_across(p) ? p->kept_stride[REDUCTION_X][p->kept_rank - 1]
                                      : p->stride[REDUCTION_X][p->rank - 1];
    const int64_t length = is_across(p) ? p->kept_shape[p->kept_rank - 1] : p->shape[p->rank - 1];
    const bool alone = team == 1 && !is_across(p);
    return (tn_work){.launches = 1,
                     .items = rows * team,
                     .single_elements = context->device.is_cpu ? 1e6 + 25 * elements : 0,
                     .bytes = elements * size * inputs * (p->kind == REDUCTION_VARIANCE ? 1.5 : 1),
                     .reads = step > 1 ? TN_SCATTERED
                              : alone  ? tn_reads_of_row((double)p->size * size)
                                       : TN_COALESCED,
                     .reach = step > 1 || alone || length >= tn_gpu_lanes(p->dtype) ? 1 : 0.5};
}

static const char *common_reduction_group_configure(tenon_context *context,
                                                    const tn_problem *problem, tn_choice *choice)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    char options[64], program[TN_REDUCTION_OPTIONS];
    if (p->variant == REDUCTION_COUNT)
        return "teams do not count";
    if (p->size == 0)
        return "the rows are empty";
    if (p->rank > 2)
        return "the rows have more than two dimensions that cannot be merged";
    if (is_too_long(p, tn_team_group(context)))
        return "the rows are too long";
    tn_team_tune(context, tn_reduction_count(p), vectors_of(p), choice);
    if (is_too_long(p, choice->values[0]))
        choice->misfit = "the team is too small for the rows";
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = common_reduction_group_work_of(context, p, choice->values[0]);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u %s%s", p->dtype,
                      tn_team_options(context, p->dtype, options),
                      tn_reduction_options(p, program));
    return NULL;
}

static tenon_status common_reduction_group_launch(const char *caller, tn_recording *recording,
                                                  const tn_problem *problem,
                                                  const tn_choice *choice)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const int64_t group = tn_team_group(recording->context), team = choice->values[0];
    reduction_args args;
    tn_launch it = {.source = p->kind == REDUCTION_SQUARED_ERROR ? "loss/mse_forward_group"
                              : tn_reduction_is_extremum(p)      ? "reduce/extremum_group"
                                                                 : "reduce/sum_group",
                    .options = choice->options,
                    .kernel = "reduce_group",
                    .local = {(size_t)group},
                    .operand_count = REDUCTION_VIEWS};
    tn_reduction_fill(p, &args);
    args.pieces = 1;
    args.across = is_across(p);
    args.way =
        tn_team_way((int32_t)team, tn_ceil_div(p->shape[p->rank - 1], tn_gpu_lanes(p->dtype)));
    for (int v = 0; v < REDUCTION_VIEWS; v++)
        it.operands[v] = tn_reduction_operand(p, v);
    it.global[0] = (size_t)tn_round_up(args.count * team, group);
    return tn_reduction_launch(caller, recording, p, &it, &args);
}

const tn_solver tn_reduction_group = {
    .name = "group",
    .serves = "rows of at most 2²⁰ elements and at most two dimensions after merging; a team of "
              "work-items per row, on GPUs",
    TN_PARAMETERS(tn_team_parameter, 1),
    .configure = common_reduction_group_configure,
    .launch = common_reduction_group_launch};
