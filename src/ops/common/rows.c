#include "ops/common/rows.h"

#include "base/checked.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/common/gpu.h"

#include <stddef.h>
#include <string.h>

/* Least elements per work-item of a CPU, to be worth its launch. A GPU's work-item has one row, or
 * one vector of rows. */
#define CPU_CHUNK 8192

tenon_status tn_axis_check(const char *caller, int32_t axis, uint32_t rank, const char *argument,
                           uint32_t *result)
{
    if (rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: axis is %d, but %s has rank 0 and no axes", caller, axis,
                       argument);
    int64_t from_start = axis < 0 ? (int64_t)axis + rank : axis;
    if (from_start < 0 || from_start >= rank)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: axis is %d, must be from %d to %d: %s has rank %u", caller,
                       axis, -(int)rank, (int)rank - 1, argument, rank);
    *result = (uint32_t)from_start;
    return TENON_OK;
}

static void exchange(tn_space *space, uint32_t a, uint32_t b)
{
    int64_t shape = space->shape[a];
    space->shape[a] = space->shape[b];
    space->shape[b] = shape;
    for (uint32_t v = 0; v < space->views; v++) {
        int64_t stride = space->stride[v][a];
        space->stride[v][a] = space->stride[v][b];
        space->stride[v][b] = stride;
    }
}

int64_t tn_space_of_two(const tenon_tensor *first, const tenon_tensor *second, tn_space *space)
{
    const int64_t elements = tenon_tensor_elements(first);
    *space = (tn_space){.rank = first->rank, .views = 2};
    memcpy(space->shape, first->shape, sizeof space->shape);
    memcpy(space->stride[0], first->stride, sizeof first->stride);
    if (second != NULL)
        memcpy(space->stride[1], second->stride, sizeof second->stride);
    if (elements == 0)
        *space = (tn_space){.rank = 1, .views = 2};
    else
        tn_space_collapse(space);
    if (space->rank == 0)
        space->rank = (uint32_t)(space->shape[0] = 1);
    return elements;
}

void tn_space_sort(tn_space *space, uint32_t by)
{
    for (uint32_t i = 1; i < space->rank; i++)
        for (uint32_t d = i; d > 0 && space->stride[by][d - 1] < space->stride[by][d]; d--)
            exchange(space, d - 1, d);
}

static void add_view(tn_space *space, uint32_t v, const tenon_tensor *view, uint32_t full_rank,
                     uint32_t axis)
{
    for (uint32_t d = 0, from = 0; d < space->rank; d++, from++) {
        if (from == axis && view->rank == full_rank)
            from++;
        space->stride[v][d] = view->stride[from];
    }
}

void tn_rows_canonicalize(const tenon_tensor *const *views, uint32_t count, uint32_t by,
                          uint32_t axis, tn_rows_problem *problem)
{
    const tenon_tensor *full = views[by];
    tn_space space = {.rank = full->rank - 1, .views = count};
    tn_problem_begin(&problem->head, sizeof *problem);
    for (uint32_t d = 0; d < space.rank; d++)
        space.shape[d] = full->shape[d < axis ? d : d + 1];
    for (uint32_t v = 0; v < count; v++) {
        if (views[v] == NULL)
            continue;
        add_view(&space, v, views[v], full->rank, axis);
        problem->element_size[v] = (uint32_t)tenon_dtype_size(views[v]->dtype);
        problem->axis[v] =
            views[v]->rank == full->rank && full->shape[axis] > 1 ? views[v]->stride[axis] : 0;
    }
    tn_space_sort(&space, by);
    tn_space_collapse(&space);
    if (space.rank == 0)
        space.rank = (uint32_t)(space.shape[0] = 1);
    problem->dtype = full->dtype;
    problem->views = count;
    problem->size = full->shape[axis];
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
}

