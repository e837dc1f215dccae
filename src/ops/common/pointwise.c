#include "ops/common/pointwise.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/walk.h"
#include "ops/common/gpu.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static tenon_status make_space(const tn_call *call, tn_space *space)
{
    const tn_argument *arguments = call->operands;
    const uint32_t count = call->operand_count;
    const tenon_tensor *output = arguments[count - 1].view;
    *space = (tn_space){.rank = output->rank, .views = count};
    memcpy(space->shape, output->shape, sizeof space->shape);
    for (uint32_t i = 0; i < count; i++)
        if (arguments[i].view != NULL)
            TN_TRY(tn_broadcast(call->caller, arguments[i].name, arguments[i].view, output->rank,
                                output->shape, space->stride[i]));
    tn_space_sort(space, count - 1);
    tn_space_collapse(space);
    if (space->rank == 0) { /* a single element */
        space->rank = 1;
        space->shape[0] = 1;
        for (uint32_t i = 0; i < count; i++)
            space->stride[i][0] = 1;
    }
    return TENON_OK;
}

tenon_status tn_pointwise_canonicalize(const tn_call *call, uint32_t outputs, size_t size,
                                       tn_problem *wanted)
{
    tn_space space;
    tn_pointwise_problem *problem = (tn_pointwise_problem *)wanted;
    TN_TRY(make_space(call, &space));
    tn_problem_begin(&problem->head, size);
    problem->from = call->operands[0].view->dtype;
    problem->to = call->operands[call->operand_count - 1].view->dtype;
    problem->operands = call->operand_count;
    problem->outputs = outputs;
    problem->rank = space.rank;
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const tenon_tensor *view = call->operands[i].view;
        problem->element_size[i] =
            (uint32_t)tenon_dtype_size(view != NULL ? view->dtype : (tenon_dtype)problem->from);
    }
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
    return TENON_OK;
}

tenon_status tn_same_shape_check(const char *caller, const tn_argument *argument,
                                 const tn_argument *like)
{
    char text[160], wanted[160];
    const tenon_tensor *view = argument->view, *first = like->view;
    if (tn_tensor_same_shape(view, first))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be that of %s, %s",
                   caller, argument->name, tn_shape_text(view->rank, view->shape, text), like->name,
                   tn_shape_text(first->rank, first->shape, wanted));
}

tenon_status tn_alike_check(const tn_call *call, bool shape)
{
    const tn_argument *first = &call->operands[0];
    for (uint32_t i = 1; i < call->operand_count; i++) {
        const tn_argument *argument = &call->operands[i];
        if (argument->view == NULL)
            continue;
        TN_TRY(tn_same_dtype_check(call->caller, argument->name, argument->view, first->name,
                                   (tenon_dtype)first->view->dtype));
        if (shape)
            TN_TRY(tn_same_shape_check(call->caller, argument, first));
    }
    return TENON_OK;
}

int64_t tn_pointwise_elements(const tn_pointwise_problem *p)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

/* Inputs may also repeat one element along the last dimension. */
bool tn_pointwise_has_vectors(const tn_pointwise_problem *p)
{
    bool vectors = true;
    for (uint32_t i = 0; i < p->operands; i++) {
        int64_t stride = p->stride[i][p->rank - 1];
        vectors = vectors && (stride == 1 || (stride == 0 && i < p->operands - p->outputs));
    }
    return vectors;
}

static int32_t vectors_of(const tenon_context *context, const tn_pointwise_problem *p)
{
    return tn_stream_vectors(context, p->to, p->operands - p->outputs);
}

tn_stream_share tn_pointwise_share(const tenon_context *context, const tn_pointwise_problem *p,
                                   int64_t otherwise)
{
    const int64_t lanes = tn_stream_lanes(context, p->to);
    if (!tn_pointwise_has_vectors(p))
        return (tn_stream_share){tn_min_i64(otherwise, lanes), 1};
    return (tn_stream_share){lanes, vectors_of(context, p)};
}

uint64_t tn_pointwise_paths(const tn_problem *problem)
{
    return UINT64_C(1) << ((const tn_pointwise_problem *)problem)->kind;
}

