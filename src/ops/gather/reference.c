/* References of gather, its gradient and scatter. docs/numerics.md derives the bound. */
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/case.h"
#include "ops/common/exp_sum.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* A call's index mode, with the values of the indices in row-major order. */
typedef struct indexing {
    uint32_t mode, axis;
    bool from_end;
    const tenon_tensor *table, *indices;
    double *values;
} indexing;

static uint32_t counted_axis(int32_t axis, uint32_t rank)
{
    return (uint32_t)(axis < 0 ? axis + (int32_t)rank : axis);
}

/* Returns the row-major number of an index in a shape. */
static int64_t number_of(const tenon_tensor *view, const int64_t *index)
{
    int64_t number = 0;
    for (uint32_t d = 0; d < view->rank; d++)
        number = number * view->shape[d] + index[d];
    return number;
}

/* Stores a coordinate of the table. Returns false if it is out of range. */
static bool take(const indexing *g, uint32_t dimension, double value, int64_t *at)
{
    const int64_t size = g->table->shape[dimension];
    if (fabs(value) > (double)(INT64_C(1) << 53))
        return false;
    at[dimension] = (int64_t)value;
    if (g->from_end && at[dimension] < 0)
        at[dimension] += size;
    return at[dimension] >= 0 && at[dimension] < size;
}

/* Returns the row-major number of the element of the table that is paired with the element `at` of
 * the picked tensor; -1 if an index is out of range. */
static int64_t element_of(const indexing *g, const int64_t *at)
{
    int64_t index[TENON_MAX_RANK] = {0}, to[TENON_MAX_RANK] = {0};
    const uint32_t rank = g->table->rank, own = g->indices->rank, axis = g->axis;
    bool is_valid = true;
    if (g->mode == TENON_INDEX_SLICES) {
        memcpy(to, at, axis * sizeof *to);
        memcpy(to + axis + 1, at + axis + own, (rank - axis - 1) * sizeof *to);
        is_valid = take(g, axis, g->values[number_of(g->indices, at + axis)], to);
    } else if (g->mode == TENON_INDEX_ELEMENTS) {
        memcpy(to, at, rank * sizeof *to);
        is_valid = take(g, axis, g->values[number_of(g->indices, at)], to);
    } else {
        const uint32_t count = (uint32_t)g->indices->shape[own - 1];
        memcpy(index, at, (own - 1) * sizeof *index);
        memcpy(to, at, axis * sizeof *to);
        for (uint32_t k = 0; k < count; k++) {
            index[own - 1] = k;
            is_valid &= take(g, axis + k, g->values[number_of(g->indices, index)], to);
        }
        memcpy(to + axis + count, at + own - 1, (rank - axis - count) * sizeof *to);
    }
    return is_valid ? number_of(g->table, to) : -1;
}

static indexing indexing_of(uint32_t mode, uint32_t flags, int32_t axis, const tenon_tensor *table,
                            const tenon_tensor *indices)
{
    return (indexing){.mode = mode,
                      .axis = counted_axis(axis, table->rank),
                      .from_end = (flags & TENON_INDEX_FROM_END) != 0,
                      .table = table,
                      .indices = indices,
                      .values = tn_host_read(indices, indices->rank, indices->shape)};
}

bool tn_gather_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_gather_params *params = given;
    const tenon_tensor *x = v[GATHER_FROM], *y = v[GATHER_TO];
    const indexing g = indexing_of(params->mode, params->flags, params->axis, x, v[GATHER_INDICES]);
    int64_t at[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(y);
    double *table = tn_host_read(x, x->rank, x->shape);
    const bool whole = table != NULL && g.values != NULL;
    const double missing = tn_dtype_is_float(y->dtype) ? (double)NAN : 0;
    for (int64_t i = 0; whole && i < count; i++) {
        const int64_t from = element_of(&g, at);
        results[i] = (tn_bounded){from >= 0 ? table[from] : missing, 0};
        tn_next_index(at, y->shape, y->rank);
    }
    free(table);
    free(g.values);
    return whole;
}

/* Returns an integer that wraps around to the width of a type. */
static double wrapped(tenon_dtype dtype, uint64_t value)
{
    unsigned char element[8];
    tn_dtype_store_whole(dtype, element, (int64_t)value);
    return tn_dtype_load(dtype, element);
}

/* Returns the sum or product of an element with an update, in the arithmetic of `dtype`, with the
 * bound of a chain of such steps. */
static tn_bounded stepped(tenon_dtype dtype, uint32_t op, tn_bounded old, double update)
{
    const bool is_sum = op == TENON_SCATTER_ADD;
    if (!tn_dtype_is_float(dtype)) {
        const uint64_t a = (uint64_t)(int64_t)old.value, b = (uint64_t)(int64_t)update;
        return (tn_bounded){wrapped(dtype, is_sum ? a + b : a * b), 0};
    }
    const double unit = tn_unit(dtype), least = tn_least_normal(dtype);
    const double value = is_sum ? old.value + update : old.value * update;
    /* A sum that begins with zero is exact, except for flushing. */
    if (is_sum && old.value == 0 && old.bound == 0)
        return (tn_bounded){value, fabs(value) < least ? fabs(value) : 0};
    const double before = is_sum ? old.bound : old.bound * fabs(update);
    const double flushed = is_sum ? 3 * least : least * (1 + fabs(old.value) + fabs(update));
    return (tn_bounded){value, before + unit * (fabs(value) + before) + flushed};
}

