/* elementwise/rows and copy/rows: each work-item goes through a piece of some rows. */
#include "ops/common/walk.h"
#include "ops/elementwise/internal.h"

#include <stddef.h>

static tenon_status record_binary(const char *operation, tn_recording *recording,
                                  const tn_problem *problem, const int32_t *values)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->to);
    const tn_patch patches[] = {
        {scalar, TN_SCALAR_ALPHA, offsetof(elementwise_args, alpha), 1},
        {scalar, TN_SCALAR_BETA, offsetof(elementwise_args, beta), 1},
    };
    char text[TN_OPTIONS_SIZE];
    elementwise_args args = {.kind = (tenon_i32)p->kind};
    const tn_launch launch = {.source = "elementwise/binary",
                              .options = text,
                              .kernel = "binary",
                              .args_size = sizeof args,
                              .patches = patches,
                              .patch_count = sizeof patches / sizeof *patches};
    tn_pointwise_options(recording->context, problem, values, text);
    return tn_pointwise_record(operation, recording, p, launch, &args.walk,
                               tn_pointwise_gpu_chunk(p));
}

/* Conversions store single elements. */
static void tune_copy(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    tn_stores_tune(context, tn_pointwise_copy_bytes(p), &values[0]);
}

/* Between elements of one type only their size matters. */
static void copy_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                         char text[TN_OPTIONS_SIZE])
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    if (p->from == p->to)
        tn_element_options(context, (tenon_dtype)p->to, values, text);
    else
        tn_build_options(context, text, "-DTENON_FROM=%u -DTENON_TO=%u", p->from, p->to);
}

static tenon_status record_copy(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    walk_args args = {.rank = 0};
    const tn_launch launch = {
        .source = "elementwise/copy", .options = text, .kernel = "copy", .args_size = sizeof args};
    copy_options(recording->context, problem, values, text);
    const int64_t lanes =
        p->from == p->to ? tn_element_lanes(recording->context, (tenon_dtype)p->to) : 1;
    return tn_pointwise_record(operation, recording, p, launch, &args,
                               tn_pointwise_gpu_chunk(p) > 1 ? lanes : 1);
}

const tn_solver tn_elementwise_rows = {.name = "rows",
                                       .parameters = tn_stores_parameter,
                                       .parameter_count = 1,
                                       .refuses = tn_pointwise_refuses,
                                       .tune = tn_pointwise_tune,
                                       .constrains = tn_stores_constrains,
                                       .estimate = tn_pointwise_estimate,
                                       .options = tn_pointwise_options,
                                       .record = record_binary};

const tn_solver tn_copy_rows = {.name = "rows",
                                .parameters = tn_stores_parameter,
                                .parameter_count = 1,
                                .refuses = tn_pointwise_refuses,
                                .tune = tune_copy,
                                .constrains = tn_stores_constrains,
                                .estimate = tn_pointwise_estimate,
                                .options = copy_options,
                                .record = record_copy};
