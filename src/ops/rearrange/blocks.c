/* tenon_depth_to_space, tenon_space_to_depth and tenon_channel_shuffle: copies between views with
 * more dimensions, by the solvers of tenon_copy. */
#include "base/checked.h"
#include "check/bounds.h"
#include "check/host.h"
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <tenon/rearrange.h>

#include <inttypes.h>
#include <stdlib.h>

static const char *const modes[] = {"dcr", "crd", NULL};

static const tn_field blocks_fields[] = {
    TN_FLAGS_FIELD(tenon_blocks_params),
    TN_FIELD("block", TN_FIELD_I64, tenon_blocks_params, block),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_blocks_params, mode, modes)};
static const tn_field shuffle_fields[] = {
    TN_FLAGS_FIELD(tenon_channel_shuffle_params),
    TN_FIELD("groups", TN_FIELD_I64, tenon_channel_shuffle_params, groups)};

static const tenon_blocks_params blocks_defaults = TENON_BLOCKS_PARAMS_INIT;
static const tenon_copy_params copy_defaults = TENON_COPY_PARAMS_INIT;
static const tenon_channel_shuffle_params shuffle_defaults = TENON_CHANNEL_SHUFFLE_PARAMS_INIT;

TENON_API void tenon_blocks_params_default(tenon_blocks_params *params, uint32_t size)
{
    tn_params_give(params, size, &blocks_defaults, sizeof blocks_defaults);
}

TENON_API void tenon_channel_shuffle_params_default(tenon_channel_shuffle_params *params,
                                                    uint32_t size)
{
    tn_params_give(params, size, &shuffle_defaults, sizeof shuffle_defaults);
}

TENON_API tenon_status tenon_depth_to_space(tenon_stream *stream, const tenon_blocks_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            const tenon_sync *sync)
{
    return TN_RUN(tn_operation_depth_to_space, x, y);
}

TENON_API tenon_status tenon_depth_to_space_plan(tenon_context *context,
                                                 const tenon_blocks_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *y,
                                                 tenon_plan **plan)
{
    return TN_PLAN(tn_operation_depth_to_space, x, y);
}

TENON_API tenon_status tenon_space_to_depth(tenon_stream *stream, const tenon_blocks_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            const tenon_sync *sync)
{
    return TN_RUN(tn_operation_space_to_depth, x, y);
}

TENON_API tenon_status tenon_space_to_depth_plan(tenon_context *context,
                                                 const tenon_blocks_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *y,
                                                 tenon_plan **plan)
{
    return TN_PLAN(tn_operation_space_to_depth, x, y);
}

TENON_API tenon_status tenon_channel_shuffle(tenon_stream *stream,
                                             const tenon_channel_shuffle_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             const tenon_sync *sync)
{
    return TN_RUN(tn_operation_channel_shuffle, x, y);
}

TENON_API tenon_status tenon_channel_shuffle_plan(tenon_context *context,
                                                  const tenon_channel_shuffle_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  tenon_plan **plan)
{
    return TN_PLAN(tn_operation_channel_shuffle, x, y);
}

/* Appends a dimension to a view that is made from another one. */
static void append_size(tenon_tensor *view, int64_t size, int64_t stride)
{
    view->shape[view->rank] = size;
    view->stride[view->rank++] = stride;
}

static tenon_tensor begin_view(const tenon_tensor *tensor)
{
    tenon_tensor view = *tensor;
    view.rank = 0;
    return view;
}

/* Prepares the copy between two views of one shape. */
static tenon_status prepare_copy(const tn_call *call, const tenon_tensor *x, const tenon_tensor *y,
                                 tn_problem *problem, bool *empty)
{
    tn_call copy = *call;
    copy.operands[COPY_X].view = x;
    copy.operands[COPY_Y].view = y;
    return tn_copy_prepare(&copy_defaults, &copy, problem, empty);
}

/* Returns the view N, block row, block column, channel, row, column of a tensor whose channels
 * include the blocks. */
