/* gemm/skinny and gemm/cpu_skinny: a factor of few rows or columns, and a large one that is read
 * once, where it lies. For GPUs and for CPUs. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/gemm/cpu.h"

/* Rows or columns of the thin factor up to which this is worth choosing. */
#define MOST_THIN 16
/* Columns of a CPU's work-item: neighbouring ones make for long reads along N; by dot products they
 * share blocks of the thin factor. */
#define AXPY_COLS 64
#define DOT_COLS  96
/* What a CPU's inner caches hold. */
#define SMALL_BYTES (4 << 20)
/* Rows of the large factor that are worth the sums' way to memory and back. */
#define LONG_SUM 1024
/* Columns whose sums a CPU's work-item keeps: the more, the longer the reads. */
#define MOST_STRIP  2048
#define LEAST_STRIP 128
#define STRIP_GAP   64 /* more than what lies between two rows of sums */
/* Of a GPU's work-group. */
#define GPU_COLS   8
#define GPU_SHARES 16
/* Steps of K of the thin factor in a GPU's local memory: the kernel's KC. */
#define GPU_DEPTH 128
/* Bytes that a work-group of a GPU brings in a nanosecond: what its loads in flight are, in the
 * time that memory takes to answer. */
#define GPU_GROUP_BYTES 12.0
/* Register tile of a CPU's dot products, in vectors: with 32 registers, and with 16. */
#define WIDE_TILE   24
#define NARROW_TILE 8

enum { SKINNY_MR, SKINNY_NR, SKINNY_PARAMETERS };
static const tn_parameter parameters[SKINNY_PARAMETERS] = {
    [SKINNY_MR] = {"mr", 1, 8}, /* rows of the thin factor at a time */
    [SKINNY_NR] = {"nr", 1, 8}  /* columns of the other at a time, by dot products */
};

/* The problem with its thin factor as a. */
static gemm_problem thin_a(const tn_problem *problem)
{
    gemm_problem p = *(const gemm_problem *)problem;
    if (p.n < p.m)
        tn_gemm_exchange(&p);
    return p;
}

static bool by_dots(const gemm_problem *p)
{
    return tn_gemm_layout(p, GEMM_B) == GEMM_UNIT_ROW;
}

static const char *refuses(const tn_problem *problem)
{
    const gemm_problem p = thin_a(problem);
    if (p.batch_invariant)
        return "how an element is summed follows M";
    if (p.m > MOST_THIN)
        return "both factors have more than 16 rows or columns";
    return tn_gemm_layout(&p, GEMM_B) == GEMM_STRIDED
               ? "the larger factor is contiguous along neither dimension"
               : NULL;
}

static const char *refuses_cpu(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const char *why = tn_gemm_refuses_cpu(context, p);
    if (why == NULL && problem->forced < 0 && (p->m == 1 || p->n == 1))
        why = "a vector is for gemm/gemv_dot, gemv_axpy and gemv_split";
    return why != NULL ? why : refuses(problem);
}

static const char *refuses_gpu(tenon_context *context, const tn_problem *problem)
{
    return context->device.is_cpu && problem->forced < 0 ? "made for GPUs" : refuses(problem);
}

static void tune_cpu(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    int64_t lanes = tn_gemm_lanes(context, p.dtype);
    bool wide = lanes * (int64_t)tn_acc_size(p.dtype) == 64;
    if (values[SKINNY_MR] == 0)
        values[SKINNY_MR] = p.m <= 4 ? 4 : 8;
    if (values[SKINNY_NR] == 0)
        values[SKINNY_NR] =
            (int32_t)tn_max_i64(1, (wide ? WIDE_TILE : NARROW_TILE) / values[SKINNY_MR]);
}

static void tune_gpu(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    (void)context;
    if (values[SKINNY_MR] == 0) /* of f64 eight would not leave 32 KiB of local memory enough */
        values[SKINNY_MR] = p.m == 1 ? 1 : p.m <= 4 || p.dtype == TENON_DTYPE_F64 ? 4 : 8;
    if (values[SKINNY_NR] == 0)
        values[SKINNY_NR] = values[SKINNY_MR] > 4 ? 2 : 4;
}

