#include "ops/common/reduction.h"

#include "base/checked.h"
#include "base/shape.h"
#include "check/host.h"
#include "ops/common/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tenon_status tn_axes_check(const char *caller, uint32_t count, const int32_t *axes, uint32_t rank,
                           const char *argument, tn_axes *result)
{
    memset(result, 0, sizeof *result);
    if (count > TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: axis_count is %u, must be at most %u", caller, count,
                       TENON_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis = 0;
        TN_TRY(tn_axis_check(caller, axes[i], rank, argument, &axis));
        if (result->reduced[axis])
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: axes[%u] is %d, which is listed twice", caller, i, axes[i]);
        result->reduced[axis] = true;
    }
    for (uint32_t d = 0; count == 0 && d < rank; d++)
        result->reduced[d] = true;
    result->count = count == 0 ? rank : count;
    return TENON_OK;
}

int64_t tn_axes_size(const tn_axes *axes, const tenon_tensor *x)
{
    int64_t size = 1;
    bool fits = true, empty = false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (axes->reduced[d]) {
            empty = empty || x->shape[d] == 0;
            fits = fits && tn_mul_i64(size, x->shape[d], &size);
        }
    return empty ? 0 : fits ? size : INT64_MAX;
}

tenon_status tn_reduced_shape_check(const char *caller, const char *argument,
                                    const tenon_tensor *view, const tenon_tensor *x,
                                    const tn_axes *axes)
{
    char text[160], wanted_text[160], short_text[160];
    tenon_tensor wanted = *x, shorter = *x;
    shorter.rank = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (axes->reduced[d])
            wanted.shape[d] = 1;
        else
            shorter.shape[shorter.rank++] = x->shape[d];
    }
    if (tn_tensor_same_shape(view, &wanted) || tn_tensor_same_shape(view, &shorter))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be %s or %s", caller,
                   argument, tn_shape_text(view->rank, view->shape, text),
                   tn_shape_text(shorter.rank, shorter.shape, short_text),
                   tn_shape_text(wanted.rank, wanted.shape, wanted_text));
}

bool tn_reduced_shape(uint32_t count, const int32_t *axes, const tenon_tensor *x,
                      tenon_tensor *result)
{
    tn_axes found;
    if (tn_axes_check("", count, axes, x->rank, "", &found) != TENON_OK)
        return false;
    result->dtype = x->dtype;
    result->rank = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!found.reduced[d])
            result->shape[result->rank++] = x->shape[d];
    return true;
}

int64_t tn_reduced_stride(const tenon_tensor *view, const tenon_tensor *x, const tn_axes *axes,
                          uint32_t dimension)
{
    uint32_t at = dimension;
    if (axes->reduced[dimension])
        return 0;
    for (uint32_t d = 0; d < dimension && view->rank != x->rank; d++)
        at -= axes->reduced[d];
    return view->stride[at];
}

tenon_status tn_reduced_dtype_check(const char *caller, const char *argument,
                                    const tenon_tensor *view, const tenon_tensor *x)
{
    bool wide = tenon_dtype_size(x->dtype) == 2 && view->dtype == TENON_DTYPE_F32;
    if (view->dtype == x->dtype || wide)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s, must be %s%s", caller, argument,
                   tenon_dtype_string(view->dtype), tenon_dtype_string(x->dtype),
                   tenon_dtype_size(x->dtype) == 2 ? " or f32" : "");
}

static bool is_place(uint32_t kind)
{
    return kind == REDUCTION_ARGMAX || kind == REDUCTION_ARGMIN;
}

/* Merges dimensions, sorted unless their order matters, as it does for an index. */
static void tidy(tn_space *space, bool free)
{
    if (free)
        tn_space_sort(space, REDUCTION_X);
    tn_space_collapse(space);
    if (space->rank == 0)
        space->rank = (uint32_t)(space->shape[0] = 1);
}

static void take_dimensions(const tn_axes *axes, const tenon_tensor *const view[REDUCTION_VIEWS],
                            tn_space *kept, tn_space *along)
{
    const tenon_tensor *x = view[REDUCTION_X];
    for (uint32_t d = 0; d < x->rank; d++) {
        tn_space *space = axes->reduced[d] ? along : kept;
        space->shape[space->rank] = x->shape[d];
        for (uint32_t v = 0; v < space->views; v++)
            if (view[v] != NULL)
                space->stride[v][space->rank] = v < REDUCTION_INPUTS
                                                    ? view[v]->stride[d]
                                                    : tn_reduced_stride(view[v], x, axes, d);
        space->rank++;
    }
}

