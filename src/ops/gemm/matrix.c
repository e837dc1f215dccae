/* Helpers shared by the matrix-unit solvers: selection of the unit, block sizes, and the cost
 * model. */
#include "ops/gemm/matrix.h"

#include "base/checked.h"
#include "ops/gemm/tiled.h"
#include "runtime/context/context.h"

#include <math.h>
#include <string.h>

/* The shared parameters, then the maximum number of slices of K, and the number of rows of blocks
 * at the end of d whose K is split. */
const tn_parameter tn_gemm_matrix_parameters[MATRIX_GEMM_PARAMETERS] = {
    TN_MATRIX_PARAMETERS,
    [MATRIX_SLICES] = {"ks", 1, 64},
    [MATRIX_CUT_ROWS] = {"rs", 1, MATRIX_ALL_ROWS},
};

/* Slowdown of a step whose blocks are copied element by element, measured on an H100 (2039 x 2053 x
 * 2063 in f16). */
#define UNALIGNED_SLOWDOWN       9.0
#define UNALIGNED_WGMMA_SLOWDOWN 26.0
/* Rate of wgmma's products of 64 x 128 relative to those of 64 x 256 (H100, 4096³ in f16). */
#define UNPAIRED 0.56
/* Maximum rows or columns of a thin block. */
#define MOST_THIN 32
/* Bytes along K in a line of a block if the device kind does not specify it. */
#define LINE_BYTES 64

/* Solver name, capability and the two forms of each kind of unit; a kind with one form lists it
 * twice. */
static const struct {
    const char *solver;
    tenon_capability capability;
    int numbers[2];
} kinds[] = {
    [MATRIX_MMA] = {"mma", TENON_CAPABILITY_NVIDIA_MMA, {MATRIX_NVIDIA, MATRIX_NVIDIA}},
    [MATRIX_AMD_MFMA] = {"mfma", TENON_CAPABILITY_AMD_MFMA, {MATRIX_MFMA, MATRIX_MFMA}},
    [MATRIX_WMMA] = {"wmma", TENON_CAPABILITY_AMD_WMMA, {MATRIX_WMMA_11, MATRIX_WMMA_12}},
    [MATRIX_XMX] = {"xmx", TENON_CAPABILITY_INTEL_MATRIX, {MATRIX_XMX_16, MATRIX_XMX_8}},
    [MATRIX_NVIDIA_WGMMA] = {"wgmma", TENON_CAPABILITY_NVIDIA_WGMMA, {MATRIX_WGMMA, MATRIX_WGMMA}},
};

matrix_kind tn_matrix_kind(const tn_solver *solver)
{
    matrix_kind kind = MATRIX_MMA;
    while (kind < MATRIX_NVIDIA_WGMMA && strcmp(solver->name, kinds[kind].solver) != 0)
        kind++;
    return kind;
}

/* Finds the unit of a kind that the device has. */
static bool find_unit(tenon_context *context, matrix_kind kind, matrix_unit *unit)
{
    bool there = tn_context_has(context, unit->capability);
    if (!there && kind == MATRIX_MMA) {
        unit->capability = TENON_CAPABILITY_NVIDIA_MMA_TURING;
        unit->split = there = tn_context_has(context, unit->capability);
    }
    if (there)
        unit->number = kinds[kind].numbers[tn_capability_form(context, unit->capability)];
    if (there && kind == MATRIX_NVIDIA_WGMMA)
        unit->async = there = tn_context_has(context, TENON_CAPABILITY_NVIDIA_CP_ASYNC);
    if (there && kind == MATRIX_MMA) {
        unit->ldmatrix = tn_context_has(context, TENON_CAPABILITY_NVIDIA_LDMATRIX);
        unit->async = tn_context_has(context, TENON_CAPABILITY_NVIDIA_CP_ASYNC);
    }
    return there;
}

