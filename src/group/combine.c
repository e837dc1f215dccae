#include "group/combine.h"

#include "base/status.h"

#include <tenon/elementwise.h>

/* The most inputs of one chain. */
#define CHAIN_INPUTS 4

static bool is_float(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F16 ||
           dtype == TENON_DTYPE_BF16;
}

static bool is_half(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_BF16;
}

bool tn_combine_serves(tenon_group_kind kind, tenon_dtype dtype)
{
    const bool is_integer = dtype == TENON_DTYPE_I32 || dtype == TENON_DTYPE_I64;
    return kind >= TENON_GROUP_SUM && kind <= TENON_GROUP_MIN &&
           (is_float(dtype) || (is_integer && kind != TENON_GROUP_MEAN));
}

static uint32_t chain_op(tenon_group_kind kind)
{
    switch (kind) {
    case TENON_GROUP_PRODUCT:
        return TENON_CHAIN_MULTIPLY;
    case TENON_GROUP_MAX:
        return TENON_CHAIN_MAX;
    case TENON_GROUP_MIN:
        return TENON_CHAIN_MIN;
    default:
        return TENON_CHAIN_ADD;
    }
}

static uint32_t elementwise_op(tenon_group_kind kind)
{
    switch (kind) {
    case TENON_GROUP_PRODUCT:
        return TENON_ELEMENTWISE_MULTIPLY;
    case TENON_GROUP_MAX:
        return TENON_ELEMENTWISE_MAX;
    case TENON_GROUP_MIN:
        return TENON_ELEMENTWISE_MIN;
    default:
        return TENON_ELEMENTWISE_ADD;
    }
}

/* y = x[0] ∘ … ∘ x[count - 1], for at most CHAIN_INPUTS floating-point arrays, divided by `divisor`
 * unless it is 0. */
static tenon_status chain(const tn_group_member *member, tenon_group_kind kind,
                          const tenon_tensor *const x[], uint32_t count, uint32_t divisor,
                          const tenon_tensor *y, const tenon_sync *sync)
{
    tenon_elementwise_chain_params params = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    const tenon_tensor *inputs[CHAIN_INPUTS] = {NULL};
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = x[i];
        if (i > 0)
            params.steps[params.step_count++] =
                (tenon_chain_step){.op = chain_op(kind), .operand = TENON_CHAIN_X0 + i};
    }
    if (divisor != 0)
        params.steps[params.step_count++] =
            (tenon_chain_step){.op = TENON_CHAIN_DIVIDE, .alpha = divisor};
    return tenon_elementwise_chain(member->own, &params, inputs[0], inputs[1], inputs[2], inputs[3],
                                   y, sync);
}

/* The same for two integer arrays. */
static tenon_status pair(const tn_group_member *member, tenon_group_kind kind,
                         const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *y,
                         const tenon_sync *sync)
{
    tenon_elementwise_params params = TENON_ELEMENTWISE_PARAMS_INIT;
    params.kind = elementwise_op(kind);
    return tenon_elementwise(member->own, &params, a, b, y, sync);
}

/* More arrays than one launch combines: the intermediate results are in `sum`, which no array
 * overlaps. Arrays of 16-bit types are converted to f32 in `wide`, one after the other. */
static tenon_status accumulate(const tn_group_member *member, tenon_group_kind kind,
                               const tenon_tensor *x, uint32_t count, tenon_tensor *sum,
                               tenon_tensor *wide, const tenon_tensor *y, const tenon_sync *sync)
{
    const uint32_t divisor = kind == TENON_GROUP_MEAN ? count : 0;
    const tenon_tensor *const both[] = {sum, wide};
    if (is_half(y->dtype)) {
        TN_TRY(tenon_copy(member->own, NULL, &x[0], sum, NULL));
        for (uint32_t i = 1; i < count; i++) {
            TN_TRY(tenon_copy(member->own, NULL, &x[i], wide, NULL));
            TN_TRY(chain(member, kind, both, 2, i + 1 == count ? divisor : 0, sum, NULL));
        }
        return tenon_copy(member->own, NULL, sum, y, sync);
    }
    if (!is_float(y->dtype)) {
        for (uint32_t i = 1; i < count; i++) {
            const bool is_last = i + 1 == count;
            TN_TRY(pair(member, kind, i == 1 ? &x[0] : sum, &x[i], is_last ? y : sum,
                        is_last ? sync : NULL));
        }
        return TENON_OK;
    }
    for (uint32_t i = 0; i < count;) {
        const tenon_tensor *inputs[CHAIN_INPUTS];
        uint32_t used = 0;
        if (i > 0)
            inputs[used++] = sum;
        while (used < CHAIN_INPUTS && i < count)
            inputs[used++] = &x[i++];
        const bool is_last = i == count;
        TN_TRY(chain(member, kind, inputs, used, is_last ? divisor : 0, is_last ? y : sum,
                     is_last ? sync : NULL));
    }
    return TENON_OK;
}

tenon_status tn_combine(const tn_group_member *member, tenon_group_kind kind, const tenon_tensor *x,
                        uint32_t count, const tenon_tensor *y, const tenon_sync *sync)
{
    const int64_t length = y->shape[0];
    if (count == 1)
        return tenon_copy(member->own, NULL, &x[0], y, sync);
    if (is_float(y->dtype) && count <= CHAIN_INPUTS) {
        const tenon_tensor *inputs[CHAIN_INPUTS];
        for (uint32_t i = 0; i < count; i++)
            inputs[i] = &x[i];
        return chain(member, kind, inputs, count, kind == TENON_GROUP_MEAN ? count : 0, y, sync);
    }
    if (!is_float(y->dtype) && count == 2)
        return pair(member, kind, &x[0], &x[1], y, sync);
    const tenon_dtype dtype = is_half(y->dtype) ? TENON_DTYPE_F32 : y->dtype;
    tenon_tensor sum = {0}, wide = {0};
    tenon_status status = tn_array_create(member, dtype, length, &sum);
    if (status == TENON_OK && is_half(y->dtype))
        status = tn_array_create(member, dtype, length, &wide);
    if (status == TENON_OK)
        status = accumulate(member, kind, x, count, &sum, &wide, y, sync);
    /* Enqueued work keeps the memory it uses. */
    tenon_tensor_destroy(&sum);
    tenon_tensor_destroy(&wide);
    return status;
}
