/* The solvers dense and strided of activation and activation_backward: the element-wise kernels. */
#include "activation/args.h"
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/activation/internal.h"
#include "ops/common/stores.h"

#include <stddef.h>
#include <string.h>

/* A CPU's work-item is worth its launch from about this many elements on; a GPU's takes one vector.
 */
#define CPU_CHUNK 8192

static int64_t elements_of(const activation_problem *p)
{
    int64_t count = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

static const char *refuses_dense(tenon_context *context, const tn_problem *problem)
{
    const activation_problem *p = (const activation_problem *)problem;
    (void)context;
    bool dense = p->rank == 1;
    for (uint32_t v = 0; v < p->views; v++)
        dense &= p->stride[v][0] == 1;
    return dense ? NULL : "the views are not all contiguous";
}

static const char *refuses_nothing(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

/* Reading and writing at some tens of bytes a nanosecond; a strided element costs several times
 * that. */
static double estimate_dense(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    (void)context;
    (void)values;
    return 5000 + 0.2 * (double)elements_of((const activation_problem *)problem);
}

static double estimate_strided(tenon_context *context, const tn_problem *problem,
                               const int32_t *values)
{
    (void)context;
    (void)values;
    return 5000 + 1.0 * (double)elements_of((const activation_problem *)problem);
}

static void tune_dense(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const activation_problem *p = (const activation_problem *)problem;
    tn_stores_tune(context, tn_stores_bytes(p->dtype, elements_of(p)), &values[0]);
}

static void options_dense(tenon_context *context, const tn_problem *problem, const int32_t *values,
                          char text[TN_OPTIONS_SIZE])
{
    const activation_problem *p = (const activation_problem *)problem;
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%u%s%s",
                     p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                     tn_lanes(context, p->dtype), tn_gpu_option(context), tn_stores_option(values));
}

/* Single elements have no choice of stores. */
static void options_strided(tenon_context *context, const tn_problem *problem,
                            const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    (void)values;
    options_dense(context, problem, NULL, text);
}

/* The kernel of a form, forward with two views or backward with three. */
static tenon_status record(const char *operation, tn_recording *recording,
                           const activation_problem *p, elementwise_args *args, tn_launch launch)
{
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->dtype);
    tn_patch patches[ACTIVATION_VIEWS + 2] = {
        {scalar, TN_SCALAR_ACT_ALPHA, offsetof(elementwise_args, alpha), 1},
        {scalar, TN_SCALAR_ACT_BETA, offsetof(elementwise_args, beta), 1},
    };
    args->elements = elements_of(p);
    args->rank = (tenon_i32)p->rank;
    args->activation = (tenon_i32)p->activation;
    memcpy(args->shape, p->shape, sizeof args->shape);
    memcpy(args->stride, p->stride, sizeof args->stride);
    for (uint32_t v = 0; v < p->views; v++) {
        patches[2 + v] = (tn_patch){
            TN_PATCH_OFFSET, (uint8_t)v,
            (uint16_t)(offsetof(elementwise_args, offset) + v * sizeof(tenon_i64)), size};
        launch.operands[v] = (uint8_t)v;
    }
    launch.source = p->views == ACTIVATION_VIEWS ? "activation/backward" : "activation/forward";
    launch.operand_count = p->views;
    launch.args = args;
    launch.args_size = sizeof *args;
    launch.patches = patches;
    launch.patch_count = 2 + p->views;
    return tn_record(operation, recording, &launch);
}

static tenon_status record_dense(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    const activation_problem *p = (const activation_problem *)problem;
    elementwise_args args = {0};
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {.kernel = p->views == ACTIVATION_VIEWS ? "backward_dense" : "forward_dense",
                        .options = text,
                        .dimensions = 1};
    options_dense(recording->context, problem, values, text);
    args.chunk = recording->context->device.is_cpu ? CPU_CHUNK : tn_gpu_lanes(p->dtype);
    launch.global[0] = (size_t)tn_ceil_div(elements_of(p), args.chunk);
    launch.local[0] = 1;
    if (!recording->context->device.is_cpu)
        tn_gpu_local(&launch);
    return record(operation, recording, p, &args, launch);
}

static tenon_status record_strided(const char *operation, tn_recording *recording,
                                   const tn_problem *problem, const int32_t *values)
{
    const activation_problem *p = (const activation_problem *)problem;
    int64_t inner = p->shape[p->rank - 1];
    elementwise_args args = {0};
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {.kernel =
                            p->views == ACTIVATION_VIEWS ? "backward_strided" : "forward_strided",
                        .options = text,
                        .dimensions = 2};
    options_strided(recording->context, problem, values, text);
    args.chunk = recording->context->device.is_cpu ? tn_min_i64(CPU_CHUNK, inner) : 1;
    launch.global[0] = (size_t)tn_ceil_div(inner, args.chunk);
    launch.global[1] = (size_t)(elements_of(p) / inner);
    /* Where the driver chooses a work-group by the sizes, PoCL compiles for each that is new. */
    launch.local[0] = launch.local[1] = 1;
    if (!recording->context->device.is_cpu)
        tn_gpu_local(&launch);
    return record(operation, recording, p, &args, launch);
}

/* Stores past the caches take place where vectors are aligned. */
static const tn_solver dense = {.name = "dense",
                                .awkward = "dense=1 offset=3; dense=1 offset=64",
                                .parameters = tn_stores_parameter,
                                .parameter_count = 1,
                                .refuses = refuses_dense,
                                .tune = tune_dense,
                                .constrains = tn_stores_constrains,
                                .estimate = estimate_dense,
                                .options = options_dense,
                                .record = record_dense};

static const tn_solver strided = {.name = "strided",
                                  .refuses = refuses_nothing,
                                  .estimate = estimate_strided,
                                  .options = options_strided,
                                  .record = record_strided};

const tn_solver *const tn_activation_solvers[2] = {&dense, &strided};
