/* The element-wise solvers dense and strided of activation and activation_backward. */
#include "activation/args.h"
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/activation/internal.h"

#include <stddef.h>
#include <string.h>

/* Least elements per work-item of a CPU, to be worth its launch. A GPU's work-item has the vectors
 * of its share. */
#define CPU_CHUNK 8192

static void activation_elementwise_set_options(tenon_context *context,
                                               const tn_pointwise_problem *p, tn_choice *choice)
{
    char gpu[TN_GPU_OPTIONS];
    const int32_t vectors = tn_stream_vectors(context, p->to, p->operands - 1);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%u%s%s",
                      p->to, tn_activation_is_build(p->kind) ? p->kind : 0u,
                      tn_stream_lanes(context, p->to), tn_stream_option(context, vectors, gpu),
                      tn_stores_option(choice->values));
}

static const char *configure_dense(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const int64_t elements = tn_pointwise_elements(p);
    bool dense = p->rank == 1;
    for (uint32_t v = 0; v < p->operands; v++)
        dense &= p->stride[v][0] == 1;
    if (!dense)
        return "the views are not all contiguous";
    tn_stores_configure(context, tn_stores_bytes(p->to, elements), choice);
    const tn_work work = tn_pointwise_work(p, tn_pointwise_has_vectors(p));
    tn_choice_add(context, choice, &work);
    activation_elementwise_set_options(context, p, choice);
    return NULL;
}

/* Single elements are always stored through the cache, and cost several times those of vectors. */
static const char *configure_strided(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const tn_work work = tn_pointwise_work(p, false);
    tn_choice_add(context, choice, &work);
    activation_elementwise_set_options(context, p, choice);
    return NULL;
}

/* Records a forward kernel, with two views, or a backward kernel, with three. */
static tenon_status activation_elementwise_record(const char *caller, tn_recording *recording,
                                                  const tn_pointwise_problem *p,
                                                  elementwise_args *args, tn_launch launch)
{
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->to);
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->to);
    tn_patch patches[ACTIVATION_VIEWS + 2] = {
        {scalar, TN_SCALAR_ACT_ALPHA, offsetof(elementwise_args, alpha), 1},
        {scalar, TN_SCALAR_ACT_BETA, offsetof(elementwise_args, beta), 1},
    };
    args->elements = tn_pointwise_elements(p);
    args->rank = (tenon_i32)p->rank;
    args->activation = (tenon_i32)p->kind;
    memcpy(args->shape, p->shape, sizeof args->shape);
    memcpy(args->stride, p->stride, sizeof args->stride);
    for (uint32_t v = 0; v < p->operands; v++) {
        patches[2 + v] = (tn_patch){
            TN_PATCH_OFFSET, (uint8_t)v,
            (uint16_t)(offsetof(elementwise_args, offset) + v * sizeof(tenon_i64)), size};
        launch.operands[v] = (uint8_t)v;
    }
    launch.source = p->operands == ACTIVATION_VIEWS ? "activation/backward" : "activation/forward";
    launch.operand_count = p->operands;
    launch.args = args;
    launch.args_size = sizeof *args;
    launch.patches = patches;
    launch.patch_count = 2 + p->operands;
    if (!recording->context->device.is_cpu)
        tn_gpu_local(recording->context, &launch);
    return tn_record(caller, recording, &launch);
}

static tenon_status launch_dense(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const int64_t elements = tn_pointwise_elements(p);
    elementwise_args args = {.chunk = CPU_CHUNK, .parts = 1};
    if (!recording->context->device.is_cpu) {
        const tn_stream_share share = tn_pointwise_share(recording->context, p, 1);
        const tn_stream_pieces cut = tn_stream_cut(recording->context, elements, 1, share);
        args.chunk = cut.chunk;
        args.parts = cut.parts;
        args.unit = (tenon_i32)share.unit;
    }
    const tn_launch dense = {.kernel = p->operands == ACTIVATION_VIEWS ? "backward_dense"
                                                                       : "forward_dense",
                             .options = choice->options,
                             .dimensions = 1,
                             .global = {(size_t)(tn_ceil_div(elements, args.chunk) * args.parts)},
                             .local = {1}};
    return activation_elementwise_record(caller, recording, p, &args, dense);
}

static tenon_status launch_strided(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const int64_t inner = p->shape[p->rank - 1];
    elementwise_args args = {
        .chunk = recording->context->device.is_cpu ? tn_min_i64(CPU_CHUNK, inner) : 1};
    /* An explicit group size: PoCL compiles a kernel for each size that the driver selects. */
    const tn_launch strided = {.kernel = p->operands == ACTIVATION_VIEWS ? "backward_strided"
                                                                         : "forward_strided",
                               .options = choice->options,
                               .dimensions = 2,
                               .global = {(size_t)tn_ceil_div(inner, args.chunk),
                                          (size_t)(tn_pointwise_elements(p) / inner)},
                               .local = {1, 1}};
    return activation_elementwise_record(caller, recording, p, &args, strided);
}

/* Vectors must be aligned for non-temporal stores, hence the second case. */
static const tn_solver dense = {.name = "dense",
                                .serves = "contiguous tensors with the same order of dimensions",
                                .awkward = "dense=1 offset=3; dense=1 offset=64",
                                TN_PARAMETERS(tn_stores_parameter, 1),
                                .configure = configure_dense,
                                .launch = launch_dense};

static const tn_solver strided = {.name = "strided",
                                  .serves = "any strides",
                                  .configure = configure_strided,
                                  .launch = launch_strided};

const tn_solver *const tn_activation_solvers[2] = {&dense, &strided};
