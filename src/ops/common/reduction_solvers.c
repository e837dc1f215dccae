/* The solvers rows, columns, split_rows and split_columns of all reduction families. */
#include "base/checked.h"
#include "base/dtype.h"
#include "ops/common/gpu.h"
#include "ops/common/reduction.h"
#include "ops/common/rows.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Least elements per work-item of a CPU, to be worth its launch. A GPU's work-item has one row, or
 * one vector of rows. */
#define CPU_CHUNK 8192
/* Least length of a piece, and the maximum number of pieces. */
#define LEAST_PIECE    64
#define CPU_MOST       64
#define GPU_MOST       8192
#define VECTORS        4   /* REDUCTION_VECTORS, per step */
#define GPU_GROUP      64  /* REDUCTION_GROUP */
#define GPU_WORK_ITEMS 128 /* per compute unit, to keep enough reads in flight */

/* The layout: how a solver divides the work. */
typedef struct shares {
    bool along, split; /* vectors run along the rows; rows are split */
    int64_t chunk, groups, pieces, run;
} shares;

int64_t tn_reduction_count(const tn_reduction_problem *p)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < p->kept_rank; d++)
        count *= p->kept_shape[d];
    return count;
}

static shares whole_shares(tenon_context *context, const tn_reduction_problem *p, bool along)
{
    bool is_cpu = context->device.is_cpu;
    int64_t width = (int64_t)tn_lanes(context, p->dtype), count = tn_reduction_count(p);
    int64_t length = along ? count : p->kept_shape[p->kept_rank - 1];
    int64_t chunk = is_cpu ? tn_max_i64(CPU_CHUNK / tn_max_i64(p->size, 1), 1) : 1;
    if (!along)
        chunk = tn_round_up(chunk, is_cpu ? VECTORS * width : width);
    return (shares){.along = along,
                    .chunk = chunk,
                    .groups = count / length * tn_ceil_div(length, chunk),
                    .pieces = 1,
                    .run = tn_max_i64(p->size, 1)};
}

/* Splits rows into enough pieces to occupy every compute unit. Pieces are contiguous on a CPU, and
 * interleaved between neighboring work-items on a GPU, for coalesced reads. */
static shares split_shares(tenon_context *context, const tn_reduction_problem *p, bool along)
{
    shares s = whole_shares(context, p, along);
    bool is_cpu = context->device.is_cpu;
    int64_t width = along ? (int64_t)tn_lanes(context, p->dtype) : 1;
    int64_t units = context->device.info.compute_units;
    int64_t wanted = tn_ceil_div(units * (is_cpu ? 4 : GPU_WORK_ITEMS), s.groups);
    int64_t most = tn_min_i64(is_cpu ? CPU_MOST : GPU_MOST, p->size / LEAST_PIECE);
    s.split = true;
    s.pieces = tn_max_i64(tn_min_i64(wanted, most), 2);
    s.run = tn_round_up(tn_ceil_div(p->size, s.pieces), width);
    if (is_cpu || !along)
        s.pieces = tn_max_i64(tn_ceil_div(p->size, s.run), 1);
    else
        s.run = VECTORS * width;
    return s;
}

uint64_t tn_reduction_paths(const tn_problem *problem)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    return UINT64_C(1) << (16 + p->kind) |
           tn_paths_of_flags(p->flags, REDUCTION_WIDE | REDUCTION_HAS_MEANS);
}

bool tn_reduction_is_extremum(const tn_reduction_problem *p)
{
    return p->kind >= REDUCTION_MAX && p->kind <= REDUCTION_ARGMIN;
}

/* Estimates the launch that reads the input. On a CPU, partly filled vectors and gathered elements
 * cost more. On a GPU, reads are coalesced for pieces and for columns. */
