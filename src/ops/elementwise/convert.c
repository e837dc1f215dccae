/* The solver copy/convert, for x and y of different types. */
#include "ops/elementwise/internal.h"

#include <stdio.h>

/* Writes the options. Those that make no difference for the types are left out. */
static const char *options_of(const tn_pointwise_problem *p, char text[128])
{
    snprintf(text, 128, " -DTENON_X_DTYPE=%u -DTENON_Y_DTYPE=%u%s%s", p->from, p->to,
             (p->kind & TENON_COPY_NEAREST) != 0 ? " -DTENON_NEAREST=1" : "",
             (p->kind & TENON_COPY_WRAP) != 0 ? " -DTENON_WRAP=1" : "");
    return text;
}

static const char *convert_configure(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    char options[128];
    if (p->from == p->to)
        return "x and y have the same type";
    tn_stored_configure(context, p, options_of(p, options), choice);
    return NULL;
}

static tenon_status convert_launch(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    walk_args args = {.rank = 0};
    const tn_launch launch = {.source = "elementwise/convert",
                              .options = choice->options,
                              .kernel = "convert",
                              .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, launch, &args,
                               tn_stored_share(recording->context, p));
}

const tn_solver tn_copy_convert = {.name = "convert",
                                   .serves = "any strides, x and y of different types",
                                   TN_PARAMETERS(tn_stores_parameter, 1),
                                   .configure = convert_configure,
                                   .launch = convert_launch};
