#include "ops/common/gpu.h"

#include "base/checked.h"
#include "dispatch/self_check.h"
#include "runtime/context/context.h"

#include <stdio.h>

#define MOST_GROUP 256
/* Least size of a work-group of independent work-items. */
#define LEAST_GROUP 64
/* Least number of neighboring work-items with coalesced reads. */
#define LEAST_PARTS 8
/* Multiple of the work-items that hide the memory's latency, if each has several vectors. */
#define FILL 2

size_t tn_gpu_group(const tenon_context *context, int64_t items)
{
    const tn_model *model = &context->device.model;
    size_t group = model->kind->memory.group;
    while (group > LEAST_GROUP && (group > context->device.info.max_work_group ||
                                   (double)items < (double)group * tn_model_cores(model)))
        group /= 2;
    return group;
}

int32_t tn_stream_vectors(const tenon_context *context, uint32_t dtype, uint32_t inputs)
{
    if (context->device.is_cpu)
        return 1;
    /* 16-bit types are computed in f32, so a vector needs two vectors' registers. */
    const int32_t narrow = tenon_dtype_size((tenon_dtype)dtype) == 2 ? 2 : 1;
    const int32_t several = inputs > 2 ? 2 : 1;
    const int32_t vectors = (int32_t)context->device.model.kind->memory.vectors;
    /* At least two, except on kinds of devices with too few registers. */
    return (int32_t)tn_max_i64(vectors / (narrow * several), vectors < narrow * several ? 1 : 2);
}

tn_stream_pieces tn_stream_cut(const tenon_context *context, int64_t length, int64_t lines,
                               tn_stream_share share)
{
    const int64_t units = tn_max_i64(tn_ceil_div(length, share.unit), 1);
    const int64_t most = context->device.model.kind->memory.group;
    const double wanted = FILL * tn_model_items(&context->device.model) * share.vectors;
    /* A self-check has small tensors, and must test both paths. */
    const bool fills = tn_self_check_runs(context) || (double)units * (double)lines >= wanted;
    if (share.vectors == 1 || units < (int64_t)LEAST_PARTS * share.vectors || !fills)
        return (tn_stream_pieces){.pieces = units, .chunk = share.unit, .parts = 1};
    const int64_t pieces = tn_ceil_div(units, most * share.vectors);
    const int64_t fair = tn_ceil_div(units, pieces * share.vectors);
    const int64_t parts = tn_min_i64(tn_round_up(fair, LEAST_PARTS), most);
    const int64_t chunk = parts * share.vectors * share.unit;
    return (tn_stream_pieces){tn_ceil_div(length, chunk), chunk, parts};
}

void tn_gpu_local(const tenon_context *context, tn_launch *launch)
{
    int64_t items = 1;
    for (uint32_t d = 0; d < launch->dimensions; d++)
        items *= (int64_t)launch->global[d];
    size_t left = tn_gpu_group(context, items), first = 1;
    while (first < left && first < launch->global[0])
        first *= 2;
    left /= first;
    launch->local[0] = first;
    launch->global[0] = (launch->global[0] + first - 1) / first * first;
    for (uint32_t d = 1; d < launch->dimensions; d++)
        for (launch->local[d] = 1; left > 1 && launch->global[d] % (2 * launch->local[d]) == 0;
             left /= 2)
            launch->local[d] *= 2;
}

const tn_parameter tn_team_parameter[1] = {{"tm", 1, MOST_GROUP}};

const char *tn_gpu_option(const tenon_context *context)
{
    return context->device.is_cpu ? "" : " -DTENON_GPU=1";
}

const char *tn_gpu_dimensions_option(const tenon_context *context, int64_t rank)
{
    const bool intel = context->device.least_sub_group > 0;
    return intel && rank <= TN_FEW_DIMENSIONS ? " -DTENON_DIMENSIONS=4" : "";
}

const char *tn_gpu_registers_option(const tenon_context *context)
{
    const bool intel = context->device.least_sub_group > 0;
    return intel && context->device.model.kind->registers == 256 ? " -cl-intel-256-GRF-per-thread"
                                                                 : "";
}

const char *tn_stream_option(const tenon_context *context, int32_t vectors,
                             char text[TN_GPU_OPTIONS])
{
    text[0] = '\0';
    if (!context->device.is_cpu)
        snprintf(text, TN_GPU_OPTIONS, "%s -DTENON_VECTORS=%d", tn_gpu_option(context), vectors);
    return text;
}

int32_t tn_team_group(const tenon_context *context)
{
    int32_t group = MOST_GROUP;
    while (group > 1 && (size_t)group > context->device.info.max_work_group)
        group /= 2;
    return group;
}

char *tn_team_options(const tenon_context *context, uint32_t dtype, char options[64])
{
    /* GPU kernels, even on a CPU. */
    snprintf(options, 64, "-DTENON_GPU=1 -DTENON_VW=%d -DTENON_GROUP=%d", tn_gpu_lanes(dtype),
             tn_team_group(context));
    return options;
}

/* Returns the default team size: the smallest that keeps a row in registers, for shallow trees. It
 * is larger, up to one vector per work-item, if there are too few rows to fill the device. */
static int32_t team_for(const tenon_context *context, int64_t rows, int64_t vectors)
{
    const int32_t group = tn_team_group(context);
    int32_t most = 1, value = 1;
    while (most < group && most < vectors)
        most *= 2;
    while (value < most && (value * TN_TEAM_VECTORS < vectors ||
                            (double)rows * value < 2 * tn_model_items(&context->device.model)))
        value *= 2;
    return value;
}

void tn_team_tune(const tenon_context *context, int64_t rows, int64_t vectors, tn_choice *choice)
{
    int32_t *team = &choice->values[0];
    if (*team == 0)
        *team = team_for(context, rows, vectors);
    choice->misfit = (*team & (*team - 1)) != 0       ? "the team size must be a power of two"
                     : *team > tn_team_group(context) ? "the team is larger than a work-group"
                                                      : NULL;
}

team_way tn_team_way(int32_t team, int64_t vectors)
{
    const int32_t units = (int32_t)vectors;
    return (team_way){team, units, team / units, team % units};
}