static tenon_tensor view_of_depth(const tenon_tensor *depth, int64_t block, uint32_t mode)
{
    tenon_tensor view = begin_view(depth);
    const int64_t channels = depth->shape[1] / (block * block), step = depth->stride[1];
    const int64_t each = mode == TENON_BLOCKS_DCR ? channels * step : step;
    append_size(&view, depth->shape[0], depth->stride[0]);
    append_size(&view, block, block * each);
    append_size(&view, block, each);
    append_size(&view, channels, mode == TENON_BLOCKS_DCR ? step : block * block * step);
    append_size(&view, depth->shape[2], depth->stride[2]);
    append_size(&view, depth->shape[3], depth->stride[3]);
    return view;
}

/* Returns the same view of a tensor whose rows and columns include the blocks. */
static tenon_tensor view_of_space(const tenon_tensor *space, int64_t block)
{
    tenon_tensor view = begin_view(space);
    append_size(&view, space->shape[0], space->stride[0]);
    append_size(&view, block, space->stride[2]);
    append_size(&view, block, space->stride[3]);
    append_size(&view, space->shape[1], space->stride[1]);
    append_size(&view, space->shape[2] / block, block * space->stride[2]);
    append_size(&view, space->shape[3] / block, block * space->stride[3]);
    return view;
}

/* Checks the shapes of both tensors, of which `depth` has the blocks in its channels. */
static tenon_status check_blocks(const char *caller, const tenon_blocks_params *params,
                                 const tn_argument *depth, const tn_argument *space)
{
    const tenon_tensor *d = depth->view, *s = space->view;
    const int64_t block = params->block;
    int64_t wanted[4], area;
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_kind_check(caller, "mode", params->mode, TENON_BLOCKS_CRD, "tenon_blocks_mode"));
    if (block < 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: block is %" PRId64 ", must be at least 1", caller, block);
    if (d->rank != 4)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be 4 (N C H W)",
                       caller, depth->name, d->rank);
    if (!tn_mul_i64(block, block, &area) || d->shape[1] % area != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: number of channels is %" PRId64
                       ", must be a multiple of the square of block, %" PRId64,
                       caller, depth->name, d->shape[1], block);
    wanted[0] = d->shape[0];
    wanted[1] = d->shape[1] / area;
    if (!tn_mul_i64(d->shape[2], block, &wanted[2]) || !tn_mul_i64(d->shape[3], block, &wanted[3]))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: the shape times block overflows",
                       caller, depth->name);
    return tn_shape_check(caller, space->name, s, 4, wanted);
}

static tenon_status depth_to_space_prepare(const void *given, tn_call *call, tn_problem *problem,
                                           bool *empty)
{
    const tenon_blocks_params *params = given;
    const tn_argument *x = &call->operands[COPY_X], *y = &call->operands[COPY_Y];
    TN_TRY(check_blocks(call->caller, params, x, y));
    const tenon_tensor depth = view_of_depth(x->view, params->block, params->mode),
                       space = view_of_space(y->view, params->block);
    return prepare_copy(call, &depth, &space, problem, empty);
}

static tenon_status space_to_depth_prepare(const void *given, tn_call *call, tn_problem *problem,
                                           bool *empty)
{
    const tenon_blocks_params *params = given;
    const tn_argument *x = &call->operands[COPY_X], *y = &call->operands[COPY_Y];
    TN_TRY(check_blocks(call->caller, params, y, x));
    const tenon_tensor depth = view_of_depth(y->view, params->block, params->mode),
                       space = view_of_space(x->view, params->block);
    return prepare_copy(call, &space, &depth, problem, empty);
}

/* Returns the view of a tensor with its channels divided in outer × inner, and optionally with
 * these two dimensions exchanged. */
