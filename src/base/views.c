/* Construction of views. */
#include "base/checked.h"
#include "base/invalid_view.h"
#include "base/shape.h"

#include <inttypes.h>
#include <string.h>

TENON_API tenon_tensor tenon_tensor_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape)
{
    tenon_tensor view = {.dtype = dtype, .rank = rank};
    const tenon_tensor nothing = {
        .dtype = TENON_DTYPE_U8}; /* a valid tensor, the source of the invalid view */
    const int64_t type = dtype;
    int64_t stride = 1;
    if (tenon_dtype_size(dtype) == 0)
        return tn_invalid_view(TN_MAKER_VIEW_TYPE, &nothing, 1, &type);
    if (rank > TENON_MAX_RANK || (rank > 0 && shape == NULL))
        return tn_invalid_view(TN_MAKER_VIEW, &nothing, rank, shape);
    for (uint32_t d = rank; d-- > 0;) {
        view.shape[d] = shape[d];
        view.stride[d] = stride;
        /* A dimension of size 0 must not make the other strides 0. */
        if (shape[d] < 0 || !tn_mul_i64(stride, tn_max_i64(shape[d], 1), &stride))
            return tn_invalid_view(TN_MAKER_VIEW, &nothing, rank, shape);
    }
    return view;
}

/* Returns true if other views can be made from this one. */
static bool usable(const tenon_tensor *tensor)
{
    return tensor->dtype != TENON_DTYPE_INVALID && tensor->rank <= TENON_MAX_RANK;
}

static bool has_dimension(const tenon_tensor *tensor, uint32_t dim)
{
    return usable(tensor) && dim < tensor->rank;
}

TENON_API tenon_tensor tenon_tensor_transpose(tenon_tensor tensor, uint32_t d0, uint32_t d1)
{
    const int64_t arguments[] = {d0, d1};
    if (!has_dimension(&tensor, d0) || !has_dimension(&tensor, d1))
        return tn_invalid_view(TN_MAKER_TRANSPOSE, &tensor, 2, arguments);
    int64_t shape = tensor.shape[d0], stride = tensor.stride[d0];
    tensor.shape[d0] = tensor.shape[d1];
    tensor.stride[d0] = tensor.stride[d1];
    tensor.shape[d1] = shape;
    tensor.stride[d1] = stride;
    return tensor;
}

/* Moves a view's first element to entry `start` of a dimension. Returns false on overflow. */
static bool move_start(tenon_tensor *tensor, uint32_t dim, int64_t start)
{
    int64_t elements, bytes;
    return tn_mul_i64(start, tensor->stride[dim], &elements) && elements >= 0 &&
           tn_mul_i64(elements, (int64_t)tenon_dtype_size(tensor->dtype), &bytes) &&
           tn_add_u64(tensor->offset, (uint64_t)bytes, &tensor->offset);
}

/* Slices a view in place. Returns false if the range is out of bounds; the view is then
 * unspecified. */
static bool slice(tenon_tensor *tensor, uint32_t dim, int64_t start, int64_t size)
{
    if (!has_dimension(tensor, dim) || start < 0 || size < 0 || start > tensor->shape[dim] ||
        size > tensor->shape[dim] - start)
        return false;
    tensor->shape[dim] = size;
    /* An empty slice keeps the view's offset, whatever its start. */
    return size == 0 || move_start(tensor, dim, start);
}

TENON_API tenon_tensor tenon_tensor_slice(tenon_tensor tensor, uint32_t dim, int64_t start,
                                          int64_t size)
{
    const int64_t arguments[] = {dim, start, size};
    tenon_tensor view = tensor;
    return slice(&view, dim, start, size) ? view
                                          : tn_invalid_view(TN_MAKER_SLICE, &tensor, 3, arguments);
}

static bool slice_step(tenon_tensor *tensor, uint32_t dim, int64_t start, int64_t size,
                       int64_t step)
{
    int64_t spanned = 0;
    if (step < 1 || size < 0 ||
        (size > 0 && (!tn_mul_i64(size - 1, step, &spanned) || !tn_add_i64(spanned, 1, &spanned))))
        return false;
    if (!slice(tensor, dim, start, spanned))
        return false;
    tensor->shape[dim] = size;
    return size < 2 || tn_mul_i64(tensor->stride[dim], step, &tensor->stride[dim]);
}

TENON_API tenon_tensor tenon_tensor_slice_step(tenon_tensor tensor, uint32_t dim, int64_t start,
                                               int64_t size, int64_t step)
{
    const int64_t arguments[] = {dim, start, size, step};
    tenon_tensor view = tensor;
    return slice_step(&view, dim, start, size, step)
               ? view
               : tn_invalid_view(TN_MAKER_SLICE_STEP, &tensor, 4, arguments);
}

/* Returns an invalid view: `order` is not a permutation. */
static tenon_tensor invalid_permutation(const tenon_tensor *tensor, const uint32_t *order)
{
    int64_t arguments[TENON_MAX_RANK] = {0};
    for (uint32_t d = 0; order != NULL && d < tensor->rank && d < TENON_MAX_RANK; d++)
        arguments[d] = order[d];
    return tn_invalid_view(TN_MAKER_PERMUTE, tensor, tensor->rank,
                           order != NULL ? arguments : NULL);
}