bool tn_matrix_unit(tenon_context *context, matrix_kind kind, int32_t form, int type,
                    matrix_unit *unit)
{
    *unit = (matrix_unit){.type = type, .capability = kinds[kind].capability};
    unit->emulated = form == MATRIX_EMULATED || form == MATRIX_EMULATED_OTHER;
    if (unit->emulated) {
        unit->number = kinds[kind].numbers[form == MATRIX_EMULATED_OTHER];
        unit->async = kind == MATRIX_MMA || kind == MATRIX_NVIDIA_WGMMA;
    } else if (!find_unit(context, kind, unit)) {
        return false;
    }
    /* Turing's instructions support two types. */
    return MATRIX_HAS(unit->number, type) &&
           (!unit->split || type == MATRIX_F16 || type == MATRIX_I8) &&
           (unit->emulated || kind == MATRIX_NVIDIA_WGMMA ||
            tn_capability_has_type(context, unit->capability, type));
}

/* Returns the blocks that the device kind lists for the unit and number of stages. An emulated
 * unit, and one not expected on this kind of device, gets the smallest useful block. */
static tn_kind_matrix blocks_for(const tenon_context *context, const matrix_unit *unit,
                                 int32_t stages)
{
    const tn_device_kind *kind = context->device.model.kind;
    const tn_kind_matrix *own = unit->number == MATRIX_WGMMA ? &kind->wgmma
                                : unit->async && stages != 1 ? &kind->copied
                                                             : &kind->matrix;
    const int16_t m = (int16_t)MATRIX_M(unit->number), n = (int16_t)MATRIX_N(unit->number);
    const tn_kind_block least = unit->number == MATRIX_WGMMA ? (tn_kind_block){m, n, 1, 1}
                                                             : (tn_kind_block){2 * m, 2 * n, 1, 2};
    return own->blocks[0].mb > 0 && !unit->emulated ? *own : (tn_kind_matrix){{least}, 0.5};
}

static int64_t block_count(const gemm_problem *p, int32_t mb, int32_t nb)
{
    return tn_ceil_div(p->m, mb) * tn_ceil_div(p->n, nb);
}

static int64_t group_count(const gemm_problem *p, int32_t mb, int32_t nb)
{
    return block_count(p, mb, nb) * tn_gemm_batch_count(p);
}

bool tn_matrix_local_way(tenon_context *context, const matrix_unit *unit, const int32_t *values,
                         tn_local_method *way)
{
    return tn_local_memory_fits(context, (uint64_t)tn_matrix_local(unit, values), way);
}

static bool fits(tenon_context *context, const matrix_unit *unit, const int32_t *values)
{
    tn_local_method way;
    return tn_matrix_local_way(context, unit, values, &way);
}

/* Returns the default number of stages, if they fit. The products of a thin block finish long
 * before the next block could arrive, so it gets the maximum. */
static int32_t usual_stages(const matrix_unit *unit, const int32_t *values)
{
    const bool is_thin = values[MATRIX_MB] <= MOST_THIN || values[MATRIX_NB] <= MOST_THIN;
    return !unit->async || unit->emulated ? 1 : is_thin ? 4 : 3;
}

/* Returns the number of blocks per factor when blocks are staged through registers: one instead of
 * two if that lets another work-group run on the compute unit. On AMD's CDNA a work-group may use
 * all local memory of a unit; on other devices the amount per unit is unknown. */
static int32_t usual_blocks(const tenon_context *context, const matrix_unit *unit,
                            const int32_t *values)
{
    int32_t one[MATRIX_PARAMETERS];
    memcpy(one, values, sizeof one);
    one[MATRIX_BLOCKS] = 1;
    const int64_t room = (int64_t)context->device.info.local_memory;
    const int64_t groups = room / tn_matrix_local(unit, values),
                  groups_of_one = room / tn_matrix_local(unit, one);
    return unit->number == MATRIX_MFMA && !unit->emulated && values[MATRIX_STAGES] == 1 &&
                   groups < 2 && groups_of_one >= 2
               ? 1
               : 2;
}

/* Selects for wgmma the deepest blocks that fit with the most stages. Rows of 128 bytes are read
 * whole from global memory. With three stages or more, products never wait for the preceding ones.
 * Blocks beyond 128 x 128 leave room for only one work-group per unit, so they must have those
 * stages. Emulated blocks are staged through registers and have rows of 64 bytes, since longer
 * rows would not fit next to the sums. */
