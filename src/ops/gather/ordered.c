/* The solver ordered of scatter and gather_backward, for CPUs: each work-item applies all tuples,
 * in order, to its part of the table. */
#include "base/checked.h"
#include "ops/common/rows.h"
#include "ops/common/walk.h"
#include "ops/gather/internal.h"

#include <stddef.h>
#include <string.h>

/* Least combined elements per work-item, to be worth its launch, and least tuples. */
#define CPU_CHUNK  8192
#define CPU_TUPLES 1024

/* Views of the walk: of the table, the updates and the indices. */
enum { WALK_Y, WALK_UPDATES, WALK_INDICES, WALK_VIEWS };

typedef struct ordered_layout {
    scatter_ordered_args args;
    size_t global[2];
} ordered_layout;

static void ordered_append(tn_space *space, int64_t size)
{
    space->shape[space->rank++] = size;
}

/* Divides the dimensions of the updates into those of different elements of the table, batches and
 * columns, and those of `others`: the indices and the updates. */
static void divide(const scatter_problem *p, tn_space *parts, tn_space *others)
{
    for (int64_t d = 0; d < p->list.rank; d++) {
        const bool is_batch = p->list.stride[GATHER_LIST_KEYS][d] != 0;
        tn_space *to = is_batch ? parts : others;
        const uint32_t at = to->rank;
        to->stride[is_batch ? WALK_INDICES : 0][at] = p->list.stride[GATHER_LIST_INDICES][d];
        to->stride[is_batch ? WALK_UPDATES : 1][at] = p->list.stride[GATHER_LIST_UPDATES][d];
        if (is_batch)
            to->stride[WALK_Y][at] = p->batch_stride[d];
        ordered_append(to, p->list.shape[d]);
    }
    for (uint64_t d = 0; d < p->rank; d++)
        if (p->shape[d] > 1) {
            parts->stride[WALK_Y][parts->rank] = p->stride[1][d];
            parts->stride[WALK_UPDATES][parts->rank] = p->stride[0][d];
            ordered_append(parts, p->shape[d]);
        }
}

static void at_least_one(tn_space *space)
{
    if (space->rank == 0)
        ordered_append(space, 1);
}

/* Returns true if a line of tuples is better than a line of the walk's last dimension: if that is a
 * single element, or if its neighbors are further apart than those of successive tuples. */
static bool prefers_tuples(const tn_space *parts, const tn_space *others)
{
    const uint32_t last = parts->rank - 1, tuples = others->rank - 1;
    return others->shape[tuples] > 1 &&
           (parts->shape[last] == 1 ||
            parts->stride[WALK_UPDATES][last] > others->stride[1][tuples]);
}

/* Moves the last dimension of `others` to the walk, as a line that must not be divided. */
static void move_tuples(tn_space *parts, tn_space *others)
{
    const uint32_t last = --others->rank;
    if (parts->shape[parts->rank - 1] == 1)
        parts->rank--;
    parts->stride[WALK_Y][parts->rank] = 0;
    parts->stride[WALK_UPDATES][parts->rank] = others->stride[1][last];
    parts->stride[WALK_INDICES][parts->rank] = others->stride[0][last];
    ordered_append(parts, others->shape[last]);
    others->stride[0][last] = others->stride[1][last] = 0;
    at_least_one(others);
}

/* Divides the walk among work-items, by the number of elements that they combine. */
static void cut(tenon_context *context, const scatter_problem *p, bool is_divisible,
                ordered_layout *l)
{
    walk_args *walk = &l->args.walk;
    const int64_t tuples = (int64_t)p->list.count, inner = walk->shape[walk->rank - 1], lanes = 16,
                  least = tn_round_up(CPU_CHUNK / tn_max_i64(l->args.count, 1) + 1, 4 * lanes);
    int64_t offsets = 1;
    for (int v = 0; v < WALK_VIEWS; v++)
        walk->step[v] = walk->stride[v][walk->rank - 1];
    walk->length = inner;
    walk->rows = walk->parts = 1;
    for (int32_t d = 0; d + 1 < walk->rank; d++)
        walk->rows *= walk->shape[d];
    walk->chunk = is_divisible ? least : inner;
    walk->pieces = tn_ceil_div(inner, walk->chunk);
    walk->unit = 1;
    walk->rows_each = tn_max_i64(least / tn_max_i64(inner, 1), 1);
    walk->items = walk->pieces * tn_ceil_div(walk->rows, walk->rows_each);
    for (int32_t k = 0; k < p->tuple.count; k++)
        offsets += (p->tuple.size[k] - 1) * p->tuple_stride[k];
    const int64_t units = (int64_t)context->device.model.units,
                  ranges = tn_max_i64(
                      tn_min_i64(units / tn_max_i64(walk->items, 1), tuples / CPU_TUPLES), 1);
    l->args.range = tn_ceil_div(offsets, ranges);
    l->global[0] = (size_t)walk->items;
    l->global[1] = (size_t)tn_ceil_div(offsets, l->args.range);
}

