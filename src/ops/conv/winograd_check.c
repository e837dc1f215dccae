/* The self-check of Winograd's convolution: more tiles than a set of registers, cut at both edges,
 * two groups, and filters past a panel, with the layouts of the problem at hand. */
#include "check/case.h"
#include "check/host.h"
#include "ops/conv/gradient.h"
#include "ops/conv/winograd.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

#define CHANNELS 37
#define FILTERS  67

typedef struct check {
    tn_twin twins[CONV_OPERANDS];
    tn_bounded *expected;
} check;

static const int64_t filter_size[2] = {3, 3};

/* Filters with the same thing contiguous. */
static tenon_tensor filter_view(const conv_problem *like, tenon_dtype dtype)
{
    tenon_tensor view = tn_image_view(dtype, like->w[1] == 1, 2 * FILTERS, CHANNELS, filter_size);
    if (like->w[4] != 1 || like->w[3] != 3)
        return view;
    view.stride[2] = 3;
    view.stride[1] = like->w[1] == 9 ? 9 : 11;
    view.stride[0] = CHANNELS * view.stride[1] + 1;
    return view;
}

static bool channels_last(const int64_t stride[CONV_RANK])
{
    return stride[4] != 1;
}

static tenon_status run(tenon_stream *stream, const conv_problem *like, const tn_choice *choice,
                        check *c, bool *right, char why[256])
{
    static const char operation[] = "conv self-check";
    const int64_t size[2] = {11, 33}, filters = 2 * FILTERS;
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    char name[TN_SOLVER_NAME_SIZE];
    double scalars[TN_MAX_SCALARS] = {0};
    uint64_t seed = 1;
    conv_problem problem;
    int64_t out[2];
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.groups = 2;
    params.geometry.pad_begin[0] = params.geometry.pad_end[1] = 1;
    params.geometry.pad_begin[1] = 2;
    params.epilogue = tn_check_epilogue(like->flags, like->activation);
    for (uint32_t d = 0; d < 2; d++)
        out[d] = tenon_conv_output_size(&params.geometry, d, size[d], 3);
    const tenon_tensor views[CONV_OPERANDS] = {
        [CONV_X] = tn_image_view(dtype, channels_last(like->x), 2, 2 * CHANNELS, size),
        [CONV_W] = filter_view(like, dtype),
        [CONV_C] = tn_image_view(dtype, channels_last(like->y), 2, filters, out),
        [CONV_BIAS] = tenon_tensor_view(dtype, 1, &filters),
        [CONV_Y] = tn_image_view(dtype, channels_last(like->y), 2, filters, out)};
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (i != CONV_BIAS || (like->flags & CONV_HAS_BIAS) != 0)
            TN_TRY(tn_twin_create(stream, &views[i], &seed, &c->twins[i]));
    const tenon_tensor *x = &c->twins[CONV_X].host, *w = &c->twins[CONV_W].host,
                       *res = &c->twins[CONV_C].host, *bias = tn_twin_host(&c->twins[CONV_BIAS]),
                       *y = &c->twins[CONV_Y].host;
    params.solver = tn_solver_name(&tn_conv_family, choice, name);
    TN_TRY(tn_conv_canonicalise(operation, &params, x, w, res, bias, y, &problem));
    problem.head.workspace_limit = stream->context->workspace_limit;
    tn_conv_scalars(&params.epilogue, scalars);
    c->expected = malloc((size_t)tenon_tensor_elements(y) * sizeof *c->expected);
    if (c->expected == NULL || !tn_conv_reference(&params, x, w, res, bias, y, c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    TN_TRY(tn_twin_run(stream, operation, choice, &problem.head, scalars, c->twins, CONV_OPERANDS));
    *right = tn_host_within(y, c->expected, why);
    if (!*right)
        tn_twins_blame(stream, &tn_operation_conv, &params, c->twins, CONV_OPERANDS, choice);
    return TENON_OK;
}

tenon_status tn_winograd_self_check(tenon_stream *stream, const tn_problem *problem,
                                    const tn_choice *choice, bool *right, char why[256])
{
    check c = {.expected = NULL};
    tenon_status status = run(stream, (const conv_problem *)problem, choice, &c, right, why);
    for (int i = 0; i < CONV_OPERANDS; i++)
        tn_twin_destroy(&c.twins[i]);
    free(c.expected);
    return status;
}
