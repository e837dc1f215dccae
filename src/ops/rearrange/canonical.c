/* The canonical problems of rearrangements. */
#include "base/checked.h"
#include "ops/common/rows.h"
#include "ops/rearrange/internal.h"

#include <string.h>

/* Returns the space of y with the views of a walk; those that are absent have stride 0. */
static tn_space space_of(const tenon_tensor *y)
{
    tn_space space = {.rank = y->rank, .views = REARRANGE_VIEWS};
    memcpy(space.shape, y->shape, sizeof space.shape);
    memcpy(space.stride[REARRANGE_Y], y->stride, sizeof y->stride);
    return space;
}

static void begin_rearrangement(rearrange_problem *problem, rearrange_kind kind,
                                const tenon_tensor *y)
{
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = y->dtype;
    problem->kind = kind;
}

static void put_space(tn_space *space, rearrange_problem *problem)
{
    if (space->rank == 0)
        space->rank = (uint32_t)(space->shape[0] = 1);
    problem->rank = space->rank;
    memcpy(problem->shape, space->shape, sizeof problem->shape);
    memcpy(problem->stride, space->stride, sizeof problem->stride);
}

/* Sorts and merges dimensions. The view of numbers keeps apart those that must not be merged. */
static void put_collapsed(tn_space *space, rearrange_problem *problem)
{
    tn_space_sort(space, REARRANGE_Y);
    tn_space_collapse(space);
    put_space(space, problem);
}

/* A dimension of a periodic copy. */
typedef struct dimension {
    int64_t y_size, x_size, begin;
    int64_t y_stride, x_stride;
    bool flip;
} dimension;

static bool is_plain(const dimension *d)
{
    return d->y_size == d->x_size && d->begin == 0 && !d->flip;
}

static void append_or_merge(dimension *list, uint32_t *count, dimension d)
{
    dimension *last = list + *count - 1;
    if (*count > 0 && is_plain(last) && is_plain(&d) && last->y_stride == d.y_stride * d.y_size &&
        last->x_stride == d.x_stride * d.x_size) {
        d.y_size *= last->y_size;
        d.x_size *= last->x_size;
        *last = d;
    } else {
        list[(*count)++] = d;
    }
}

/* Returns the index in x of y's first element: −shift modulo x's size. */
static int64_t first_of(int64_t shift, int64_t size)
{
    const int64_t rest = shift % size;
    return rest > 0 ? size - rest : -rest;
}

void tn_rearrange_canonicalize(const tenon_rearrange_params *params, const tenon_tensor *x,
                               const tenon_tensor *y, rearrange_problem *problem)
{
    dimension sorted[TENON_MAX_RANK], merged[TENON_MAX_RANK];
    uint32_t count = 0, rank = 0;
    begin_rearrangement(problem, REARRANGE_WRAPPED, y);
    for (uint32_t d = 0; d < y->rank; d++) {
        const int64_t size = x->shape[d];
        if (y->shape[d] == 1 && size == 1)
            continue;
        uint32_t at = count++;
        for (; at > 0 && sorted[at - 1].y_stride < y->stride[d]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = (dimension){y->shape[d],  size,         first_of(params->shift[d], size),
                                 y->stride[d], x->stride[d], (params->flip >> d & 1) != 0};
    }
    for (uint32_t d = 0; d < count; d++)
        append_or_merge(merged, &rank, sorted[d]);
    if (rank == 0)
        append_or_merge(merged, &rank, (dimension){1, 1, 0, 0, 0, false});
    problem->rank = rank;
    for (uint32_t d = 0; d < rank; d++) {
        problem->shape[d] = merged[d].y_size;
        problem->stride[REARRANGE_Y][d] = merged[d].y_stride;
        problem->stride[REARRANGE_X][d] = merged[d].x_stride;
        problem->size[d] = merged[d].x_size;
        problem->begin[d] = merged[d].begin;
        problem->flips |= (int64_t)merged[d].flip << d;
    }
}

/* Beyond every diagonal of a tensor in memory, and far from overflow. */
#define FAR_DIAGONAL (INT64_C(1) << 61)

void tn_triangle_canonicalize(const tenon_triangle_params *params, const tenon_tensor *x,
                              const tenon_tensor *y, rearrange_problem *problem)
{
    const bool upper = (params->flags & TENON_TRIANGLE_UPPER) != 0;
    const int64_t diagonal = tn_max_i64(tn_min_i64(params->diagonal, FAR_DIAGONAL), -FAR_DIAGONAL);
    tn_space space = space_of(y);
    begin_rearrangement(problem, REARRANGE_TRIANGLE, y);
    memcpy(space.stride[REARRANGE_X], x->stride, sizeof x->stride);
    space.stride[REARRANGE_NUMBER][y->rank - 1] = upper ? -1 : 1;
    space.stride[REARRANGE_NUMBER][y->rank - 2] = upper ? 1 : -1;
    problem->most = upper ? -diagonal : diagonal;
    put_collapsed(&space, problem);
}

void tn_reverse_canonicalize(uint32_t axis, uint32_t batch, const tenon_tensor *x,
                             const tenon_tensor *lengths, const tenon_tensor *y,
                             rearrange_problem *problem)
{
    tn_space space = space_of(y);
    begin_rearrangement(problem, REARRANGE_REVERSED, y);
    memcpy(space.stride[REARRANGE_X], x->stride, sizeof x->stride);
    space.stride[REARRANGE_X][axis] = 0;
    space.stride[REARRANGE_LIST][batch] = lengths->stride[0];
    space.stride[REARRANGE_NUMBER][axis] = 1;
    problem->index_type = lengths->dtype;
    problem->axis_size = x->shape[axis];
    problem->axis_step = x->stride[axis];
    put_collapsed(&space, problem);
}

void tn_one_hot_canonicalize(uint32_t axis, uint32_t from_end, const tenon_tensor *indices,
                             const tenon_tensor *y, rearrange_problem *problem)
{
    tn_space space = space_of(y);
    begin_rearrangement(problem, REARRANGE_ONE_HOT, y);
    for (uint32_t d = 0; d < y->rank; d++)
        if (d != axis)
            space.stride[REARRANGE_LIST][d] = indices->stride[d < axis ? d : d - 1];
    space.stride[REARRANGE_NUMBER][axis] = 1;
    problem->index_type = indices->dtype;
    problem->axis_size = y->shape[axis];
    problem->from_end = from_end;
    put_collapsed(&space, problem);
}
