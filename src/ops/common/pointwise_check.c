/* The self-check of operations on elements: each kind of layout, past a piece of a work-item. */
#include "base/shape.h"
#include "check/case.h"
#include "ops/common/pointwise.h"

#include <stdlib.h>

enum { LAYOUT_DENSE, LAYOUT_BROADCAST, LAYOUT_STRIDED };

static tenon_tensor make_view(uint32_t type, int layout, uint32_t operand, bool output)
{
    tenon_dtype dtype = (tenon_dtype)type;
    const int64_t dense[] = {8209}, plane[] = {37, 229}, block[] = {11, 15, 19};
    tenon_tensor view;
    if (layout == LAYOUT_DENSE) {
        view = tenon_tensor_view(dtype, 1, dense);
    } else if (layout == LAYOUT_BROADCAST) {
        view = tenon_tensor_view(dtype, 2, plane);
        if (!output)
            view.stride[operand % 2] = 0;
        if (operand % 2 == 0 && !output)
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

tenon_status tn_twins_check(tenon_stream *stream, const char *operation, const tn_choice *choice,
                            const tn_problem *problem, const double *scalars, tn_twin *twins,
                            uint32_t count, uint32_t outputs, const tn_bounded *expected,
                            bool *right, char why[256])
{
    TN_TRY(tn_twin_run(stream, operation, choice, problem, scalars, twins, count));
    for (uint32_t i = count - outputs; i < count && *right; i++) {
        TN_TRY(tn_twin_fetch(stream, &twins[i]));
        *right = tn_host_within(&twins[i].host, expected, why);
        expected += tenon_tensor_elements(&twins[i].host);
    }
    return TENON_OK;
}

static tenon_status compare(tenon_stream *stream, const tn_choice *choice,
                            const tn_pointwise_check *check, tn_twin *twins, bool *right,
                            char why[256])
{
    const tenon_tensor *views[TENON_WALK_OPERANDS];
    tn_argument arguments[TENON_WALK_OPERANDS];
    int64_t results = 0;
    for (uint32_t i = 0; i < check->of->operand_count; i++) {
        views[i] = &twins[i].host;
        arguments[i] = (tn_argument){"view", views[i], TN_INPUT};
        if (i >= check->of->operand_count - check->of->output_count)
            results += tenon_tensor_elements(views[i]);
    }
    TN_TRY(tn_twins_settle(stream, check->of, check->params, twins));
    tn_pointwise_problem *problem = malloc(check->problem_size);
    tn_bounded *expected = malloc((size_t)results * sizeof *expected);
    tenon_status status =
        problem != NULL && expected != NULL && check->of->reference(check->params, views, expected)
            ? tn_pointwise_canonicalise(check->of->name, arguments, check->of->operand_count,
                                        check->of->output_count, check->problem_size, problem)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", check->of->name);
    if (status == TENON_OK) {
        check->fill(check->params, problem);
        status =
            tn_twins_check(stream, check->of->name, choice, &problem->head, check->scalars, twins,
                           check->of->operand_count, check->of->output_count, expected, right, why);
        if (status == TENON_OK && !*right)
            tn_twins_blame(stream, check->of, check->params, twins, check->of->operand_count,
                           choice);
    }
    free(problem);
    free(expected);
    return status;
}

tenon_status tn_pointwise_self_check(tenon_stream *stream, const tn_problem *like,
                                     const tn_choice *choice, const tn_pointwise_check *check,
                                     int layout, uint64_t *seed, bool *right, char why[256])
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)like;
    tn_twin twins[TENON_WALK_OPERANDS] = {0};
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < check->of->operand_count && status == TENON_OK; i++) {
        bool output = i >= check->of->operand_count - check->of->output_count;
        tenon_tensor view = make_view(output ? p->to : p->from, layout, i, output);
        status = tn_twin_create(stream, &view, seed, &twins[i]);
    }
    if (status == TENON_OK)
        status = compare(stream, choice, check, twins, right, why);
    for (uint32_t i = 0; i < check->of->operand_count; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}
