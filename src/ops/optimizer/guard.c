/* The optional operands skip and gradient_scale of the optimizers and of clipping. */
#include "base/dtype.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/optimizer/internal.h"

#include <stdlib.h>
#include <string.h>

bool tn_guard_views(const tenon_tensor *skip, const tenon_tensor *gradient_scale,
                    const tenon_tensor **views)
{
    views[GUARD_SKIP] = skip;
    views[GUARD_SCALE] = gradient_scale;
    return skip != NULL || gradient_scale != NULL;
}

tenon_status tn_single_check(const char *caller, const char *argument, const tenon_tensor *view,
                             bool is_flag)
{
    char text[160];
    const bool suits = is_flag ? view->dtype == TENON_DTYPE_I32 || view->dtype == TENON_DTYPE_U8
                               : view->dtype == TENON_DTYPE_F32;
    if (!suits)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s, must be %s", caller, argument,
                       tenon_dtype_string(view->dtype), is_flag ? "i32 or u8" : "f32");
    if (tenon_tensor_elements(view) != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must have one element",
                       caller, argument, tn_shape_text(view->rank, view->shape, text));
    return TENON_OK;
}

tenon_status tn_guard_prepare(const tn_call *call, uint32_t first, tn_lines_problem *problem)
{
    if (call->operand_count == first)
        return TENON_OK;
    problem->singles = GUARD_OPERANDS;
    for (uint32_t i = 0; i < GUARD_OPERANDS; i++) {
        const tn_argument *operand = &call->operands[first + i];
        if (operand->view == NULL)
            continue;
        TN_TRY(tn_single_check(call->caller, operand->name, operand->view, i == GUARD_SKIP));
        problem->single_size[i] = (uint32_t)tenon_dtype_size(operand->view->dtype);
        problem->flags |= i == GUARD_SKIP ? GUARD_HAS_SKIP : GUARD_HAS_SCALE;
        if (operand->view->dtype == TENON_DTYPE_U8)
            problem->flags |= GUARD_SKIP_BYTE;
    }
    return TENON_OK;
}

void tn_guard_option(const tn_lines_problem *problem, char options[TN_OPTIONS_SIZE])
{
    if (problem->singles > 0)
        strncat(options, " -DTENON_GUARD=1", TN_OPTIONS_SIZE - strlen(options) - 1);
}

void tn_guard_awkward(const tn_lines_problem *problem, tenon_tensor *views)
{
    static const int64_t one[] = {1};
    const bool is_byte = (problem->flags & GUARD_SKIP_BYTE) != 0;
    if ((problem->flags & GUARD_HAS_SKIP) != 0)
        views[GUARD_SKIP] =
            tn_awkward_view(is_byte ? TENON_DTYPE_U8 : TENON_DTYPE_I32, 1, one, false);
    if ((problem->flags & GUARD_HAS_SCALE) != 0)
        views[GUARD_SCALE] = tn_awkward_view(TENON_DTYPE_F32, 1, one, false);
}

void tn_guard_fill(const tenon_tensor *const *views, uint64_t *seed)
{
    const int64_t first[TENON_MAX_RANK] = {0};
    const tenon_tensor *skip = views[GUARD_SKIP], *scale = views[GUARD_SCALE];
    if (skip != NULL)
        tn_dtype_store(skip->dtype, tn_host_element(skip, first), tn_random(seed) > 0.5 ? 3 : 0);
    if (scale != NULL)
        tn_dtype_store(scale->dtype, tn_host_element(scale, first), 0.25);
}

bool tn_guard_read(const tenon_tensor *const *views, tn_guard *guard)
{
    bool whole = true;
    *guard = (tn_guard){.scales = views[GUARD_SCALE] != NULL, .scale = 1};
    for (uint32_t i = 0; i < GUARD_OPERANDS && whole; i++) {
        if (views[i] == NULL)
            continue;
        double *value = tn_host_read(views[i], views[i]->rank, views[i]->shape);
        whole = value != NULL;
        if (whole && i == GUARD_SKIP)
            guard->skips = *value != 0;
        else if (whole)
            guard->scale = *value;
        free(value);
    }
    return whole;
}
