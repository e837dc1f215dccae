/* gemm/skinny and gemm/cpu_skinny: a factor with few rows or columns times a large one that is
 * read once and in place. For GPUs and for CPUs. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/tiled.h"
#include "runtime/probe/local_memory.h"

/* Maximum rows or columns of the thin factor for which these solvers are worthwhile. */
#define MOST_THIN 16
/* Columns per work-item on a CPU. Neighboring columns make long contiguous reads along N; with
 * dot products they share blocks of the thin factor. */
#define AXPY_COLS 64
#define DOT_COLS  96
#define LEAST_DOT 24 /* copying a block of the thin factor takes a twelfth of the time then */
#define DOT_STEP  6  /* a multiple of the columns at a time */
/* Bytes up to which a factor is assumed to stay in a CPU's inner caches. */
#define SMALL_BYTES (4 << 20)
/* Minimum rows of the large factor for which storing and reloading the sums pays off. */
#define LONG_SUM 1024
/* Columns whose sums a CPU work-item keeps: more columns make longer contiguous reads. */
#define MOST_STRIP  2048
#define LEAST_STRIP 128
#define STRIP_GAP   64 /* upper bound of the padding between two rows of sums */
/* Sizes of a GPU work-group. */
#define GPU_COLS   8
#define GPU_SHARES 16
/* Work-items in the cost model that have as many loads in flight as one work-group of this kernel.
 */
#define GPU_GROUP_ITEMS 256
/* Register tiles of a CPU in vectors, with 32 registers and with 16: of dot products, and of
 * strips.
 */
#define WIDE_TILE    24
#define NARROW_TILE  8
#define WIDE_STRIP   16
#define NARROW_STRIP 8

enum { SKINNY_MR, SKINNY_NR, SKINNY_PARAMETERS };
static const tn_parameter parameters[SKINNY_PARAMETERS] = {
    [SKINNY_MR] = {"mr", 1, 8}, /* rows of the thin factor per pass */
    [SKINNY_NR] = {"nr", 1, 8}  /* columns of the large factor at a time, with dot products */
};

/* Returns the problem with the thin factor as a. */
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

static const char *gemm_skinny_refuses(const gemm_problem *p)
{
    if (p->batch_invariant)
        return "the call is batch-invariant, and the order of the sums depends on M";
    if (p->m > MOST_THIN)
        return "both factors have more than 16 rows or columns";
    return tn_gemm_layout(p, GEMM_B) == GEMM_STRIDED
               ? "the larger factor is contiguous along neither dimension"
               : NULL;
}

static void tune_cpu(tenon_context *context, const gemm_problem *p, int32_t *values)
{
    const bool many = tn_gemm_has_many_registers(context);
    if (values[SKINNY_MR] == 0)
        values[SKINNY_MR] = p->m <= 4 ? 4 : 8;
    if (values[SKINNY_NR] == 0)
        values[SKINNY_NR] =
            (int32_t)tn_max_i64(1, (many ? WIDE_TILE : NARROW_TILE) / values[SKINNY_MR]);
}

static void tune_gpu(const gemm_problem *p, int32_t *values)
{
    if (values[SKINNY_MR] == 0) /* eight rows of f64 would not leave enough of 32 KiB of local
                                 * memory */
        values[SKINNY_MR] = p->m == 1 ? 1 : p->m <= 4 || p->dtype == TENON_DTYPE_F64 ? 4 : 8;
    if (values[SKINNY_NR] == 0)
        values[SKINNY_NR] = values[SKINNY_MR] > 4 ? 2 : 4;
}

static double elements(const gemm_problem *p)
{
    return (double)p->n * (double)p->k * (double)tn_gemm_batch_count(p);
}

static int64_t tile_cols(tenon_context *context, const gemm_problem *p)
{
    int64_t units = context->device.info.compute_units;
    if (by_dots(p))
        return tn_round_up(tn_max_i64(LEAST_DOT, tn_ceil_div(p->n, 4 * units)), DOT_STEP);
    /* The same number of tiles for every core. */
    const int64_t tiles = units * tn_ceil_div(p->n, units * MOST_STRIP);
    return tn_round_up(tn_ceil_div(p->n, tn_max_i64(1, tiles)), AXPY_COLS);
}

/* Single elements that take as long as adding up the lanes of a dot product: 4 ns on an AVX-512
 * machine. */
