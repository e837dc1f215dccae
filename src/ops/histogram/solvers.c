/* The solvers histogram/serial and histogram/blocks. */
#include "base/checked.h"
#include "base/dtype.h"
#include "ops/common/gpu.h"
#include "ops/histogram/internal.h"

#include <math.h>
#include <stddef.h>

/* Least elements per block, and the maximum number of blocks; least bins per work-item of a CPU
 * that adds the blocks. */
#define CPU_BLOCK  8192
#define CPU_BLOCKS 64
#define GPU_BLOCK  256
#define GPU_BLOCKS 2048
#define CPU_BINS   1024
#define GPU_GROUP  64
/* Elements that a block has at least for each bin, which is set to zero and added. */
#define LEAST_PER_BIN 4

/* The layout of a choice. */
typedef struct histogram_layout {
    int64_t blocks, length, each;
} histogram_layout;

/* Returns the name of the type of integers in a kernel. */
static const char *value_name(uint32_t dtype)
{
    switch ((tenon_dtype)dtype) {
    case TENON_DTYPE_I8:
        return "char";
    case TENON_DTYPE_U8:
        return "uchar";
    case TENON_DTYPE_I16:
        return "short";
    case TENON_DTYPE_U16:
        return "ushort";
    case TENON_DTYPE_I32:
        return "int";
    case TENON_DTYPE_U32:
        return "uint";
    default:
        return "long";
    }
}

static void set_options(tenon_context *context, const histogram_problem *p, tn_choice *choice)
{
    const bool is_real = tn_dtype_is_float((tenon_dtype)p->dtype);
    const char *sum = p->sum_dtype == TENON_DTYPE_I32   ? "int"
                      : p->sum_dtype == TENON_DTYPE_I64 ? "long"
                      : p->sum_dtype == TENON_DTYPE_F32 ? "float"
                                                        : "double -DTENON_SUM_IS_DOUBLE=1";
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s%s -DTENON_SUM=%s%s",
                      is_real ? p->dtype : TENON_DTYPE_F32,
                      is_real ? "" : " -DTENON_VALUE=", is_real ? "" : value_name(p->dtype), sum,
                      tn_gpu_option(context));
}

static void add_work(tenon_context *context, const histogram_problem *p, double blocks,
                     tn_choice *choice)
{
    const double n = (double)p->elements, bins = (double)p->bins;
    const double steps = p->flags & HISTOGRAM_HAS_EDGES ? 8 + 4 * log2(bins + 1) : 8;
    const double copies = blocks > 1 ? 2 * blocks : 1;
    const tn_work work = {.launches = blocks > 1 ? 2 : 1,
                          .groups = blocks,
                          .items = blocks,
                          .scalar = n * steps + copies * bins,
                          .bytes =
                              n * (double)tenon_dtype_size((tenon_dtype)p->dtype) +
                              copies * bins * (double)tenon_dtype_size((tenon_dtype)p->sum_dtype)};
    tn_choice_add(context, choice, &work);
    set_options(context, p, choice);
}

static const char *configure_serial(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const histogram_problem *p = (const histogram_problem *)problem;
    *TN_LAYOUT(histogram_layout, choice) =
        (histogram_layout){.blocks = 1, .length = p->elements, .each = p->bins};
    add_work(context, p, 1, choice);
    return NULL;
}

static const char *configure_blocks(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const histogram_problem *p = (const histogram_problem *)problem;
    const bool is_cpu = context->device.is_cpu;
    const int64_t least = tn_max_i64(is_cpu ? CPU_BLOCK : GPU_BLOCK, LEAST_PER_BIN * p->bins);
    histogram_layout *l = TN_LAYOUT(histogram_layout, choice);
    if (p->elements < 2 * least)
        return "x has too few elements for two blocks";
    l->length = tn_max_i64(least, tn_ceil_div(p->elements, is_cpu ? CPU_BLOCKS : GPU_BLOCKS));
    l->blocks = tn_ceil_div(p->elements, l->length);
    l->each = is_cpu ? CPU_BINS : 1;
    choice->workspace =
        (uint64_t)l->blocks * (uint64_t)p->bins * tenon_dtype_size((tenon_dtype)p->sum_dtype);
    add_work(context, p, (double)l->blocks, choice);
    return NULL;
}

