/* Views made of views; tensor.h has more of them in shape.c. */
#include "base/checked.h"
#include "base/shape.h"

#include <inttypes.h>
#include <string.h>

static tenon_tensor invalid(tenon_tensor tensor)
{
    tensor.dtype = TENON_DTYPE_INVALID;
    return tensor;
}

TENON_API tenon_tensor tenon_tensor_slice_step(tenon_tensor tensor, uint32_t dim, int64_t start,
                                               int64_t size, int64_t step)
{
    int64_t spanned = 0;
    if (tensor.rank > TENON_MAX_RANK || dim >= tensor.rank || step < 1 || size < 0 ||
        (size > 0 && (!tn_mul_i64(size - 1, step, &spanned) || !tn_add_i64(spanned, 1, &spanned))))
        return invalid(tensor);
    tensor = tenon_tensor_slice(tensor, dim, start, spanned);
    if (tensor.dtype == TENON_DTYPE_INVALID)
        return tensor;
    tensor.shape[dim] = size;
    if (size > 1 && !tn_mul_i64(tensor.stride[dim], step, &tensor.stride[dim]))
        return invalid(tensor);
    return tensor;
}

TENON_API tenon_tensor tenon_tensor_permute(tenon_tensor tensor, const uint32_t *order)
{
    const tenon_tensor from = tensor;
    uint32_t seen = 0;
    if (tensor.rank > TENON_MAX_RANK || (tensor.rank > 0 && order == NULL))
        return invalid(tensor);
    for (uint32_t d = 0; d < tensor.rank; d++) {
        if (order[d] >= tensor.rank || (seen >> order[d] & 1) != 0)
            return invalid(from);
        seen |= 1U << order[d];
        tensor.shape[d] = from.shape[order[d]];
        tensor.stride[d] = from.stride[order[d]];
    }
    return tensor;
}

TENON_API tenon_tensor tenon_tensor_squeeze(tenon_tensor tensor, uint32_t dim)
{
    if (tensor.rank > TENON_MAX_RANK || dim >= tensor.rank || tensor.shape[dim] != 1)
        return invalid(tensor);
    tensor.rank--;
    for (uint32_t d = dim; d < tensor.rank; d++) {
        tensor.shape[d] = tensor.shape[d + 1];
        tensor.stride[d] = tensor.stride[d + 1];
    }
    tensor.shape[tensor.rank] = tensor.stride[tensor.rank] = 0;
    return tensor;
}

TENON_API tenon_tensor tenon_tensor_unsqueeze(tenon_tensor tensor, uint32_t dim)
{
    if (tensor.rank >= TENON_MAX_RANK || dim > tensor.rank)
        return invalid(tensor);
    for (uint32_t d = tensor.rank; d > dim; d--) {
        tensor.shape[d] = tensor.shape[d - 1];
        tensor.stride[d] = tensor.stride[d - 1];
    }
    tensor.shape[dim] = tensor.stride[dim] = 1;
    tensor.rank++;
    return tensor;
}

TENON_API tenon_tensor tenon_tensor_broadcast(tenon_tensor tensor, uint32_t rank,
                                              const int64_t *shape)
{
    tenon_tensor view = tensor;
    if (tensor.rank > TENON_MAX_RANK || rank > TENON_MAX_RANK || (rank > 0 && shape == NULL))
        return invalid(tensor);
    for (uint32_t d = 0; d < rank; d++)
        if (shape[d] < 0)
            return invalid(tensor);
    if (tn_broadcast("tenon_tensor_broadcast", "tensor", &tensor, rank, shape, view.stride) !=
        TENON_OK)
        return invalid(tensor);
    view.rank = rank;
    memcpy(view.shape, shape, rank * sizeof *shape);
    return view;
}

/* The sizes asked for, with what one of -1 stands for, as a dense view. */
static tenon_status resolve(const char *operation, const tenon_tensor *tensor, uint32_t rank,
                            const int64_t *shape, tenon_tensor *dense)
{
    char wanted[160], has[160];
    int64_t sizes[TENON_MAX_RANK], known = 1, count = tenon_tensor_elements(tensor);
    uint32_t open = rank;
    bool fits = true;
    for (uint32_t d = 0; d < rank; d++) {
        sizes[d] = shape[d];
        if (shape[d] == -1 && open == rank)
            open = d;
        else
            fits = fits && shape[d] >= 0 && tn_mul_i64(known, shape[d], &known);
    }
    if (fits && open < rank) {
        fits = known > 0 && count % known == 0;
        sizes[open] = fits ? count / known : 0;
    }
    *dense = tenon_tensor_view(tensor->dtype, rank, sizes);
    if (fits && dense->dtype == tensor->dtype && tenon_tensor_elements(dense) == count)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: shape: %s cannot have the %" PRId64 " elements of %s", operation,
                   tn_shape_text(rank, shape, wanted), count,
                   tn_shape_text(tensor->rank, tensor->shape, has));
}

/* Cuts the tensor's dimensions, merged as far as they go, into those of `view`; false where one of
 * these would not step evenly. */
static bool cut(const tenon_tensor *tensor, tenon_tensor *view)
{
    tn_space space = {.rank = tensor->rank, .views = 1};
    memcpy(space.shape, tensor->shape, sizeof space.shape);
    memcpy(space.stride[0], tensor->stride, sizeof tensor->stride);
    tn_space_collapse(&space);
    uint32_t left = space.rank;
    int64_t rest = 1, step = 1;
    for (uint32_t d = view->rank; d-- > 0;) {
        if (view->shape[d] == 1)
            continue;
        if (rest == 1) {
            rest = space.shape[--left];
            step = space.stride[0][left];
        }
        if (rest % view->shape[d] != 0)
            return false;
        view->stride[d] = step;
        rest /= view->shape[d];
        if (rest > 1) /* then there is an element there, so that its place does not overflow */
            step *= view->shape[d];
    }
    return true;
}

TENON_API tenon_status tenon_tensor_reshape(const tenon_tensor *tensor, uint32_t rank,
                                            const int64_t *shape, tenon_tensor *view)
{
    static const char operation[] = "tenon_tensor_reshape";
    char s[160], strides[160], wanted[160];
    tenon_tensor result;
    TN_TRY(tn_tensor_check(operation, "tensor", tensor));
    if (view == NULL || (rank > 0 && shape == NULL))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", operation,
                       view == NULL ? "view" : "shape");
    if (rank > TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: rank is %u, must be at most %d",
                       operation, rank, TENON_MAX_RANK);
    TN_TRY(resolve(operation, tensor, rank, shape, &result));
    if (!tn_tensor_empty(tensor) && !cut(tensor, &result))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: tensor: shape %s with strides %s is no view of shape %s: copy it first",
                       operation, tn_shape_text(tensor->rank, tensor->shape, s),
                       tn_shape_text(tensor->rank, tensor->stride, strides),
                       tn_shape_text(rank, result.shape, wanted));
    result.memory = tensor->memory;
    result.offset = tensor->offset;
    *view = result;
    return TENON_OK;
}
