/* gemm_packed/cpu: explicit vectors; the panels are read in place. Serves every layout of a, c and
 * d. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/packed/internal.h"

/* Maximum rows of a thin tile, which is two panels wide: this gives enough independent chains of
 * multiply-adds to hide their latency. */
#define THIN_ROWS 4
/* Rows of a tile, two vectors wide, that fills 32 or 16 vector registers. Twelve rows are as fast
 * as fourteen, for which some compilers spill registers, and have more divisors. */
#define TALL_ROWS_WIDE 12
#define TALL_ROWS      6
/* Maximum length of a block of K. The length is the same for every M, since the bits of a result
 * depend on it. */
#define BLOCK       1024
#define LEAST_BLOCK 64
/* Vector registers of the widest instruction sets. CPUs with fewer spill to memory. */
#define REGISTERS 32
/* Maximum number of adjacent tiles that share a copy of a's rows: in general, and if sums are kept
 * in local memory. */
#define MOST_TILES 8
#define SUM_TILES  4
/* Minimum rows for which an additional work-group is worthwhile, although it reads the panels
 * again. */
#define MANY_ROWS 96
/* Target number of work-groups per compute unit. */
#define GROUPS_PER_UNIT 4

static bool sums_wait(const gemm_problem *p)
{
    return tenon_dtype_size((tenon_dtype)p->dtype) != tn_acc_size(p->dtype);
}

static int32_t tall_rows(const tenon_context *context)
{
    return tn_gemm_has_many_registers(context) ? TALL_ROWS_WIDE : TALL_ROWS;
}

/* Returns true if the copied rows of a and the sums of `tiles` adjacent tiles fit the local memory.
 */
static bool fits(tenon_context *context, const gemm_problem *p, const int32_t *values,
                 int32_t tiles)
{
    const int32_t sums[CPU_PARAMETERS] = {
        [CPU_MR] = values[CPU_MR], [CPU_NR] = values[CPU_NR], [CPU_PANELS] = tiles};
    const int64_t rows =
        values[CPU_MR] * PACKED_A_PITCH(values[CPU_KC], tn_gemm_lanes(context, p->dtype));
    uint64_t bytes = (uint64_t)(rows + tn_gemm_cpu_sums(p, sums)) * tn_acc_size(p->dtype);
    return bytes <= context->device.info.local_memory;
}

/* Returns the number of tiles for whose sums the kernel declares local memory. It and the length of
 * a block are computed for the larger tile, and are thus the same for every M. */
static int32_t sum_tiles(tenon_context *context, const packed_problem *p)
{
    const int32_t tall[CPU_PARAMETERS] = {
        [CPU_MR] = tall_rows(context), [CPU_NR] = (int32_t)p->panel, [CPU_KC] = BLOCK};
    int32_t tiles = SUM_TILES;
    while (tiles > 1 && !fits(context, &p->gemm, tall, tiles))
        tiles /= 2;
    return tiles;
}

/* Returns the length of a block of K for tiles of `rows` rows or the default height, whichever is
 * larger. */
static int32_t block_length(tenon_context *context, const packed_problem *p, int32_t rows)
{
    const int32_t most = tall_rows(context), tiles = sum_tiles(context, p);
    int32_t tile[CPU_PARAMETERS] = {
        [CPU_MR] = rows > most ? rows : most, [CPU_NR] = (int32_t)p->panel, [CPU_KC] = BLOCK};
    while (tile[CPU_KC] > LEAST_BLOCK && !fits(context, &p->gemm, tile, tiles))
        tile[CPU_KC] /= 2;
    return tile[CPU_KC];
}

/* Returns the maximum number of tiles per work-group that leaves enough work-groups. Many rows make
 * up for few columns. */
static int32_t choose_tiles(tenon_context *context, const packed_problem *p, int32_t width)
{
    int64_t wanted = GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units;
    int64_t tiles = tn_ceil_div(p->gemm.n, width) * tn_gemm_batch_count(&p->gemm) *
                    tn_max_i64(1, p->gemm.m / MANY_ROWS);
    int64_t most = sums_wait(&p->gemm) ? sum_tiles(context, p) : MOST_TILES;
    return (int32_t)tn_max_i64(1, tn_min_i64(most, tiles / wanted));
}

