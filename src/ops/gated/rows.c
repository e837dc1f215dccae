/* The solvers gated/rows and gated_backward/rows: a work-item processes a piece of some rows. */
#include "gated/args.h"
#include "ops/gated/internal.h"

#include <stddef.h>
#include <stdio.h>

/* Elements per work-item of a GPU if a dimension has gaps. */
#define GPU_UNIT 4

static const char *gated_rows_configure(tenon_context *context, const tn_problem *problem,
                                        tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    char more[32];
    snprintf(more, sizeof more, " -DTENON_ACT_BUILD=%u",
             tn_activation_is_build(p->kind) ? p->kind : 0u);
    tn_pointwise_configure(context, p, more, choice);
    return NULL;
}

static tenon_status gated_rows_launch(const char *caller, tn_recording *recording,
                                      const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const bool backward = p->operands == GATED_BACKWARD_OPERANDS;
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->to);
    const tn_patch patches[] = {
        {scalar, TN_SCALAR_ACT_ALPHA, offsetof(gated_args, alpha), 1},
        {scalar, TN_SCALAR_ACT_BETA, offsetof(gated_args, beta), 1},
    };
    gated_args args = {.activation = (tenon_i32)p->kind};
    const tn_launch rows = {.source = backward ? "gated/backward" : "gated/forward",
                            .options = choice->options,
                            .kernel = backward ? "backward" : "forward",
                            .args_size = sizeof args,
                            TN_PATCHES(patches)};
    return tn_pointwise_record(caller, recording, p, rows, &args.walk,
                               tn_pointwise_share(recording->context, p, GPU_UNIT));
}

const tn_solver tn_gated_rows = {.name = "rows",
                                 .serves = "any strides",
                                 TN_PARAMETERS(tn_stores_parameter, 1),
                                 .configure = gated_rows_configure,
                                 .launch = gated_rows_launch};