/* Records a launch of `items` work-items, whose kernel and operands are set. */
static tenon_status record(const char *caller, tn_recording *recording, const histogram_problem *p,
                           const tn_choice *choice, int64_t items, tn_launch *launch)
{
    const histogram_layout *l = TN_LAYOUT(const histogram_layout, choice);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype),
                   sum = (uint32_t)tenon_dtype_size((tenon_dtype)p->sum_dtype);
    const uint32_t sizes[HISTOGRAM_OPERANDS] = {size, p->flags & HISTOGRAM_HAS_EDGES ? size : 0,
                                                p->flags & HISTOGRAM_HAS_WEIGHTS ? sum : 0, sum};
    histogram_args args = {.rank = p->rank,
                           .edge_step = p->edge_step,
                           .y_step = p->y_step,
                           .bins = p->bins,
                           .elements = p->elements,
                           .length = l->length,
                           .blocks = l->blocks,
                           .each = l->each,
                           .low = p->low,
                           .high = p->high,
                           .scale = p->scale,
                           .flags = (tenon_i32)p->flags};
    tn_patch patches[HISTOGRAM_OPERANDS + 1];
    uint32_t count = 0;
    memcpy(args.shape, p->shape, sizeof args.shape);
    memcpy(args.stride, p->stride, sizeof args.stride);
    for (int v = 0; v < HISTOGRAM_OPERANDS; v++)
        if (sizes[v] != 0)
            patches[count++] = (tn_patch){
                TN_PATCH_OFFSET, (uint16_t)v,
                (uint16_t)(offsetof(histogram_args, offset) + (size_t)v * sizeof(tenon_i64)),
                sizes[v]};
    if (l->blocks > 1)
        patches[count++] =
            (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(histogram_args, workspace), sum};
    launch->source = "histogram/histogram";
    launch->options = choice->options;
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(items, (int64_t)launch->local[0]);
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    launch->patch_count = count;
    return tn_record(caller, recording, launch);
}

static tenon_status histogram_launch(const char *caller, tn_recording *recording,
                                     const tn_problem *problem, const tn_choice *choice)
{
    const histogram_problem *p = (const histogram_problem *)problem;
    const histogram_layout *l = TN_LAYOUT(const histogram_layout, choice);
    /* Absent operands are not read. */
    const uint16_t edges = p->flags & HISTOGRAM_HAS_EDGES ? HISTOGRAM_EDGES : HISTOGRAM_X;
    const uint16_t weights = p->flags & HISTOGRAM_HAS_WEIGHTS ? HISTOGRAM_WEIGHTS : HISTOGRAM_Y;
    const bool split = l->blocks > 1;
    tn_launch add = {.kernel = split ? "histogram_blocks" : "histogram_serial",
                     .operands = {HISTOGRAM_X, edges, weights, split ? TN_WORKSPACE : HISTOGRAM_Y},
                     .operand_count = 4};
    tn_launch sum = {
        .kernel = "histogram_sum", .operands = {TN_WORKSPACE, HISTOGRAM_Y}, .operand_count = 2};
    TN_TRY(record(caller, recording, p, choice, l->blocks, &add));
    if (!split)
        return TENON_OK;
    return record(caller, recording, p, choice, tn_ceil_div(p->bins, l->each), &sum);
}

const tn_solver tn_histogram_serial = {.name = "serial",
                                       .serves = "everything; one work-item; best for few elements",
                                       .configure = configure_serial,
                                       .launch = histogram_launch};

const tn_solver tn_histogram_blocks = {
    .name = "blocks",
    .serves = "x of two blocks or more: counts the elements of each block in bins of its own",
    .needs = "workspace for the bins of the blocks",
    .awkward = "size=1321",
    .configure = configure_blocks,
    .launch = histogram_launch};
