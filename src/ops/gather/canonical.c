/* The canonical problems of gather and scatter. */
#include "ops/common/index.h"
#include "ops/common/rows.h"
#include "ops/gather/internal.h"

#include <stdio.h>
#include <string.h>

int32_t tn_index_table_dimension(const tn_index *index, uint32_t d)
{
    if (index->mode == TENON_INDEX_ELEMENTS)
        return d == index->axis ? -1 : (int32_t)d;
    if (d < index->axis)
        return (int32_t)d;
    const uint32_t begin = index->mode == TENON_INDEX_TUPLES ? 0 : index->axis;
    return d < begin + index->rank
               ? -1
               : (int32_t)(d - begin - index->rank + index->axis + index->count);
}

int32_t tn_index_own_dimension(const tn_index *index, uint32_t d)
{
    const uint32_t begin = index->mode == TENON_INDEX_SLICES ? index->axis : 0;
    return d >= begin && d < begin + index->rank ? (int32_t)(d - begin) : -1;
}

char *tn_gather_tuple_options(uint32_t index_type, const gather_tuple_args *tuple,
                              char text[GATHER_TUPLE_SIZE])
{
    snprintf(text, GATHER_TUPLE_SIZE, "%s%s", tn_index_option(index_type),
             tuple->count > 1 ? " -DTENON_TUPLE=8" : "");
    return text;
}

static void at_least_one(tn_space *space)
{
    if (space->rank == 0)
        space->rank = (uint32_t)(space->shape[0] = 1);
}

/* Appends a dimension of the given size; returns its number. Strides are 0. */
static uint32_t space_append(tn_space *space, int64_t size)
{
    space->shape[space->rank] = size;
    return space->rank++;
}

static gather_tuple_args tuple_of(const tn_index *index, const tenon_tensor *table,
                                  const tenon_tensor *indices)
{
    gather_tuple_args tuple = {.count = (tenon_i32)index->count,
                               .from_end = (tenon_i32)index->from_end};
    if (index->mode == TENON_INDEX_TUPLES && index->count > 1)
        tuple.step = indices->stride[index->rank];
    for (uint32_t k = 0; k < index->count; k++) {
        tuple.size[k] = table->shape[index->axis + k];
        tuple.weight[k] = table->stride[index->axis + k];
    }
    return tuple;
}

void tn_gather_canonicalize(const tenon_tensor *x, const tenon_tensor *indices,
                            const tenon_tensor *y, const tn_index *index, gather_problem *problem)
{
    tn_space space = {.rank = y->rank, .views = GATHER_OPERANDS};
    memcpy(space.shape, y->shape, sizeof space.shape);
    memcpy(space.stride[GATHER_TO], y->stride, sizeof y->stride);
    for (uint32_t d = 0; d < y->rank; d++) {
        const int32_t table = tn_index_table_dimension(index, d),
                      own = tn_index_own_dimension(index, d);
        if (table >= 0)
            space.stride[GATHER_FROM][d] = x->stride[table];
        if (own >= 0)
            space.stride[GATHER_INDICES][d] = indices->stride[own];
    }
    tn_space_sort(&space, GATHER_TO);
    tn_space_collapse(&space);
    at_least_one(&space);
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = y->dtype;
    problem->index_type = indices->dtype;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
    problem->tuple = tuple_of(index, x, indices);
}

/* Sets the keys, the numbers in row-major order of the dimensions of the table that are indexed or
 * vary along the indices. Stores the number of keys per entry of each dimension. */
static void put_keys(const tenon_tensor *table, const tn_index *index, scatter_problem *problem,
                     int64_t keys_each[TENON_MAX_RANK])
{
    tn_space space = {.views = 1};
    const uint32_t first = index->mode == TENON_INDEX_SLICES ? index->axis : 0;
    const uint32_t end =
        index->mode == TENON_INDEX_ELEMENTS ? table->rank : index->axis + index->count;
    problem->keys = 1;
    for (uint32_t d = end; d-- > first;) {
        keys_each[d] = problem->keys;
        problem->keys *= table->shape[d];
    }
    for (uint32_t d = first; d < end; d++)
        space.stride[0][space_append(&space, table->shape[d])] = table->stride[d];
    tn_space_collapse(&space);
    at_least_one(&space);
    problem->key_rank = space.rank;
    memcpy(problem->key_shape, space.shape, sizeof problem->key_shape);
    memcpy(problem->key_stride, space.stride[0], sizeof problem->key_stride);
}

/* Sets the list of tuples, in their order, which is that of the updates of an element. */
static void put_list(const tn_space *all, scatter_problem *problem)
{
    tn_space space = *all;
    space.views = 4;
    tn_space_collapse(&space);
    at_least_one(&space);
    problem->list.rank = space.rank;
    problem->list.count = 1;
    for (uint32_t d = 0; d < space.rank; d++)
        problem->list.count *= space.shape[d];
    memcpy(problem->list.shape, space.shape, sizeof problem->list.shape);
    memcpy(problem->list.stride, space.stride, sizeof problem->list.stride);
    memcpy(problem->batch_stride, space.stride[3], sizeof problem->batch_stride);
}

static void put_columns(const tn_space *all, scatter_problem *problem)
{
    tn_space space = *all;
    space.views = 2;
    tn_space_sort(&space, 1);
    tn_space_collapse(&space);
    at_least_one(&space);
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
}

void tn_scatter_canonicalize(const tenon_tensor *picked, const tenon_tensor *indices,
                             const tenon_tensor *table, const tn_index *index,
                             scatter_problem *problem)
{
    tn_space list = {0}, columns = {0};
    int64_t keys_each[TENON_MAX_RANK] = {0};
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = table->dtype;
    problem->index_type = indices->dtype;
    put_keys(table, index, problem, keys_each);
    for (uint32_t d = 0; d < picked->rank; d++) {
        const int32_t whole = tn_index_table_dimension(index, d),
                      own = tn_index_own_dimension(index, d);
        if (own < 0) {
            const uint32_t at = space_append(&columns, picked->shape[d]);
            columns.stride[0][at] = picked->stride[d];
            columns.stride[1][at] = table->stride[whole];
            continue;
        }
        const uint32_t at = space_append(&list, picked->shape[d]);
        list.stride[GATHER_LIST_INDICES][at] = indices->stride[own];
        list.stride[GATHER_LIST_UPDATES][at] = picked->stride[d];
        list.stride[GATHER_LIST_KEYS][at] = whole >= 0 ? keys_each[whole] : 0;
        list.stride[3][at] = whole >= 0 ? table->stride[whole] : 0;
    }
    put_list(&list, problem);
    put_columns(&columns, problem);
    problem->tuple = tuple_of(index, table, indices);
    memcpy(problem->tuple_stride, problem->tuple.weight, sizeof problem->tuple_stride);
    for (uint32_t k = 0; k < index->count; k++)
        problem->tuple.weight[k] = keys_each[index->axis + k];
}
