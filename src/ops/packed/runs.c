/* pack/runs: a work-item moves a run of elements along a row of a panel, or several such rows. */
#include "base/checked.h"
#include "ops/common/walk.h"
#include "ops/packed/internal.h"

#include <stddef.h>

/* What makes a CPU's work-item worth its launch. */
#define CPU_ELEMENTS 4096

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    (void)context;
    (void)problem;
    (void)values;
    return 1; /* there is no other */
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    (void)values;
    tn_element_options(context, (tenon_dtype)((const pack_problem *)problem)->dtype, text);
}

/* A CPU's work-item takes all of a panel's row and as many rows as make it worth while; a GPU's
 * takes one element, beside its neighbours'. */
static pack_args arguments(tenon_context *context, const pack_problem *p)
{
    bool cpu = context->device.is_cpu;
    pack_args args = {
        .rows = p->rows, .cols = p->cols, .row = p->row, .col = p->col, .panel = p->panel};
    args.run_cols = cpu ? tn_min_i64(p->panel, CPU_ELEMENTS) : 1;
    args.run_rows = cpu ? tn_min_i64(p->rows, tn_ceil_div(CPU_ELEMENTS, args.run_cols)) : 1;
    for (int d = 0; d < PACK_MAX_BATCH; d++) {
        args.batch[d] = p->batch[d];
        args.stride[d] = p->stride[d];
    }
    return args;
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const pack_problem *p = (const pack_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    pack_args args = arguments(recording->context, p);
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    uint8_t tensor = p->reverse ? PACK_TO : PACK_FROM, packed = p->reverse ? PACK_FROM : PACK_TO;
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, tensor, offsetof(pack_args, tensor_offset), size},
        {TN_PATCH_OFFSET, packed, offsetof(pack_args, packed_offset), size}};
    size_t local = recording->context->device.is_cpu ? 1 : 0, batch = 1;
    for (int d = 0; d < PACK_MAX_BATCH; d++)
        batch *= (size_t)p->batch[d];
    options(recording->context, problem, values, text);
    tn_launch launch = {
        .source = "packed/pack",
        .options = text,
        .kernel = p->reverse ? "unpack_panels" : "pack_panels",
        .dimensions = 3,
        .global = {(size_t)tn_ceil_div(tn_packed_padded(p->cols, p->panel), args.run_cols),
                   (size_t)tn_ceil_div(p->rows, args.run_rows), batch},
        .local = {local, local, local},
        .operands = {PACK_FROM, PACK_TO},
        .operand_count = PACK_OPERANDS,
        .args = &args,
        .args_size = sizeof args,
        .patches = patches,
        .patch_count = 2};
    return tn_record(operation, recording, &launch);
}

const tn_solver tn_pack_runs = {
    .name = "runs", .refuses = refuses, .estimate = estimate, .options = options, .record = record};
