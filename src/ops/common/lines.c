#include "ops/common/lines.h"

#include "base/checked.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/common/gpu.h"
#include "ops/common/epilogue.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static void exchange(tn_space *space, uint32_t d, uint32_t e)
{
    int64_t size = space->shape[d];
    space->shape[d] = space->shape[e];
    space->shape[e] = size;
    for (uint32_t v = 0; v < space->views; v++) {
        int64_t stride = space->stride[v][d];
        space->stride[v][d] = space->stride[v][e];
        space->stride[v][e] = stride;
    }
}

static void sort_by(tn_space *space, uint32_t view)
{
    const int64_t *stride = space->stride[view];
    for (uint32_t d = 1; d < space->rank; d++)
        for (uint32_t e = d; e > 0 && stride[e - 1] < stride[e]; e--)
            exchange(space, e - 1, e);
}

static tn_space space_of(const tenon_tensor *const *views, uint32_t operands, uint32_t by)
{
    const bool numbered = by == TN_LINES_NUMBERED;
    const tenon_tensor *like = views[numbered ? 0 : by];
    tn_space space = {.rank = like->rank, .views = operands + (numbered ? 1 : 0)};
    memcpy(space.shape, like->shape, sizeof space.shape);
    for (uint32_t v = 0; v < operands; v++)
        if (views[v] != NULL && tenon_tensor_elements(views[v]) != 1)
            memcpy(space.stride[v], views[v]->stride, sizeof space.stride[v]);
    if (numbered) {
        tenon_tensor numbers = tenon_tensor_view(TENON_DTYPE_U8, like->rank, like->shape);
        memcpy(space.stride[operands], numbers.stride, sizeof numbers.stride);
    } else {
        sort_by(&space, by);
    }
    return space;
}

void tn_lines_canonicalize(const tenon_tensor *const *views, uint32_t operands, uint32_t by,
                           tn_lines_problem *problem)
{
    const tenon_tensor *like = views[by == TN_LINES_NUMBERED ? 0 : by];
    tn_space space = space_of(views, operands, by);
    tn_problem_begin(&problem->head, sizeof *problem);
    tn_space_collapse(&space);
    if (tn_tensor_empty(like) || space.rank == 0) { /* zero elements or one */
        memset(space.stride, 0, sizeof space.stride);
        memset(space.shape, 0, sizeof space.shape);
        space.rank = 1;
        space.shape[0] = tn_tensor_empty(like) ? 0 : 1;
    }
    problem->dtype = like->dtype;
    problem->operands = operands;
    for (uint32_t v = 0; v < operands; v++)
        if (views[v] != NULL)
            problem->element_size[v] = (uint32_t)tenon_dtype_size(views[v]->dtype);
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
}

tenon_status tn_lines_shape_check(const char *caller, const char *argument,
                                  const tenon_tensor *tensor, const char *first_argument,
                                  const tenon_tensor *first)
{
    char text[160], wanted[160];
    if (tensor == NULL || tn_tensor_same_shape(tensor, first))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be that of %s, %s",
                   caller, argument, tn_shape_text(tensor->rank, tensor->shape, text),
                   first_argument, tn_shape_text(first->rank, first->shape, wanted));
}

int64_t tn_lines_elements(const tn_lines_problem *problem)
{
    int64_t count = 1;
    for (uint64_t d = 0; d < problem->rank; d++)
        count *= problem->shape[d];
    return count;
}

void tn_lines_options(tenon_context *context, const tn_lines_problem *problem,
                      char text[TN_OPTIONS_SIZE])
{
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u%s", problem->dtype,
                     tn_lanes(context, problem->dtype), tn_gpu_option(context));
}

void tn_lines_stream(tenon_context *context, const tn_lines_problem *problem, uint32_t inputs,
                     tn_lines_launch *launch, char text[TN_OPTIONS_SIZE])
{
    char gpu[TN_GPU_OPTIONS];
    const uint32_t lanes = tn_stream_lanes(context, problem->dtype);
    launch->gpu_chunk = lanes;
    launch->gpu_vectors = tn_stream_vectors(context, problem->dtype, inputs);
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u%s", problem->dtype, lanes,
                     tn_stream_option(context, launch->gpu_vectors, gpu));
}

static bool lie_side_by_side(const tn_lines_problem *p)
{
    bool all = true;
    for (uint32_t v = 0; v < p->operands; v++)
        all = all && (p->element_size[v] == 0 || p->stride[v][p->rank - 1] <= 1);
    return all;
}

/* Returns how a GPU's work-items share lines of `inner` elements. */
static tn_stream_pieces pieces_of(const tenon_context *context, const tn_lines_problem *p,
                                  const tn_lines_launch *launch, int64_t inner)
{
    const int32_t vectors = lie_side_by_side(p) ? launch->gpu_vectors : 1;
    const tn_stream_share share = {launch->gpu_chunk, vectors};
    if (launch->gpu_vectors > 0)
        return tn_stream_cut(context, inner, tn_lines_elements(p) / inner, share);
    return (tn_stream_pieces){tn_ceil_div(inner, launch->gpu_chunk), launch->gpu_chunk,
                              tn_max_i64(launch->gpu_parts, 1)};
}

/* Divides the lines into pieces and distributes them. A work-item of a CPU gets adjacent pieces. On
 * a GPU with a limited number of work-items the pieces are interleaved for coalesced access. */