#define LANES_SUM 5

/* Returns the work. Measured on AVX-512 machines against gemm/cpu_packed and gemm/cpu_direct: this
 * solver reads a large factor faster, but not a small one that stays in the caches. Dot products of
 * many rows process few columns at a time, so their sums are limited by the latency of
 * multiply-adds and of memory; those of a short k, by adding up the lanes. */
static tn_work work_cpu(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    const bool dots = by_dots(p), many_dots = dots && values[SKINNY_MR] > 4;
    const double passes = (double)tn_ceil_div(p->m, values[SKINNY_MR]);
    const uint64_t size = tenon_dtype_size((tenon_dtype)p->dtype);
    const double bytes = elements(p) * (double)size;
    const double products = passes * values[SKINNY_MR] * elements(p);
    const double results = dots ? (double)p->m * (double)p->n * (double)tn_gemm_batch_count(p) : 0;
    const double strided = dots && p->matrix[GEMM_A].col != 1 ? products / DOT_COLS : 0;
    const bool streams = bytes >= (double)SMALL_BYTES && p->k >= LONG_SUM && passes == 1;
    return (tn_work){
        .launches = 1,
        .blocks = true,
        .groups = (double)tn_ceil_div(p->n, tile_cols(context, p)) * (double)tn_gemm_batch_count(p),
        .rate = tn_sum_rate(p->dtype),
        .multiply_adds = products,
        .efficiency = many_dots ? 0.55
                      : dots    ? 0.9
                      : streams ? 1.1
                                : 0.7,
        .vector_elements = tn_gemm_converts(p) ? GEMM_CONVERSION * passes * elements(p) : 0,
        .single_elements = strided + LANES_SUM * results,
        .bytes = bytes * (dots ? 1 : passes),
        .reach = dots ? 1 : 1.28};
}

/* Returns the elements that a GPU work-item loads at once: 16 bytes. With several rows the limit
 * is four elements, because of the registers. */
static int32_t gpu_vector(const gemm_problem *p, const int32_t *values)
{
    int32_t most = (int32_t)(16 / tenon_dtype_size((tenon_dtype)p->dtype));
    return values[SKINNY_MR] > 1 && most > 4 ? 4 : most;
}

static const char *constrains_gpu(tenon_context *context, const gemm_problem *p,
                                  const int32_t *values)
{
    uint64_t items = (uint64_t)GPU_COLS * GPU_SHARES, rows = (uint64_t)values[SKINNY_MR];
    uint64_t sums = by_dots(p) ? (uint64_t)values[SKINNY_NR] * (items + 1)
                               : (uint64_t)gpu_vector(p, values) * items + GEMM_SKINNY_DEPTH;
    if (items > context->device.info.max_work_group)
        return "the work-group is larger than the device allows";
    return tn_local_array_fits(context, rows * sums * tn_acc_size(p->dtype))
               ? NULL
               : "the sums do not fit the local memory";
}

static int64_t gpu_columns(const gemm_problem *p, const int32_t *values)
{
    return by_dots(p) ? values[SKINNY_NR] : (int64_t)GPU_COLS * gpu_vector(p, values);
}

