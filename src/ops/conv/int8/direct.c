/* conv_int8/direct: one work-item per element of y. Serves every problem, on any device. */
#include "base/checked.h"
#include "ops/conv/int8/int8.h"

static const char *conv_int8_direct_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const tn_work work = tn_conv_direct_work(&p->conv);
    tn_choice_add(context, choice, &work);
    tn_conv_direct_options(context, &p->conv, choice);
    return NULL;
}

static tenon_status conv_int8_direct_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    conv_int8_args args = tn_conv_int8_arguments(p);
    tn_patch patches[CONV_INT8_PATCHES];
    tn_launch launch = {.source = "conv/int8/direct",
                        .options = choice->options,
                        .kernel = "conv_int8_direct",
                        .dimensions = 3,
                        .global = {(size_t)tn_round_up(tn_window_pixels(&p->conv.window), 32),
                                   (size_t)(p->conv.groups * p->conv.k), (size_t)p->conv.n},
                        .local = {32, 1, 1},
                        TN_ARGS(args),
                        .patches = patches};
    tn_conv_int8_add_operands(p, true, &launch, patches);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_int8_direct = {.name = "direct",
                                       .serves = "everything",
                                       .configure = conv_int8_direct_configure,
                                       .launch = conv_int8_direct_launch};
