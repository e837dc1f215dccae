/*
 * The solver prelu/rows, and those of prelu_backward: vectors along the summed dimensions (along)
 * or across them (across), with sums whole or (…_split) in segments, with partial sums in the
 * workspace.
 */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/prelu/internal.h"

#include <stddef.h>
#include <string.h>

/* On a CPU: elements that are worth a work-item or a partial sum; and sizes of a unit and of a
 * group of vectors. */
#define CPU_WORK        16384
#define CPU_CHUNK       4096
#define CPU_GROUP       8
#define CPU_LEAST_UNITS 32
/* Enough work-items for a GPU, and the maximum number of partial sums that one adds up. */
#define GPU_ITEMS    16384
#define MAX_SEGMENTS 1024

typedef enum way { ALONG, ACROSS } way;
#define SPLIT 2 /* a solver's variant is its method, combined with this if sums are split */

/* The layout of the gradient's solvers. */
typedef struct prelu_layout {
    prelu_args args;
    way way;
} prelu_layout;

static const char *configure_forward(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    tn_pointwise_configure(context, (const tn_pointwise_problem *)problem, "", choice);
    return NULL;
}

static tenon_status launch_forward(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    walk_args args = {.rank = 0};
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const tn_launch rows = {.source = "prelu/forward",
                            .options = choice->options,
                            .kernel = "forward",
                            .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, rows, &args,
                               tn_pointwise_share(recording->context, p, tn_gpu_lanes(p->to)));
}

const tn_solver tn_prelu_rows = {.name = "rows",
                                 .serves = "any strides and broadcasts",
                                 TN_PARAMETERS(tn_stores_parameter, 1),
                                 .configure = configure_forward,
                                 .launch = launch_forward};

static int64_t product(const prelu_backward_problem *p, uint32_t first, uint32_t end)
{
    int64_t count = 1;
    for (uint32_t d = first; d < end; d++)
        count *= p->shape[d];
    return count;
}

/* Returns the dimension that vectors run along. */
static uint32_t vector_dimension(const prelu_backward_problem *p, way w)
{
    return (w == ALONG ? p->rank : p->kept) - 1;
}

/* Returns the number of slopes that `across` processes at once. */
static int64_t width_of(tenon_context *context, const prelu_backward_problem *p)
{
    return (int64_t)tn_lanes(context, p->dtype) * (context->device.is_cpu ? CPU_GROUP : 1);
}

/* Assigns units to segments: interleaved on a GPU, for coalesced reads; adjacent on a CPU. */
static void share(prelu_args *args, bool cpu, int64_t wanted)
{
    wanted = tn_max_i64(tn_min_i64(wanted, MAX_SEGMENTS), 1);
    args->units_each = tn_max_i64(tn_ceil_div(args->units, wanted), 1);
    args->segments = tn_max_i64(tn_ceil_div(args->units, args->units_each), 1);
    args->unit_step = cpu ? 1 : args->segments;
    args->segment_step = cpu ? args->units_each : 1;
}

static void cut_along(const prelu_backward_problem *p, bool cpu, bool split, prelu_args *args)
{
    const int64_t inner = p->shape[p->rank - 1], rows = product(p, p->kept, p->rank - 1);
    args->chunk = cpu ? CPU_CHUNK : tn_gpu_lanes(p->dtype);
    args->pieces = tn_ceil_div(inner, args->chunk);
    args->units = rows * args->pieces;
    share(args, cpu,
          !split ? 1
          : cpu  ? tn_ceil_div(rows * inner, CPU_WORK)
                 : tn_ceil_div(GPU_ITEMS, args->slopes));
    args->slopes_each =
        cpu && args->segments == 1 ? tn_max_i64(CPU_WORK / tn_max_i64(rows * inner, 1), 1) : 1;
}