static const char *constrains_cpu(tenon_context *context, const tn_problem *problem,
                                  const int32_t *values)
{
    (void)context;
    (void)problem;
    return values[SKINNY_MR] * values[SKINNY_NR] > WIDE_TILE
               ? "the tile of mr x nr does not fit the vector registers"
               : NULL;
}

static double elements(const gemm_problem *p)
{
    return (double)p->n * (double)p->k * (double)tn_gemm_batch_count(p);
}

static int64_t tile_cols(tenon_context *context, const gemm_problem *p)
{
    int64_t units = context->device.info.compute_units;
    if (by_dots(p))
        return tn_round_up(tn_ceil_div(p->n, 4 * units), DOT_COLS);
    return tn_round_up(tn_min_i64(MOST_STRIP, tn_ceil_div(p->n, units)), AXPY_COLS);
}

/* Measured on an AVX-512 machine beside gemm/cpu_packed and gemm/cpu_direct: a large factor is read
 * faster than by them, a small one, which stays in the caches, is not. */
static double estimate_cpu(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    bool dots = by_dots(&p);
    double bytes = elements(&p) * (double)tenon_dtype_size((tenon_dtype)p.dtype);
    double passes = (double)tn_ceil_div(p.m, values[SKINNY_MR]);
    double read = bytes * (bytes < (double)context->device.cache_size ? 0.016
                           : dots                                     ? 0.045
                                                                      : 0.035 * passes);
    double lanes = (double)tn_gemm_lanes(context, p.dtype);
    double units = context->device.info.compute_units;
    double groups =
        (double)tn_ceil_div(p.n, tile_cols(context, &p)) * (double)tn_gemm_batch_count(&p);
    double products = passes * values[SKINNY_MR] * elements(&p);
    bool streams = bytes >= (double)SMALL_BYTES && p.k >= LONG_SUM && passes == 1;
    double sum = products / lanes * (dots ? 0.35 : streams ? 0.28 : 0.45);
    double pack = dots && p.matrix[GEMM_A].col != 1 ? products / DOT_COLS : 0;
    sum /= groups < units ? groups : units;
    return CPU_LAUNCH_TIME + (sum > read ? sum : read) + pack / units;
}

/* Elements that a work-item of a GPU reads at once: 16 bytes, or with several rows four at most,
 * for which there are registers. */
static int32_t gpu_vector(const gemm_problem *p, const int32_t *values)
{
    int32_t most = (int32_t)(16 / tenon_dtype_size((tenon_dtype)p->dtype));
    return values[SKINNY_MR] > 1 && most > 4 ? 4 : most;
}

static const char *constrains_gpu(tenon_context *context, const tn_problem *problem,
                                  const int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    uint64_t items = (uint64_t)GPU_COLS * GPU_SHARES, rows = (uint64_t)values[SKINNY_MR];
    uint64_t sums = by_dots(&p) ? (uint64_t)values[SKINNY_NR] * (items + 1)
                                : (uint64_t)gpu_vector(&p, values) * items + GPU_DEPTH;
    if (items > context->device.info.max_work_group)
        return "the work-group is larger than the device allows";
    return rows * sums * tn_acc_size(p.dtype) > context->device.info.local_memory
               ? "the sums do not fit the local memory"
               : NULL;
}

static int64_t gpu_columns(const gemm_problem *p, const int32_t *values)
{
    return by_dots(p) ? values[SKINNY_NR] : (int64_t)GPU_COLS * gpu_vector(p, values);
}

/* Memory that is read once for each pass, by as many work-groups as there are. */
static double estimate_gpu(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    double groups =
        (double)tn_ceil_div(p.n, gpu_columns(&p, values)) * (double)tn_gemm_batch_count(&p);
    double passes = (double)tn_ceil_div(p.m, values[SKINNY_MR]);
    double bytes = passes * elements(&p) * (double)tenon_dtype_size((tenon_dtype)p.dtype);
    double units = context->device.info.compute_units, most = tn_gpu_bytes(context);
    double speed = groups * GPU_GROUP_BYTES < most ? groups * GPU_GROUP_BYTES : most;
    double sum = 4 * passes * values[SKINNY_MR] * elements(&p) / tn_gpu_multiply_adds(context) /
                 (groups < units ? groups : units);
    return 5000 + (sum > bytes / speed ? sum : bytes / speed);
}

