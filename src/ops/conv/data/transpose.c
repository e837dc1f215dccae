/* The transposed convolution: output sizes, the canonical problem, and argument validation. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/conv/problem/gradient.h"

#include <inttypes.h>
#include <string.h>

TENON_API int64_t tenon_conv_transpose_output_size(const tenon_conv_geometry *geometry,
                                                   uint32_t dim, int64_t size, int64_t filter,
                                                   int64_t output_padding)
{
    int64_t length, reach;
    /* Geometry that is invalid for a convolution is invalid here too. */
    if (tenon_conv_output_size(geometry, dim, size, filter) < 0 || output_padding < 0 ||
        output_padding >= tn_conv_padding_end(geometry, dim))
        return -1;
    if (size == 0)
        return 0;
    if (!tn_mul_i64(size - 1, geometry->stride[dim], &length) ||
        !tn_mul_i64(filter - 1, geometry->dilation[dim], &reach) ||
        !tn_add_i64(length, reach, &length) || !tn_add_i64(length, output_padding + 1, &length))
        return -1;
    length -= geometry->pad_begin[dim];
    return length < geometry->pad_end[dim] ? 0 : length - geometry->pad_end[dim];
}

static tenon_status output_shape(const char *caller, const tenon_conv_transpose_params *params,
                                 const tenon_tensor *x, const tenon_tensor *w, int64_t *shape)
{
    shape[0] = x->shape[0];
    if (params->groups < 1 || !tn_mul_i64(w->shape[1], params->groups, &shape[1]))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: groups is %" PRId64 ", must be at least 1 and not overflow",
                       caller, params->groups);
    for (uint32_t d = 0; d + 2 < x->rank; d++) {
        int64_t padding = params->output_padding[d], stride = params->geometry.stride[d];
        TN_TRY(tn_conv_check_geometry(caller, &params->geometry, d));
        if (padding < 0 || padding >= tn_conv_padding_end(&params->geometry, d))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: output_padding[%u] is %" PRId64
                           ", must be from 0 to %" PRId64 ": less than the stride or the dilation",
                           caller, d, padding, tn_conv_padding_end(&params->geometry, d) - 1);
        shape[2 + d] = tenon_conv_transpose_output_size(&params->geometry, d, x->shape[2 + d],
                                                        w->shape[2 + d], padding);
        if (shape[2 + d] < 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: w: size of dimension %u is %" PRId64
                           ", which makes the sizes invalid or overflow: x %" PRId64
                           ", stride %" PRId64 ", dilation %" PRId64,
                           caller, d + 2, w->shape[2 + d], x->shape[2 + d], stride,
                           params->geometry.dilation[d]);
    }
    return TENON_OK;
}

tenon_status tn_conv_transpose_canonicalize(const char *caller,
                                            const tenon_conv_transpose_params *params,
                                            const tenon_tensor *x, const tenon_tensor *w,
                                            const tenon_tensor *c, const tenon_tensor *bias,
                                            const tenon_tensor *y, conv_problem *p)
{
    static const uint8_t operand[CONV_OPERANDS] = {[CONV_Y] = CONV_X, /* the terms keep theirs */
                                                   [CONV_W] = CONV_W,
                                                   [CONV_C] = CONV_C,
                                                   [CONV_BIAS] = CONV_BIAS,
                                                   [CONV_X] = CONV_Y};
    const conv_views views = {"y", "w", "x", y, w, x, true};
    int64_t shape[CONV_RANK];
    TN_TRY(tn_conv_check_image_rank(caller, "x", x));
    TN_TRY(tn_conv_check_rank(caller, "w", w, x->rank));
    TN_TRY(output_shape(caller, params, x, w, shape));
    TN_TRY(tn_shape_check(caller, "y", y, x->rank, shape));
    if (tn_tensor_empty(y)) { /* the convolution of y may then have another size than x */
        memset(p, 0, sizeof *p);
        return TENON_OK;
    }
    TN_TRY(tn_conv_take_shapes(caller, params->groups, &params->geometry, &views, p));
    memcpy(p->operand, operand, sizeof operand);
    return tn_conv_take_epilogue(caller, &params->epilogue, c, bias, y, p);
}

tenon_status tn_conv_transpose_prepare(const void *given, tn_call *call, tn_problem *problem,
                                       bool *empty)
{
    const char *caller = call->caller;
    const tenon_conv_transpose_params *params = given;
    const tn_argument *o = call->operands;
    const tenon_tensor *y = o[CONV_Y].view;
    TN_TRY(tn_conv_check_call(call, &params->epilogue));
    TN_TRY(tn_conv_transpose_canonicalize(caller, params, o[CONV_X].view, o[CONV_W].view,
                                          o[CONV_C].view, o[CONV_BIAS].view, y,
                                          (conv_problem *)problem));
    TN_TRY(tn_conv_prepare_post(call, (conv_problem *)problem));
    *empty = tn_tensor_empty(y);
    if (params->epilogue.beta == 0)
        call->operands[CONV_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}
