/* Division of the work of normalization among work-items, and the launches. */
#include "base/checked.h"
#include "dispatch/self_check.h"
#include "ops/common/gpu.h"
#include "ops/norm/internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* On a CPU: elements that are worth a work-item, maximum columns per work-item, sizes of the caches
 * for its elements, and size of a cache line. On a GPU: elements that a work-item sums. */
#define CPU_CHUNK         8192
#define CPU_COLUMNS       1024
#define CACHE_BYTES       524288
#define INNER_CACHE_BYTES 32768
#define LINE_BYTES        64
#define GPU_SUM           64
/* In the validation context: short pieces, for small sets to have several. */
#define CHECKED_PIECE 72

/* Returns the sets per work-item; with columns, neighbors along the last dimension of sets. */
static int64_t chunk_of(const tenon_context *context, const norm_args *args, bool split,
                        int64_t lanes)
{
    const int64_t fair =
        tn_ceil_div(args->sets, 4 * tn_max_i64((int64_t)context->device.info.compute_units, 1));
    const int64_t worth = tn_max_i64(CPU_CHUNK / args->count, 1);
    if (!context->device.is_cpu)
        return args->columns ? lanes : 1;
    if (args->columns && split)
        return tn_min_i64(tn_round_up(args->shape[args->kept - 1], lanes), CPU_COLUMNS);
    return args->columns ? tn_round_up(tn_min_i64(worth, fair), lanes) : tn_min_i64(worth, fair);
}

static int64_t units_of(const norm_args *args, int64_t lanes)
{
    const int64_t size = args->shape[args->rank - 1];
    return args->columns ? size : tn_ceil_div(size, lanes);
}

static int64_t wanted_pieces(const tenon_context *context, int64_t most, const norm_args *args)
{
    int64_t each = context->device.is_cpu ? CPU_CHUNK : GPU_SUM;
    if (args->columns && context->device.is_cpu)
        each = tn_max_i64(each / tn_min_i64(args->chunk, args->shape[args->kept - 1]), 1);
    if (tn_self_check_runs(context))
        each = CHECKED_PIECE;
    /* The numbers of lines per piece and of pieces per line are rounded up separately. */
    return tn_min_i64(tn_ceil_div(args->count, each), (most + 1) / 2);
}

/* Divides sets into pieces: into whole lines first, which are apart in memory, then within lines.
 * On a GPU with vectors along a line, neighboring work-items get neighboring vectors of it. */
static void cut_sets(const tenon_context *context, int64_t wanted, int64_t units, norm_args *args)
{
    args->lines_each = tn_ceil_div(args->lines, wanted);
    args->inner_pieces = 1;
    args->first = args->span = units;
    args->step = 1;
    if (wanted > 1 && !context->device.is_cpu && !args->columns) {
        args->inner_pieces = args->step = tn_min_i64(units, wanted);
        args->first = 1;
        args->lines_each = tn_ceil_div(args->lines, tn_ceil_div(wanted, args->inner_pieces));
    } else if (wanted > args->lines) {
        args->first = args->span = tn_ceil_div(units, tn_ceil_div(wanted, args->lines));
        args->inner_pieces = tn_ceil_div(units, args->first);
    }
    args->pieces = tn_ceil_div(args->lines, args->lines_each) * args->inner_pieces;
}

void tn_norm_share(const tenon_context *context, const norm_problem *p, int64_t pieces,
                   norm_args *args)
{
    const int64_t lanes = tn_lanes(context, p->dtype);
    args->chunk = chunk_of(context, args, pieces > 1, lanes);
    cut_sets(context, wanted_pieces(context, pieces, args), units_of(args, lanes), args);
    const int64_t inner = args->columns ? args->shape[args->kept - 1] : args->sets;
    args->items = tn_ceil_div(inner, args->chunk) * (args->sets / inner) * args->pieces;
}

static void share_lines(const tenon_context *context, const norm_problem *p, norm_args *args)
{
    const int64_t lanes = tn_lanes(context, p->dtype), size = args->shape[args->rank - 1];
    const int64_t chunk = context->device.is_cpu ? CPU_CHUNK : lanes;
    args->columns = 0;
    args->chunk = 1;
    args->first = args->span = tn_min_i64(chunk / lanes, units_of(args, lanes));
    args->step = 1;
    args->lines_each =
        context->device.is_cpu ? tn_max_i64(tn_min_i64(chunk / size, args->lines), 1) : 1;
    args->inner_pieces = tn_ceil_div(units_of(args, lanes), args->first);
    args->pieces = tn_ceil_div(args->lines, args->lines_each) * args->inner_pieces;
    args->items = args->pieces;
}