void tn_reduction_canonicalize(uint32_t kind, const tn_axes *axes,
                               const tenon_tensor *const view[REDUCTION_VIEWS],
                               const uint32_t operand[REDUCTION_VIEWS],
                               tn_reduction_problem *problem)
{
    const tenon_tensor *x = view[REDUCTION_X], *y = view[REDUCTION_Y];
    tn_space kept = {.views = REDUCTION_VIEWS}, along = {.views = REDUCTION_INPUTS};
    int64_t size = tn_axes_size(axes, x);
    tn_problem_begin(&problem->head, sizeof *problem);
    if (tn_tensor_empty(y))
        return;
    take_dimensions(axes, view, &kept, &along);
    if (size == 0)
        along = (tn_space){.views = REDUCTION_INPUTS};
    tidy(&kept, true);
    tidy(&along, !is_place(kind));
    problem->dtype = x->dtype;
    problem->kind = kind;
    problem->flags = (y->dtype == TENON_DTYPE_F32 && y->dtype != x->dtype ? REDUCTION_WIDE : 0) |
                     (view[REDUCTION_MEANS] != NULL ? REDUCTION_HAS_MEANS : 0);
    for (int v = 0; v < REDUCTION_VIEWS; v++)
        if (view[v] != NULL && (size > 0 || v >= REDUCTION_INPUTS)) {
            problem->operand[v] = operand[v];
            problem->element_size[v] = (uint32_t)tenon_dtype_size(view[v]->dtype);
        }
    problem->size = problem->divisor = size;
    problem->rank = along.rank;
    problem->kept_rank = kept.rank;
    memcpy(problem->shape, along.shape, sizeof problem->shape);
    memcpy(problem->stride, along.stride, sizeof problem->stride);
    memcpy(problem->kept_shape, kept.shape, sizeof problem->kept_shape);
    memcpy(problem->kept_stride, kept.stride, sizeof problem->kept_stride);
}

tenon_tensor tn_reduction_awkward_view(tenon_dtype dtype, bool along, int64_t number)
{
    const uint32_t inner = along ? 3 : 2, outer = along ? 2 : 3;
    tenon_tensor view = {
        .offset = 3 * tenon_dtype_size(dtype), .dtype = dtype, .rank = 4, .shape = {2, 21, 19, 13}};
    view.stride[inner] = 1;
    view.stride[outer] = view.shape[inner] + number;
    view.stride[1] = view.stride[outer] * view.shape[outer] + 1;
    view.stride[0] = view.stride[1] * view.shape[1] + 2;
    return view;
}

double *tn_reduction_gather(const tenon_tensor *view, const tenon_tensor *x, const tn_axes *axes)
{
    int64_t index[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(x);
    int64_t size = tn_axes_size(axes, x);
    double *values = tn_host_read(view, x->rank, x->shape);
    double *rows = tn_array(count, sizeof *rows);
    for (int64_t i = 0; values != NULL && rows != NULL && i < count; i++) {
        int64_t row = 0, place = 0;
        for (uint32_t d = 0; d < x->rank; d++)
            if (axes->reduced[d])
                place = place * x->shape[d] + index[d];
            else
                row = row * x->shape[d] + index[d];
        rows[row * size + place] = values[i];
        tn_next_index(index, x->shape, x->rank);
    }
    if (values == NULL) {
        free(rows);
        rows = NULL;
    }
    free(values);
    return rows;
}

/* Adds up the rounding errors of all additions separately, by Knuth's two-sum ("The Art of Computer
 * Programming", volume 2, section 4.2.2). */
double tn_exact_sum(const double *x, int64_t count)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < count; i++) {
        double next = sum + x[i], taken = next - sum;
        lost += (sum - (next - taken)) + (x[i] - taken);
        sum = next;
    }
    return isfinite(sum) ? sum + lost : sum;
}

double tn_sum_depth(int64_t count)
{
    double chain = 512 + (double)count / 16384;
    return count <= 1 ? 0 : fmin((double)count - 1, chain);
}
