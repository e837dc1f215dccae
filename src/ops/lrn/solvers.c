/* The solvers lrn/rows and lrn_backward/rows: any strides on any device, without workspace. */
#include "ops/common/lanes.h"
#include "ops/common/walk.h"
#include "ops/lrn/internal.h"

#include <stddef.h>
#include <string.h>

/* Multiply-adds that take as long as a power and a division (a guess). */
#define POWER 24.0

void tn_lrn_add_work(tenon_context *context, const lrn_problem *p, double repeats,
                     tn_choice *choice)
{
    double elements = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        elements *= (double)p->shape[d];
    const tn_work work = {.launches = 1,
                          .items = elements / tn_lanes(context, p->dtype),
                          .rate = tn_sum_rate(p->dtype),
                          .vector_elements = elements * repeats * (POWER + (double)p->size),
                          .bytes = (p->is_backward ? 3 : 2) * elements *
                                   (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &work);
}

static const char *lrn_configure(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const lrn_problem *p = (const lrn_problem *)problem;
    tn_lrn_add_work(context, p, p->is_backward ? (double)p->size : 1, choice);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s", p->dtype,
                      tn_lanes(context, p->dtype), tn_gpu_option(context),
                      tn_gpu_dimensions_option(context, (int64_t)p->rank));
    return NULL;
}

static int32_t lrn_power_of(double beta)
{
    return beta == 0.5    ? LRN_HALF
           : beta == 0.75 ? LRN_THREE_QUARTERS
           : beta == 1    ? LRN_ONE
                          : LRN_ANY;
}

lrn_args tn_lrn_arguments(const lrn_problem *p)
{
    lrn_args args = {.walk.rank = (tenon_i32)p->rank,
                     .channels = p->channels,
                     .before = (p->size - 1) / 2,
                     .after = p->size / 2,
                     .beta =
                         tn_patch_scalar((uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), &p->beta),
                     .dimension = (tenon_i32)p->dimension,
                     .power = lrn_power_of(p->beta)};
    memcpy(args.walk.shape, p->shape, sizeof p->shape);
    memcpy(args.walk.stride, p->stride, sizeof p->stride);
    for (int v = 0; v < LRN_WALKS; v++)
        args.step[v] = p->stride[v][p->dimension];
    return args;
}

tenon_status tn_lrn_record(const char *caller, tn_recording *recording, const lrn_problem *p,
                           const uint8_t *operands, tn_launch *launch)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->dtype);
    tn_patch patches[5] = {{scalar, LRN_SCALAR_ALPHA, offsetof(lrn_args, alpha), 1},
                           {scalar, LRN_SCALAR_K, offsetof(lrn_args, k), 1}};
    launch->patch_count = 2;
    for (uint32_t v = 0; v < launch->operand_count; v++)
        patches[launch->patch_count++] =
            (tn_patch){TN_PATCH_OFFSET, operands[v],
                       (uint16_t)(offsetof(lrn_args, walk.offset) + v * sizeof(tenon_i64)), size};
    launch->patches = patches;
    return tn_record(caller, recording, launch);
}

/* Records a launch of a walk over all dimensions. */
static tenon_status lrn_record_all(const char *caller, tn_recording *recording,
                                   const lrn_problem *p, const uint8_t *operands, tn_launch *launch)
{
    lrn_args args = tn_lrn_arguments(p);
    bool is_dense = true;
    for (uint32_t v = 0; v < launch->operand_count; v++)
        is_dense = is_dense && p->stride[v][p->rank - 1] == 1;
    const int64_t unit = is_dense ? (int64_t)tn_lanes(recording->context, p->dtype) : 1;
    tn_walk_cut(recording->context, (tn_stream_share){unit, 1}, &args.walk, launch);
    launch->args = &args;
    launch->args_size = sizeof args;
    return tn_lrn_record(caller, recording, p, operands, launch);
}

static tenon_status lrn_launch_forward(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice)
{
    tn_launch launch = {.source = "lrn/forward",
                        .kernel = "lrn_forward",
                        .options = choice->options,
                        .operands = {LRN_X, LRN_Y},
                        .operand_count = LRN_OPERANDS};
    return lrn_record_all(caller, recording, (const lrn_problem *)problem,
                          (const uint8_t[]){LRN_X, LRN_Y}, &launch);
}

static tenon_status lrn_launch_backward(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    tn_launch launch = {.source = "lrn/backward",
                        .kernel = "lrn_backward",
                        .options = choice->options,
                        .operands = {LRN_BACKWARD_X, LRN_BACKWARD_DY, LRN_BACKWARD_DX},
                        .operand_count = LRN_BACKWARD_OPERANDS};
    return lrn_record_all(caller, recording, (const lrn_problem *)problem,
                          (const uint8_t[]){LRN_BACKWARD_X, LRN_BACKWARD_DX, LRN_BACKWARD_DY},
                          &launch);
}

const tn_solver tn_lrn_rows = {.name = "rows",
                               .serves = "any strides; vectors along the last dimension",
                               .configure = lrn_configure,
                               .launch = lrn_launch_forward};

const tn_solver tn_lrn_backward_rows = {.name = "rows",
                                        .serves = "any strides; vectors along the last dimension",
                                        .configure = lrn_configure,
                                        .launch = lrn_launch_backward};
