/* tenon_conv_backward_bias: argument validation, the solver family and its solvers: `whole`, which
 * sums a channel in one pass, and `parts`, which splits the sum over the workspace if there are
 * few channels. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/common/gpu.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/gradient.h"

#include <stddef.h>
#include <string.h>

enum { OPERAND_DY, OPERAND_DB };

/* Work-items per compute unit that keep it busy. */
#define CPU_ITEMS 4
#define GPU_ITEMS 256
/* Minimum elements per part. */
#define LEAST_PART 512

static bool channels_last(const conv_bias_problem *p)
{
    return p->y[1] == 1 && p->y[4] != 1;
}

/* Returns the number of lines along q. */
static int64_t lines_of(const conv_bias_problem *p)
{
    return p->n * p->out[0] * p->out[1];
}

/* Returns the number of work-items for one part. */
static int64_t width_of(tenon_context *context, const conv_bias_problem *p)
{
    return channels_last(p) ? tn_ceil_div(p->k, tn_lanes(context, p->dtype)) : p->k;
}

static tn_work conv_backward_bias_work_of(const conv_bias_problem *p, int64_t items,
                                          double launches)
{
    const double elements = (double)lines_of(p) * (double)p->out[2] * (double)p->k;
    return (tn_work){.launches = launches,
                     .items = (double)items,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = 2 * elements,
                     .bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
}

static int64_t busy_items(tenon_context *context)
{
    return (int64_t)context->device.info.compute_units *
           (context->device.is_cpu ? CPU_ITEMS : GPU_ITEMS);
}

/* Returns the number of lines per part. */
static int64_t chunk_of(tenon_context *context, const conv_bias_problem *p)
{
    int64_t parts = tn_ceil_div(busy_items(context), width_of(context, p));
    int64_t worth = tn_ceil_div(LEAST_PART, tn_max_i64(1, p->out[2]));
    return tn_max_i64(worth, tn_ceil_div(lines_of(p), parts));
}

static void conv_backward_bias_set_options(tenon_context *context, const conv_bias_problem *p,
                                           tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s", p->dtype,
                      tn_lanes(context, p->dtype), tn_gpu_option(context));
}

static const char *configure_whole(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const conv_bias_problem *p = (const conv_bias_problem *)problem;
    *TN_LAYOUT(int64_t, choice) = tn_max_i64(1, lines_of(p));
    const tn_work work = conv_backward_bias_work_of(p, width_of(context, p), 1);
    tn_choice_add(context, choice, &work);
    conv_backward_bias_set_options(context, p, choice);
    return NULL;
}

static const char *configure_parts(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const conv_bias_problem *p = (const conv_bias_problem *)problem;
    const int64_t lines = lines_of(p), chunk = chunk_of(context, p);
    if (chunk >= lines)
        return "the sum is too small to split into parts";
    *TN_LAYOUT(int64_t, choice) = chunk;
    choice->workspace = (uint64_t)(tn_ceil_div(lines, chunk) * p->k) * tn_acc_size(p->dtype);
    const tn_work work =
        conv_backward_bias_work_of(p, width_of(context, p) * tn_ceil_div(lines, chunk), 2);
    tn_choice_add(context, choice, &work);
    conv_backward_bias_set_options(context, p, choice);
    return NULL;
}