static void take_depth(tenon_context *context, const matrix_unit *unit, int32_t *values)
{
    static const struct {
        int16_t bytes, stages;
    } depths[] = {{128, 4}, {128, 3}, {64, 4}, {64, 3}, {64, 2}};
    const int32_t kb = values[MATRIX_KB], stages = values[MATRIX_STAGES];
    const bool is_large = values[MATRIX_MB] * values[MATRIX_NB] > 128 * 128;
    const int count = (int)(sizeof depths / sizeof *depths), last = count - 1 - is_large;
    for (int i = unit->async && !unit->emulated ? 0 : count - 2; i <= last; i++) {
        values[MATRIX_KB] = kb != 0 ? kb : depths[i].bytes * 8 / MATRIX_BITS(unit->type);
        values[MATRIX_STAGES] = stages != 0 ? stages : unit->async ? depths[i].stages : 1;
        if (fits(context, unit, values))
            return;
    }
}

/* Fills in the parameters that are 0, with as many stages as fit. */
static void take_block(tenon_context *context, const matrix_unit *unit, const tn_kind_block *block,
                       int32_t *values)
{
    const int32_t line = block->line > 0 ? block->line : LINE_BYTES;
    const int32_t defaults[MATRIX_PARAMETERS] = {
        [MATRIX_MB] = block->mb,
        [MATRIX_NB] = block->nb,
        [MATRIX_KB] = line * 8 / MATRIX_BITS(unit->type),
        [MATRIX_WM] = block->wm,
        [MATRIX_WN] = block->wn,
        [MATRIX_BLOCKS] = 2,
        [MATRIX_FORM] = MATRIX_OF_DEVICE,
    };
    const bool free_stages = values[MATRIX_STAGES] == 0, free_blocks = values[MATRIX_BLOCKS] == 0;
    const int32_t kb = values[MATRIX_KB], stages = values[MATRIX_STAGES];
    for (int i = 0; i < MATRIX_PARAMETERS; i++)
        if (values[i] == 0)
            values[i] = defaults[i];
    if (unit->number == MATRIX_WGMMA) {
        values[MATRIX_KB] = kb;
        values[MATRIX_STAGES] = stages;
        take_depth(context, unit, values);
        return;
    }
    if (free_stages)
        values[MATRIX_STAGES] = usual_stages(unit, values);
    while (free_stages && values[MATRIX_STAGES] > 2 && !fits(context, unit, values))
        values[MATRIX_STAGES]--;
    if (free_blocks)
        values[MATRIX_BLOCKS] = usual_blocks(context, unit, values);
}

void tn_matrix_choose_block(tenon_context *context, const tn_problem *problem,
                            const matrix_unit *given_unit, tn_matrix_trial *trial,
                            tn_choice *choice)
{
    const matrix_unit unit = *given_unit; /* the argument may point into the choice */
    const tn_kind_matrix kind = blocks_for(context, &unit, choice->values[MATRIX_STAGES]);
    const tn_choice given = *choice;
    for (int i = 0; i < TN_KIND_BLOCKS && kind.blocks[i].mb > 0; i++) {
        tn_choice tried = given;
        take_block(context, &unit, &kind.blocks[i], tried.values);
        trial(context, problem, &unit, &tried);
        if (i == 0 ||
            (tried.misfit == NULL && (choice->misfit != NULL || tn_choice_beats(&tried, choice))))
            *choice = tried;
    }
}

static int64_t work_items(const matrix_unit *unit, const int32_t *values)
{
    return (int64_t)values[MATRIX_WM] * values[MATRIX_WN] * MATRIX_LANES(unit->number);
}

/* Returns the bytes of `lines` lines of a block; each has 16 bytes of padding unless the block is
 * swizzled. */
static int64_t lines_bytes(const matrix_unit *unit, int64_t lines, int64_t length)
{
    const bool is_dense = unit->number == MATRIX_WGMMA ||
                          (unit->number == MATRIX_NVIDIA && (length & (length - 1)) == 0);
    return lines * (length * MATRIX_BITS(unit->type) / 8 + (is_dense ? 0 : 16));
}