/* Returns the work. The large factor is read once per pass, by all work-groups. */
static tn_work work_gpu(const gemm_problem *p, const int32_t *values)
{
    const double groups =
        (double)tn_ceil_div(p->n, gpu_columns(p, values)) * (double)tn_gemm_batch_count(p);
    const double passes = (double)tn_ceil_div(p->m, values[SKINNY_MR]);
    return (tn_work){.launches = 1,
                     .items = groups * GPU_GROUP_ITEMS,
                     .instructions = 4 * passes * values[SKINNY_MR] * elements(p),
                     .bytes =
                         passes * elements(p) * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
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

/* Returns the vectors of a strip that a CPU processes at a time. */
static int strip_vectors(tenon_context *context, const int32_t *values)
{
    const int32_t most = tn_gemm_has_many_registers(context) ? WIDE_STRIP : NARROW_STRIP;
    return (int)tn_min_i64(4, tn_max_i64(1, most / values[SKINNY_MR]));
}

static const char *configure_cpu(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const gemm_problem p = thin_a(problem);
    int32_t *values = choice->values;
    const char *why = gemm_skinny_refuses(&p);
    if (why == NULL && tn_gemm_rounds_sums(&p) && p.n > 1 && p.matrix[GEMM_D].col != 1)
        why = "the sums of 16-bit factors are stored by rows"; /* store_sums of epilogue.clh */
    if (why != NULL)
        return why;
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    if (choice->never_chosen == NULL && p.m == 1)
        choice->never_chosen = "gemm/gemv_dot, gemv_axpy and gemv_split are faster for a vector";
    tune_cpu(context, &p, values);
    if (values[SKINNY_MR] * values[SKINNY_NR] > WIDE_TILE)
        choice->misfit = "the tile of mr x nr does not fit the vector registers";
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = work_cpu(context, &p, values);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      GEMM_OPTIONS_FORMAT
                      " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NR=%d -DTENON_NV=%d -DTENON_STRIP=%d "
                      "-DTENON_KC=%d -DTENON_BUILTIN_PREFETCH=%d",
                      GEMM_OPTIONS_VALUES(&p), (int)tn_gemm_lanes(context, p.dtype),
                      values[SKINNY_MR], values[SKINNY_NR], strip_vectors(context, values),
                      strip_of(context, &p), strip_of(context, &p) / 4,
                      context->device.has_builtin_prefetch);
    return NULL;
}

static const char *configure_gpu(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const gemm_problem p = thin_a(problem);
    int32_t *values = choice->values;
    const char *why = gemm_skinny_refuses(&p);
    if (why != NULL)
        return why;
    choice->never_chosen = tn_gemm_made_for_gpus(context);
    tune_gpu(&p, values);
    choice->misfit = constrains_gpu(context, &p, values);
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = work_gpu(&p, values);
    tn_choice_add(context, choice, &work);
    tn_choice_options(
        context, choice,
        GEMM_OPTIONS_FORMAT
        " -DTENON_MR=%d -DTENON_NR=%d -DTENON_COLS=%d -DTENON_K_SPLIT=%d -DTENON_VL=%d",
        GEMM_OPTIONS_VALUES(&p), values[SKINNY_MR], values[SKINNY_NR], GPU_COLS, GPU_SHARES,
        gpu_vector(&p, values));
    return NULL;
}

static tenon_status launch_cpu(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem p = thin_a(problem);
    gemm_arguments arguments;
    int64_t cols = tn_min_i64(tile_cols(recording->context, &p), INT32_MAX);
    tn_gemm_arguments(&p, &arguments);
    arguments.args.tile_cols = (tenon_i32)cols;
    tn_launch launch = {.source = "gemm/cpu_skinny",
                        .options = choice->options,
                        .kernel = by_dots(&p) ? "gemm_cpu_skinny_dot" : "gemm_cpu_skinny_axpy",
                        .global = {(size_t)tn_ceil_div(p.n, cols), 1},
                        .local = {1, 1}};
    return tn_gemm_record_launch(caller, recording, &p, &arguments, &launch);
}

static tenon_status launch_gpu(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem p = thin_a(problem);
    gemm_arguments arguments;
    bool dots = by_dots(&p);
    tn_gemm_arguments(&p, &arguments);
    tn_launch launch = {.source = "gemm/skinny",
                        .options = choice->options,
                        .kernel = dots ? "gemm_skinny_dot" : "gemm_skinny_axpy",
                        .local = {dots ? GPU_COLS * GPU_SHARES : GPU_COLS, dots ? 1 : GPU_SHARES}};
    launch.global[0] = (size_t)tn_ceil_div(p.n, gpu_columns(&p, choice->values)) * launch.local[0];
    launch.global[1] = launch.local[1];
    return tn_gemm_record_launch(caller, recording, &p, &arguments, &launch);
}

const tn_solver tn_gemm_cpu_skinny = {
    .name = "cpu_skinny",
    .serves = "up to 16 rows or columns, the other factor contiguous in one "
              "dimension, on CPUs",
    .awkward = "thin=13",
    TN_PARAMETERS(parameters, SKINNY_PARAMETERS),
    .configure = configure_cpu,
    .launch = launch_cpu};

const tn_solver tn_gemm_skinny = {
    .name = "skinny",
    .serves = "up to 16 rows or columns, the other factor contiguous in one "
              "dimension, on GPUs",
    .awkward = "thin=13",
    TN_PARAMETERS(parameters, SKINNY_PARAMETERS),
    .configure = configure_gpu,
    .launch = launch_gpu};
