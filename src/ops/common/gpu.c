#include "ops/common/gpu.h"

#include "base/checked.h"
#include "runtime/context.h"

#include <stdio.h>

#define MOST_GROUP 256
/* Work-items of a group that do not work together. */
#define LOOSE_GROUP 64

void tn_gpu_local(tn_launch *launch)
{
    size_t left = LOOSE_GROUP, first = 1;
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

int32_t tn_team_group(const tenon_context *context)
{
    int32_t group = MOST_GROUP;
    while (group > 1 && (size_t)group > context->device.info.max_work_group)
        group /= 2;
    return group;
}

char *tn_team_options(const tenon_context *context, uint32_t dtype, char options[64])
{
    snprintf(options, 64, "-DTENON_VW=%d -DTENON_GROUP=%d", tn_gpu_lanes(dtype),
             tn_team_group(context));
    return options;
}

/* As small as keeps a row in registers, so that trees are short; larger, down to a vector each,
 * where there are too few rows for the device. */
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
    choice->misfit = (*team & (*team - 1)) != 0       ? "a team is a power of two"
                     : *team > tn_team_group(context) ? "a team is larger than a work-group"
                                                      : NULL;
}

team_way tn_team_way(int32_t team, int64_t vectors)
{
    const int32_t units = (int32_t)vectors;
    return (team_way){team, units, team / units, team % units};
}