static tenon_tensor view_of_channels(const tenon_tensor *tensor, int64_t outer, int64_t inner,
                                     bool exchanged)
{
    tenon_tensor view = begin_view(tensor);
    const int64_t step = tensor->stride[1];
    append_size(&view, tensor->shape[0], tensor->stride[0]);
    append_size(&view, exchanged ? inner : outer, exchanged ? step : inner * step);
    append_size(&view, exchanged ? outer : inner, exchanged ? inner * step : step);
    for (uint32_t d = 2; d < tensor->rank; d++)
        append_size(&view, tensor->shape[d], tensor->stride[d]);
    return view;
}

static tenon_status channel_shuffle_prepare(const void *given, tn_call *call, tn_problem *problem,
                                            bool *empty)
{
    const char *caller = call->caller;
    const int64_t groups = ((const tenon_channel_shuffle_params *)given)->groups;
    const tenon_tensor *x = call->operands[COPY_X].view, *y = call->operands[COPY_Y].view;
    if (x->rank < 2 || x->rank >= TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x: rank is %u, must be from 2 to %d",
                       caller, x->rank, TENON_MAX_RANK - 1);
    if (groups < 1 || x->shape[1] % groups != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: groups is %" PRId64
                       ", must divide the number of channels of x, %" PRId64,
                       caller, groups, x->shape[1]);
    TN_TRY(tn_shape_check(caller, "y", y, x->rank, x->shape));
    const int64_t each = x->shape[1] / groups;
    const tenon_tensor from = view_of_channels(x, groups, each, false),
                       to = view_of_channels(y, each, groups, true);
    return prepare_copy(call, &from, &to, problem, empty);
}

/* Returns the value of a tensor of rank 4 in row-major order. */
static double value_at(const tenon_tensor *t, const double *values, int64_t n, int64_t c, int64_t h,
                       int64_t w)
{
    return values[((n * t->shape[1] + c) * t->shape[2] + h) * t->shape[3] + w];
}

/* Returns the channel of a tensor with blocks in its channels. */
static int64_t channel_of(const tenon_blocks_params *p, int64_t channels, int64_t c, int64_t row,
                          int64_t column)
{
    return p->mode == TENON_BLOCKS_DCR ? (row * p->block + column) * channels + c
                                       : (c * p->block + row) * p->block + column;
}

