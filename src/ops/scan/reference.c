/* The reference of scans, and their awkward cases. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/common/combine.h"
#include "ops/registry.h"
#include "ops/scan/internal.h"

#include <math.h>
#include <stdlib.h>

static tn_bounded result_of(const tn_combine *s)
{
    return tn_stored(s->dtype, tn_combine_result(s, tn_combine_depth(s->count, s->count)));
}

/* Scans the row of y that contains the index `at`, whose element along the axis is 0. */
static void scan_row(const tenon_scan_params *params, const tenon_tensor *x, uint32_t axis,
                     int64_t *at, const tn_axis_walk *w, int64_t row, tn_bounded *results)
{
    tn_combine s = tn_combine_begin(x->dtype, params->kind);
    for (int64_t p = 0; p < w->size; p++) {
        const int64_t i = params->flags & TENON_SCAN_REVERSE ? w->size - 1 - p : p;
        const int64_t to = tn_axis_walk_at(w, row, i);
        at[axis] = i;
        if (params->flags & TENON_SCAN_EXCLUSIVE)
            results[to] = result_of(&s);
        tn_combine_element(&s, tn_host_element(x, at), 1);
        if (!(params->flags & TENON_SCAN_EXCLUSIVE))
            results[to] = result_of(&s);
    }
    at[axis] = 0;
}

bool tn_scan_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_scan_params *params = given;
    const tenon_tensor *x = v[SCAN_X];
    const uint32_t axis =
        (uint32_t)(params->axis < 0 ? params->axis + (int32_t)x->rank : params->axis);
    const tn_axis_walk w = tn_axis_walk_of(x, axis);
    int64_t at[TENON_MAX_RANK] = {0}, rows[TENON_MAX_RANK];
    memcpy(rows, x->shape, sizeof rows);
    rows[axis] = 1;
    for (int64_t row = 0; row < w.outer * w.inner; row++) {
        scan_row(params, x, axis, at, &w, row, results);
        tn_next_index(at, rows, x->rank);
    }
    return true;
}

/* Factors are close to 1, because products of others soon underflow, and any result would be
 * right. Integers are of the full range (i64 and u32 by themselves), to wrap around. */
void tn_scan_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_scan_params *params = given;
    if (v[SCAN_X]->dtype == TENON_DTYPE_I32)
        tn_case_integers(v[SCAN_X], INT32_MIN, INT32_MAX, seed);
    else if (params->kind == TENON_SCAN_PRODUCT && tn_dtype_is_float(v[SCAN_X]->dtype))
        tn_case_reals(v[SCAN_X], 0.99, 1.01, seed);
}

/* Rows longer than two blocks, or than two pieces, contiguous along and across the axis. */
bool tn_scan_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const scan_problem *p = (const scan_problem *)problem;
    tenon_scan_params *params = (tenon_scan_params *)c->params.bytes;
    const int64_t usual[] = {3, 2 * SCAN_BLOCK + 37, 19};
    const int64_t shape[] = {1, tn_awkward_size(choice, 0, "size", usual[1]), 2};
    const bool is_long = tn_is_solver(choice->solver, &tn_scan_pieces);
    const bool is_across = tn_is_solver(choice->solver, &tn_scan_columns); /* without gaps */
    if (number == (is_long ? 2U : is_across ? 1U : 3U))
        return false;
    tn_awkward_begin(c, &tn_operation_scan);
    params->kind = p->kind;
    params->flags = p->flags;
    params->axis = number == 2 ? 2 : 1;
    for (uint32_t i = 0; i < SCAN_OPERANDS; i++) {
        c->views[i] =
            tn_awkward_view((tenon_dtype)p->dtype, 3, is_long ? shape : usual, number == 1);
        if (is_long || number == 2) { /* contiguous along the long axis */
            const int64_t size = c->views[i].shape[1];
            c->views[i].shape[1] = c->views[i].shape[2];
            c->views[i].shape[2] = size;
            c->views[i].stride[2] = number == 1 ? 2 : 1;
            c->views[i].stride[1] = size * c->views[i].stride[2] + 3;
            c->views[i].stride[0] = c->views[i].shape[1] * c->views[i].stride[1] + 1;
            params->axis = 2;
        }
    }
    return true;
}