void tn_packed_cpu_tune(tenon_context *context, const packed_problem *p, int32_t *values)
{
    if (values[CPU_MR] == 0)
        values[CPU_MR] = p->gemm.m <= THIN_ROWS ? THIN_ROWS : tall_rows(context);
    if (values[CPU_NR] == 0)
        values[CPU_NR] = (int32_t)p->panel * (values[CPU_MR] <= THIN_ROWS ? 2 : 1);
    if (values[CPU_KC] == 0)
        values[CPU_KC] = block_length(context, p, values[CPU_MR]);
    if (values[CPU_PANELS] == 0)
        values[CPU_PANELS] = choose_tiles(context, p, values[CPU_NR]);
}

const char *tn_packed_cpu_constrains(tenon_context *context, const packed_problem *p,
                                     const int32_t *values)
{
    const int64_t vectors = values[CPU_NR] / tn_gemm_lanes(context, p->gemm.dtype);
    if (values[CPU_NR] != p->panel && values[CPU_NR] != 2 * p->panel)
        return "nr must be the width of one panel or of two";
    if (values[CPU_KC] % 16 != 0)
        return "kc must be a multiple of 16";
    if (values[CPU_MR] * vectors + vectors + 1 > REGISTERS)
        return "the tile of mr x nr does not fit the vector registers";
    if (sums_wait(&p->gemm) && values[CPU_PANELS] > sum_tiles(context, p))
        return "np is too large: the sums do not fit the local memory";
    return fits(context, &p->gemm, values, sum_tiles(context, p))
               ? NULL
               : "the rows of a and the sums do not fit the local memory";
}

void tn_packed_cpu_options(tenon_context *context, const packed_problem *p, const char *more,
                           tn_choice *choice)
{
    const int lanes = (int)tn_gemm_lanes(context, p->gemm.dtype);
    const int32_t *values = choice->values;
    tn_choice_options(context, choice,
                      GEMM_OPTIONS_FORMAT
                      " -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d -DTENON_PV=%d"
                      " -DTENON_KC=%d -DTENON_NTP=%d -DTENON_BUILTIN_PREFETCH=%d%s",
                      GEMM_OPTIONS_VALUES(&p->gemm), lanes, values[CPU_MR], values[CPU_NR] / lanes,
                      (int)p->panel / lanes, values[CPU_KC], sum_tiles(context, p),
                      context->device.has_builtin_prefetch, more);
}

static const char *packed_gemm_cpu_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const packed_problem *p = (const packed_problem *)problem;
    int32_t *values = choice->values;
    if (p->panel != tn_packed_panel(context, (tenon_dtype)p->gemm.dtype))
        return "the width of the panels is not that of this device";
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    tn_packed_cpu_tune(context, p, values);
    choice->misfit = tn_packed_cpu_constrains(context, p, values);
    const char *why = tn_gemm_cpu_refuses_post(&p->gemm, values);
    if (choice->misfit != NULL || why != NULL)
        return why;
    const tn_work work =
        tn_gemm_cpu_work(context, &p->gemm, values, tn_gemm_cpu_columns(context, &p->gemm, values));
    tn_choice_add(context, choice, &work);
    tn_packed_cpu_options(context, p, "", choice);
    return NULL;
}

static tenon_status packed_gemm_cpu_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const packed_problem *p = (const packed_problem *)problem;
    const int32_t *values = choice->values;
    const int64_t rows = tn_gemm_cpu_tile_rows(recording->context, &p->gemm, values);
    const int64_t cols = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    tn_launch launch =
        tn_gemm_cpu_launch(&p->gemm, choice, rows, "packed/gemm_cpu", "packed_gemm_cpu");
    return tn_gemm_packed_record(caller, recording, p, rows, cols, &launch);
}

/* The rows leave partial tiles of several heights: 8, 4 and 1; 1; and 2 after tiles of fourteen
 * rows; 3, 1 and 2 after tiles of four. The first K exceeds two of the longest blocks by a
 * remainder, which makes a block between the first and the last; the others exceed one block. The
 * second work-group of columns is partial: its last vector is full in the second case, and the only
 * one of its panel in the last two. */
const tn_solver tn_gemm_packed_cpu = {.name = "cpu",
                                      .serves = "panels, with any a, c and d, on CPUs",
                                      .awkward =
                                          "m=27 n=np*nr+nr/2+3 k=2091; m=29 n=np*nr+nr/2 k=1067; "
                                          "m=30 n=np*nr+nr/2-3 k=1067",
                                      TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
                                      .configure = packed_gemm_cpu_configure,
                                      .launch = packed_gemm_cpu_launch};