static bool depth_to_space_reference(const void *given, const tenon_tensor *const *v,
                                     tn_bounded *results)
{
    const tenon_blocks_params *p = given;
    const tenon_tensor *x = v[COPY_X], *y = v[COPY_Y];
    double *values = tn_host_read(x, x->rank, x->shape);
    int64_t at[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(y);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        const int64_t h = at[2] / p->block, w = at[3] / p->block;
        const int64_t c =
            channel_of(p, y->shape[1], at[1], at[2] - h * p->block, at[3] - w * p->block);
        results[i] = (tn_bounded){value_at(x, values, at[0], c, h, w), 0};
        tn_next_index(at, y->shape, y->rank);
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

static bool space_to_depth_reference(const void *given, const tenon_tensor *const *v,
                                     tn_bounded *results)
{
    const tenon_blocks_params *p = given;
    const tenon_tensor *x = v[COPY_X], *y = v[COPY_Y];
    double *values = tn_host_read(x, x->rank, x->shape);
    for (int64_t n = 0; values != NULL && n < x->shape[0]; n++)
        for (int64_t c = 0; c < x->shape[1]; c++)
            for (int64_t h = 0; h < x->shape[2]; h++)
                for (int64_t w = 0; w < x->shape[3]; w++) {
                    const int64_t to = channel_of(p, x->shape[1], c, h % p->block, w % p->block);
                    const int64_t place =
                        ((n * y->shape[1] + to) * y->shape[2] + h / p->block) * y->shape[3] +
                        w / p->block;
                    results[place] = (tn_bounded){value_at(x, values, n, c, h, w), 0};
                }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

static bool channel_shuffle_reference(const void *given, const tenon_tensor *const *v,
                                      tn_bounded *results)
{
    const int64_t groups = ((const tenon_channel_shuffle_params *)given)->groups;
    const tenon_tensor *x = v[COPY_X];
    const int64_t channels = x->shape[1], each = channels / groups;
    double *values = tn_host_read(x, x->rank, x->shape);
    int64_t inner = 1;
    for (uint32_t d = 2; d < x->rank; d++)
        inner *= x->shape[d];
    for (int64_t i = 0; values != NULL && i < tenon_tensor_elements(x); i++) {
        const int64_t c = i / inner % channels, from = c % groups * each + c / groups;
        results[i] = (tn_bounded){values[i + (from - c) * inner], 0};
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

static const char *const depth_examples[] = {
    "copy tenon_depth_to_space x=T:2x12x3x5 y=T:2x3x6x10 block=2",
    "copy tenon_depth_to_space x=T:2x27x13x15 y=T:2x3x39x45 block=3 mode=crd",
    NULL,
};
static const char *const space_examples[] = {
    "copy tenon_space_to_depth x=T:2x3x6x10 y=T:2x12x3x5 block=2",
    "copy tenon_space_to_depth x=T:2x3x39x45 y=T:2x27x13x15 block=3 mode=crd",
    NULL,
};
static const char *const shuffle_examples[] = {
    "copy tenon_channel_shuffle x=T:2x12x3x5 y=T:2x12x3x5 groups=3",
    "copy tenon_channel_shuffle x=T:9x21 y=T:9x21 groups=7",
    NULL,
};

static bool blocks_shape(const tenon_blocks_params *params, const tenon_tensor *x, bool to_depth,
                         tenon_tensor *output)
{
    const int64_t block = params->block;
    int64_t area;
    if (x->rank != 4 || block < 1 || !tn_mul_i64(block, block, &area) ||
        !tn_shape_set(output, x->dtype, 4, x->shape))
        return false;
    int64_t *shape = output->shape;
    if (to_depth) {
        shape[2] /= block;
        shape[3] /= block;
        return tn_mul_i64(shape[1], area, &shape[1]);
    }
    shape[1] /= area;
    return tn_mul_i64(shape[2], block, &shape[2]) && tn_mul_i64(shape[3], block, &shape[3]);
}

static bool depth_to_space_shape(const void *params, const tenon_tensor *const *views,
                                 tenon_tensor *output)
{
    return blocks_shape(params, views[0], false, output);
}

static bool space_to_depth_shape(const void *params, const tenon_tensor *const *views,
                                 tenon_tensor *output)
{
    return blocks_shape(params, views[0], true, output);
}

#define COPY_DESCRIPTION(shape_rule)                                                               \
    .family = &tn_copy_family,                                                                     \
    .operands = {{.name = "x"}, {.name = "y", .role = TN_OUTPUT, .shape = (shape_rule)}},          \
    .operand_count = COPY_OPERANDS, TN_PROBLEM(tn_pointwise_problem), .converts = true

const tn_operation tn_operation_depth_to_space = {
    TN_NAMES("tenon_depth_to_space"),  COPY_DESCRIPTION(depth_to_space_shape),
    TN_FIELDS(blocks_fields),          TN_PARAMS(blocks_defaults, TENON_BLOCKS_PARAMS_INIT),
    .prepare = depth_to_space_prepare, .reference = depth_to_space_reference,
    .examples = depth_examples,
};

const tn_operation tn_operation_space_to_depth = {
    TN_NAMES("tenon_space_to_depth"),  COPY_DESCRIPTION(space_to_depth_shape),
    TN_FIELDS(blocks_fields),          TN_PARAMS(blocks_defaults, TENON_BLOCKS_PARAMS_INIT),
    .prepare = space_to_depth_prepare, .reference = space_to_depth_reference,
    .examples = space_examples,
};

const tn_operation tn_operation_channel_shuffle = {
    TN_NAMES("tenon_channel_shuffle"),
    COPY_DESCRIPTION(tn_shape_of_first),
    TN_FIELDS(shuffle_fields),
    TN_PARAMS(shuffle_defaults, TENON_CHANNEL_SHUFFLE_PARAMS_INIT),
    .prepare = channel_shuffle_prepare,
    .reference = channel_shuffle_reference,
    .examples = shuffle_examples,
};