/* Uses columns on a CPU, which loads what is constant along a column only once. */
void tn_norm_elements(const tenon_context *context, const norm_problem *p, uint32_t kept,
                      const norm_strides *stride, norm_args *args)
{
    tn_norm_space(p, kept, stride, stride, args);
    if (context->device.is_cpu && args->columns) {
        tn_norm_share(context, p, NORM_ANY_PIECES, args);
        return;
    }
    tn_norm_space(p, 0, stride, stride, args);
    share_lines(context, p, args);
}

int64_t tn_norm_vectors(const tenon_context *context, const norm_problem *p, int64_t count)
{
    return tn_ceil_div(count, tn_lanes(context, p->dtype));
}

void tn_norm_options(tenon_context *context, const norm_problem *p, const tn_choice *choice,
                     const norm_args *args, char text[TN_OPTIONS_SIZE])
{
    const bool stores = choice->solver->parameters == tn_stores_parameter;
    tn_build_options(
        context, text,
        "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s -DTENON_COLUMNS=%d -DTENON_PARAM_ACC=%u%s%s", p->dtype,
        (unsigned)tn_lanes(context, p->dtype), tn_gpu_option(context),
        tn_gpu_dimensions_option(context, args->rank), args->columns, p->parameter_acc,
        tn_stores_option(stores ? choice->values : NULL), tn_gpu_registers_option(context));
}

/* Returns the bytes of cache lines that the lines of a set take up if they are apart in memory, as
 * those of a channel or of a group are if the channels are last; otherwise 0. */
static double bytes_apart(const norm_problem *p, const norm_args *args, int64_t lanes)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const int inner = args->rank - 1;
    const int64_t run = args->columns ? lanes : args->shape[inner];
    const int64_t *stride = args->stride[NORM_X];
    const double lines = (double)(args->columns ? args->count : args->lines);
    if (args->columns ? stride[inner] <= run : args->lines < 2 || stride[inner - 1] <= run)
        return 0;
    return lines * fmax((double)run * size, LINE_BYTES);
}

/* Returns the cost factor of sets whose elements are apart in memory: the caches keep fewer of
 * them, and then the sets are read from memory again, pieces are not. On a CPU pieces are read in
 * the order of memory. */
static double distance_factor(const tenon_context *context, const norm_problem *p,
                              const norm_args *args, int64_t lanes, bool split)
{
    const bool is_cpu = context->device.is_cpu;
    const double bytes = is_cpu || args->columns ? bytes_apart(p, args, lanes) : 0;
    if (split)
        return bytes > CACHE_BYTES && !is_cpu ? 1.4 : 1;
    return bytes > CACHE_BYTES ? 2.2 : bytes > INNER_CACHE_BYTES && is_cpu ? 1.4 : 1;
}

/* Estimates the reading of x. Sets are read for the mean, for the squares and for the result,
 * partly from the cache; pieces likewise, by three launches. On a CPU, vectors are loaded whole, or
 * gathered if strided or at the end of a line. */
static tn_work reading(const tenon_context *context, const norm_problem *p, const norm_args *args,
                       bool split)
{
    const int across = args->columns ? args->kept - 1 : args->rank - 1;
    const int64_t length = args->shape[across], lanes = tn_lanes(context, p->dtype);
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double inputs = p->backward ? 2 : 1;
    const double elements = (double)args->sets * (double)args->count;
    const double lines = elements / (double)length;
    const double cost = distance_factor(context, p, args, lanes, split) * (split ? 1.1 : 1);
    const bool apart = args->stride[NORM_X][across] > 1;
    const int64_t full = length / lanes * lanes;
    const double whole = apart ? 0 : lines * (double)full;
    return (tn_work){.launches = 1,
                     .items = (double)args->items,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = 2 * whole * cost,
                     .single_elements = 1.5 * lines * cost *
                                        (double)(apart                 ? tn_round_up(length, lanes)
                                                 : length % lanes != 0 ? lanes
                                                                       : 0),
                     .rows = args->columns ? 0 : lines * cost,
                     .bytes = cost * elements * size * (split ? 1.5 * inputs : 2 * inputs + 1),
                     .reads = apart ? TN_SCATTERED
                              : args->columns || split
                                  ? TN_COALESCED
                                  : tn_reads_of_row((double)args->count * size)};
}

