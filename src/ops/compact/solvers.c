/* The solvers compact/serial and compact/blocks. */
#include "base/checked.h"
#include "base/dtype.h"
#include "ops/common/gpu.h"
#include "ops/compact/internal.h"

#include <stddef.h>

/* Least elements per block, and the maximum number of blocks. */
#define CPU_BLOCK  8192
#define CPU_BLOCKS 64
#define GPU_BLOCK  256
#define GPU_BLOCKS 2048
#define GPU_GROUP  64

/* The layout of a choice. */
typedef struct compact_layout {
    int64_t blocks, length;
} compact_layout;

static void compact_configure(tenon_context *context, const compact_problem *p, double reads,
                              tn_choice *choice)
{
    const compact_layout *l = TN_LAYOUT(compact_layout, choice);
    const double elements = (double)p->elements;
    const double bytes = (double)tenon_dtype_size((tenon_dtype)p->mask_dtype);
    const tn_work work = {.launches = reads,
                          .groups = (double)l->blocks,
                          .items = (double)l->blocks,
                          .scalar = elements * (1 + reads),
                          .bytes = elements * (reads * bytes + 2 * p->size + 4)};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_KEY=%u%s",
                      (unsigned)tenon_dtype_size((tenon_dtype)p->mask_dtype),
                      tn_gpu_option(context));
}

static const char *configure_serial(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const compact_problem *p = (const compact_problem *)problem;
    *TN_LAYOUT(compact_layout, choice) =
        (compact_layout){.blocks = 1, .length = tn_max_i64(p->elements, 1)};
    compact_configure(context, p, 1, choice);
    return NULL;
}

static const char *configure_blocks(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const compact_problem *p = (const compact_problem *)problem;
    const bool is_cpu = context->device.is_cpu;
    const int64_t least = is_cpu ? CPU_BLOCK : GPU_BLOCK;
    compact_layout *l = TN_LAYOUT(compact_layout, choice);
    if (p->elements < 2 * least)
        return "the mask has too few elements for two blocks";
    l->length = tn_max_i64(least, tn_ceil_div(p->elements, is_cpu ? CPU_BLOCKS : GPU_BLOCKS));
    l->blocks = tn_ceil_div(p->elements, l->length);
    choice->workspace = (uint64_t)l->blocks * sizeof(int32_t);
    compact_configure(context, p, 2, choice);
    return NULL;
}

/* Sets the arguments that follow from the problem. */
static compact_args args_of(const compact_problem *p, const compact_layout *l)
{
    const bool has_sign = tn_dtype_is_float((tenon_dtype)p->mask_dtype);
    const unsigned bits = 8 * (unsigned)tenon_dtype_size((tenon_dtype)p->mask_dtype);
    compact_args args = {.rank = p->rank,
                         .dimensions = p->dimensions,
                         .sign = has_sign ? (int64_t)(UINT64_C(1) << (bits - 1)) : 0,
                         .step = {p->step[0], p->step[1]},
                         .coordinate_step = p->coordinate_step,
                         .capacity = p->capacity,
                         .elements = p->elements,
                         .length = l->length,
                         .blocks = l->blocks,
                         .flags = (tenon_i32)p->flags,
                         .size = (tenon_i32)p->size};
    memcpy(args.shape, p->shape, sizeof args.shape);
    memcpy(args.stride, p->stride, sizeof args.stride);
    memcpy(args.sizes, p->sizes, sizeof args.sizes);
    return args;
}

static tenon_status record(const char *caller, tn_recording *recording, const compact_problem *p,
                           const tn_choice *choice, tn_launch *launch)
{
    const compact_layout *l = TN_LAYOUT(const compact_layout, choice);
    const uint32_t sizes[COMPACT_OPERANDS] = {
        (uint32_t)tenon_dtype_size((tenon_dtype)p->mask_dtype), p->size, p->size,
        p->flags & COMPACT_HAS_INDICES ? (uint32_t)sizeof(int32_t) : 0,
        p->flags & COMPACT_PUTS ? 0 : (uint32_t)sizeof(int32_t)};
    const compact_args args = args_of(p, l);
    tn_patch patches[COMPACT_OPERANDS + 1];
    uint32_t count = 0;
    for (int v = 0; v < COMPACT_OPERANDS; v++)
        if (sizes[v] != 0)
            patches[count++] = (tn_patch){
                TN_PATCH_OFFSET, (uint16_t)p->operand[v],
                (uint16_t)(offsetof(compact_args, offset) + (size_t)v * sizeof(tenon_i64)),
                sizes[v]};
    if (l->blocks > 1)
        patches[count++] = (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE,
                                      offsetof(compact_args, workspace), sizeof(int32_t)};
    launch->options = choice->options;
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(l->blocks, (int64_t)launch->local[0]);
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    launch->patch_count = count;
    return tn_record(caller, recording, launch);
}

static tenon_status compact_launch(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const compact_problem *p = (const compact_problem *)problem;
    const bool split = TN_LAYOUT(const compact_layout, choice)->blocks > 1;
    /* Absent operands are neither read nor written. */
    const bool has_x = (p->flags & COMPACT_HAS_X) != 0;
    const bool has_indices = (p->flags & COMPACT_HAS_INDICES) != 0;
    tn_launch counts = {.source = "compact/compact",
                        .kernel = "compact_counts",
                        .operands = {COMPACT_MASK, TN_WORKSPACE},
                        .operand_count = 2};
    tn_launch put = {.source = "compact/put",
                     .kernel = "compact_put",
                     .operands = {PUT_MASK, PUT_Y, PUT_SOURCE, split ? TN_WORKSPACE : PUT_MASK},
                     .operand_count = 4};
    tn_launch write = {.source = "compact/compact",
                       .kernel = "compact_write",
                       .operands = {COMPACT_MASK, has_x ? COMPACT_X : COMPACT_MASK,
                                    has_x ? COMPACT_Y : COMPACT_COUNT,
                                    has_indices ? COMPACT_INDICES : COMPACT_COUNT, COMPACT_COUNT,
                                    split ? TN_WORKSPACE : COMPACT_COUNT},
                       .operand_count = COMPACT_OPERANDS + 1};
    if (split)
        TN_TRY(record(caller, recording, p, choice, &counts));
    return record(caller, recording, p, choice, p->flags & COMPACT_PUTS ? &put : &write);
}

const tn_solver tn_compact_serial = {.name = "serial",
                                     .serves = "everything; one work-item; best for few elements",
                                     .configure = configure_serial,
                                     .launch = compact_launch};

const tn_solver tn_compact_blocks = {
    .name = "blocks",
    .serves = "masks of two blocks or more; counts the selected elements of each block first",
    .needs = "workspace for the counts",
    .awkward = "size=1321",
    .configure = configure_blocks,
    .launch = compact_launch};