TENON_API tenon_tensor tenon_tensor_permute(tenon_tensor tensor, const uint32_t *order)
{
    const tenon_tensor from = tensor;
    uint32_t seen = 0;
    if (!usable(&tensor) || (tensor.rank > 0 && order == NULL))
        return invalid_permutation(&tensor, order);
    for (uint32_t d = 0; d < tensor.rank; d++) {
        if (order[d] >= tensor.rank || (seen >> order[d] & 1) != 0)
            return invalid_permutation(&from, order);
        seen |= 1U << order[d];
        tensor.shape[d] = from.shape[order[d]];
        tensor.stride[d] = from.stride[order[d]];
    }
    return tensor;
}

TENON_API tenon_tensor tenon_tensor_squeeze(tenon_tensor tensor, uint32_t dim)
{
    const int64_t arguments[] = {dim};
    if (!has_dimension(&tensor, dim) || tensor.shape[dim] != 1)
        return tn_invalid_view(TN_MAKER_SQUEEZE, &tensor, 1, arguments);
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
    const int64_t arguments[] = {dim};
    if (!usable(&tensor) || tensor.rank == TENON_MAX_RANK || dim > tensor.rank)
        return tn_invalid_view(TN_MAKER_UNSQUEEZE, &tensor, 1, arguments);
    for (uint32_t d = tensor.rank; d > dim; d--) {
        tensor.shape[d] = tensor.shape[d - 1];
        tensor.stride[d] = tensor.stride[d - 1];
    }
    tensor.shape[dim] = tensor.stride[dim] = 1;
    tensor.rank++;
    return tensor;
}

/* Writes the strides of the broadcast. Returns false if the shapes do not allow it. */
static bool broadcast(tenon_tensor *view, const tenon_tensor *tensor, uint32_t rank,
                      const int64_t *shape)
{
    if (!usable(tensor) || rank > TENON_MAX_RANK || (rank > 0 && shape == NULL))
        return false;
    for (uint32_t d = 0; d < rank; d++)
        if (shape[d] < 0)
            return false;
    return tn_broadcast("tenon_tensor_broadcast", "tensor", tensor, rank, shape, view->stride) ==
           TENON_OK;
}

TENON_API tenon_tensor tenon_tensor_broadcast(tenon_tensor tensor, uint32_t rank,
                                              const int64_t *shape)
{
    tenon_tensor view = tensor;
    if (!broadcast(&view, &tensor, rank, shape))
        return tn_invalid_view(TN_MAKER_BROADCAST, &tensor, rank, shape);
    view.rank = rank;
    memcpy(view.shape, shape, rank * sizeof *shape);
    return view;
}

TENON_API tenon_tensor tenon_tensor_nhwc(tenon_tensor tensor)
{
    const int64_t arguments[] = {tensor.rank};
    if (!usable(&tensor) || tensor.rank < 3 || tensor.rank > 5)
        return tn_invalid_view(TN_MAKER_NHWC, &tensor, 1, arguments);
    for (uint32_t d = tensor.rank - 1; d > 1; d--)
        tensor = tenon_tensor_transpose(tensor, d - 1, d);
    return tensor;
}

/* Returns a dense view of the requested sizes, with a size of -1 replaced by the number that fits.
 */
static tenon_status resolve(const char *caller, const tenon_tensor *tensor, uint32_t rank,
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
                   "%s: shape: %s does not have the %" PRId64 " elements of %s", caller,
                   tn_shape_text(rank, shape, wanted), count,
                   tn_shape_text(tensor->rank, tensor->shape, has));
}

/* Splits the tensor's dimensions, merged where possible, into those of `view`. Returns false if one
 * of these would not have a uniform stride. */
static bool split_dimensions(const tenon_tensor *tensor, tenon_tensor *view)
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
        if (view->shape[d] == 0 || rest % view->shape[d] != 0)
            return false;
        view->stride[d] = step;
        rest /= view->shape[d];
        if (rest >
            1) /* then the dimension has a further element at this step, so it does not overflow */
            step *= view->shape[d];
    }
    return true;
}

TENON_API tenon_status tenon_tensor_reshape(const tenon_tensor *tensor, uint32_t rank,
                                            const int64_t *shape, tenon_tensor *view)
{
    static const char caller[] = "tenon_tensor_reshape";
    char s[160], strides[160], wanted[160];
    tenon_tensor result;
    TN_TRY(tn_tensor_check(caller, "tensor", tensor));
    if (view == NULL || (rank > 0 && shape == NULL))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       view == NULL ? "view" : "shape");
    if (rank > TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: rank is %u, must be at most %d", caller,
                       rank, TENON_MAX_RANK);
    TN_TRY(resolve(caller, tensor, rank, shape, &result));
    if (!tn_tensor_empty(tensor) && !split_dimensions(tensor, &result))
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: tensor: shape %s with strides %s cannot be viewed as shape %s: copy it first",
            caller, tn_shape_text(tensor->rank, tensor->shape, s),
            tn_shape_text(tensor->rank, tensor->stride, strides),
            tn_shape_text(rank, result.shape, wanted));
    result.memory = tensor->memory;
    result.offset = tensor->offset;
    *view = result;
    return TENON_OK;
}