static tn_work reading(tenon_context *context, const tn_reduction_problem *p, const shares *s)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const int64_t length = s->along ? p->shape[p->rank - 1] : p->kept_shape[p->kept_rank - 1];
    const int64_t stride = s->along ? p->stride[REDUCTION_X][p->rank - 1]
                                    : p->kept_stride[REDUCTION_X][p->kept_rank - 1];
    const int64_t width = tn_lanes(context, p->dtype);
    const double rows = (double)tn_reduction_count(p), elements = rows * (double)p->size;
    const double vectors =
        elements / (double)tn_max_i64(length, 1) * (double)(tn_ceil_div(length, width) * width);
    const double inputs = p->element_size[REDUCTION_T] != 0 ? 2 : 1;
    const bool apart =
        stride > 1 && (double)p->stride[REDUCTION_X][p->rank - 1] * size >= TN_LINE_BYTES;
    return (tn_work){.launches = 1,
                     .items = (double)s->groups * (double)s->pieces,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = stride == 1 ? 1.2 * vectors : 0,
                     .single_elements = stride == 1 ? 0 : 2.2 * vectors,
                     .rows = rows * (s->along ? 4 : 1),
                     .bytes = elements * size * inputs * (p->kind == REDUCTION_VARIANCE ? 2 : 1),
                     .reads = apart        ? TN_SCATTERED
                              : stride > 1 ? TN_LONG_ROWS
                              : !s->along
                                  ? (length < TN_GPU_LEAST_COLUMNS ? TN_LONG_ROWS : TN_COALESCED)
                              : s->pieces > 1 ? TN_SHORT_ROWS
                                              : tn_reads_of_row((double)p->size * size)};
}

/* Estimates the launches that combine the results of pieces, with scattered reads. */
static tn_work joining(const tn_reduction_problem *p, const shares *s)
{
    const double rows = (double)tn_reduction_count(p), sums = rows * (double)s->pieces;
    return (tn_work){.launches = p->kind == REDUCTION_VARIANCE ? 3 : 1,
                     .follows = true,
                     .items = rows * GPU_GROUP,
                     .single_elements = sums,
                     .rows = rows * 10,
                     .bytes = sums * 32};
}

/* Bytes for the results of the pieces, then the means of a variance or the indices of extrema. */
static uint64_t workspace_of(const tn_reduction_problem *p, const shares *s)
{
    int64_t count = tn_reduction_count(p);
    int64_t more = tn_reduction_is_extremum(p)     ? s->pieces * count
                   : p->kind == REDUCTION_VARIANCE ? count
                                                   : 0;
    return (uint64_t)(s->pieces * count + more) * tn_acc_size(p->dtype);
}

/* Bits of a solver's variant: vectors run along the rows; the rows are split into pieces. */
enum { ALONG = 1, SPLIT = 2 };

uint32_t tn_reduction_dtype(const tn_reduction_problem *p)
{
    return p->variant == REDUCTION_COUNT ? (uint32_t)TENON_DTYPE_F32 : p->dtype;
}

/* Returns true if the results are indices or numbers of elements in i64. */
static bool has_wide_places(const tn_reduction_problem *p)
{
    const bool is_place =
        p->variant == REDUCTION_COUNT || p->kind == REDUCTION_ARGMAX || p->kind == REDUCTION_ARGMIN;
    return is_place && p->element_size[REDUCTION_Y] == sizeof(int64_t);
}

/* TENON_EXTREMUM distinguishes the two programs of tenon_reduce, so each has its own self-check. */
const char *tn_reduction_options(const tn_reduction_problem *p, char text[TN_REDUCTION_OPTIONS])
{
    const bool is_real = tn_dtype_is_float((tenon_dtype)p->dtype);
    int used = snprintf(text, TN_REDUCTION_OPTIONS, "%s",
                        tn_reduction_is_extremum(p) ? " -DTENON_EXTREMUM" : "");
    if (p->variant != REDUCTION_PLAIN)
        used += snprintf(text + used, TN_REDUCTION_OPTIONS - (size_t)used,
                         " -DREDUCTION_VARIANT=%u", p->variant);
    if (has_wide_places(p))
        used += snprintf(text + used, TN_REDUCTION_OPTIONS - (size_t)used, " -DTENON_WIDE=1");
    if (p->variant == REDUCTION_COUNT)
        snprintf(text + used, TN_REDUCTION_OPTIONS - (size_t)used,
                 " -DCOUNT_SIZE=%u -DCOUNT_IS_REAL=%d",
                 (unsigned)tenon_dtype_size((tenon_dtype)p->dtype), (int)is_real);
    return text;
}

