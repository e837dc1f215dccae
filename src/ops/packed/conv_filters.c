/* The family conv_packed: convolutions whose filters are packed in panels, and whose images have
 * their channels last. Its canonical problem, its solver table, and the description of its calls.
 */
#include "ops/packed/internal.h"
#include "ops/registry.h"

#include <string.h>

static const tn_solver *const solvers[] = {&tn_conv_packed_cpu, &tn_conv_packed_depthwise,
                                           &tn_conv_packed_dense};

const tn_family tn_conv_packed_family = {.name = "conv_packed",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_conv_packed_awkward,
                                         .paths = tn_conv_paths};

/* Returns true if the channels of an image with these strides are contiguous. */
static bool is_contiguous(const int64_t stride[CONV_RANK], int64_t channels)
{
    return stride[1] == 1 || channels == 1;
}

const char *tn_filters_refuse(tenon_context *context, const filter_problem *problem)
{
    const conv_problem *p = &problem->conv;
    if (problem->panel != tn_packed_panel(context, (tenon_dtype)p->dtype))
        return "the width of the panels is not that of this device";
    if (!is_contiguous(p->x, p->groups * p->c) || !is_contiguous(p->y, p->groups * p->k))
        return "the channels of x or y are not contiguous";
    if (p->c == 0 || tn_window_empty(&p->window) || (p->flags & CONV_SKIP_XW) != 0)
        return "there is nothing to multiply";
    return NULL;
}

tenon_status tn_filters_take_params(const char *caller, const tenon_conv_params *given,
                                    const tenon_packed *packed, filter_params *all)
{
    const void *params;
    TN_TRY(tn_operation_take_params(caller, &tn_operation_conv, given, &all->conv, &params));
    if (params != &all->conv)
        all->conv = *(const tenon_conv_params *)params;
    all->conv.struct_size = sizeof *all;
    all->packed = packed;
    return TENON_OK;
}

tenon_status tn_filters_prepare(const filter_params *params, tn_call *call, conv_problem *problem,
                                bool *empty)
{
    tn_call unpacked = *call;
    unpacked.operands[CONV_W].view = &params->packed->view;
    TN_TRY(tn_conv_prepare(&params->conv, &unpacked, &problem->head, empty));
    call->operands[CONV_C].view = unpacked.operands[CONV_C].view;
    memcpy(call->scalars, unpacked.scalars, sizeof call->scalars);
    return TENON_OK;
}

static tenon_status prepare(const void *given, tn_call *call, tn_problem *head, bool *empty)
{
    const filter_params *params = given;
    filter_problem *problem = (filter_problem *)head;
    TN_TRY(tn_filters_prepare(params, call, &problem->conv, empty));
    problem->panel = params->packed->panel;
    problem->dense_at = params->packed->dense_at;
    head->size = sizeof *problem;
    return TENON_OK;
}

uint32_t tn_filters_channels_last(const void *params, const tn_call *call)
{
    const filter_params *all = params;
    return (uint32_t)tn_conv_channels_last(call->operands[CONV_X].view, &all->packed->view,
                                           all->conv.groups)
           << CONV_X;
}

static const filter_params filter_defaults = {.conv = {.struct_size = sizeof(filter_params),
                                                       .groups = 1,
                                                       .geometry = TENON_CONV_GEOMETRY_INIT,
                                                       .epilogue = TENON_EPILOGUE_INIT}};
static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, filter_params, conv.flags),
                                  TN_FIELD("groups", TN_FIELD_I64, filter_params, conv.groups),
                                  TN_GEOMETRY_FIELDS(filter_params, conv.geometry),
                                  TN_EPILOGUE_FIELDS(filter_params, conv.epilogue)};

const tn_operation tn_conv_by_filters = {
    .name = "tenon_conv_forward_packed",
    .plan_name = "tenon_conv_forward_packed_plan",
    .family = &tn_conv_packed_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "w"},
                 {.name = "c", .image = true, .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "bias", .optional = true},
                 {.name = "y", .image = true, .role = TN_OUTPUT}},
    .operand_count = CONV_OPERANDS,
    TN_FIELDS(fields),
    TN_OWN_PARAMS(filter_defaults),
    .flags = TENON_CONV_EXACT,
    TN_PROBLEM(filter_problem),
    .prepare = prepare,
    .channels_last = tn_filters_channels_last,
};