/* Returns the bytes of a block. Its lines run along K; blocks staged through registers may also
 * have lines across K. */
static int64_t block_bytes(const matrix_unit *unit, const int32_t *values, int64_t width)
{
    const int64_t along = lines_bytes(unit, width, values[MATRIX_KB]),
                  across = lines_bytes(unit, values[MATRIX_KB], width);
    return values[MATRIX_STAGES] > 1 ? tn_max_i64(along, across) : along;
}

/* Returns the bytes of sums that a warp passes through local memory at a time: a row of tiles,
 * half a tile for wgmma, or one tile with one block per factor. */
static int64_t sums_bytes(const matrix_unit *unit, const int32_t *values)
{
    const int64_t rows = MATRIX_M(unit->number), tile = MATRIX_N(unit->number);
    const int64_t cols = unit->number == MATRIX_WGMMA ? tile / 2
                         : values[MATRIX_BLOCKS] == 1 ? tile
                                                      : values[MATRIX_NB] / values[MATRIX_WN];
    const bool in_pairs = unit->number == MATRIX_WGMMA || unit->number == MATRIX_NVIDIA;
    return 4 * (unit->sums_along_m ? cols * (rows + 4) : rows * (cols + (in_pairs ? 8 : 4)));
}

/* Returns the bytes of the kernel's array, as gemm/matrix.clh defines it: it holds blocks, or later
 * the sums of each warp. */
int64_t tn_matrix_array(const matrix_unit *unit, const int32_t *values)
{
    const int64_t warps = (int64_t)values[MATRIX_WM] * values[MATRIX_WN],
                  buffers =
                      values[MATRIX_STAGES] > 1 ? values[MATRIX_STAGES] : values[MATRIX_BLOCKS];
    return tn_max_i64(buffers * (block_bytes(unit, values, values[MATRIX_MB]) +
                                 block_bytes(unit, values, values[MATRIX_NB])),
                      warps * sums_bytes(unit, values));
}

/* Returns the bytes of the array, the sums of lines (for bytes), the kernel's own local memory, and
 * that of an emulated unit. */
int64_t tn_matrix_local(const matrix_unit *unit, const int32_t *values)
{
    const int64_t bytes = MATRIX_BITS(unit->type) / 8,
                  warps = (int64_t)values[MATRIX_WM] * values[MATRIX_WN];
    const int64_t warp_m = values[MATRIX_MB] / values[MATRIX_WM],
                  warp_n = values[MATRIX_NB] / values[MATRIX_WN];
    const int64_t lines = unit->type == MATRIX_I8 ? 4 * (values[MATRIX_MB] + values[MATRIX_NB]) : 0;
    const int64_t emulated = warps * (warp_m + warp_n) * MATRIX_K(unit->number, unit->type) * bytes;
    const int64_t beside = (int64_t)values[MATRIX_NB] * unit->column_bytes +
                           (int64_t)values[MATRIX_KB] * unit->step_bytes + unit->more_bytes;
    return tn_matrix_array(unit, values) + lines + beside +
           (unit->emulated && unit->number != MATRIX_WGMMA ? emulated : 0);
}

/* Returns true if wgmma's blocks can have rows of `bytes` bytes along K. */
static bool is_row(int32_t bytes)
{
    return bytes == 32 || bytes == 64 || bytes == 128;
}