int64_t tn_rows_count(const tn_rows_problem *p)
{
    int64_t count = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

/* Returns the average fraction of a vector that is used along a dimension of this length. */
static double filled(tenon_context *context, const tn_rows_problem *p, int64_t length)
{
    const int64_t width = tn_lanes(context, p->dtype);
    return (double)length / (double)(tn_ceil_div(length, width) * width);
}

/* Tensors without the axis are not counted. */
double tn_rows_bytes(const tn_rows_problem *p, double times)
{
    double bytes = 0;
    for (uint32_t v = 0; v < p->views; v++)
        if (p->axis[v] != 0 || p->size == 1)
            bytes += p->element_size[v] * (v + 1 < p->views ? times : 1);
    return bytes * (double)tn_rows_count(p) * (double)p->size;
}

/* Reads of each input, some from a cache: for a row's maximum, its sum and the output, for example.
 * WHOLE and GATHERED: a CPU's costs per element of contiguous and of gathered vectors. */
#define TIMES    2.5
#define WHOLE    6
#define GATHERED 2.5

static tn_work common_rows_work_of(const tn_rows_problem *p, bool contiguous, double part)
{
    const double elements = (double)tn_rows_count(p) * (double)p->size / part;
    return (tn_work){.launches = 1,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = contiguous ? WHOLE * elements : 0,
                     .single_elements = contiguous ? 0 : GATHERED * elements,
                     .bytes = tn_rows_bytes(p, TIMES)};
}

/* Returns true if every element of a row is in a cache line of its own. */
static bool lies_apart(const tn_rows_problem *p)
{
    bool apart = false;
    for (uint32_t v = 0; v < p->views; v++)
        apart = apart || p->axis[v] * (int64_t)p->element_size[v] >= TN_LINE_BYTES;
    return apart;
}

static tn_work rows_work(tenon_context *context, const tn_rows_problem *p)
{
    bool contiguous = true;
    for (uint32_t v = 0; v < p->views; v++)
        contiguous = contiguous && p->axis[v] <= 1;
    tn_work work = common_rows_work_of(p, contiguous, filled(context, p, p->size));
    /* A tail is processed one element at a time, or as a masked vector in some kernels. */
    work.single_elements +=
        (double)(p->size % tn_lanes(context, p->dtype)) * (double)tn_rows_count(p);
    work.items = (double)tn_rows_count(p);
    work.reads =
        lies_apart(p) ? TN_SCATTERED : tn_reads_of_row((double)p->size * p->element_size[0]);
    return work;
}

static tn_work columns_work(tenon_context *context, const tn_rows_problem *p)
{
    const int64_t inner = p->shape[p->rank - 1];
    bool contiguous = true;
    for (uint32_t v = 0; v < p->views; v++)
        contiguous = contiguous && p->stride[v][p->rank - 1] <= 1;
    tn_work work = common_rows_work_of(p, contiguous, filled(context, p, inner));
    work.items = (double)tn_rows_count(p) / (double)inner *
                 (double)tn_ceil_div(inner, (int64_t)tn_lanes(context, p->dtype));
    work.reads = !contiguous && lies_apart(p)    ? TN_SCATTERED
                 : !contiguous                   ? TN_LONG_ROWS
                 : inner >= TN_GPU_LEAST_COLUMNS ? TN_COALESCED
                                                 : TN_LONG_ROWS;
    return work;
}

tn_rows_layout *tn_rows_layout_of(const tn_rows_problem *p, tn_choice *choice)
{
    tn_rows_layout *layout = TN_LAYOUT(tn_rows_layout, choice);
    rows_args *args = &layout->args;
    args->size = p->size;
    args->count = tn_rows_count(p);
    args->value = p->value;
    args->rank = (tenon_i32)p->rank;
    args->flag = (tenon_i32)p->flag;
    memcpy(args->axis, p->axis, sizeof args->axis);
    memcpy(args->stride, p->stride, sizeof args->stride);
    memcpy(args->shape, p->shape, sizeof args->shape);
    return layout;
}

static void common_rows_configure(tenon_context *context, const tn_rows_problem *p,
                                  uint32_t dimensions, const size_t *global, int64_t chunk,
                                  tn_choice *choice)
{
    tn_rows_layout *layout = tn_rows_layout_of(p, choice);
    tn_launch grid = {.dimensions = dimensions, .local = {1, 1}};
    memcpy(grid.global, global, dimensions * sizeof *global);
    if (!context->device.is_cpu)
        tn_gpu_local(context, &grid);
    layout->args.chunk = chunk;
    memcpy(layout->global, grid.global, dimensions * sizeof *global);
    memcpy(layout->local, grid.local, dimensions * sizeof *global);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s", p->dtype,
                      tn_lanes(context, p->dtype), tn_gpu_option(context));
}