static void cut_across(const prelu_backward_problem *p, int64_t width, bool cpu, bool split,
                       prelu_args *args)
{
    const int64_t inner = p->shape[p->kept - 1];
    args->chunk = args->pieces = 1;
    args->units = product(p, p->kept, p->rank);
    share(args, cpu,
          !split ? 1
          : cpu  ? tn_min_i64(tn_ceil_div(args->units * inner, 4 * CPU_WORK),
                              tn_ceil_div(args->units, CPU_LEAST_UNITS))
                 : tn_ceil_div(GPU_ITEMS * width, args->slopes));
    args->slopes_each = width;
    if (cpu && args->segments == 1)
        args->slopes_each = tn_round_up(
            tn_max_i64(tn_min_i64(CPU_WORK / tn_max_i64(args->units, 1), inner), 1), width);
    else if (cpu)
        args->slopes_each = CPU_CHUNK;
}

static prelu_args cut(tenon_context *context, const prelu_backward_problem *p, way w, bool split)
{
    prelu_args args = {
        .slopes = product(p, 0, p->kept), .kept = (tenon_i32)p->kept, .rank = (tenon_i32)p->rank};
    memcpy(args.shape, p->shape, sizeof args.shape);
    memcpy(args.stride, p->stride, sizeof args.stride);
    if (w == ALONG)
        cut_along(p, context->device.is_cpu, split, &args);
    else
        cut_across(p, width_of(context, p), context->device.is_cpu, split, &args);
    return args;
}

static void global_size(const prelu_backward_problem *p, way w, const prelu_args *args,
                        size_t global[3])
{
    const int64_t inner = w == ALONG ? args->slopes : p->shape[p->kept - 1];
    global[0] = (size_t)args->segments;
    global[1] = (size_t)tn_ceil_div(inner, args->slopes_each);
    global[2] = (size_t)(args->slopes / inner);
}

/* Estimates the work. Without contiguous vectors, elements count as single ones. A CPU also pays
 * for short accesses to each of many rows, since these are in as many pages. */
static tn_work prelu_solvers_work_of(tenon_context *context, const prelu_backward_problem *p,
                                     const prelu_layout *layout)
{
    const prelu_args *args = &layout->args;
    const uint32_t d = vector_dimension(p, layout->way);
    const int64_t inner = p->shape[d], lanes = tn_lanes(context, p->dtype);
    const bool vectors = inner >= lanes && p->stride[PRELU_X][d] <= 1 &&
                         p->stride[PRELU_DY][d] <= 1 && p->stride[PRELU_DX][d] == 1;
    const bool hops = layout->way == ACROSS && args->segments == 1 &&
                      args->units > CPU_LEAST_UNITS && inner > width_of(context, p);
    const double elements = (double)product(p, 0, p->rank);
    size_t global[3];
    global_size(p, layout->way, args, global);
    return (tn_work){.launches = 1,
                     .items = (double)global[0] * (double)global[1] * (double)global[2],
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = vectors && !hops ? 6 * elements : 0,
                     .single_elements = !vectors ? 6 * elements
                                        : hops   ? 2.5 * elements
                                                 : 0,
                     .bytes = elements * 3 * (double)tenon_dtype_size((tenon_dtype)p->dtype),
                     .reads = vectors && !hops ? TN_COALESCED : TN_SCATTERED};
}

static const char *prelu_solvers_configure(tenon_context *context, const tn_problem *problem,
                                           tn_choice *choice)
{
    const prelu_backward_problem *p = (const prelu_backward_problem *)problem;
    const bool split = (choice->solver->variant & SPLIT) != 0;
    prelu_layout *layout = TN_LAYOUT(prelu_layout, choice);
    layout->way = (way)(choice->solver->variant & ~SPLIT);
    layout->args = cut(context, p, layout->way, split);
    if (split && layout->args.segments == 1)
        return "too few elements are summed for each slope";
    if (split)
        choice->workspace =
            (uint64_t)layout->args.segments * (uint64_t)layout->args.slopes * tn_acc_size(p->dtype);
    const tn_work work = prelu_solvers_work_of(context, p, layout);
    const tn_work finish = {.launches = 1,
                            .follows = true,
                            .single_elements =
                                (double)(layout->args.segments * layout->args.slopes)};
    tn_choice_add(context, choice, &work);
    if (layout->args.segments > 1)
        tn_choice_add(context, choice, &finish);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s -DPRELU_GROUP=%d",
                      p->dtype, tn_lanes(context, p->dtype), tn_gpu_option(context),
                      context->device.is_cpu ? CPU_GROUP : 1);
    return NULL;
}

