/* tenon_conv_forward for i8 and u8: the solver family and the preparation of a problem. */
#include "ops/conv/int8/int8.h"

#include "base/shape.h"

#include <string.h>

static const tn_solver *const solvers[] = {&tn_conv_int8_implicit_dot, &tn_conv_int8_depthwise,
                                           &tn_conv_int8_columns, &tn_conv_int8_direct};

static uint64_t bit_of(uint32_t dtype, uint32_t of, int bit)
{
    return (uint64_t)(dtype == of) << bit;
}

/* Paths in addition to those of every convolution: the vectors that are present, and the types. */
static uint64_t conv_int8_paths(const tn_problem *problem)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const uint32_t *types = p->types, all = (1U << INT8_VECTORS) - 1;
    return tn_conv_paths(problem) | (uint64_t)(p->present & all) << 40 |
           (uint64_t)(~p->present & all) << 46 | bit_of(types[CONV_X], TENON_DTYPE_I8, 52) |
           bit_of(types[CONV_X], TENON_DTYPE_U8, 53) | bit_of(types[CONV_W], TENON_DTYPE_I8, 54) |
           bit_of(types[CONV_W], TENON_DTYPE_U8, 55) | bit_of(types[CONV_Y], TENON_DTYPE_I8, 56) |
           bit_of(types[CONV_Y], TENON_DTYPE_U8, 57) | bit_of(types[CONV_Y], TENON_DTYPE_I32, 58) |
           bit_of(types[CONV_BIAS], TENON_DTYPE_I32, 59);
}

const tn_family tn_conv_int8_family = {.name = "conv_int8",
                                       TN_SOLVERS(solvers),
                                       .awkward = tn_conv_int8_awkward,
                                       .paths = conv_int8_paths};

tenon_status tn_conv_int8_canonicalize(const char *caller, const tenon_conv_params *params,
                                       int8_views views, conv_int8_problem *p)
{
    memset(p, 0, sizeof *p);
    TN_TRY(tn_conv_canonicalize(caller, params, views[CONV_X], views[CONV_W], views[CONV_C],
                                views[CONV_BIAS], views[CONV_Y], &p->conv));
    p->conv.head.size = sizeof *p;
    p->conv.dtype = tn_int8_real_type(views[CONV_Y]->dtype);
    p->conv.exact = false; /* sums of integers are exact */
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (views[i] != NULL && (i != CONV_C || (p->conv.flags & CONV_HAS_C) != 0))
            p->types[i] = views[i]->dtype;
    for (uint32_t i = 0; i < INT8_VECTORS; i++) {
        const tenon_tensor *view = views[INT8_VECTOR(i)];
        p->present |= (view != NULL ? 1U : 0U) << i;
        if (view != NULL && view->rank == 1 && view->shape[0] != 1)
            p->vectors[i] = view->stride[0];
    }
    return TENON_OK;
}

tenon_status tn_conv_int8_prepare(const void *given, tn_call *call, tn_problem *head, bool *empty)
{
    tenon_conv_params params = *(const tenon_conv_params *)given;
    conv_int8_problem *p = (conv_int8_problem *)head;
    int8_views views;
    for (uint32_t i = 0; i < INT8_OPERANDS; i++)
        views[i] = call->operands[i].view;
    tn_int8_restore_vectors(views, &params.epilogue);
    TN_TRY(tn_epilogue_terms_check(call->caller, &params.epilogue, views[CONV_C]));
    TN_TRY(tn_epilogue_refuse_post(call->caller, &params.epilogue));
    TN_TRY(tn_conv_int8_canonicalize(call->caller, &params, views, p));
    const int64_t filters = p->conv.groups * p->conv.k;
    const int8_call checked = {call->caller, {"x", "w", "y"}, {1, filters, filters}};
    TN_TRY(tn_int8_check(&checked, &params.epilogue, views));
    *empty = tn_tensor_empty(views[CONV_Y]);
    if (params.epilogue.beta == 0)
        call->operands[CONV_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params.epilogue, call->scalars);
    return TENON_OK;
}