const char *tn_rows_configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    const int64_t chunk = context->device.is_cpu ? tn_max_i64(CPU_CHUNK / p->size, 1) : 1;
    const size_t global = (size_t)tn_ceil_div(tn_rows_count(p), chunk);
    const tn_work work = rows_work(context, p);
    tn_choice_add(context, choice, &work);
    common_rows_configure(context, p, 1, &global, chunk, choice);
    return NULL;
}

const char *tn_columns_configure(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    const int64_t inner = p->shape[p->rank - 1], width = tn_lanes(context, p->dtype);
    const int64_t worth = context->device.is_cpu ? tn_max_i64(CPU_CHUNK / p->size, 1) : 1;
    const int64_t chunk = tn_round_up(worth, width);
    const size_t global[] = {(size_t)tn_ceil_div(inner, chunk), (size_t)(tn_rows_count(p) / inner)};
    const tn_work work = columns_work(context, p);
    tn_choice_add(context, choice, &work);
    common_rows_configure(context, p, 2, global, chunk, choice);
    return NULL;
}

tenon_status tn_rows_launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                            const tn_choice *choice, const char *source, const char *kernel)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    const tn_rows_layout *layout = TN_LAYOUT(const tn_rows_layout, choice);
    tn_patch patches[TENON_ROWS_VIEWS + 1] = {{(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype),
                                               TN_SCALAR_ROWS, offsetof(rows_args, scale), 1}};
    tn_launch launch = {.source = source,
                        .options = choice->options,
                        .kernel = kernel,
                        .dimensions = layout->global[1] > 0 ? 2 : 1,
                        .operand_count = p->views,
                        TN_ARGS(layout->args),
                        .patches = patches,
                        .patch_count = 1};
    memcpy(launch.global, layout->global, sizeof layout->global);
    memcpy(launch.local, layout->local, sizeof layout->local);
    for (uint32_t v = 0; v < p->views; v++) {
        launch.operands[v] = (uint8_t)v;
        if (p->element_size[v] != 0)
            patches[launch.patch_count++] =
                (tn_patch){TN_PATCH_OFFSET, (uint8_t)v,
                           (uint16_t)(offsetof(rows_args, offset) + v * sizeof(tenon_i64)),
                           p->element_size[v]};
    }
    return tn_record(caller, recording, &launch);
}

uint64_t tn_rows_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_rows_problem *)problem)->flag, 3);
}

tenon_tensor tn_rows_awkward_view(const tn_rows_problem *like, const tn_choice *choice,
                                  uint32_t number, int64_t step, int64_t gap)
{
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const uint32_t inner = number % 2 == 0 ? 1 : 2, outer = 3 - inner;
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype), .dtype = dtype, .rank = 3};
    view.shape[0] = tn_awkward_size(choice, number / 2, "outer", 3);
    view.shape[1] = tn_awkward_size(choice, number / 2, "size", 37);
    view.shape[2] = tn_awkward_size(choice, number / 2, "inner", 35);
    view.stride[inner] = step;
    view.stride[outer] = step * view.shape[inner] + gap;
    view.stride[0] = view.stride[outer] * view.shape[outer] + gap;
    return view;
}