static int strip_of(tenon_context *context, const gemm_problem *p)
{
    int strip = MOST_STRIP;
    while (strip > LEAST_STRIP &&
           parameters[SKINNY_MR].high * (strip + STRIP_GAP) * (int64_t)tn_acc_size(p->dtype) >
               (int64_t)context->device.info.local_memory)
        strip /= 2;
    return strip;
}

static void options_cpu(tenon_context *context, const tn_problem *problem, const int32_t *values,
                        char text[TN_OPTIONS_SIZE])
{
    const gemm_problem p = thin_a(problem);
    tn_build_options(context, text,
                     GEMM_OPTIONS_FORMAT
                     " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NR=%d -DTENON_STRIP=%d -DTENON_KC=%d",
                     GEMM_OPTIONS_VALUES(&p), (int)tn_gemm_lanes(context, p.dtype),
                     values[SKINNY_MR], values[SKINNY_NR], strip_of(context, &p),
                     strip_of(context, &p) / 2);
}

static void options_gpu(tenon_context *context, const tn_problem *problem, const int32_t *values,
                        char text[TN_OPTIONS_SIZE])
{
    const gemm_problem p = thin_a(problem);
    tn_build_options(context, text,
                     GEMM_OPTIONS_FORMAT
                     " -DTENON_MR=%d -DTENON_NR=%d -DTENON_COLS=%d -DTENON_SHARES=%d -DTENON_VL=%d",
                     GEMM_OPTIONS_VALUES(&p), values[SKINNY_MR], values[SKINNY_NR], GPU_COLS,
                     GPU_SHARES, gpu_vector(&p, values));
}

static tenon_status record_cpu(const char *operation, tn_recording *recording,
                               const tn_problem *problem, const int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    int64_t cols = tn_min_i64(tile_cols(recording->context, &p), INT32_MAX);
    options_cpu(recording->context, problem, values, text);
    tn_gemm_arguments(&p, &arguments);
    arguments.args.tile_cols = (tenon_i32)cols;
    tn_launch launch = {.source = "gemm/cpu_skinny",
                        .options = text,
                        .kernel = by_dots(&p) ? "gemm_cpu_skinny_dot" : "gemm_cpu_skinny_axpy",
                        .global = {(size_t)tn_ceil_div(p.n, cols), 1},
                        .local = {1, 1, 1}};
    return tn_gemm_record_launch(operation, recording, &p, &arguments, &launch);
}

static tenon_status record_gpu(const char *operation, tn_recording *recording,
                               const tn_problem *problem, const int32_t *values)
{
    const gemm_problem p = thin_a(problem);
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    bool dots = by_dots(&p);
    options_gpu(recording->context, problem, values, text);
    tn_gemm_arguments(&p, &arguments);
    tn_launch launch = {.source = "gemm/skinny",
                        .options = text,
                        .kernel = dots ? "gemm_skinny_dot" : "gemm_skinny_axpy",
                        .local = {dots ? GPU_COLS * GPU_SHARES : GPU_COLS, dots ? 1 : GPU_SHARES}};
    launch.global[0] = (size_t)tn_ceil_div(p.n, gpu_columns(&p, values)) * launch.local[0];
    launch.global[1] = launch.local[1];
    return tn_gemm_record_launch(operation, recording, &p, &arguments, &launch);
}

const tn_solver tn_gemm_cpu_skinny = {.name = "cpu_skinny",
                                      .awkward = "thin=13",
                                      .parameters = parameters,
                                      .parameter_count = SKINNY_PARAMETERS,
                                      .refuses = refuses_cpu,
                                      .tune = tune_cpu,
                                      .constrains = constrains_cpu,
                                      .estimate = estimate_cpu,
                                      .options = options_cpu,
                                      .record = record_cpu};

const tn_solver tn_gemm_skinny = {.name = "skinny",
                                  .awkward = "thin=13",
                                  .parameters = parameters,
                                  .parameter_count = SKINNY_PARAMETERS,
                                  .refuses = refuses_gpu,
                                  .tune = tune_gpu,
                                  .constrains = constrains_gpu,
                                  .estimate = estimate_gpu,
                                  .options = options_gpu,
                                  .record = record_gpu};