/* Configures any of the four solvers. */
static const char *common_reduction_solvers_configure(tenon_context *context,
                                                      const tn_problem *problem, tn_choice *choice)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const bool split = (choice->solver->variant & SPLIT) != 0;
    const bool along = (choice->solver->variant & ALONG) != 0;
    shares *s = TN_LAYOUT(shares, choice);
    char options[TN_REDUCTION_OPTIONS];
    if (split && p->size < 2 * LEAST_PIECE)
        return "the rows are too short to split";
    *s = split ? split_shares(context, p, along) : whole_shares(context, p, along);
    choice->workspace = split ? workspace_of(p, s) : 0;
    const tn_work reads = reading(context, p, s), joins = joining(p, s);
    tn_choice_add(context, choice, &reads);
    if (s->pieces > 1)
        tn_choice_add(context, choice, &joins);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s%s",
                      tn_reduction_dtype(p), tn_lanes(context, p->dtype), tn_gpu_option(context),
                      tn_reduction_options(p, options), tn_gpu_registers_option(context));
    return NULL;
}

void tn_reduction_fill(const tn_reduction_problem *p, reduction_args *args)
{
    memset(args, 0, sizeof *args);
    memcpy(args->kept_stride, p->kept_stride, sizeof args->kept_stride);
    memcpy(args->kept_shape, p->kept_shape, sizeof args->kept_shape);
    memcpy(args->stride, p->stride, sizeof args->stride);
    memcpy(args->shape, p->shape, sizeof args->shape);
    args->size = p->size;
    args->count = tn_reduction_count(p);
    args->divisor = p->divisor;
    args->kept_rank = (tenon_i32)p->kept_rank;
    args->rank = (tenon_i32)p->rank;
    args->kind = (tenon_i32)p->kind;
    args->flags = (tenon_i32)p->flags;
}

/* Absent operands are neither read nor written, so y's pointer is passed for them. */
uint8_t tn_reduction_operand(const tn_reduction_problem *p, int view)
{
    return (uint8_t)p->operand[p->element_size[view] != 0 ? view : REDUCTION_Y];
}

tenon_status tn_reduction_launch(const char *caller, tn_recording *recording,
                                 const tn_reduction_problem *p, tn_launch *launch,
                                 const reduction_args *args)
{
    tn_patch patches[REDUCTION_VIEWS + 2];
    uint32_t count = 0;
    for (int v = 0; v < REDUCTION_VIEWS; v++)
        if (p->element_size[v] != 0)
            patches[count++] =
                (tn_patch){TN_PATCH_OFFSET, (uint8_t)p->operand[v],
                           (uint16_t)(offsetof(reduction_args, offset) + v * sizeof *args->offset),
                           p->element_size[v]};
    if (args->pieces > 1)
        patches[count++] =
            (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(reduction_args, partials),
                       (uint32_t)tn_acc_size(p->dtype)};
    if (p->kind == REDUCTION_SQUARED_ERROR)
        patches[count++] = (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype),
                                      TN_SCALAR_REDUCTION, offsetof(reduction_args, scale), 1};
    launch->dimensions = 1;
    launch->args = args;
    launch->args_size = sizeof *args;
    launch->patches = patches;
    launch->patch_count = count;
    return tn_record(caller, recording, launch);
}

