/* The solvers elementwise/rows and copy/rows: a work-item processes a piece of some rows. */
#include "base/dtype.h"
#include "ops/common/walk.h"
#include "ops/elementwise/internal.h"

#include <stddef.h>

static const char *configure_binary(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    if (!tn_dtype_is_float((tenon_dtype)p->to))
        return "the type is not a floating-point type";
    if (tn_elementwise_is_function(p->kind))
        return "the kind is a function";
    tn_pointwise_configure(context, p, "", choice);
    return NULL;
}

static tenon_status launch_binary(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->to);
    const tn_patch patches[] = {
        {scalar, TN_SCALAR_ALPHA, offsetof(elementwise_args, alpha), 1},
        {scalar, TN_SCALAR_BETA, offsetof(elementwise_args, beta), 1},
    };
    elementwise_args args = {.kind = (tenon_i32)p->kind};
    const tn_launch launch = {.source = "elementwise/binary",
                              .options = choice->options,
                              .kernel = "binary",
                              .args_size = sizeof args,
                              TN_PATCHES(patches)};
    return tn_pointwise_record(caller, recording, p, launch, &args.walk,
                               tn_pointwise_share(recording->context, p, 1));
}

/* Only the element size matters. */
static const char *configure_copy(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    if (p->from != p->to)
        return "x and y have different types";
    tn_stores_configure(context, tn_pointwise_copy_bytes(p), choice);
    const tn_work work = tn_pointwise_work(p, tn_pointwise_has_vectors(p));
    tn_choice_add(context, choice, &work);
    tn_element_options(context, (tenon_dtype)p->to, choice->values, choice->options);
    return NULL;
}

static tenon_status launch_copy(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    walk_args args = {.rank = 0};
    const tn_launch launch = {.source = "elementwise/copy",
                              .options = choice->options,
                              .kernel = "copy",
                              .args_size = sizeof args};
    const bool vectors = tn_pointwise_has_vectors(p);
    const int64_t lanes = vectors ? tn_element_lanes(recording->context, (tenon_dtype)p->to) : 1;
    const tn_stream_share share = {lanes, vectors ? tn_moved_vectors(recording->context) : 1};
    return tn_pointwise_record(caller, recording, p, launch, &args, share);
}

const tn_solver tn_elementwise_rows = {
    .name = "rows",
    .serves =
        "floating-point types, any strides and broadcasts; vectors if the last dimension allows",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = configure_binary,
    .launch = launch_binary};

const tn_solver tn_copy_rows = {.name = "rows",
                                .serves = "any strides, x and y of one type",
                                TN_PARAMETERS(tn_stores_parameter, 1),
                                .configure = configure_copy,
                                .launch = launch_copy};
