/* gemm/gemv_dot, gemv_axpy and gemv_split: a matrix times a vector. (The canonical problem makes
 * every vector a column.) */
#include "base/checked.h"
#include "ops/gemm/cpu.h"

/* Rows of a work-group: by dot products enough to share a block of the vector; by scaled columns a
 * long strip, since a short one makes the reads of a column short. */
#define DOT_ROWS        64
#define AXPY_LEAST_ROWS 256
/* Pieces of K, each with sums of its own; in multiples of the columns that the kernel adds at once.
 */
#define SPLITS      12
#define SPLIT_CHUNK 4
#define SPLIT_LEAST 256

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const char *why = tn_gemm_refuses_cpu(context, p);
    if (why != NULL)
        return why;
    if (p->n != 1)
        return "neither factor is a vector";
    return p->batch_invariant ? "bits that do not depend on M are gemm/cpu_packed's" : NULL;
}

static const char *refuses_dot(tenon_context *context, const tn_problem *problem)
{
    const char *why = refuses(context, problem);
    if (why != NULL)
        return why;
    return tn_gemm_layout((const gemm_problem *)problem, GEMM_A) == GEMM_UNIT_COL
               ? NULL
               : "the matrix is not contiguous along K";
}

static const char *refuses_axpy(tenon_context *context, const tn_problem *problem)
{
    const char *why = refuses(context, problem);
    if (why != NULL)
        return why;
    return tn_gemm_layout((const gemm_problem *)problem, GEMM_A) == GEMM_UNIT_ROW
               ? NULL
               : "the matrix is not contiguous along M";
}

static const char *refuses_split(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const char *why = refuses_axpy(context, problem);
    if (why != NULL)
        return why;
    if (p->batch_rank > 2)
        return "the batch has more than two dimensions";
    return p->k < SPLIT_LEAST ? "k is too short to split" : NULL;
}

/* The matrix is read once: from memory, or from the cache where it may still be. */
static double read_time(tenon_context *context, const gemm_problem *p)
{
    double bytes = (double)p->m * (double)p->k * (double)tn_gemm_batch_count(p) *
                   (double)tenon_dtype_size((tenon_dtype)p->dtype);
    bool from_memory = bytes > (double)context->device.cache_size;
    return CPU_LAUNCH_TIME + bytes * (from_memory ? 0.045 : 0.02);
}

/* Fewer work-groups than compute units leave some idle. */
static double idle_factor(tenon_context *context, const gemm_problem *p, int64_t rows)
{
    double units = context->device.info.compute_units;
    double groups = (double)tn_ceil_div(p->m, rows) * (double)tn_gemm_batch_count(p);
    return groups < units ? units / groups : 1;
}

static double estimate_dot(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)values;
    return read_time(context, p) * idle_factor(context, p, DOT_ROWS);
}

static double estimate_axpy(tenon_context *context, const tn_problem *problem,
                            const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)values;
    /* The strips of a column are short, and so are the reads. */
    return 1.2 * read_time(context, p) * idle_factor(context, p, AXPY_LEAST_ROWS);
}

static double estimate_split(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)values;
    double sums = (double)p->m * SPLITS * (double)tn_gemm_batch_count(p);
    return read_time(context, p) + 3000 + sums * 0.5 / context->device.info.compute_units;
}

static uint64_t workspace_split(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)context;
    (void)values;
    return (uint64_t)(p->m * SPLITS * tn_gemm_batch_count(p)) * tn_acc_size(p->dtype);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)values;
    tn_build_options(context, text, GEMM_OPTIONS_FORMAT " -DTENON_VW=%d", GEMM_OPTIONS_VALUES(p),
                     (int)tn_gemm_lanes(context, p->dtype));
}

static tenon_status record_kernel(const char *operation, tn_recording *recording,
                                  const gemm_problem *p, const char *kernel, int64_t splits,
                                  int64_t rows)
{
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    options(recording->context, &p->head, NULL, text);
    tn_gemm_arguments(p, &arguments);
    arguments.args.tile_rows = (tenon_i32)tn_min_i64(rows, INT32_MAX);
    arguments.args.k_splits = SPLITS;
    arguments.args.k_chunk = tn_round_up(tn_ceil_div(p->k, SPLITS), SPLIT_CHUNK);
    tn_launch launch = {
        .source = "gemm/gemv",
        .options = text,
        .kernel = kernel,
        .global = {(size_t)splits, (size_t)tn_ceil_div(p->m, arguments.args.tile_rows)},
        .local = {1, 1, 1}};
    return tn_gemm_record_launch(operation, recording, p, &arguments, &launch);
}

static int64_t axpy_rows(tenon_context *context, const gemm_problem *p)
{
    return tn_max_i64(AXPY_LEAST_ROWS, tn_ceil_div(p->m, context->device.info.compute_units));
}

static tenon_status record_dot(const char *operation, tn_recording *recording,
                               const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return record_kernel(operation, recording, (const gemm_problem *)problem, "gemv_dot", 1,
                         DOT_ROWS);
}

static tenon_status record_axpy(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)values;
    return record_kernel(operation, recording, p, "gemv_axpy", 1, axpy_rows(recording->context, p));
}

static tenon_status record_split(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    gemm_problem partial = *(const gemm_problem *)problem, reduce = partial;
    (void)values;
    /* The workspace takes the place of the output in the first launch, and of the matrix in the
     * second. */
    partial.matrix[GEMM_D].operand = reduce.matrix[GEMM_A].operand = TN_WORKSPACE;
    partial.matrix[GEMM_D].shift = reduce.matrix[GEMM_A].shift = 0;
    partial.sums = 1U << GEMM_D;
    reduce.sums = 1U << GEMM_A;
    TN_TRY(record_kernel(operation, recording, &partial, "gemv_axpy_partial", SPLITS, partial.m));
    return record_kernel(operation, recording, &reduce, "gemv_reduce", 1,
                         axpy_rows(recording->context, &reduce));
}

const tn_solver tn_gemm_gemv_dot = {.name = "gemv_dot",
                                    .awkward = "m=701 n=1",
                                    .refuses = refuses_dot,
                                    .estimate = estimate_dot,
                                    .options = options,
                                    .record = record_dot};

const tn_solver tn_gemm_gemv_axpy = {.name = "gemv_axpy",
                                     .awkward = "m=701 n=1",
                                     .refuses = refuses_axpy,
                                     .estimate = estimate_axpy,
                                     .options = options,
                                     .record = record_axpy};

const tn_solver tn_gemm_gemv_split = {.name = "gemv_split",
                                      .awkward = "m=701 n=1",
                                      .refuses = refuses_split,
                                      .workspace = workspace_split,
                                      .estimate = estimate_split,
                                      .options = options,
                                      .record = record_split};
