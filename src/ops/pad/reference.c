/* The reference of padding, and the self-check of its solver. */
#include "ops/common/case.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/host.h"
#include "ops/pad/internal.h"

#include <stdlib.h>

/* Which entry of a dimension of x stands `at` entries behind its first; -1: none. */
static int64_t source_of(uint32_t mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size)
        return at;
    if (mode == TENON_PAD_CONSTANT)
        return -1;
    if (mode == TENON_PAD_EDGE)
        return at < 0 ? 0 : size - 1;
    return at < 0 ? -at : 2 * (size - 1) - at;
}

bool tn_pad_reference(const tenon_pad_params *params, const tenon_tensor *x, const tenon_tensor *y,
                      tn_bounded *results)
{
    int64_t index[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(y);
    unsigned char element[8];
    tn_dtype_store(y->dtype, element, params->value);
    const double value = tn_dtype_load(y->dtype, element);
    double *values = tn_host_read(x, x->rank, x->shape);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        int64_t at = 0;
        for (uint32_t d = 0; d < y->rank && at >= 0; d++) {
            int64_t source = source_of(params->mode, index[d] - params->begin[d], x->shape[d]);
            at = source < 0 ? -1 : at * x->shape[d] + source;
        }
        results[i] = (tn_bounded){at < 0 ? value : values[at], 0};
        tn_next_index(index, y->shape, y->rank);
    }
    bool whole = values != NULL;
    free(values);
    return whole;
}

/* Padded in front, behind and on both sides; a plane that work-items share. */
static tenon_pad_params make_params(uint32_t mode)
{
    tenon_pad_params params = TENON_PAD_PARAMS_INIT;
    params.mode = mode;
    params.value = 3;
    params.begin[0] = 1;
    params.end[1] = 2;
    params.begin[2] = 3;
    params.end[2] = 2;
    return params;
}

static tenon_tensor make_view(uint32_t type, const int64_t *size, bool gaps)
{
    tenon_dtype dtype = (tenon_dtype)type;
    tenon_tensor view = tenon_tensor_view(dtype, 3, size);
    view.offset = 3 * tenon_dtype_size(dtype);
    for (int d = 2; gaps && d >= 0; d--)
        view.stride[d] = d == 2 ? 2 : view.stride[d + 1] * view.shape[d + 1] + 1;
    return view;
}

static tenon_status compare(tenon_stream *stream, const tn_choice *choice,
                            const tenon_pad_params *params, tn_twin *twins, bool *right,
                            char why[256])
{
    static const char operation[] = "pad self-check";
    const tenon_tensor *x = &twins[PAD_X].host, *y = &twins[PAD_Y].host;
    const double scalars[TN_MAX_SCALARS] = {tn_pad_scalar(y->dtype, params->value)};
    pad_problem problem;
    tn_pad_canonicalise(params, x, y, &problem);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(y) * sizeof *expected);
    tenon_status status =
        expected != NULL && tn_pad_reference(params, x, y, expected)
            ? tn_twin_run(stream, operation, choice, &problem.head, scalars, twins, PAD_OPERANDS)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(y, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, &tn_operation_pad, params, twins, PAD_OPERANDS, choice);
    free(expected);
    return status;
}

tenon_status tn_pad_self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    static const int64_t x_size[] = {5, 61, 35}, y_size[] = {6, 63, 40};
    const uint32_t dtype = ((const pad_problem *)problem)->dtype;
    tenon_status status = TENON_OK;
    uint64_t seed = 1;
    *right = true;
    for (int i = 0; i < 6 && *right && status == TENON_OK; i++) {
        const tenon_pad_params params = make_params((uint32_t)i / 2);
        const tenon_tensor x = make_view(dtype, x_size, i % 2 != 0),
                           y = make_view(dtype, y_size, i % 2 != 0);
        tn_twin twins[PAD_OPERANDS] = {0};
        status = tn_twin_create(stream, &x, &seed, &twins[PAD_X]);
        if (status == TENON_OK)
            status = tn_twin_create(stream, &y, &seed, &twins[PAD_Y]);
        if (status == TENON_OK)
            status = compare(stream, choice, &params, twins, right, why);
        tn_twin_destroy(&twins[PAD_X]);
        tn_twin_destroy(&twins[PAD_Y]);
    }
    return status;
}
