#include "ops/gemm/cpu.h"

#include "base/checked.h"
#include "ops/common/lanes.h"

#include <math.h>

/* Lower limit of kc. Blocks of K have equal lengths, and none is shorter than half of this. The
 * error bound relies on it. */
#define LEAST_KC 64
#define KC_STEP  4 /* rounding of block lengths in block_length() of the kernels */

/* Default maximum length of a block of K. The sums of 16-bit types are moved to local memory and
 * back between two blocks: longer blocks save that. */
#define USUAL_KC 384
#define LONG_KC  512

const tn_parameter tn_gemm_cpu_parameters[CPU_SPLIT_PARAMETERS] = {
    [CPU_MR] = {"mr", 1, 14},          /* rows of the register tile */
    [CPU_NR] = {"nr", 2, 64},          /* columns of the register tile and of a panel */
    [CPU_KC] = {"kc", LEAST_KC, 2048}, /* maximum length of a block of K */
    [CPU_PANELS] = {"np", 1, 16},      /* panels per work-group */
    [CPU_SLICES] = {"ks", 2, 64},      /* maximum number of slices of K */
    [CPU_PACKS] = {"pb", 1, 2}         /* 1: b is read in place; 2: b is packed */
};

/* Work-groups per compute unit, enough to balance the load at the end. */
#define GROUPS_PER_UNIT 4
#define LEAST_GROUPS    8
/* REGISTERS is the number of vector registers of the widest instruction sets. CPUs with fewer
 * spill to memory. */
#define SHORT_SUMS   48
#define LARGE_RESULT (4 << 20) /* bytes */
#define WIDE_PANELS  8
#define REGISTERS    32

#define MOST_LANES 16

#define NARROW_RATE 0.75 /* rate of multiply_narrow in gemm/cpu_tile.clh, of that of a panel */

int64_t tn_gemm_lanes(tenon_context *context, uint32_t dtype)
{
    int64_t f32 = context->device.info.vector_width_f32;
    f32 = f32 >= MOST_LANES ? MOST_LANES : f32 >= 8 ? 8 : 4;
    return dtype == TENON_DTYPE_F64 ? f32 / 2 : f32;
}

bool tn_gemm_has_many_registers(const tenon_context *context)
{
    return context->device.model.kind->vector_registers >= REGISTERS;
}

int32_t tn_gemm_rows_of_tile(const tenon_context *context, int32_t vectors)
{
    return context->device.model.kind->cpu_rows[vectors - 1];
}

bool tn_gemm_converts(const gemm_problem *p)
{
    return p->dtype == TENON_DTYPE_F16 || p->dtype == TENON_DTYPE_BF16;
}

const char *tn_gemm_made_for_cpus(const tenon_context *context)
{
    return context->device.is_cpu ? NULL : "made for CPUs";
}

/* Returns the columns that a product with `vectors` vectors per panel multiplies, in columns of
 * whole panels. A last panel of at most half of the vectors is multiplied vector by vector. */
static double narrow_columns(const gemm_problem *p, int64_t vectors, int64_t lanes)
{
    const int64_t width = vectors * lanes, rest = tn_ceil_div(p->n % width, lanes);
    const int64_t whole = p->n / width * width;
    const double narrow = (double)(rest * lanes) / NARROW_RATE;
    return (double)whole + (rest > vectors / 2 ? (double)width : narrow);
}

/* Returns the register tile with the cheapest partial last panel. A matrix no wider than a vector,
 * as in a classifier, uses tiles one vector wide: measured 1.5 to 1.7 times as fast. */
static tn_kind_cpu_tile choose_tile(tenon_context *context, const gemm_problem *p, int64_t lanes)
{
    const tn_kind_cpu_tile *tiles = context->device.model.kind->cpu_tiles;
    tn_kind_cpu_tile best = {6, p->n <= lanes ? 1 : 2, 1};
    double least = INFINITY;
    for (int i = 0; p->n > lanes && tiles[i].vectors > 0; i++) {
        const double work = tiles[i].time * narrow_columns(p, tiles[i].vectors, lanes);
        if (work < least) {
            least = work;
            best = tiles[i];
        }
    }
    return best;
}

