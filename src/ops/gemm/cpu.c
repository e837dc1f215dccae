#include "ops/gemm/cpu.h"

#include "base/checked.h"

/* Blocks of K are equal, so that none is shorter than half of this: the error bound counts on it.
 */
#define LEAST_KC 64
#define KC_STEP  4 /* to which block_length() of the kernels rounds the blocks of K */

const tn_parameter tn_gemm_cpu_parameters[CPU_SPLIT_PARAMETERS] = {
    [CPU_MR] = {"mr", 1, 14},          /* rows of the register tile */
    [CPU_NR] = {"nr", 2, 64},          /* columns of it, and of a panel */
    [CPU_KC] = {"kc", LEAST_KC, 2048}, /* the longest block of K */
    [CPU_PANELS] = {"np", 1, 16},      /* panels of a work-group */
    [CPU_SLICES] = {"ks", 2, 64},      /* slices of K, at most */
    [CPU_PACKS] = {"pb", 1, 2}         /* 1: b is read where it lies; 2: it is packed */
};

/* Work-groups for each compute unit: enough that none waits long for the last. */
#define GROUPS_PER_UNIT 4
#define LEAST_GROUPS    8
/* Vector registers of the widest instruction sets; fewer on some, where the compiler spills. */
#define SHORT_SUMS   48
#define LARGE_RESULT (4 << 20) /* bytes */
#define WIDE_PANELS  8
#define REGISTERS    32

#define MOST_LANES 16

/* As gemm/cpu_tile.clh: tiles of rows whose sums a work-group keeps, for d of 16 bits. */
#define SUM_TILES 16

int64_t tn_gemm_lanes(tenon_context *context, uint32_t dtype)
{
    int64_t f32 = context->device.info.vector_width_f32;
    f32 = f32 >= MOST_LANES ? MOST_LANES : f32 >= 8 ? 8 : 4;
    return dtype == TENON_DTYPE_F64 ? f32 / 2 : f32;
}

const char *tn_gemm_made_for_cpus(const tenon_context *context)
{
    return context->device.is_cpu ? NULL : "made for CPUs";
}

/* Vectors in a row of the tile: four keep the fewest loads for each multiply-add; three or two
 * leave less of a ragged last panel unused. Without 512-bit registers there are only 16, and two is
 * the most. A matrix no wider than a vector, as a classifier's, takes one: 1.5 to 1.7 times as
 * fast, measured.
 */
static int64_t choose_vectors(const gemm_problem *p, int64_t lanes, bool wide)
{
    /* The time of a multiply-add in tiles of so many vectors, measured. */
    static const double cost[] = {[2] = 1.08, [3] = 1.1, [4] = 1};
    int64_t best = 2;
    double least = 1e300;
    if (p->n <= lanes)
        return 1;
    for (int64_t vectors = wide ? 4 : 2; vectors >= 2; vectors--) {
        double work = cost[vectors] * (double)(vectors * tn_ceil_div(p->n, vectors * lanes));
        if (work < least) {
            least = work;
            best = vectors;
        }
    }
    return best;
}

/* Sums as short as these take no longer than their stores: panels that lie side by side make those
 * long runs of each row, which memory takes faster than a panel's 256 bytes. */
static bool stores_most(const gemm_problem *p)
{
    double bytes = (double)p->m * (double)p->n * (double)tn_gemm_batch_count(p) *
                   (double)tenon_dtype_size((tenon_dtype)p->dtype);
    return p->k <= SHORT_SUMS && bytes >= LARGE_RESULT && p->n >= WIDE_PANELS * MOST_LANES;
}

static bool fits(tenon_context *context, const gemm_problem *p, tn_gemm_cpu_local local,
                 const int32_t *values)
{
    uint64_t bytes = (uint64_t)local(p, values) * tn_acc_size(p->dtype);
    return bytes <= context->device.info.local_memory;
}

