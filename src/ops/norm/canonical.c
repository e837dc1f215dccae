/* Conversion of the caller's views to the canonical problem, and of the problem to a launch's order
 * of dimensions. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/norm/internal.h"

#include <string.h>

static bool is_over_last(const tenon_norm_params *params)
{
    return params->kind == TENON_NORM_LAYER || params->kind == TENON_NORM_RMS;
}

uint32_t tn_norm_dimensions(const tenon_norm_params *params, const tenon_tensor *x, int64_t *shape,
                            uint32_t *reduced, uint32_t *parameters)
{
    const bool group = params->kind == TENON_NORM_GROUP;
    const uint32_t rank = x->rank + (group ? 1 : 0);
    uint32_t all = (1u << rank) - 1;
    if (is_over_last(params)) {
        memcpy(shape, x->shape, rank * sizeof *shape);
        *reduced = *parameters = all & ~((1u << (rank - params->dimensions)) - 1);
        return rank;
    }
    shape[0] = x->shape[0];
    shape[1] = group ? params->groups : x->shape[1];
    if (group)
        shape[2] = x->shape[1] / params->groups;
    for (uint32_t d = 2; d < x->rank; d++)
        shape[d + (group ? 1 : 0)] = x->shape[d];
    *parameters = group ? 6 : 2;
    *reduced = all & ~(params->kind == TENON_NORM_BATCH ? 2u : 3u);
    return rank;
}

/* Sets the strides of the channels' dimension, or of two if channels are split into groups. */
static void channel_strides(const tenon_norm_params *params, const tenon_tensor *x, int64_t step,
                            int64_t *stride)
{
    stride[1] = step;
    if (params->kind == TENON_NORM_GROUP) {
        stride[1] = step * (x->shape[1] / params->groups);
        stride[2] = step;
    }
}

void tn_norm_strides(const tenon_norm_params *params, const tenon_tensor *x,
                     const tenon_tensor *view, int number, int64_t *stride)
{
    const bool last = is_over_last(params), group = params->kind == TENON_NORM_GROUP;
    memset(stride, 0, TENON_MAX_RANK * sizeof *stride);
    if (number == NORM_X) {
        memcpy(stride, view->stride, view->rank * sizeof *stride);
        if (!last)
            channel_strides(params, x, view->stride[1], stride);
        for (uint32_t d = 2; d < x->rank && group; d++)
            stride[d + 1] = view->stride[d];
    } else if (number == NORM_GAMMA && last) {
        memcpy(stride + x->rank - params->dimensions, view->stride, view->rank * sizeof *stride);
    } else if (number == NORM_GAMMA) {
        channel_strides(params, x, view->stride[0], stride);
    } else if (params->kind == TENON_NORM_BATCH) {
        stride[1] = view->stride[0];
    } else {
        memcpy(stride, view->stride, view->rank * sizeof *stride);
    }
}

int tn_norm_shape_of(bool backward, int number)
{
    static const int forward_shapes[] = {NORM_X, NORM_GAMMA, NORM_MEAN, NORM_MEAN,
                                         NORM_X, NORM_GAMMA, NORM_MEAN, NORM_MEAN};
    static const int backward_shapes[] = {NORM_X, NORM_GAMMA, NORM_MEAN,  NORM_MEAN,
                                          NORM_X, NORM_X,     NORM_GAMMA, NORM_GAMMA};
    return backward ? backward_shapes[number] : forward_shapes[number];
}

static uint32_t flags_of(const tenon_norm_params *params, const norm_views *views, uint32_t reduced,
                         uint32_t parameters)
{
    uint32_t flags = params->kind == TENON_NORM_RMS ? 0 : NORM_CENTERED;
    for (int v = 0; v < NORM_VIEWS; v++)
        if (views->view[v] != NULL)
            flags |= NORM_HAS(v);
    if (views->given)
        flags |= NORM_GIVEN;
    if ((reduced & parameters) != 0 && views->view[NORM_GAMMA] != NULL)
        flags |= NORM_WEIGHTED;
    return flags;
}

/* Appends dimension `from` of `raw` to the problem. */
static void take_dimension(norm_problem *p, const norm_problem *raw, uint32_t from)
{
    const uint32_t to = (uint32_t)p->rank++;
    p->shape[to] = raw->shape[from];
    p->reduced |= (raw->reduced >> from & 1) << to;
    p->parameters |= (raw->parameters >> from & 1) << to;
    for (int v = 0; v < NORM_VIEWS; v++)
        p->stride.of[v][to] = raw->stride.of[v][from];
}

/* Removes dimensions of size 1, and sorts the others in the order of x's memory. More of them can
 * then be merged, and neighbors along the last one are neighbors in memory. */