static void put_layout(tenon_context *context, const scatter_problem *p, ordered_layout *l)
{
    tn_space parts = {.views = WALK_VIEWS}, others = {.views = 2};
    divide(p, &parts, &others);
    tn_space_sort(&parts, WALK_Y);
    tn_space_collapse(&parts);
    tn_space_collapse(&others);
    at_least_one(&parts);
    at_least_one(&others);
    const bool is_divisible = !prefers_tuples(&parts, &others);
    if (!is_divisible)
        move_tuples(&parts, &others);
    l->args = (scatter_ordered_args){.walk.rank = (tenon_i32)parts.rank,
                                     .count = 1,
                                     .rank = (tenon_i32)others.rank,
                                     .tuple = p->tuple,
                                     .sign = tn_scatter_sign(p),
                                     .op = (tenon_i32)p->op};
    memcpy(l->args.walk.shape, parts.shape, sizeof parts.shape);
    memcpy(l->args.walk.stride, parts.stride, WALK_VIEWS * sizeof *parts.stride);
    memcpy(l->args.shape, others.shape, sizeof others.shape);
    memcpy(l->args.stride, others.stride, sizeof l->args.stride);
    memcpy(l->args.tuple.weight, p->tuple_stride, sizeof p->tuple_stride);
    for (uint32_t d = 0; d < others.rank; d++)
        l->args.count *= others.shape[d];
    cut(context, p, is_divisible, l);
}

static const char *ordered_configure(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    ordered_layout *l = TN_LAYOUT(ordered_layout, choice);
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if ((p->dtype == TENON_DTYPE_F16 || p->dtype == TENON_DTYPE_BF16) &&
        (p->op == TENON_SCATTER_ADD || p->op == TENON_SCATTER_MULTIPLY))
        return "it would round f16 or bf16 after each update";
    put_layout(context, p, l);
    /* Each work-item reads the tuples of its lines. */
    const walk_args *walk = &l->args.walk;
    const double lines =
        (double)walk->rows * (double)(walk->step[WALK_INDICES] == 0 ? walk->pieces : walk->length);
    const tn_work reads = {.groups = (double)l->global[0] * (double)l->global[1],
                           .scalar = 2 * lines * (double)l->global[1] * (double)l->args.count};
    tn_choice_add(context, choice, &reads);
    tn_scatter_configure(context, p, choice);
    return NULL;
}

static tenon_status ordered_launch(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    const ordered_layout *l = TN_LAYOUT(const ordered_layout, choice);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, GATHER_TO, offsetof(scatter_ordered_args, walk.offset[WALK_Y]), size},
        {TN_PATCH_OFFSET, GATHER_FROM, offsetof(scatter_ordered_args, walk.offset[WALK_UPDATES]),
         size},
        {TN_PATCH_OFFSET, GATHER_INDICES, offsetof(scatter_ordered_args, walk.offset[WALK_INDICES]),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->index_type)}};
    scatter_ordered_args args = l->args;
    const tn_launch launch = {.source = "gather/ordered",
                              .options = choice->options,
                              .kernel = "ordered",
                              .dimensions = 2,
                              .global = {l->global[0], l->global[1]},
                              .local = {1, 1},
                              .operands = {GATHER_FROM, GATHER_INDICES, GATHER_TO},
                              .operand_count = GATHER_OPERANDS,
                              TN_ARGS(args),
                              TN_PATCHES(patches)};
    TN_TRY(tn_scatter_begin(caller, recording, p));
    return p->list.count == 0 ? TENON_OK : tn_record(caller, recording, &launch);
}

const tn_solver tn_scatter_ordered = {
    .name = "ordered",
    .serves = "CPUs, except sums and products of f16 and bf16; each work-item applies all indices "
              "to its part of the result",
    .configure = ordered_configure,
    .launch = ordered_launch};