void tn_gemm_cpu_tune(tenon_context *context, const gemm_problem *p, int32_t panels,
                      tn_gemm_cpu_local local, int32_t *values)
{
    bool free_panels = values[CPU_PANELS] == 0, free_block = values[CPU_KC] == 0,
         free_columns = values[CPU_NR] == 0, free_rows = values[CPU_MR] == 0;
    int64_t lanes = tn_gemm_lanes(context, p->dtype), size = (int64_t)tn_acc_size(p->dtype);
    bool wide = lanes * size == 64;
    if (values[CPU_NR] == 0)
        values[CPU_NR] = (int32_t)(lanes * choose_vectors(p, lanes, wide));
    if (values[CPU_MR] == 0)
        values[CPU_MR] = values[CPU_NR] == 3 * lanes ? 8 : 6;
    if (values[CPU_KC] == 0)
        values[CPU_KC] = 384;
    if (values[CPU_PANELS] == 0)
        /* Whatever else n is: each number of them is a build of its own. */
        values[CPU_PANELS] = stores_most(p) ? (int32_t)tn_max_i64(panels, WIDE_PANELS) : panels;
    while (free_panels && values[CPU_PANELS] > 1 && !fits(context, p, local, values))
        values[CPU_PANELS]--;
    while (free_block && values[CPU_KC] > LEAST_KC && !fits(context, p, local, values))
        values[CPU_KC] /= 2;
    while (free_columns && values[CPU_NR] > lanes && !fits(context, p, local, values))
        values[CPU_NR] -= (int32_t)lanes;
    while (free_rows && values[CPU_MR] > 1 && !fits(context, p, local, values))
        values[CPU_MR] /= 2;
}

const char *tn_gemm_cpu_constrains(tenon_context *context, const gemm_problem *p,
                                   const int32_t *values, tn_gemm_cpu_local local)
{
    int64_t lanes = tn_gemm_lanes(context, p->dtype);
    if (values[CPU_NR] % lanes != 0)
        return "nr must be a multiple of the vector width";
    if (values[CPU_KC] % KC_STEP != 0)
        return "kc must be a multiple of 4";
    int64_t vectors = values[CPU_NR] / lanes;
    if (values[CPU_MR] * vectors + vectors + 1 > REGISTERS)
        return "the tile of mr x nr does not fit the vector registers";
    if (!fits(context, p, local, values))
        return "the packed blocks do not fit the local memory";
    return NULL;
}

static bool stores_acc(const gemm_problem *p)
{
    return tenon_dtype_size((tenon_dtype)p->dtype) == tn_acc_size(p->dtype);
}

int64_t tn_gemm_cpu_sums(const gemm_problem *p, const int32_t *values)
{
    return stores_acc(p)
               ? 1
               : (int64_t)SUM_TILES * values[CPU_MR] * values[CPU_PANELS] * values[CPU_NR];
}

/* As gemm/cpu_pack.clh: eight tiles of rows, each k padded to a power of two; or rows as they lie,
 * a vector apart. */
int64_t tn_gemm_cpu_packed_a(const gemm_problem *p, const int32_t *values)
{
    int64_t pitch = 1;
    if (tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL)
        return stores_acc(p) ? 0 : 8 * (int64_t)values[CPU_MR] * (values[CPU_KC] + MOST_LANES);
    while (pitch < values[CPU_MR])
        pitch *= 2;
    return 8 * pitch * values[CPU_KC];
}

/* The numbers by which the kernels call the layouts. */
static int layout_number(const gemm_problem *p, int matrix)
{
    switch (tn_gemm_layout(p, matrix)) {
    case GEMM_UNIT_COL:
        return matrix == GEMM_B ? 3
               : stores_acc(p)  ? 1
                                : 4; /* along N; along K, copied if narrow */
    case GEMM_UNIT_ROW:
        return matrix == GEMM_A ? 2 : 1; /* a: along M; b: along K */
    default:
        return 0;
    }
}

void tn_gemm_cpu_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                         char text[TN_OPTIONS_SIZE])
{
    const gemm_problem *p = (const gemm_problem *)problem;
    int lanes = (int)tn_gemm_lanes(context, p->dtype);
    tn_build_options(context, text,
                     GEMM_OPTIONS_FORMAT
                     " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d -DTENON_KC=%d -DTENON_NTP=%d"
                     " -DTENON_A_LAYOUT=%d -DTENON_B_LAYOUT=%d",
                     GEMM_OPTIONS_VALUES(p), lanes, values[CPU_MR], values[CPU_NR] / lanes,
                     values[CPU_KC], values[CPU_PANELS], layout_number(p, GEMM_A),
                     layout_number(p, GEMM_B));
}