static void cut(tenon_context *context, const tn_lines_problem *p, const tn_lines_launch *launch,
                lines_args *args)
{
    const bool cpu = context->device.is_cpu;
    const int64_t inner = tn_max_i64(p->shape[p->rank - 1], 1);
    const tn_stream_pieces pieces =
        cpu ? (tn_stream_pieces){tn_ceil_div(inner, launch->cpu_chunk), launch->cpu_chunk, 1}
            : pieces_of(context, p, launch, inner);
    const int64_t most =
        launch->most_items > 0 ? tn_max_i64(launch->most_items / pieces.parts, 1) : INT64_MAX;
    args->chunk = pieces.chunk;
    args->pieces = pieces.pieces;
    args->parts = (tenon_i32)pieces.parts;
    args->unit = (tenon_i32)launch->gpu_chunk;
    args->count = tn_lines_elements(p) / inner * args->pieces;
    args->step = 1;
    args->each = cpu ? tn_max_i64(args->chunk / inner, 1) : 1;
    if (tn_ceil_div(args->count, args->each) > most) {
        if (cpu || most == 1)
            args->each = tn_ceil_div(args->count, most);
        else
            args->step = most;
    }
    args->items = args->step > 1 ? args->step : tn_max_i64(tn_ceil_div(args->count, args->each), 1);
    args->rank = (tenon_i32)p->rank;
    args->flags = (tenon_i32)p->flags;
    args->length = p->shape[p->rank - 1];
    for (int v = 0; v < TENON_LINES_VIEWS; v++)
        args->along[v] = p->stride[v][p->rank - 1];
    memcpy(args->shape, p->shape, sizeof args->shape);
    memcpy(args->stride, p->stride, sizeof args->stride);
}

int64_t tn_lines_items(tenon_context *context, const tn_lines_problem *problem,
                       const tn_lines_launch *launch)
{
    lines_args args = {.rank = 0};
    cut(context, problem, launch, &args);
    return args.items * args.parts;
}

static uint32_t add_patches(const tn_lines_problem *p, const tn_lines_launch *launch,
                            tn_patch *patches, uint16_t *operands)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < p->operands; v++) {
        operands[v] = (uint8_t)(launch->replaced == v + 1 ? TN_WORKSPACE : v);
        if (p->element_size[v] != 0)
            patches[count++] =
                (tn_patch){TN_PATCH_OFFSET, operands[v],
                           (uint16_t)(offsetof(lines_args, offset) + v * sizeof(tenon_i64)),
                           p->element_size[v]};
    }
    for (uint32_t s = 0; s < launch->bits + launch->numbers; s++)
        patches[count++] = (tn_patch){
            (uint8_t)(s < launch->bits ? TN_PATCH_SCALAR_BITS
                                       : tn_scalar_patch((tenon_dtype)p->dtype)),
            (uint8_t)s, (uint16_t)(offsetof(lines_args, scalar) + s * sizeof(tenon_i64)), 1};
    for (uint32_t s = 0; s < p->singles; s++) {
        operands[p->operands + s] = (uint8_t)(p->operands + s);
        if (p->single_size[s] != 0)
            patches[count++] =
                (tn_patch){TN_PATCH_OFFSET, operands[p->operands + s],
                           (uint16_t)(offsetof(singles_args, single) + s * sizeof(tenon_i64)),
                           p->single_size[s]};
    }
    return count;
}

tenon_status tn_lines_record(const char *caller, tn_recording *recording,
                             const tn_lines_problem *problem, const tn_lines_launch *launch,
                             const char *options)
{
    tn_patch patches[TENON_LINES_VIEWS + TENON_LINES_SCALARS + TENON_LINES_SINGLES];
    singles_args all = {.single = {problem->number[0], problem->number[1]}};
    const bool has_singles = problem->singles > 0 || problem->number[0] != 0;
    lines_args *args = &all.lines;
    tn_launch step = {.source = launch->source,
                      .options = options,
                      .kernel = launch->kernel,
                      .dimensions = 1,
                      .operand_count = problem->operands + problem->singles,
                      .args = &all,
                      .args_size = has_singles ? sizeof all : sizeof *args,
                      .patches = patches};
    cut(recording->context, problem, launch, args);
    step.patch_count = add_patches(problem, launch, patches, step.operands);
    step.local[0] = recording->context->device.is_cpu
                        ? 1
                        : tn_gpu_group(recording->context, args->items * args->parts);
    step.global[0] = (size_t)tn_round_up(args->items * args->parts, (int64_t)step.local[0]);
    return tn_record(caller, recording, &step);
}

tenon_status tn_lines_launch_choice(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    return tn_lines_record(caller, recording, (const tn_lines_problem *)problem,
                           TN_LAYOUT(const tn_lines_launch, choice), choice->options);
}

tenon_tensor tn_lines_awkward(tenon_dtype dtype, uint32_t layout, uint32_t operand)
{
    static const int64_t dense[] = {8341}, block[] = {7, 13, 67};
    if (layout == 0)
        return tn_awkward_view(dtype, 1, dense, false);
    tenon_tensor view = tn_awkward_view(dtype, 3, block, false);
    view.stride[2] = operand % 2 + 1;
    for (int d = 1; d >= 0; d--)
        view.stride[d] = view.stride[d + 1] * view.shape[d + 1] + operand;
    return view;
}
