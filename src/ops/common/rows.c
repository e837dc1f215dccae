#include "ops/common/rows.h"

#include "base/checked.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/common/gpu.h"

#include <stddef.h>
#include <string.h>

/* A CPU's work-item is worth its launch from about this many elements on; a GPU's takes one row,
 * or one vector of them. */
#define CPU_CHUNK 8192

tenon_status tn_axis_check(const char *operation, int32_t axis, uint32_t rank, const char *argument,
                           uint32_t *result)
{
    if (rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: axis is %d, %s has rank 0 and no axis", operation, axis,
                       argument);
    int64_t from_start = axis < 0 ? (int64_t)axis + rank : axis;
    if (from_start < 0 || from_start >= rank)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: axis is %d, must be from %d to %d: %s has rank %u", operation,
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

void tn_rows_canonicalise(const tenon_tensor *const *views, uint32_t count, uint32_t by,
                          uint32_t axis, tn_rows_problem *problem)
{
    const tenon_tensor *full = views[by];
    tn_space space = {.rank = full->rank - 1, .views = count};
    memset(problem, 0, sizeof *problem);
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
    problem->head.size = sizeof *problem;
    problem->head.forced = -1;
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

const char *tn_rows_refuses(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

/* An element costs about a nanosecond, or as many lanes less as a vector of them is loaded whole:
 * what is left is how well vectors are filled, and whether the tensors that have the axis are
 * contiguous along them. */
static double estimate(tenon_context *context, const tn_rows_problem *p, int64_t length,
                       bool contiguous)
{
    double elements = (double)tn_rows_count(p) * (double)p->size;
    double width = (double)tn_lanes(context, p->dtype);
    double filled = (double)length / (double)tn_ceil_div(length, (int64_t)width) / width;
    return 5000 + elements * (contiguous ? 0.5 : 2.0) / filled;
}

/* The tensors without the axis count nothing. */
double tn_rows_gpu_time(tenon_context *context, const tn_rows_problem *p, double items,
                        double times, double part)
{
    const double elements = (double)tn_rows_count(p) * (double)p->size;
    double bytes = 0;
    for (uint32_t v = 0; v < p->views; v++)
        if (p->axis[v] != 0 || p->size == 1)
            bytes += p->element_size[v] * (v + 1 < p->views ? times : 1);
    return tn_gpu_time(context, elements * bytes, items, part);
}

/* What rows and columns read their inputs in. */
#define GPU_TIMES 2.5

double tn_rows_estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    bool contiguous = true;
    (void)values;
    if (!context->device.is_cpu)
        return tn_rows_gpu_time(context, p, (double)tn_rows_count(p), GPU_TIMES,
                                tn_gpu_own_row((double)p->size * p->element_size[0]));
    for (uint32_t v = 0; v < p->views; v++)
        contiguous = contiguous && p->axis[v] <= 1;
    /* A tail is done one by one. */
    double tail = (double)(p->size % tn_lanes(context, p->dtype)) * (double)tn_rows_count(p);
    return estimate(context, p, p->size, contiguous) + tail;
}

double tn_columns_estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    bool contiguous = true;
    (void)values;
    for (uint32_t v = 0; v < p->views; v++)
        contiguous = contiguous && p->stride[v][p->rank - 1] <= 1;
    contiguous =
        contiguous && (context->device.is_cpu || p->shape[p->rank - 1] >= TN_GPU_LEAST_COLUMNS);
    if (!context->device.is_cpu)
        return tn_rows_gpu_time(
            context, p,
            (double)tn_rows_count(p) / (double)p->shape[p->rank - 1] *
                (double)tn_ceil_div(p->shape[p->rank - 1], tn_gpu_lanes(p->dtype)),
            GPU_TIMES, contiguous ? TN_GPU_SIDE_BY_SIDE : TN_GPU_LONG_ROWS);
    return estimate(context, p, p->shape[p->rank - 1], contiguous);
}

void tn_rows_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                     char text[TN_OPTIONS_SIZE])
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u%s", p->dtype,
                     tn_lanes(context, p->dtype), tn_gpu_option(context));
}

tenon_status tn_rows_launch(const char *operation, tn_recording *recording,
                            const tn_rows_problem *p, rows_args *args, tn_launch *launch)
{
    tn_patch patches[TENON_ROWS_VIEWS + 1];
    args->size = p->size;
    args->count = tn_rows_count(p);
    args->value = p->value;
    args->rank = (tenon_i32)p->rank;
    args->flag = (tenon_i32)p->flag;
    memcpy(args->axis, p->axis, sizeof args->axis);
    memcpy(args->stride, p->stride, sizeof args->stride);
    memcpy(args->shape, p->shape, sizeof args->shape);
    patches[0] = (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_ROWS,
                            offsetof(rows_args, scale), 1};
    launch->patch_count = 1;
    for (uint32_t v = 0; v < p->views; v++) {
        launch->operands[v] = (uint8_t)v;
        if (p->element_size[v] != 0)
            patches[launch->patch_count++] =
                (tn_patch){TN_PATCH_OFFSET, (uint8_t)v,
                           (uint16_t)(offsetof(rows_args, offset) + v * sizeof *args->offset),
                           p->element_size[v]};
    }
    launch->operand_count = p->views;
    launch->args = args;
    launch->args_size = sizeof *args;
    launch->patches = patches;
    return tn_record(operation, recording, launch);
}

static tenon_status record(const char *operation, tn_recording *recording, const tn_rows_problem *p,
                           int64_t chunk, tn_launch launch)
{
    char text[TN_OPTIONS_SIZE];
    rows_args args = {.chunk = chunk};
    tn_rows_options(recording->context, &p->head, NULL, text);
    launch.options = text;
    return tn_rows_launch(operation, recording, p, &args, &launch);
}

tenon_status tn_rows_record(const char *operation, tn_recording *recording,
                            const tn_rows_problem *problem, const char *source, const char *kernel)
{
    tn_launch launch = {.source = source, .kernel = kernel, .dimensions = 1};
    bool is_cpu = recording->context->device.is_cpu;
    int64_t chunk = is_cpu ? tn_max_i64(CPU_CHUNK / problem->size, 1) : 1;
    launch.global[0] = (size_t)tn_ceil_div(tn_rows_count(problem), chunk);
    /* Where the driver chooses a work-group by the sizes, PoCL compiles for each that it has not
     * seen. */
    launch.local[0] = 1;
    if (!is_cpu)
        tn_gpu_local(&launch);
    return record(operation, recording, problem, chunk, launch);
}

tenon_status tn_columns_record(const char *operation, tn_recording *recording,
                               const tn_rows_problem *problem, const char *source,
                               const char *kernel)
{
    tn_launch launch = {.source = source, .kernel = kernel, .dimensions = 2};
    bool is_cpu = recording->context->device.is_cpu;
    int64_t inner = problem->shape[problem->rank - 1];
    int64_t width = (int64_t)tn_lanes(recording->context, problem->dtype);
    int64_t chunk = is_cpu ? tn_round_up(tn_max_i64(CPU_CHUNK / problem->size, 1), width) : width;
    launch.global[0] = (size_t)tn_ceil_div(inner, chunk);
    launch.global[1] = (size_t)(tn_rows_count(problem) / inner);
    launch.local[0] = launch.local[1] = 1;
    if (!is_cpu)
        tn_gpu_local(&launch);
    return record(operation, recording, problem, chunk, launch);
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