int64_t tn_gemm_cpu_column_groups(const gemm_problem *p, const int32_t *values)
{
    return tn_ceil_div(p->n, (int64_t)values[CPU_PANELS] * values[CPU_NR]);
}

int64_t tn_gemm_cpu_tile_rows(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    int64_t wanted =
        tn_max_i64(LEAST_GROUPS, GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units);
    int64_t groups = tn_ceil_div(
        wanted, tn_max_i64(1, tn_gemm_cpu_column_groups(p, values) * tn_gemm_batch_count(p)));
    int64_t rows = tn_round_up(tn_ceil_div(p->m, groups), values[CPU_MR]);
    return stores_acc(p) ? rows : tn_min_i64(rows, SUM_TILES * values[CPU_MR]);
}

/* The factors read once, from memory or from the cache where they may still be: for few rows or
 * columns that is what takes the time. */
static double memory_time(tenon_context *context, const gemm_problem *p)
{
    double elements = (double)p->k * ((double)p->m + (double)p->n) * (double)tn_gemm_batch_count(p);
    double bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype);
    return bytes * (bytes > (double)context->device.cache_size ? 0.05 : 0.02);
}

/* Measured on an AVX-512 machine at 2.6 GHz; what counts is how the solvers compare. */
double tn_gemm_cpu_tile_time(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    double size = (double)tn_acc_size(p->dtype);
    double lanes = (double)tn_gemm_lanes(context, p->dtype), bytes = lanes * size;
    double per_fma = bytes >= 64 ? 0.31 : bytes >= 32 ? 0.20 : 0.18;
    double vectors = (double)tn_ceil_div(p->n, values[CPU_NR]) * values[CPU_NR] / lanes;
    double batch = (double)tn_gemm_batch_count(p), m = (double)p->m, k = (double)p->k;
    double blocks = (double)tn_ceil_div(p->k + 1, values[CPU_KC]);
    double time = m * vectors * (k * per_fma + blocks);
    gemm_layout a = tn_gemm_layout(p, GEMM_A);
    double column_groups = (double)tn_gemm_cpu_column_groups(p, values);
    double rows = (double)tn_gemm_cpu_tile_rows(context, p, values);
    if (a == GEMM_UNIT_ROW) /* the fewer rows a work-group packs, the shorter its reads are */
        time += m * k * column_groups * 0.3 * (1 + 16 / rows);
    else if (a == GEMM_STRIDED)
        time += m * k * column_groups;
    /* Work-groups that are fewer than the compute units leave some idle. */
    double units = context->device.info.compute_units;
    double groups = column_groups * batch * (double)tn_ceil_div(p->m, (int64_t)rows);
    time *= batch / (groups < units ? groups : units);
    double memory = memory_time(context, p);
    return time > memory ? time : memory;
}

void tn_gemm_cpu_configure(tenon_context *context, const gemm_problem *p, int32_t panels,
                           tn_gemm_cpu_local local, tn_choice *choice)
{
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    tn_gemm_cpu_tune(context, p, panels, local, choice->values);
    choice->misfit = tn_gemm_cpu_constrains(context, p, choice->values, local);
    if (choice->misfit != NULL)
        return;
    choice->time = CPU_LAUNCH_TIME + tn_gemm_cpu_tile_time(context, p, choice->values);
    tn_gemm_cpu_options(context, &p->head, choice->values, choice->options);
}

tn_launch tn_gemm_cpu_launch(const gemm_problem *p, const tn_choice *choice, int64_t rows,
                             const char *source, const char *kernel)
{
    return (tn_launch){.source = source,
                       .options = choice->options,
                       .kernel = kernel,
                       .global = {(size_t)tn_gemm_cpu_column_groups(p, choice->values),
                                  (size_t)tn_ceil_div(p->m, rows)},
                       .local = {1, 1}};
}

tenon_status tn_gemm_cpu_record(const char *operation, tn_recording *recording,
                                const gemm_problem *p, const tn_choice *choice, const char *source,
                                const char *kernel)
{
    gemm_arguments arguments;
    const int64_t rows = tn_gemm_cpu_tile_rows(recording->context, p, choice->values);
    tn_launch launch = tn_gemm_cpu_launch(p, choice, rows, source, kernel);
    tn_gemm_arguments(p, &arguments);
    arguments.args.tile_rows = (tenon_i32)rows;
    return tn_gemm_record_launch(operation, recording, p, &arguments, &launch);
}
