/* The references of rearrangements, and their awkward cases. Elements are copied. */
#include "base/dtype.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "check/case.h"
#include "ops/rearrange/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

/* Returns a value as an element of a type holds it. */
static double held(tenon_dtype dtype, double value)
{
    unsigned char element[8];
    tn_dtype_store(dtype, element, value);
    return tn_dtype_load(dtype, element);
}

static uint32_t counted(int32_t axis, uint32_t rank)
{
    return (uint32_t)(axis < 0 ? axis + (int32_t)rank : axis);
}

/* Returns the row-major number of an index in a shape. */
static int64_t number_in(const tenon_tensor *view, const int64_t *index)
{
    int64_t number = 0;
    for (uint32_t d = 0; d < view->rank; d++)
        number = number * view->shape[d] + index[d];
    return number;
}

bool tn_rearrange_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_rearrange_params *params = given;
    const tenon_tensor *x = v[REARRANGE_OPERAND_X], *y = v[REARRANGE_OPERAND_Y];
    int64_t at[TENON_MAX_RANK] = {0}, from[TENON_MAX_RANK], count = tenon_tensor_elements(y);
    double *values = tn_host_read(x, x->rank, x->shape);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        for (uint32_t d = 0; d < y->rank; d++) {
            const int64_t size = x->shape[d],
                          rest = (at[d] % size - params->shift[d] % size) % size;
            from[d] = rest < 0 ? rest + size : rest;
            if (params->flip >> d & 1)
                from[d] = size - 1 - from[d];
        }
        results[i] = (tn_bounded){values[number_in(x, from)], 0};
        tn_next_index(at, y->shape, y->rank);
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

bool tn_triangle_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_triangle_params *params = given;
    const tenon_tensor *x = v[REARRANGE_OPERAND_X], *y = v[REARRANGE_OPERAND_Y];
    int64_t at[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(y);
    double *values = tn_host_read(x, x->rank, x->shape);
    const double value = held(y->dtype, params->value);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        const int64_t diagonal = at[y->rank - 1] - at[y->rank - 2];
        const bool kept = params->flags & TENON_TRIANGLE_UPPER ? diagonal >= params->diagonal
                                                               : diagonal <= params->diagonal;
        results[i] = (tn_bounded){kept ? values[i] : value, 0};
        tn_next_index(at, y->shape, y->rank);
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

bool tn_reverse_lengths_reference(const void *given, const tenon_tensor *const *v,
                                  tn_bounded *results)
{
    const tenon_reverse_lengths_params *params = given;
    const tenon_tensor *x = v[REVERSE_X], *lengths = v[REVERSE_LENGTHS];
    const uint32_t axis = counted(params->axis, x->rank),
                   batch = counted(params->batch_axis, x->rank);
    int64_t at[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(x);
    double *values = tn_host_read(x, x->rank, x->shape);
    double *sizes = tn_host_read(lengths, 1, lengths->shape);
    const bool whole = values != NULL && sizes != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        const double most = (double)x->shape[axis], size = sizes[at[batch]];
        const int64_t length = (int64_t)(size > most ? most : size), old = at[axis];
        at[axis] = old < length ? length - 1 - old : old;
        results[i] = (tn_bounded){values[number_in(x, at)], 0};
        at[axis] = old;
        tn_next_index(at, x->shape, x->rank);
    }
    free(values);
    free(sizes);
    return whole;
}

bool tn_one_hot_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_one_hot_params *params = given;
    const tenon_tensor *indices = v[ONE_HOT_INDICES], *y = v[ONE_HOT_Y];
    const uint32_t axis = counted(params->axis, y->rank);
    int64_t at[TENON_MAX_RANK] = {0}, own[TENON_MAX_RANK], count = tenon_tensor_elements(y);
    double *values = tn_host_read(indices, indices->rank, indices->shape);
    const double on = held(y->dtype, params->on), off = held(y->dtype, params->off);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        for (uint32_t d = 0; d < indices->rank; d++)
            own[d] = at[d < axis ? d : d + 1];
        double index = values[number_in(indices, own)];
        if (params->flags & TENON_ONE_HOT_FROM_END && index < 0)
            index += (double)y->shape[axis];
        results[i] = (tn_bounded){index == (double)at[axis] ? on : off, 0};
        tn_next_index(at, y->shape, y->rank);
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

/* Lengths are from 0 to the size of the axis, some of them out of range at either end. */
void tn_reverse_lengths_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const uint32_t axis =
        counted(((const tenon_reverse_lengths_params *)given)->axis, v[REVERSE_X]->rank);
    tn_case_integers(v[REVERSE_LENGTHS], -1, v[REVERSE_X]->shape[axis] + 1, seed);
}

void tn_one_hot_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *y = v[ONE_HOT_Y];
    const int64_t classes = y->shape[counted(((const tenon_one_hot_params *)given)->axis, y->rank)];
    tn_case_integers(v[ONE_HOT_INDICES], -classes - 1, classes, seed);
}

#define AWKWARD_SHAPE                                                                              \
    {                                                                                              \
        5, 61, 35                                                                                  \
    }

static tenon_tensor awkward_of(const rearrange_problem *p, bool gaps)
{
    const int64_t shape[] = AWKWARD_SHAPE;
    return tn_awkward_view((tenon_dtype)p->dtype, 3, shape, gaps);
}

/* Each kind along the last dimension and across it, dense and with gaps, with a plane that several
 * work-items share. */
bool tn_rearrange_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    static const tn_operation *const operations[] = {
        &tn_operation_rearrange, &tn_operation_triangle, &tn_operation_reverse_lengths,
        &tn_operation_one_hot};
    const rearrange_problem *p = (const rearrange_problem *)problem;
    const bool gaps = number % 2 != 0, across = number / 2 != 0;
    const int64_t shape[] = AWKWARD_SHAPE, tiled[] = {6, 63, 90};
    (void)choice;
    if (number == 4)
        return false;
    tn_awkward_begin(c, operations[p->kind]);
    c->views[0] = c->views[1] = awkward_of(p, gaps);
    if (p->kind == REARRANGE_WRAPPED) {
        tenon_rearrange_params *params = (tenon_rearrange_params *)c->params.bytes;
        c->views[1] = tn_awkward_view((tenon_dtype)p->dtype, 3, tiled, gaps);
        params->shift[across ? 1 : 2] = 7;
        params->flip = across ? 3 : 4;
    } else if (p->kind == REARRANGE_TRIANGLE) {
        tenon_triangle_params *params = (tenon_triangle_params *)c->params.bytes;
        params->flags = across ? TENON_TRIANGLE_UPPER : 0;
        params->diagonal = gaps ? -9 : 4;
        params->value = 3;
    } else if (p->kind == REARRANGE_REVERSED) {
        tenon_reverse_lengths_params *params = (tenon_reverse_lengths_params *)c->params.bytes;
        params->axis = across ? 1 : 2;
        params->batch_axis = gaps ? 0 : 3 - params->axis;
        c->views[REVERSE_Y] = c->views[REVERSE_X];
        c->views[REVERSE_LENGTHS] =
            tn_awkward_view((tenon_dtype)p->index_type, 1, &shape[params->batch_axis], false);
    } else {
        const int64_t indices[] = {5, across ? 35 : 61};
        tenon_one_hot_params *params = (tenon_one_hot_params *)c->params.bytes;
        params->axis = across ? 1 : 2;
        params->flags = p->from_end ? TENON_ONE_HOT_FROM_END : 0;
        c->views[ONE_HOT_INDICES] = tn_awkward_view((tenon_dtype)p->index_type, 2, indices, gaps);
    }
    return true;
}