void tn_norm_add_time(const tenon_context *context, const norm_problem *p, const norm_args *args,
                      bool split, tn_choice *choice)
{
    const double elements = (double)args->sets * (double)args->count;
    const tn_work reads = reading(context, p, args, split);
    const tn_work joins = {.launches = 2,
                           .follows = true,
                           .single_elements = (double)(args->pieces * args->sets),
                           .bytes = elements * (p->backward ? 3 : 2) *
                                    (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &reads);
    if (split)
        tn_choice_add(context, choice, &joins);
}

static uint32_t element_size(const norm_problem *p, int view)
{
    const uint32_t data = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint32_t acc = (uint32_t)tn_acc_size(p->dtype);
    const bool parameter =
        view == NORM_GAMMA || (p->backward ? view >= NORM_DGAMMA : view == NORM_BETA);
    if (parameter)
        return p->parameter_acc ? acc : data;
    return view == NORM_X || view == NORM_Y || (p->backward && view == NORM_DY) ? data : acc;
}

static tn_patch offset_patch(const norm_problem *p, int view, bool in_work)
{
    return (tn_patch){TN_PATCH_OFFSET, in_work ? TN_WORKSPACE : p->operand[view],
                      (uint16_t)(offsetof(norm_args, offset) + (size_t)view * sizeof(tenon_i64)),
                      in_work ? (uint32_t)tn_acc_size(p->dtype) : element_size(p, view)};
}

/* Adds operands and patches to a launch, and records it. */
static tenon_status norm_share_record(const char *caller, tn_recording *recording,
                                      const norm_problem *p, const int *views, uint32_t in_work,
                                      const norm_args *args, tn_launch *launch)
{
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->dtype);
    tn_patch patches[NORM_VIEWS + 3] = {
        {scalar, NORM_SCALAR_EPSILON, offsetof(norm_args, epsilon), 1},
        {scalar, NORM_SCALAR_MOMENTUM, offsetof(norm_args, momentum), 1},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(norm_args, work),
         (uint32_t)tn_acc_size(p->dtype)}};
    norm_args whole = *args;
    whole.length = args->shape[args->rank - 1];
    for (int v = 0; v < NORM_VIEWS; v++)
        whole.along[v] = args->stride[v][args->rank - 1];
    launch->dimensions = 1;
    launch->args = &whole;
    launch->args_size = sizeof whole;
    launch->patches = patches;
    launch->patch_count = 3;
    for (int v = 0; v < NORM_VIEWS; v++) {
        const bool work = (in_work >> v & 1) != 0;
        if (work || p->operand[v] != NORM_ABSENT)
            patches[launch->patch_count++] = offset_patch(p, v, work);
    }
    for (; *views >= 0; views++) {
        const bool work = *views == NORM_WORK || (in_work >> *views & 1) != 0;
        const uint8_t operand = work ? TN_WORKSPACE : p->operand[*views];
        /* Absent operands are neither read nor written, so x's pointer is passed for them. */
        launch->operands[launch->operand_count++] =
            operand == NORM_ABSENT ? p->operand[NORM_X] : operand;
    }
    return tn_record(caller, recording, launch);
}

uint64_t tn_norm_work(const norm_problem *p, const norm_args *args)
{
    return (uint64_t)(2 * (args->pieces + 1) * args->sets) * tn_acc_size(p->dtype);
}

tenon_status tn_norm_launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                            const tn_choice *choice, const char *kernel, const int *views,
                            uint32_t in_work, const norm_args *args)
{
    const norm_problem *p = (const norm_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {.source = p->backward ? "norm/backward" : "norm/forward",
                        .options = text,
                        .kernel = kernel};
    /* An explicit group size: PoCL compiles a kernel for each size that the driver selects. */
    launch.local[0] =
        recording->context->device.is_cpu ? 1 : tn_gpu_group(recording->context, args->items);
    launch.global[0] = (size_t)tn_round_up(args->items, (int64_t)launch.local[0]);
    tn_norm_options(recording->context, p, choice, args, text);
    return norm_share_record(caller, recording, p, views, in_work, args, &launch);
}

tenon_status tn_norm_launch_team(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice,
                                 const char *source, const int *views, norm_args args)
{
    const norm_problem *p = (const norm_problem *)problem;
    const int32_t team = choice->values[0];
    const int64_t group = tn_team_group(recording->context);
    tn_launch launch = {.source = source,
                        .options = choice->options,
                        .kernel = "norm_group",
                        .local = {(size_t)group}};
    args.way = tn_team_way(team, tn_ceil_div(args.shape[args.rank - 1], tn_gpu_lanes(p->dtype)));
    launch.global[0] = (size_t)tn_round_up(args.sets * team, group);
    return norm_share_record(caller, recording, p, views, 0, &args, &launch);
}