/* Returns the element after an update. */
static tn_bounded updated(tenon_dtype dtype, uint32_t op, tn_bounded old, double update)
{
    if (op == TENON_SCATTER_SET)
        return (tn_bounded){update, 0};
    if (op == TENON_SCATTER_ADD || op == TENON_SCATTER_MULTIPLY)
        return stepped(dtype, op, old, update);
    const bool is_update =
        isnan(update) || (op == TENON_SCATTER_MIN ? update < old.value : update > old.value);
    const double value = is_update ? update : old.value;
    const bool flushes = tn_dtype_is_float(dtype) && fabs(value) < tn_least_normal(dtype);
    return (tn_bounded){value, flushes ? fabs(value) : 0};
}

/* The same for i64, whose values doubles cannot hold. */
static tn_bounded updated_whole(uint32_t op, tn_bounded old, int64_t update)
{
    const int64_t value = tn_whole_value(old);
    switch (op) {
    case TENON_SCATTER_ADD:
        return tn_whole((int64_t)((uint64_t)value + (uint64_t)update));
    case TENON_SCATTER_MULTIPLY:
        return tn_whole((int64_t)((uint64_t)value * (uint64_t)update));
    case TENON_SCATTER_MIN:
        return tn_whole(update < value ? update : value);
    case TENON_SCATTER_MAX:
        return tn_whole(update > value ? update : value);
    default:
        return tn_whole(update);
    }
}

static int64_t whole_at(const tenon_tensor *view, const int64_t *at)
{
    return tn_dtype_load_whole(view->dtype, tn_host_element(view, at));
}

/* Computes a table from its old values, in `results`. */
static bool scatter(const indexing *g, uint32_t op, const tenon_tensor *updates,
                    tn_bounded *results)
{
    int64_t at[TENON_MAX_RANK] = {0};
    const int64_t count = tenon_tensor_elements(updates),
                  elements = tenon_tensor_elements(g->table);
    double *terms = tn_host_read(updates, updates->rank, updates->shape);
    const bool whole = terms != NULL && g->values != NULL;
    const bool is_rounded = tn_dtype_is_float(g->table->dtype) &&
                            (op == TENON_SCATTER_ADD || op == TENON_SCATTER_MULTIPLY);
    for (int64_t i = 0; whole && i < count; i++) {
        const int64_t to = element_of(g, at);
        if (to >= 0)
            results[to] = g->table->dtype == TENON_DTYPE_I64
                              ? updated_whole(op, results[to], whole_at(updates, at))
                              : updated(g->table->dtype, op, results[to], terms[i]);
        tn_next_index(at, updates->shape, updates->rank);
    }
    for (int64_t i = 0; i < elements; i++)
        if (is_rounded && results[i].bound > 0)
            results[i] = tn_stored(g->table->dtype, results[i]);
    free(terms);
    return whole;
}

bool tn_gather_backward_reference(const void *given, const tenon_tensor *const *v,
                                  tn_bounded *results)
{
    const tenon_gather_params *params = given;
    const tenon_tensor *dx = v[GATHER_TO];
    const indexing g =
        indexing_of(params->mode, params->flags, params->axis, dx, v[GATHER_INDICES]);
    for (int64_t i = 0; i < tenon_tensor_elements(dx); i++)
        results[i] = (tn_bounded){0, 0};
    const bool whole = scatter(&g, TENON_SCATTER_ADD, v[GATHER_FROM], results);
    free(g.values);
    return whole;
}

bool tn_scatter_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_scatter_params *params = given;
    const tenon_tensor *y = v[GATHER_TO];
    const indexing g = indexing_of(params->mode, params->flags, params->axis, y, v[GATHER_INDICES]);
    double *old = tn_host_read(y, y->rank, y->shape);
    int64_t at[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; old != NULL && i < tenon_tensor_elements(y); i++) {
        results[i] =
            y->dtype == TENON_DTYPE_I64 ? tn_whole(whole_at(y, at)) : (tn_bounded){old[i], 0};
        tn_next_index(at, y->shape, y->rank);
    }
    const bool whole = old != NULL && scatter(&g, params->op, v[GATHER_FROM], results);
    free(old);
    free(g.values);
    return whole;
}

/* Fills in indices, some of them out of range at either end, and every third one of a few. */
static void put_indices(const indexing *g, const tenon_tensor *indices, uint64_t *seed)
{
    int64_t at[TENON_MAX_RANK] = {0};
    const bool is_tuple = g->mode == TENON_INDEX_TUPLES;
    for (int64_t i = 0; i < tenon_tensor_elements(indices); i++) {
        const int64_t k = is_tuple ? at[indices->rank - 1] : 0;
        const double size = (double)g->table->shape[g->axis + k], u = tn_random(seed);
        const double low = g->from_end ? -size - 1 : -2;
        const double value =
            i % 3 == 0 ? trunc(3 * u) : floor(low + (u + 1) / 2 * (size + 2 - low));
        tn_dtype_store(indices->dtype, tn_host_element(indices, at), value);
        tn_next_index(at, indices->shape, indices->rank);
    }
}

static void fill_indices(uint32_t mode, uint32_t flags, int32_t axis, const tenon_tensor *table,
                         const tenon_tensor *indices, uint64_t *seed)
{
    const indexing g = {.mode = mode,
                        .axis = counted_axis(axis, table->rank),
                        .from_end = (flags & TENON_INDEX_FROM_END) != 0,
                        .table = table};
    put_indices(&g, indices, seed);
}

void tn_gather_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_gather_params *params = given;
    fill_indices(params->mode, params->flags, params->axis, v[GATHER_FROM], v[GATHER_INDICES],
                 seed);
}

void tn_gather_backward_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_gather_params *params = given;
    fill_indices(params->mode, params->flags, params->axis, v[GATHER_TO], v[GATHER_INDICES], seed);
}

void tn_scatter_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_scatter_params *params = given;
    fill_indices(params->mode, params->flags, params->axis, v[GATHER_TO], v[GATHER_INDICES], seed);
}
