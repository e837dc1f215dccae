/* The self-checks: every kind of function on every kind of layout, past a piece of a work-item. */
#include "ops/elementwise/internal.h"
#include "ops/common/host.h"

#include <stdlib.h>

/* Dense; a row and a column to broadcast; rows with gaps. */
enum { LAYOUT_DENSE, LAYOUT_BROADCAST, LAYOUT_STRIDED, LAYOUTS };

static tenon_tensor make_view(uint32_t type, int layout, uint32_t operand, uint32_t operands)
{
    tenon_dtype dtype = (tenon_dtype)type;
    const int64_t dense[] = {8209}, plane[] = {37, 229}, block[] = {11, 15, 19};
    tenon_tensor view;
    if (layout == LAYOUT_DENSE) {
        view = tenon_tensor_view(dtype, 1, dense);
    } else if (layout == LAYOUT_BROADCAST) {
        view = tenon_tensor_view(dtype, 2, plane);
        if (operand + 1 < operands)
            view.stride[operand % 2] = 0;
        if (operand == 0)
            view.stride[1] = 1;
    } else {
        view = tenon_tensor_view(dtype, 3, block);
        for (int d = 2; d >= 0; d--)
            view.stride[d] =
                d == 2 ? (int64_t)operand + 1 : view.stride[d + 1] * view.shape[d + 1] + operand;
    }
    view.offset = 3 * tenon_dtype_size(dtype);
    return view;
}

typedef struct check {
    tenon_stream *stream;
    const tn_choice *choice;
    const char *operation;
    const tenon_elementwise_params *params; /* NULL: a copy */
    uint32_t operands;
    tn_twin twins[ELEMENTWISE_OPERANDS];
} check;

static bool reference(const check *c, tn_bounded *expected)
{
    const tn_twin *t = c->twins;
    return expected != NULL &&
           (c->params != NULL
                ? tn_elementwise_reference(c->params, &t[0].host, &t[1].host, &t[2].host, expected)
                : tn_copy_reference(&t[0].host, &t[1].host, expected));
}

static tenon_status compare(check *c, bool *right, char why[256])
{
    const tenon_tensor *output = &c->twins[c->operands - 1].host;
    double scalars[TN_MAX_SCALARS] = {0};
    tn_argument arguments[ELEMENTWISE_OPERANDS];
    elementwise_problem problem;
    for (uint32_t i = 0; i < c->operands; i++)
        arguments[i] = (tn_argument){"view", &c->twins[i].host, TN_INPUT};
    if (c->params != NULL) {
        scalars[TN_SCALAR_ALPHA] = c->params->alpha;
        scalars[TN_SCALAR_BETA] = c->params->beta;
    }
    TN_TRY(tn_elementwise_canonicalise(c->operation, c->params != NULL ? c->params->kind : 0,
                                       arguments, c->operands, &problem));
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(output) * sizeof *expected);
    tenon_status status = reference(c, expected)
                              ? tn_twin_run(c->stream, c->operation, c->choice, &problem.head,
                                            scalars, c->twins, c->operands)
                              : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", c->operation);
    if (status == TENON_OK)
        *right = tn_host_within(output, expected, why);
    free(expected);
    return status;
}

static tenon_status check_layout(check *c, const elementwise_problem *like, int layout,
                                 uint64_t *seed, bool *right, char why[256])
{
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < c->operands && status == TENON_OK; i++) {
        uint32_t dtype = i + 1 < c->operands ? like->from : like->to;
        tenon_tensor view = make_view(dtype, layout, i, c->operands);
        status = tn_twin_create(c->stream, &view, seed, &c->twins[i]);
    }
    if (status == TENON_OK)
        status = compare(c, right, why);
    for (uint32_t i = 0; i < c->operands; i++)
        tn_twin_destroy(&c->twins[i]);
    return status;
}

/* All kinds are in one build, and only builds are told apart when it is asked what was checked. */
tenon_status tn_elementwise_self_check(tenon_stream *stream, const tn_problem *problem,
                                       const tn_choice *choice, bool *right, char why[256])
{
    tenon_elementwise_params params = TENON_ELEMENTWISE_PARAMS_INIT;
    check c = {.stream = stream,
               .choice = choice,
               .operation = "elementwise self-check",
               .params = &params,
               .operands = ELEMENTWISE_OPERANDS};
    uint64_t seed = 1;
    params.alpha = 0.75;
    params.beta = -1.5;
    for (uint32_t i = 0; i < 2 * (TENON_ELEMENTWISE_SCALE_ADD + 1) && *right; i++) {
        params.kind = i / 2;
        TN_TRY(check_layout(&c, (const elementwise_problem *)problem, (int)i % LAYOUTS, &seed,
                            right, why));
    }
    return TENON_OK;
}

tenon_status tn_copy_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    check c = {.stream = stream,
               .choice = choice,
               .operation = "copy self-check",
               .operands = COPY_OPERANDS};
    uint64_t seed = 1;
    for (int layout = 0; layout < LAYOUTS && *right; layout++)
        TN_TRY(check_layout(&c, (const elementwise_problem *)problem, layout, &seed, right, why));
    return TENON_OK;
}