static tenon_status record_launch(const char *caller, tn_recording *recording,
                                  const conv_bias_problem *p, const tn_choice *choice,
                                  const conv_bias_args *args, tn_launch launch)
{
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint16_t *operands = launch.operands;
    bool finishes = launch.operand_count == 2;
    const tn_patch patches[] = {
        {(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_BETA,
         offsetof(conv_bias_args, beta), 1},
        {TN_PATCH_OFFSET, OPERAND_DB, offsetof(conv_bias_args, b_offset), size},
        {TN_PATCH_OFFSET, args->parts > 1 ? TN_WORKSPACE : OPERAND_DB,
         offsetof(conv_bias_args, sum_offset), (uint32_t)tn_acc_size(p->dtype)},
        {TN_PATCH_OFFSET, operands[0], offsetof(conv_bias_args, y_offset), size}};
    size_t local = recording->context->device.is_cpu ? 1 : 0;
    launch.source = "conv/backward_bias";
    launch.options = choice->options;
    launch.dimensions = 2;
    launch.local[0] = launch.local[1] = local;
    launch.args = args;
    launch.args_size = sizeof *args;
    launch.patches = patches;
    launch.patch_count = finishes ? 3 : 4;
    return tn_record(caller, recording, &launch);
}

/* Launches over chunks of lines; the chunk size is the layout of the choice. */
static tenon_status conv_backward_bias_launch(const char *caller, tn_recording *recording,
                                              const tn_problem *problem, const tn_choice *choice)
{
    const conv_bias_problem *p = (const conv_bias_problem *)problem;
    const int64_t chunk = *TN_LAYOUT(const int64_t, choice);
    conv_bias_args args = {.b_stride = p->b,
                           .k = p->k,
                           .lines = lines_of(p),
                           .chunk = chunk,
                           .adds = (tenon_i32)p->adds};
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    memcpy(args.out, p->out, sizeof args.out);
    args.parts = args.lines > chunk ? tn_ceil_div(args.lines, chunk) : 1;
    bool any = args.lines > 0 && p->out[2] > 0;
    uint8_t sums = args.parts > 1 ? TN_WORKSPACE : OPERAND_DB;
    tn_launch sum = {.kernel = channels_last(p) ? "conv_bias_channels" : "conv_bias_rows",
                     .global = {(size_t)width_of(recording->context, p), (size_t)args.parts},
                     .operands = {any ? OPERAND_DY : OPERAND_DB, sums, OPERAND_DB},
                     .operand_count = 3};
    TN_TRY(record_launch(caller, recording, p, choice, &args, sum));
    if (args.parts == 1)
        return TENON_OK;
    tn_launch finish = {.kernel = "conv_bias_finish",
                        .global = {(size_t)p->k, 1},
                        .operands = {sums, OPERAND_DB},
                        .operand_count = 2};
    return record_launch(caller, recording, p, choice, &args, finish);
}

const tn_solver tn_conv_backward_bias_whole = {.name = "whole",
                                               .serves = "everything",
                                               .configure = configure_whole,
                                               .launch = conv_backward_bias_launch};

const tn_solver tn_conv_backward_bias_parts = {
    .name = "parts",
    .serves = "dy with more lines than one work-item should sum",
    .needs = "workspace for partial sums",
    .configure = configure_parts,
    .launch = conv_backward_bias_launch};

static const tn_solver *const solvers[] = {&tn_conv_backward_bias_parts,
                                           &tn_conv_backward_bias_whole};

static uint64_t conv_backward_bias_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const conv_bias_problem *)problem)->adds != 0, 1);
}

const tn_family tn_conv_backward_bias_family = {.name = "conv_backward_bias",
                                                TN_SOLVERS(solvers),
                                                .awkward = tn_conv_backward_bias_awkward,
                                                .paths = conv_backward_bias_paths};

static tenon_status canonicalize(const char *caller, const tenon_conv_backward_params *params,
                                 const tenon_tensor *dy, const tenon_tensor *db,
                                 conv_bias_problem *p)
{
    tn_problem_begin(&p->head, sizeof *p);
    TN_TRY(tn_conv_check_image_rank(caller, "dy", dy));
    TN_TRY(tn_shape_check(caller, "db", db, 1, &dy->shape[1]));
    p->dtype = dy->dtype;
    p->adds = params->beta != 0;
    p->n = dy->shape[0];
    p->k = dy->shape[1];
    p->b = p->k == 1 ? 0 : db->stride[0];
    tn_conv_copy_strides(p->y, dy);
    for (uint32_t i = 0; i < 3; i++)
        p->out[i] = i + dy->rank >= CONV_RANK ? dy->shape[i + dy->rank - 3] : 1;
    return TENON_OK;
}

tenon_status tn_conv_backward_bias_prepare(const void *given, tn_call *call, tn_problem *problem,
                                           bool *empty)
{
    const char *caller = call->caller;
    const tenon_conv_backward_params *params = given;
    const tenon_tensor *dy = call->operands[OPERAND_DY].view, *db = call->operands[OPERAND_DB].view;
    tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    TN_TRY(tn_float_check(caller, "dy", call->context, dy->dtype));
    TN_TRY(tn_same_dtype_check(caller, "db", db, "dy", dy->dtype));
    TN_TRY(canonicalize(caller, params, dy, db, (conv_bias_problem *)problem));
    *empty = tn_tensor_empty(db);
    call->operands[OPERAND_DB].unread = params->beta == 0;
    epilogue.beta = params->beta;
    tn_epilogue_scalars(&epilogue, call->scalars);
    return TENON_OK;
}
