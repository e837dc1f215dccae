/* conv_backward_data/direct: one work-item per element of the image. Serves every problem, on any
 * device, without workspace. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/gradient.h"

#include <stddef.h>
#include <string.h>

#define LOCAL_SIZE 32

static const char *conv_data_direct_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const tn_work work = tn_conv_direct_work(p);
    tn_choice_add(context, choice, &work);
    tn_conv_direct_options(context, p, choice);
    return NULL;
}

static tenon_status conv_data_direct_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_window *v = &p->window;
    bool any = p->k > 0 && tn_window_pixels(v) > 0 && (p->flags & CONV_SKIP_XW) == 0;
    const bool reads[CONV_OPERANDS] = {
        [CONV_Y] = any, [CONV_W] = any, [CONV_C] = true, [CONV_BIAS] = true};
    const bool has_post = (p->flags & TENON_POST_ANY) != 0;
    tn_patch patches[CONV_PATCHES];
    conv_reverse_args args = {.subfilter = tn_conv_find_subfilter(v)};
    struct {
        conv_args conv;
        conv_post_args post;
        conv_subfilter subfilter;
    } post_args = {.subfilter = args.subfilter};
    tn_launch launch = {.source = "conv/data/direct",
                        .options = choice->options,
                        .kernel = "conv_backward_data",
                        .dimensions = 3,
                        .local = {LOCAL_SIZE, 1, 1},
                        .args_size = has_post ? sizeof post_args : sizeof args};
    tn_conv_direct_launch(p, reads, CONV_X, &launch, has_post ? &post_args.conv : &args.conv,
                          patches);
    launch.global[0] = (size_t)tn_round_up(v->size[0] * v->size[1] * v->size[2], LOCAL_SIZE);
    launch.global[1] = (size_t)(p->groups * p->c);
    launch.global[2] = (size_t)p->n;
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_backward_data_direct = {.name = "direct",
                                                .serves = "everything",
                                                .configure = conv_data_direct_configure,
                                                .launch = conv_data_direct_launch};