/* Returns true if stores dominate. With such a short K the sums take no longer than their stores.
 * Adjacent panels in one work-group make long contiguous stores along each row, which are faster
 * than the 256 bytes of a single panel. */
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
    const int64_t lanes = tn_gemm_lanes(context, p->dtype);
    const tn_kind_cpu_tile tile = choose_tile(context, p, lanes);
    if (values[CPU_NR] == 0)
        values[CPU_NR] = (int32_t)(lanes * tile.vectors);
    if (values[CPU_MR] == 0)
        values[CPU_MR] = values[CPU_NR] == 3 * lanes ? 8 : 6;
    if (values[CPU_KC] == 0)
        values[CPU_KC] = tn_gemm_converts(p) ? LONG_KC : USUAL_KC;
    if (values[CPU_PANELS] == 0)
        /* Independent of the rest of n, since each number of panels is a separate build. */
        values[CPU_PANELS] = stores_most(p) ? (int32_t)tn_max_i64(panels, WIDE_PANELS) : panels;
    while (free_panels && values[CPU_PANELS] > 1 && !fits(context, p, local, values))
        values[CPU_PANELS]--;
    while (free_block && values[CPU_KC] > LEAST_KC && !fits(context, p, local, values))
        values[CPU_KC] = (int32_t)tn_max_i64(LEAST_KC, values[CPU_KC] / 2);
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
               : (int64_t)GEMM_SUM_TILES * values[CPU_MR] * values[CPU_PANELS] * values[CPU_NR];
}

/* Matches gemm/cpu_pack.clh: eight tiles of rows with each k padded to a power of two, or rows
 * copied unchanged with a gap of one vector. */
int64_t tn_gemm_cpu_packed_a(const gemm_problem *p, const int32_t *values)
{
    int64_t pitch = 1;
    if (tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL)
        return stores_acc(p)
                   ? 0
                   : GEMM_PACKED_TILES * (int64_t)values[CPU_MR] * (values[CPU_KC] + MOST_LANES);
    while (pitch < values[CPU_MR])
        pitch *= 2;
    return GEMM_PACKED_TILES * pitch * values[CPU_KC];
}