/* Records the launch of the kernel in `it`, whose sizes and operands are set. */
static tenon_status launch_stage(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice, int stage,
                                 tn_launch *it)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const shares *s = TN_LAYOUT(const shares, choice);
    reduction_args args;
    tn_reduction_fill(p, &args);
    args.chunk = s->chunk;
    args.run = s->run;
    args.pieces = s->pieces;
    args.stage = stage;
    it->source = p->kind == REDUCTION_SQUARED_ERROR ? "loss/mse_forward"
                 : p->variant == REDUCTION_COUNT    ? "reduce/count"
                 : tn_reduction_is_extremum(p)      ? "reduce/extremum"
                                                    : "reduce/sum";
    it->options = choice->options;
    return tn_reduction_launch(caller, recording, p, it, &args);
}

/* Records the launch of reduce_rows or reduce_columns. */
static tenon_status launch_sums(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice, int stage)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const shares *s = TN_LAYOUT(const shares, choice);
    const size_t local = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    tn_launch it = {.kernel = s->along ? "reduce_rows" : "reduce_columns",
                    .operand_count = 5,
                    .local = {local}};
    for (int v = 0; v < REDUCTION_VIEWS; v++)
        it.operands[v] = tn_reduction_operand(p, v);
    it.operands[REDUCTION_VIEWS] =
        stage == REDUCTION_WHOLE ? tn_reduction_operand(p, REDUCTION_Y) : TN_WORKSPACE;
    it.global[0] = (size_t)tn_round_up(s->groups * s->pieces, (int64_t)local);
    return launch_stage(caller, recording, problem, choice, stage, &it);
}

static tenon_status launch_finish(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice, int stage)
{
    const tn_reduction_problem *p = (const tn_reduction_problem *)problem;
    const size_t local = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    tn_launch it = {.kernel = "reduce_finish",
                    .operands = {tn_reduction_operand(p, REDUCTION_Y),
                                 tn_reduction_operand(p, REDUCTION_MEANS), TN_WORKSPACE},
                    .operand_count = 3,
                    .global = {(size_t)tn_reduction_count(p) * local},
                    .local = {local}};
    return launch_stage(caller, recording, problem, choice, stage, &it);
}

static tenon_status common_reduction_solvers_launch(const char *caller, tn_recording *recording,
                                                    const tn_problem *problem,
                                                    const tn_choice *choice)
{
    const bool variance = ((const tn_reduction_problem *)problem)->kind == REDUCTION_VARIANCE;
    if (!TN_LAYOUT(const shares, choice)->split)
        return launch_sums(caller, recording, problem, choice, REDUCTION_WHOLE);
    TN_TRY(launch_sums(caller, recording, problem, choice, REDUCTION_PARTIAL));
    if (!variance)
        return launch_finish(caller, recording, problem, choice, REDUCTION_WHOLE);
    TN_TRY(launch_finish(caller, recording, problem, choice, REDUCTION_PARTIAL));
    TN_TRY(launch_sums(caller, recording, problem, choice, REDUCTION_SQUARES));
    return launch_finish(caller, recording, problem, choice, REDUCTION_SQUARES);
}

const tn_solver tn_reduction_rows = {.name = "rows",
                                     .serves = "everything; vectors along the reduced rows",
                                     .variant = ALONG,
                                     .configure = common_reduction_solvers_configure,
                                     .launch = common_reduction_solvers_launch};

const tn_solver tn_reduction_columns = {.name = "columns",
                                        .serves = "everything; vectors across the reduced rows",
                                        .configure = common_reduction_solvers_configure,
                                        .launch = common_reduction_solvers_launch};

const tn_solver tn_reduction_split_rows = {
    .name = "split_rows",
    .serves =
        "rows of at least 128 elements, split into pieces; vectors along the rows; best for few "
        "rows",
    .needs = "workspace for partial results",
    .variant = ALONG | SPLIT,
    .configure = common_reduction_solvers_configure,
    .launch = common_reduction_solvers_launch};

const tn_solver tn_reduction_split_columns = {
    .name = "split_columns",
    .serves =
        "rows of at least 128 elements, split into pieces; vectors across the rows; best for few "
        "rows",
    .needs = "workspace for partial results",
    .variant = SPLIT,
    .configure = common_reduction_solvers_configure,
    .launch = common_reduction_solvers_launch};