static tenon_status prelu_solvers_record(const char *caller, tn_recording *recording,
                                         const prelu_backward_problem *p, tn_launch launch)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_patch patches[PRELU_VIEWS + 1];
    for (uint32_t v = 0; v < PRELU_VIEWS; v++)
        patches[v] =
            (tn_patch){TN_PATCH_OFFSET, (uint8_t)v,
                       (uint16_t)(offsetof(prelu_args, offset) + v * sizeof(tenon_i64)), size};
    patches[PRELU_VIEWS] = (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(prelu_args, partial),
                                      (uint32_t)tn_acc_size(p->dtype)};
    launch.source = "prelu/backward";
    launch.args_size = sizeof(prelu_args);
    launch.patches = patches;
    launch.patch_count = PRELU_VIEWS + 1;
    /* An explicit group size: PoCL compiles a kernel for each size that the driver selects. */
    for (int d = 0; d < 3 && recording->context->device.is_cpu; d++)
        launch.local[d] = 1;
    return tn_record(caller, recording, &launch);
}

static tenon_status prelu_solvers_launch(const char *caller, tn_recording *recording,
                                         const tn_problem *problem, const tn_choice *choice)
{
    const prelu_backward_problem *p = (const prelu_backward_problem *)problem;
    const prelu_layout *layout = TN_LAYOUT(const prelu_layout, choice);
    prelu_args args = layout->args;
    const bool cpu = recording->context->device.is_cpu;
    tn_launch sums = {.kernel = layout->way == ALONG       ? "along"
                                : args.segments > 1 && cpu ? "stream"
                                                           : "across",
                      .options = choice->options,
                      .dimensions = 3,
                      .operands = {PRELU_X, PRELU_SLOPE, PRELU_DY, PRELU_DX, PRELU_DSLOPE},
                      .operand_count = PRELU_VIEWS + 1,
                      .args = &args};
    sums.operands[PRELU_VIEWS] = args.segments > 1 ? TN_WORKSPACE : PRELU_DSLOPE;
    global_size(p, layout->way, &args, sums.global);
    TN_TRY(prelu_solvers_record(caller, recording, p, sums));
    if (args.segments == 1)
        return TENON_OK;
    args.slopes_each = cpu ? tn_max_i64(CPU_WORK / args.segments, 1) : 1;
    const tn_launch finish = {.kernel = "finish",
                              .options = choice->options,
                              .dimensions = 1,
                              .global = {(size_t)tn_ceil_div(args.slopes, args.slopes_each)},
                              .operands = {TN_WORKSPACE, PRELU_DSLOPE},
                              .operand_count = 2,
                              .args = &args};
    return prelu_solvers_record(caller, recording, p, finish);
}

const tn_solver tn_prelu_along = {.name = "along",
                                  .serves = "everything; vectors along the summed dimensions",
                                  .variant = ALONG,
                                  .configure = prelu_solvers_configure,
                                  .launch = prelu_solvers_launch};
const tn_solver tn_prelu_across = {.name = "across",
                                   .serves = "everything; vectors across the slopes",
                                   .variant = ACROSS,
                                   .configure = prelu_solvers_configure,
                                   .launch = prelu_solvers_launch};

/* Awkward cases whose sums are long enough to be split. */
const tn_solver tn_prelu_along_split = {
    .name = "along_split",
    .serves = "sums long enough to be split; vectors along the summed dimensions",
    .needs = "workspace for partial sums",
    .awkward = "; rows=20011 columns=5; rows=3301 columns=5",
    .variant = ALONG | SPLIT,
    .configure = prelu_solvers_configure,
    .launch = prelu_solvers_launch};
const tn_solver tn_prelu_across_split = {
    .name = "across_split",
    .serves = "sums long enough to be split; vectors across the slopes",
    .needs = "workspace for partial sums",
    .awkward = ";; rows=3301 columns=5",
    .variant = ACROSS | SPLIT,
    .configure = prelu_solvers_configure,
    .launch = prelu_solvers_launch};
