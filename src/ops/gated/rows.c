/* gated/rows and gated_backward/rows: each work-item goes through a piece of some rows. */
#include "gated/args.h"
#include "ops/common/gpu.h"
#include "ops/gated/internal.h"

#include <stddef.h>

/* One vector, of whatever strides. */
#define GPU_CHUNK 4

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u%s -DTENON_ACT_BUILD=%u%s",
                     p->to, tn_lanes(context, p->to), tn_gpu_option(context),
                     tn_activation_is_build(p->kind) ? p->kind : 0u, tn_stores_option(values));
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const bool backward = p->operands == GATED_BACKWARD_OPERANDS;
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->to);
    const tn_patch patches[] = {
        {scalar, TN_SCALAR_ACT_ALPHA, offsetof(gated_args, alpha), 1},
        {scalar, TN_SCALAR_ACT_BETA, offsetof(gated_args, beta), 1},
    };
    char text[TN_OPTIONS_SIZE];
    gated_args args = {.activation = (tenon_i32)p->kind};
    const tn_launch launch = {.source = backward ? "gated/backward" : "gated/forward",
                              .options = text,
                              .kernel = backward ? "backward" : "forward",
                              .args_size = sizeof args,
                              .patches = patches,
                              .patch_count = sizeof patches / sizeof *patches};
    options(recording->context, problem, values, text);
    return tn_pointwise_record(operation, recording, p, launch, &args.walk, GPU_CHUNK);
}

const tn_solver tn_gated_rows = {.name = "rows",
                                 .parameters = tn_stores_parameter,
                                 .parameter_count = 1,
                                 .refuses = tn_pointwise_refuses,
                                 .tune = tn_pointwise_tune,
                                 .constrains = tn_stores_constrains,
                                 .estimate = tn_pointwise_estimate,
                                 .options = options,
                                 .record = record};
