/* The solvers compare/rows, classify/rows, logic/rows and where/rows: a work-item processes a piece
 * of some rows. */
#include "ops/select/internal.h"

#include <stdio.h>

/* Configures a solver whose kernel has the type of the inputs as an option. */
static const char *select_configure(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    char options[64];
    snprintf(options, sizeof options, " -DTENON_A_DTYPE=%u", p->from);
    tn_stored_configure(context, p, options, choice);
    return NULL;
}

/* Records a kernel with the arguments select_args. */
static tenon_status select_launch(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice,
                                  const char *source, const char *kernel)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    select_args args = {.kind = (tenon_i32)p->kind};
    const tn_launch launched = {
        .source = source, .options = choice->options, .kernel = kernel, .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, launched, &args.walk,
                               tn_stored_share(recording->context, p));
}

static tenon_status launch_compare(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    return select_launch(caller, recording, problem, choice, "select/compare", "compare");
}

static tenon_status launch_classify(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    return select_launch(caller, recording, problem, choice, "select/classify", "classify");
}

static tenon_status launch_logic(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    return select_launch(caller, recording, problem, choice, "select/logic", "logic");
}

/* Only the size of an element matters to tenon_where. */
static uint32_t type_of_size(size_t size)
{
    return size == 1   ? TENON_DTYPE_U8
           : size == 2 ? TENON_DTYPE_U16
           : size == 4 ? TENON_DTYPE_U32
                       : TENON_DTYPE_I64;
}

static const char *configure_where(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    char options[64];
    snprintf(options, sizeof options, " -DTENON_A_DTYPE=%u",
             type_of_size(p->element_size[WHERE_D]));
    tn_stored_configure(context, p, options, choice);
    return NULL;
}

static tenon_status launch_where(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    walk_args args = {.rank = 0};
    const tn_launch launched = {.source = "select/where",
                                .options = choice->options,
                                .kernel = "where",
                                .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, launched, &args,
                               tn_stored_share(recording->context, p));
}

#define SERVES "any strides and broadcasts; uses vectors if the last dimension allows"

const tn_solver tn_compare_rows = {.name = "rows",
                                   .serves = SERVES,
                                   TN_PARAMETERS(tn_stores_parameter, 1),
                                   .configure = select_configure,
                                   .launch = launch_compare};

const tn_solver tn_classify_rows = {.name = "rows",
                                    .serves = SERVES,
                                    TN_PARAMETERS(tn_stores_parameter, 1),
                                    .configure = select_configure,
                                    .launch = launch_classify};

const tn_solver tn_logic_rows = {.name = "rows",
                                 .serves = SERVES,
                                 TN_PARAMETERS(tn_stores_parameter, 1),
                                 .configure = select_configure,
                                 .launch = launch_logic};

const tn_solver tn_where_rows = {.name = "rows",
                                 .serves = SERVES,
                                 TN_PARAMETERS(tn_stores_parameter, 1),
                                 .configure = configure_where,
                                 .launch = launch_where};