/* Returns the number of a layout in the kernels. */
static int layout_number(const gemm_problem *p, int matrix)
{
    switch (tn_gemm_layout(p, matrix)) {
    case GEMM_UNIT_COL:
        return matrix == GEMM_B ? 3
               : stores_acc(p)  ? 1
                                : 4; /* b along N; a along K, copied if narrow */
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

/* Returns true if the sums of a work-group are kept in local memory, which limits their number:
 * those of 16-bit types between two blocks of K, and always those of integers. */
static bool sums_wait(const gemm_problem *p, const int32_t *values)
{
    return tn_gemm_converts(p) ? p->k > values[CPU_KC] : !stores_acc(p);
}

int64_t tn_gemm_cpu_tile_rows(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    int64_t wanted =
        tn_max_i64(LEAST_GROUPS, GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units);
    int64_t groups = tn_ceil_div(
        wanted, tn_max_i64(1, tn_gemm_cpu_column_groups(p, values) * tn_gemm_batch_count(p)));
    if (sums_wait(p, values)) /* groups of equal size */
        groups = tn_max_i64(groups, tn_ceil_div(p->m, (int64_t)GEMM_SUM_TILES * values[CPU_MR]));
    return tn_round_up(tn_ceil_div(p->m, groups), values[CPU_MR]);
}

/* Returns the moves per packed element of an a that is contiguous along M. The fewer rows a
 * work-group packs, the shorter its contiguous reads are. */
static double packing_moves(double rows)
{
    return 4 * (1 + 16 / rows);
}

/* Returns the attained share of memory bandwidth. An a that is contiguous along M is packed: its
 * reads cover only the few rows of a tile, strided by a row of memory for each k. */
static double reach(tenon_context *context, const gemm_problem *p)
{
    const double m = (double)p->m, n = (double)p->n,
                 apart = context->device.model.kind->memory.scattered;
    return 0.9 * (tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_ROW ? (m + n) / (m / apart + n) : 1);
}

double tn_gemm_cpu_columns(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    const int64_t lanes = tn_gemm_lanes(context, p->dtype);
    return narrow_columns(p, values[CPU_NR] / lanes, lanes);
}

/* Returns the vector elements moved to pack a, which has `packed` elements in all work-groups:
 * copied along K to be converted, or along M. */
static double packing_of_a(const gemm_problem *p, double packed, int64_t rows)
{
    const gemm_layout a = tn_gemm_layout(p, GEMM_A);
    return a == GEMM_UNIT_ROW                          ? packed * packing_moves((double)rows)
           : a == GEMM_UNIT_COL && tn_gemm_converts(p) ? packed
                                                       : 0;
}

/* Returns the work. The factors are read once. The sums are read and written once for each block of
 * K. */
tn_work tn_gemm_cpu_work(tenon_context *context, const gemm_problem *p, const int32_t *values,
                         double columns)
{
    const double m = (double)p->m, k = (double)p->k, batch = (double)tn_gemm_batch_count(p);
    const double blocks = (double)tn_ceil_div(p->k + 1, values[CPU_KC]);
    const double column_groups = (double)tn_gemm_cpu_column_groups(p, values);
    const int64_t rows = tn_gemm_cpu_tile_rows(context, p, values);
    const double packed = m * k * batch * column_groups;
    return (tn_work){
        .launches = 1,
        .blocks = true,
        .groups = column_groups * batch * (double)tn_ceil_div(p->m, tn_max_i64(rows, 1)),
        .rate = tn_sum_rate(p->dtype),
        .multiply_adds = m * columns * k * batch,
        .vector_elements = m * columns * batch * blocks + packing_of_a(p, packed, rows),
        .single_elements = tn_gemm_layout(p, GEMM_A) == GEMM_STRIDED ? packed : 0,
        .bytes = k * (m + (double)p->n) * batch * (double)tenon_dtype_size((tenon_dtype)p->dtype),
        .reach = reach(context, p),
    };
}

void tn_gemm_cpu_configure(tenon_context *context, const gemm_problem *p, int32_t panels,
                           tn_gemm_cpu_local local, double efficiency, tn_choice *choice)
{
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    tn_gemm_cpu_tune(context, p, panels, local, choice->values);
    choice->misfit = tn_gemm_cpu_constrains(context, p, choice->values, local);
    if (choice->misfit != NULL)
        return;
    tn_work work = tn_gemm_cpu_work(context, p, choice->values,
                                    tn_gemm_cpu_columns(context, p, choice->values));
    work.efficiency = efficiency;
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        tn_gemm_cpu_options(context, &p->head, choice->values, choice->options);
}

const char *tn_gemm_cpu_refuses_post(const gemm_problem *p, const int32_t *values)
{
    return (p->flags & TENON_POST_IN_PLACE) != 0 && stores_acc(p) && p->k > values[CPU_KC]
               ? "d holds the sums of several blocks of K, and the residual is d"
               : NULL;
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

tenon_status tn_gemm_cpu_record(const char *caller, tn_recording *recording, const gemm_problem *p,
                                const tn_choice *choice, const char *source, const char *kernel)
{
    gemm_arguments arguments;
    const int64_t rows = tn_gemm_cpu_tile_rows(recording->context, p, choice->values);
    tn_launch launch = tn_gemm_cpu_launch(p, choice, rows, source, kernel);
    tn_gemm_arguments(p, &arguments);
    arguments.args.tile_rows = (tenon_i32)rows;
    return tn_gemm_record_launch(caller, recording, p, &arguments, &launch);
}