const char *tn_matrix_constrains(tenon_context *context, const matrix_unit *unit,
                                 const int32_t *values)
{
    const int32_t warp_m = values[MATRIX_MB] / values[MATRIX_WM];
    const int32_t warp_n = values[MATRIX_NB] / values[MATRIX_WN];
    if (values[MATRIX_MB] % values[MATRIX_WM] != 0 || values[MATRIX_NB] % values[MATRIX_WN] != 0 ||
        warp_m % MATRIX_M(unit->number) != 0 || warp_n % MATRIX_N(unit->number) != 0)
        return "mb / wm and nb / wn must be multiples of the unit's rows and columns";
    if (values[MATRIX_KB] % MATRIX_K(unit->number, unit->type) != 0 ||
        values[MATRIX_KB] * MATRIX_BITS(unit->type) % 128 != 0)
        return "kb must be a multiple of the unit's depth, and of 16 bytes";
    /* Vectors of 16 bytes may run along either dimension. */
    if (values[MATRIX_MB] * MATRIX_BITS(unit->type) % 128 != 0 ||
        values[MATRIX_NB] * MATRIX_BITS(unit->type) % 128 != 0)
        return "mb and nb must be multiples of 16 bytes";
    if (values[MATRIX_STAGES] > 1 && !unit->async)
        return "st above 1 needs cp.async";
    if (values[MATRIX_STAGES] > 1 && values[MATRIX_BLOCKS] == 1)
        return "lb 1 requires st 1";
    if (values[MATRIX_STAGES] == 1 && unit->number == MATRIX_WGMMA && unit->async)
        return "st must be at least 2: blocks bypass the registers";
    if (unit->number == MATRIX_WGMMA && !is_row(values[MATRIX_KB] * MATRIX_BITS(unit->type) / 8))
        return "kb must be 32, 64 or 128 bytes";
    if ((uint64_t)work_items(unit, values) > context->device.info.max_work_group)
        return "the work-group is larger than the device allows";
    return fits(context, unit, values) ? NULL : "the blocks do not fit the local memory";
}

/* Returns true if every row of every matrix of a factor consists of whole vectors of 16 bytes, for
 * any aligned start. */
static bool is_aligned(const gemm_problem *p, int matrix, const matrix_unit *unit)
{
    const gemm_matrix *x = &p->matrix[matrix];
    const int64_t vector = 128 / MATRIX_BITS(unit->type);
    const gemm_layout layout = tn_gemm_layout(p, matrix);
    bool aligned =
        layout != GEMM_STRIDED && (layout == GEMM_UNIT_COL ? x->row : x->col) % vector == 0;
    for (uint64_t i = 0; i < p->batch_rank; i++)
        aligned &= x->batch[i] % vector == 0;
    return aligned;
}

/* Returns true if wgmma multiplies two adjacent units at once. */
static bool is_by_pairs(const int32_t *values)
{
    return values[MATRIX_NB] / values[MATRIX_WN] % (2 * MATRIX_N(MATRIX_WGMMA)) == 0;
}

/* Returns the elements that wgmma reads from local memory per multiply-add. */
static double wgmma_reads(const int32_t *values)
{
    const int n = MATRIX_N(MATRIX_WGMMA);
    return 1.0 / MATRIX_M(MATRIX_WGMMA) + 1.0 / (is_by_pairs(values) ? 2 * n : n);
}

tn_work tn_matrix_loop(const tenon_context *context, const matrix_unit *unit, const int32_t *values,
                       double groups, double k, double address_instructions)
{
    const double steps = ceil(fmax(k, 1) / values[MATRIX_KB]);
    const double mb = values[MATRIX_MB], nb = values[MATRIX_NB];
    const double products = groups * steps * mb * nb * values[MATRIX_KB];
    const double bytes = MATRIX_BITS(unit->type) / 8.0;
    /* Elements per multiply-add that are loaded to local memory, and that are read from it. Warps
     * read their own parts; for wgmma four warps read both factors whole, up to a pair of units. */
    const bool is_wgmma = unit->number == MATRIX_WGMMA, is_copied = values[MATRIX_STAGES] > 1;
    const double brought = 1 / mb + 1 / nb;
    const double read =
        is_wgmma ? wgmma_reads(values) : values[MATRIX_WM] / mb + values[MATRIX_WN] / nb;
    const tn_kind_assumed *assumed = &context->device.model.kind->assumed;
    const double moves = (is_copied ? assumed->copying * bytes / 16 : assumed->loading) * brought +
                         (is_wgmma ? 0 : assumed->reading * read);
    return (tn_work){.launches = 1,
                     .groups = groups,
                     .steps = steps / fmax(values[MATRIX_STAGES] - 1, 1),
                     .rate = TN_RATE_MATRIX,
                     .bits = (uint32_t)MATRIX_BITS(unit->type),
                     .multiply_adds = products,
                     .efficiency = blocks_for(context, unit, values[MATRIX_STAGES]).efficiency *
                                   (!is_wgmma             ? assumed->mma
                                    : is_by_pairs(values) ? 1
                                                          : UNPAIRED),
                     .instructions = products * moves + groups * steps * address_instructions,
                     .local_bytes = is_copied ? products * bytes * (brought + read) : 0,
                     .fetched_bytes = is_copied ? products * bytes * brought : 0};
}