static void order_dimensions(norm_problem *p)
{
    const norm_problem raw = *p;
    uint32_t order[TENON_MAX_RANK], count = 0;
    for (uint32_t d = 0; d < raw.rank; d++) {
        uint32_t at = count;
        if (raw.shape[d] == 1)
            continue;
        for (; at > 0 && raw.stride.of[NORM_X][order[at - 1]] < raw.stride.of[NORM_X][d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
        count++;
    }
    memset(p->shape, 0, sizeof p->shape);
    memset(&p->stride, 0, sizeof p->stride);
    p->rank = p->reduced = p->parameters = 0;
    for (uint32_t i = 0; i < count; i++)
        take_dimension(p, &raw, order[i]);
}

void tn_norm_canonicalize(const tenon_norm_params *params, const norm_views *views, norm_problem *p)
{
    const tenon_tensor *x = views->view[NORM_X];
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->backward = views->backward;
    p->parameter_acc = 1;
    p->rank = tn_norm_dimensions(params, x, p->shape, &p->reduced, &p->parameters);
    for (int v = 0; v < NORM_VIEWS; v++) {
        const tenon_tensor *view = views->view[v];
        p->operand[v] = view != NULL ? views->operand[v] : NORM_ABSENT;
        if (view == NULL)
            continue;
        const int like = tn_norm_shape_of(views->backward, v);
        tn_norm_strides(params, x, view, like, p->stride.of[v]);
        if (like == NORM_GAMMA && tn_acc_size(x->dtype) != tenon_dtype_size(view->dtype))
            p->parameter_acc = 0;
    }
    p->flags = flags_of(params, views, p->reduced, p->parameters);
    order_dimensions(p);
}

/* Returns the space of the problem's dimensions in `mask`. */
static tn_space take_space(const norm_problem *p, uint32_t mask, const norm_strides *stride)
{
    tn_space space = {.views = NORM_VIEWS};
    for (uint32_t d = 0; d < p->rank; d++) {
        if ((mask >> d & 1) == 0)
            continue;
        space.shape[space.rank] = p->shape[d];
        for (int v = 0; v < NORM_VIEWS; v++)
            space.stride[v][space.rank] = stride->of[v][d];
        space.rank++;
    }
    tn_space_collapse(&space);
    return space;
}

static int64_t append_space(norm_args *args, const tn_space *space)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < space->rank; d++) {
        count *= space->shape[d];
        args->shape[args->rank] = space->shape[d];
        for (int v = 0; v < NORM_VIEWS; v++)
            args->stride[v][args->rank] = space->stride[v][d];
        args->rank++;
    }
    return count;
}

void tn_norm_space(const norm_problem *p, uint32_t kept, const norm_strides *by_sets,
                   const norm_strides *by_rest, norm_args *args)
{
    const tn_space sets = take_space(p, kept, by_sets), rest = take_space(p, ~kept, by_rest);
    memset(args, 0, sizeof *args);
    args->sets = append_space(args, &sets);
    args->kept = args->rank;
    args->count = append_space(args, &rest);
    if (args->rank == args->kept) /* a set of one element */
        args->shape[args->rank++] = 1;
    const int inner = args->rank - 1, set = args->kept - 1;
    args->lines = args->count / args->shape[inner];
    args->parts = 1;
    args->flags = (tenon_i32)p->flags;
    /* Vectors lie along the contiguous dimension of x. */
    args->columns = set >= 0 && (args->shape[inner] == 1 ||
                                 args->stride[NORM_X][set] < args->stride[NORM_X][inner]);
}

uint32_t tn_norm_kept(const norm_problem *p)
{
    return ~p->reduced & ((1u << p->rank) - 1);
}

uint32_t tn_norm_parts(const norm_problem *p)
{
    const uint32_t kept = tn_norm_kept(p), last = (uint32_t)p->rank - 1;
    const int64_t *x = p->stride.of[NORM_X];
    if (p->rank < 3 || (kept >> last & 1) != 0 || (kept >> (last - 1) & 1) == 0 ||
        p->shape[last] > NORM_MOST_PARTS || x[last] != 1 || x[last - 1] != p->shape[last] ||
        tn_norm_count_of(p, kept) == p->shape[last])
        return kept;
    return kept | 1u << last;
}

int64_t tn_norm_sets_of(const norm_problem *p, uint32_t kept)
{
    int64_t sets = 1;
    for (uint32_t d = 0; d < p->rank; d++)
        sets *= (kept >> d & 1) != 0 ? p->shape[d] : 1;
    return sets;
}

int64_t tn_norm_count_of(const norm_problem *p, uint32_t kept)
{
    return tn_norm_sets_of(p, ~kept);
}

void tn_norm_work_strides(const norm_problem *p, uint32_t kept, int64_t *stride)
{
    int64_t step = 1;
    memset(stride, 0, TENON_MAX_RANK * sizeof *stride);
    for (uint32_t d = (uint32_t)p->rank; d-- > 0;)
        if ((kept >> d & 1) != 0) {
            stride[d] = step;
            step *= p->shape[d];
        }
}