tn_work tn_pointwise_work(const tn_pointwise_problem *p, bool vectors)
{
    const double elements = (double)tn_pointwise_elements(p);
    return (tn_work){.launches = 1,
                     .rate = tn_sum_rate(p->to),
                     .vector_elements = vectors ? 2 * elements : 0,
                     .single_elements = vectors ? 0 : elements,
                     .bytes = elements * p->operands * (double)tenon_dtype_size((tenon_dtype)p->to),
                     .reads = vectors ? TN_COALESCED : TN_SHORT_ROWS};
}

void tn_pointwise_configure(tenon_context *context, const tn_pointwise_problem *p, const char *more,
                            tn_choice *choice)
{
    const int64_t written = tn_pointwise_elements(p) * (int64_t)p->outputs;
    tn_stores_configure(context, tn_pointwise_has_vectors(p) ? tn_stores_bytes(p->to, written) : 0,
                        choice);
    const tn_work work = tn_pointwise_work(p, tn_pointwise_has_vectors(p));
    tn_choice_add(context, choice, &work);
    char gpu[TN_GPU_OPTIONS];
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s%s", p->to,
                      tn_stream_lanes(context, p->to),
                      tn_stream_option(context, vectors_of(context, p), gpu), more,
                      tn_stores_option(choice->values));
}

int64_t tn_pointwise_copy_bytes(const tn_pointwise_problem *problem)
{
    return tn_pointwise_elements(problem) * (int64_t)tenon_dtype_size((tenon_dtype)problem->to);
}

/* On CPUs 16 lanes if no element has more than two bytes. */
static uint32_t stored_lanes(const tenon_context *context, const tn_pointwise_problem *p)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->operands; i++)
        most = p->element_size[i] > most ? p->element_size[i] : most;
    return !context->device.is_cpu ? 4 : most <= 2 ? 16 : tn_lanes(context, TENON_DTYPE_F32);
}

tn_stream_share tn_stored_share(const tenon_context *context, const tn_pointwise_problem *p)
{
    return (tn_stream_share){tn_pointwise_has_vectors(p) ? stored_lanes(context, p) : 1, 1};
}

void tn_stored_configure(tenon_context *context, const tn_pointwise_problem *p, const char *more,
                         tn_choice *choice)
{
    tn_work work = tn_pointwise_work(p, tn_pointwise_has_vectors(p));
    double bytes = 0;
    for (uint32_t i = 0; i < p->operands; i++)
        bytes += p->element_size[i];
    work.bytes = (double)tn_pointwise_elements(p) * bytes;
    tn_stores_configure(context, tn_pointwise_has_vectors(p) ? tn_pointwise_copy_bytes(p) : 0,
                        choice);
    tn_choice_add(context, choice, &work);
    char gpu[TN_GPU_OPTIONS];
    tn_choice_options(context, choice, "-DTENON_VW=%u%s%s%s", stored_lanes(context, p),
                      tn_stream_option(context, 1, gpu), more, tn_stores_option(choice->values));
}

const char *tn_integers_configure(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    char options[64];
    if (!tn_dtype_is_integer((tenon_dtype)p->to))
        return "the type is not an integer type";
    snprintf(options, sizeof options, " -DTENON_A_DTYPE=%u", p->to);
    tn_stored_configure(context, p, options, choice);
    return NULL;
}

tenon_status tn_pointwise_record(const char *caller, tn_recording *recording,
                                 const tn_pointwise_problem *problem, tn_launch launch,
                                 walk_args *args, tn_stream_share share)
{
    tn_patch patches[TENON_WALK_OPERANDS + TN_MAX_SCALARS];
    args->rank = (tenon_i32)problem->rank;
    memcpy(args->shape, problem->shape, sizeof args->shape);
    memcpy(args->stride, problem->stride, sizeof args->stride);
    tn_walk_cut(recording->context, share, args, &launch);
    for (uint32_t i = 0; i < problem->operands; i++) {
        patches[i] = (tn_patch){TN_PATCH_OFFSET, (uint8_t)i,
                                (uint16_t)(offsetof(walk_args, offset) + i * sizeof(tenon_i64)),
                                problem->element_size[i]};
        launch.operands[i] = (uint8_t)i;
    }
    if (launch.patch_count > 0)
        memcpy(patches + problem->operands, launch.patches, launch.patch_count * sizeof *patches);
    launch.operand_count = problem->operands;
    launch.patches = patches;
    launch.patch_count += problem->operands;
    launch.args = args;
    return tn_record(caller, recording, &launch);
}