static tn_work gemm_matrix_work_of(const tenon_context *context, const gemm_problem *p,
                                   const matrix_unit *unit, const int32_t *values)
{
    const double groups = (double)group_count(p, values[MATRIX_MB], values[MATRIX_NB]);
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    tn_work work = tn_matrix_loop(context, unit, values, groups, k, 0);
    if (!is_aligned(p, GEMM_A, unit) || !is_aligned(p, GEMM_B, unit))
        work.efficiency /=
            unit->number == MATRIX_WGMMA ? UNALIGNED_WGMMA_SLOWDOWN : UNALIGNED_SLOWDOWN;
    work.bytes =
        (m * k + k * n + m * n) * (double)tn_gemm_batch_count(p) * MATRIX_BITS(unit->type) / 8;
    return work;
}

void tn_matrix_options(tenon_context *context, const gemm_problem *p, const matrix_unit *unit,
                       const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    char local[96];
    tn_local_options(unit->local, (uint64_t)tn_matrix_array(unit, values), local);
    tn_build_options_with(
        context, unit->capability, text,
        GEMM_OPTIONS_FORMAT " -DTENON_UNIT=%d -DTENON_UNIT_TYPE=%d -DTENON_EMULATE=%d"
                            " -DTENON_LDMATRIX=%d -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d"
                            " -DTENON_WM=%d -DTENON_WN=%d -DTENON_STAGES=%d -DTENON_A_ALONG_K=%d"
                            " -DTENON_B_ALONG_K=%d%s%s%s%s%s",
        GEMM_OPTIONS_VALUES(p), unit->number, unit->type, unit->emulated, unit->ldmatrix,
        values[MATRIX_MB], values[MATRIX_NB], values[MATRIX_KB], values[MATRIX_WM],
        values[MATRIX_WN], values[MATRIX_STAGES], tn_gemm_layout(p, GEMM_A) != GEMM_UNIT_ROW,
        tn_gemm_layout(p, GEMM_B) != GEMM_UNIT_COL,
        values[MATRIX_BLOCKS] == 1 ? " -DTENON_LB=1" : "",
        unit->split ? " -DTENON_UNIT_SPLIT=1" : "",
        unit->emulated && unit->number == MATRIX_XMX_16 ? " -DTENON_BLOCK_2D=1" : "",
        unit->type == MATRIX_TF32 ? " -DTENON_ROUND_TF32=1" : "", local);
}

void tn_matrix_try(tenon_context *context, const tn_problem *problem, const matrix_unit *unit,
                   tn_choice *choice)
{
    choice->misfit = tn_matrix_constrains(context, unit, choice->values);
    if (choice->misfit != NULL)
        return;
    const tn_work work =
        gemm_matrix_work_of(context, (const gemm_problem *)problem, unit, choice->values);
    tn_choice_add(context, choice, &work);
}

size_t tn_matrix_local_argument(const matrix_unit *unit, const int32_t *values)
{
    const size_t array = (size_t)tn_matrix_array(unit, values);
    return unit->local == TN_LOCAL_ARGUMENT ? array + TN_LOCAL_SLACK : 0;
}

void tn_matrix_sizes(const gemm_problem *p, const matrix_unit *unit, const int32_t *values,
                     tn_launch *launch)
{
    launch->local[0] = (size_t)work_items(unit, values);
    launch->local[1] = 1;
    launch->local_argument = tn_matrix_local_argument(unit, values);
    launch->global[0] =
        (size_t)block_count(p, values[MATRIX_MB], values[MATRIX_NB]) * launch->local[0];
    launch->global[1] = 1;
}
