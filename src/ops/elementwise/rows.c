/* elementwise/rows and copy/rows: each work-item goes through a piece of some rows. */
#include "base/checked.h"
#include "ops/elementwise/internal.h"

#include <stddef.h>
#include <string.h>

/* A CPU's work-item is worth its launch from about this many elements on; a GPU's takes one vector,
 * or one element where there are none. */
#define CPU_CHUNK 8192
#define GPU_LANES 4
#define GPU_GROUP 64

static int64_t elements_of(const elementwise_problem *p)
{
    int64_t count = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

static bool has_vectors(const elementwise_problem *p)
{
    bool vectors = p->stride[p->operands - 1][p->rank - 1] == 1;
    for (uint32_t i = 0; i < p->operands; i++)
        vectors = vectors && p->stride[i][p->rank - 1] <= 1;
    return vectors;
}

static const char *refuses_nothing(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

/* Reading and writing at some tens of bytes a nanosecond; a strided element costs several times
 * that. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const elementwise_problem *p = (const elementwise_problem *)problem;
    (void)context;
    (void)values;
    return 5000 + (has_vectors(p) ? 0.2 : 1.0) * (double)elements_of(p);
}

static uint32_t lanes(tenon_context *context, uint32_t dtype)
{
    if (!context->device.is_cpu)
        return GPU_LANES;
    uint32_t native = dtype == TENON_DTYPE_F64 ? context->device.vector_width_f64
                                               : context->device.info.vector_width_f32;
    return native < 2 ? 2 : native > 16 ? 16 : native;
}

/* Cuts the index space into the pieces of the work-items. */
static void cut(tenon_context *context, const elementwise_problem *p, elementwise_args *args,
                tn_launch *launch)
{
    int64_t inner = p->shape[p->rank - 1], lanes_at_once = has_vectors(p) ? GPU_LANES : 1;
    bool cpu = context->device.is_cpu;
    args->rows = elements_of(p) / inner;
    args->chunk = cpu ? CPU_CHUNK : lanes_at_once;
    args->pieces = tn_ceil_div(inner, args->chunk);
    args->rows_each = cpu ? tn_max_i64(CPU_CHUNK / inner, 1) : 1;
    args->items = args->pieces * tn_ceil_div(args->rows, args->rows_each);
    args->rank = (tenon_i32)p->rank;
    args->kind = (tenon_i32)p->kind;
    memcpy(args->shape, p->shape, sizeof args->shape);
    memcpy(args->stride, p->stride, sizeof args->stride);
    launch->dimensions = 1;
    launch->local[0] = cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(args->items, (int64_t)launch->local[0]);
    launch->args = args;
    launch->args_size = sizeof *args;
    launch->operand_count = p->operands;
    for (uint32_t i = 0; i < p->operands; i++)
        launch->operands[i] = (uint8_t)i;
}

static tn_patch offset_patch(const elementwise_problem *p, uint32_t operand)
{
    uint32_t dtype = operand + 1 == p->operands ? p->to : p->from;
    return (tn_patch){TN_PATCH_OFFSET, (uint8_t)operand,
                      (uint16_t)(offsetof(elementwise_args, offset) + operand * sizeof(tenon_i64)),
                      (uint32_t)tenon_dtype_size((tenon_dtype)dtype)};
}

static void binary_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                           char text[TN_OPTIONS_SIZE])
{
    const elementwise_problem *p = (const elementwise_problem *)problem;
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->to, lanes(context, p->to));
}

static tenon_status record_binary(const char *operation, tn_recording *recording,
                                  const tn_problem *problem, const int32_t *values)
{
    const elementwise_problem *p = (const elementwise_problem *)problem;
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->to);
    const tn_patch patches[] = {
        offset_patch(p, ELEMENTWISE_A),
        offset_patch(p, ELEMENTWISE_B),
        offset_patch(p, ELEMENTWISE_D),
        {scalar, TN_SCALAR_ALPHA, offsetof(elementwise_args, alpha), 1},
        {scalar, TN_SCALAR_BETA, offsetof(elementwise_args, beta), 1},
    };
    char text[TN_OPTIONS_SIZE];
    elementwise_args args = {.rank = 0};
    tn_launch launch = {.source = "elementwise/binary",
                        .options = text,
                        .kernel = "binary",
                        .patches = patches,
                        .patch_count = sizeof patches / sizeof *patches};
    binary_options(recording->context, problem, values, text);
    cut(recording->context, p, &args, &launch);
    return tn_record(operation, recording, &launch);
}

/* Between elements of one type only their size matters. */
static void copy_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                         char text[TN_OPTIONS_SIZE])
{
    const elementwise_problem *p = (const elementwise_problem *)problem;
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->to);
    (void)values;
    if (p->from == p->to)
        tn_build_options(context, text, "-DTENON_COPY_SIZE=%u -DTENON_VW=%u", size,
                         lanes(context, size == 8 ? TENON_DTYPE_F64 : TENON_DTYPE_F32));
    else
        tn_build_options(context, text, "-DTENON_FROM=%u -DTENON_TO=%u", p->from, p->to);
}

static tenon_status record_copy(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const elementwise_problem *p = (const elementwise_problem *)problem;
    const tn_patch patches[] = {offset_patch(p, COPY_X), offset_patch(p, COPY_Y)};
    char text[TN_OPTIONS_SIZE];
    elementwise_args args = {.rank = 0};
    tn_launch launch = {.source = "elementwise/copy",
                        .options = text,
                        .kernel = "copy",
                        .patches = patches,
                        .patch_count = sizeof patches / sizeof *patches};
    copy_options(recording->context, problem, values, text);
    cut(recording->context, p, &args, &launch);
    return tn_record(operation, recording, &launch);
}

const tn_solver tn_elementwise_rows = {.name = "rows",
                                       .refuses = refuses_nothing,
                                       .estimate = estimate,
                                       .options = binary_options,
                                       .record = record_binary};

const tn_solver tn_copy_rows = {.name = "rows",
                                .refuses = refuses_nothing,
                                .estimate = estimate,
                                .options = copy_options,
                                .record = record_copy};
