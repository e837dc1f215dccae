/* gemm/mma, gemm/mfma, gemm/wmma, gemm/xmx and gemm/wgmma: one kernel on the matrix units of
 * NVIDIA, of AMD's data-center and other GPUs, of Intel, and of NVIDIA's Hopper if its driver
 * accepts wgmma. */
#include "ops/gemm/matrix.h"

#include "base/checked.h"
#include "ops/gemm/split_k.h"

#include <string.h>

/* Returns the type in which factors are multiplied, or 0 if the kind has none with the precision
 * that the caller requires. */
static int type_of(const gemm_problem *p, matrix_kind kind)
{
    switch (p->dtype) {
    case TENON_DTYPE_F16:
        return MATRIX_F16;
    case TENON_DTYPE_BF16:
        return MATRIX_BF16;
    case TENON_DTYPE_F32:
        if (kind == MATRIX_AMD_MFMA)
            return MATRIX_F32;
        return kind == MATRIX_MMA && (p->flags & GEMM_TF32) != 0 ? MATRIX_TF32 : 0;
    default:
        return 0;
    }
}

static const char *gemm_matrix_solvers_refuses(tenon_context *context, const gemm_problem *p,
                                               const tn_choice *choice, matrix_unit *unit)
{
    const matrix_kind kind = tn_matrix_kind(choice->solver);
    const int type = type_of(p, kind);
    if (type == 0)
        return "the matrix units do not support this type, or would round it";
    if (!tn_matrix_unit(context, kind, choice->values[MATRIX_FORM], type, unit))
        return "the device has no such matrix units";
    if (p->batch_invariant)
        return "the call is batch-invariant, and the choice between solvers depends on M";
    return (p->sums & ~(UINT64_C(1) << GEMM_D)) != 0 ? "a factor holds sums" : NULL;
}

static gemm_problem with_rows(const gemm_problem *p, int64_t count)
{
    gemm_problem part = *p;
    part.m = count;
    return part;
}

/* Returns the frame of a product that begins at row `first` of `p`. */
static tn_frame rows_from(const gemm_problem *p, int64_t first)
{
    static const int of_rows[] = {GEMM_A, GEMM_C, GEMM_BIAS, GEMM_D};
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_frame frame = tn_frame_after(0);
    for (int i = 0; i < 4; i++) {
        const gemm_matrix *matrix = &p->matrix[of_rows[i]];
        if (matrix->row != 0) /* present; an absent matrix has another operand's number */
            tn_frame_operand(&frame, (uint32_t)matrix->operand, (uint8_t)matrix->operand,
                             first * matrix->row * size);
    }
    return frame;
}

/* Returns the number of rows before those whose K is split. */
static int64_t whole_rows(const gemm_problem *p, const int32_t *values)
{
    const int64_t rows = tn_ceil_div(p->m, values[MATRIX_MB]), cut = values[MATRIX_CUT_ROWS];
    return cut == MATRIX_ALL_ROWS || cut >= rows ? 0 : (rows - cut) * values[MATRIX_MB];
}

/* Tries a block with the given slices and split rows. */
static void try_slices(tenon_context *context, const gemm_problem *p, const matrix_unit *unit,
                       tn_choice *choice)
{
    const int32_t slices = choice->values[MATRIX_SLICES];
    if (slices <= 1) {
        tn_matrix_try(context, &p->head, unit, choice);
        return;
    }
    choice->misfit = tn_gemm_split_refuses(p);
    if (choice->misfit != NULL)
        return;
    const int64_t first = whole_rows(p, choice->values);
    const gemm_problem whole = with_rows(p, first), cut = with_rows(p, p->m - first);
    const gemm_problem partial = tn_gemm_split_partial(&cut, slices);
    const tn_work sum = tn_gemm_split_sum_work(context, &cut, slices);
    if (first > 0)
        tn_matrix_try(context, &whole.head, unit, choice);
    tn_matrix_try(context, &partial.head, unit, choice);
    tn_choice_add(context, choice, &sum);
    choice->workspace = tn_gemm_split_bytes(&cut, slices);
}

static int64_t row_groups(const gemm_problem *p, const int32_t *values)
{
    return tn_ceil_div(p->n, values[MATRIX_NB]) * tn_gemm_batch_count(p);
}

/* Returns how many rows of blocks may have K split: all, if they leave half the cores idle; those
 * of a last partial wave of work-groups, if the others fill whole waves; otherwise 0. */
static int32_t rows_to_cut(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    const int64_t rows = tn_ceil_div(p->m, values[MATRIX_MB]), in_row = row_groups(p, values);
    const int64_t cores = (int64_t)tn_model_cores(&context->device.model);
    if (context->device.is_cpu || tn_gemm_split_refuses(p) != NULL)
        return 0;
    if (2 * rows * in_row <= cores)
        return MATRIX_ALL_ROWS;
    const int64_t rest = rows - rows * in_row / cores * cores / in_row;
    return rest < rows && rest < MATRIX_ALL_ROWS ? (int32_t)rest : 0;
}

/* Tries a block with the fastest number of slices. */
static void try_block(tenon_context *context, const tn_problem *problem, const matrix_unit *unit,
                      tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const bool is_free = choice->values[MATRIX_SLICES] == 0;
    const int32_t given_rows = choice->values[MATRIX_CUT_ROWS];
    if (is_free)
        choice->values[MATRIX_SLICES] = 1;
    if (given_rows == 0)
        choice->values[MATRIX_CUT_ROWS] = MATRIX_ALL_ROWS;
    tn_choice tried = *choice;
    try_slices(context, p, unit, choice);
    const int32_t rows = given_rows > 0 ? given_rows : rows_to_cut(context, p, tried.values);
    if (!is_free || choice->misfit != NULL || rows == 0)
        return;
    const tn_choice given = tried;
    for (int32_t slices = 2;
         slices <= TN_GEMM_MOST_SLICES && p->k >= (int64_t)slices * TN_GEMM_TUNED_SLICE;
         slices *= 2) {
        tried = given;
        tried.values[MATRIX_SLICES] = slices;
        tried.values[MATRIX_CUT_ROWS] = rows;
        try_slices(context, p, unit, &tried);
        if (tried.misfit == NULL && tried.workspace <= p->head.workspace_limit &&
            tn_choice_beats(&tried, choice))
            *choice = tried;
    }
}

/* Sets the options that identify the variant. A launch makes its own build options. */
static void gemm_matrix_solvers_set_options(tenon_context *context, const gemm_problem *p,
                                            const matrix_unit *unit, tn_choice *choice)
{
    uint64_t length;
    const int32_t slices = choice->values[MATRIX_SLICES];
    const gemm_problem product = slices > 1 ? tn_gemm_split_partial(p, slices) : *p;
    tn_matrix_options(context, &product, unit, choice->values, choice->options);
    if (slices > 1)
        tn_gemm_split_add_options(p, choice->options, &length);
}

static const char *gemm_matrix_solvers_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    matrix_unit *unit = TN_LAYOUT(matrix_unit, choice);
    const char *why = gemm_matrix_solvers_refuses(context, p, choice, unit);
    if (why != NULL)
        return why;
    if (p->m == 1 || p->n == 1)
        choice->never_chosen = "solvers for vectors leave fewer work-items idle";
    tn_matrix_choose_block(context, problem, unit, try_block, choice);
    if (choice->misfit == NULL &&
        tn_matrix_local_way(context, unit, choice->values, &unit->local) && !choice->is_estimate)
        gemm_matrix_solvers_set_options(context, p, unit, choice);
    return NULL;
}

static tenon_status launch_product(const char *caller, tn_recording *recording,
                                   const gemm_problem *p, const tn_choice *choice)
{
    const matrix_unit *unit = TN_LAYOUT(const matrix_unit, choice);
    char options[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    tn_launch launch = {.source = "gemm/matrix", .options = options, .kernel = "gemm_matrix"};
    tn_matrix_options(recording->context, p, unit, choice->values, options);
    tn_gemm_arguments(p, &arguments);
    tn_matrix_sizes(p, unit, choice->values, &launch);
    return tn_gemm_record_launch(caller, recording, p, &arguments, &launch);
}

/* Records the last rows, whose K is split into slices. */
static tenon_status launch_cut(const char *caller, tn_recording *recording, const gemm_problem *p,
                               const tn_choice *choice, int64_t rows)
{
    const int32_t slices = choice->values[MATRIX_SLICES];
    const gemm_problem cut = with_rows(p, rows), partial = tn_gemm_split_partial(&cut, slices);
    TN_TRY(launch_product(caller, recording, &partial, choice));
    return tn_gemm_split_record_sum(caller, recording, &cut, slices, false);
}

static tenon_status gemm_matrix_solvers_launch(const char *caller, tn_recording *recording,
                                               const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    if (choice->values[MATRIX_SLICES] <= 1)
        return launch_product(caller, recording, p, choice);
    const int64_t first = whole_rows(p, choice->values);
    const gemm_problem whole = with_rows(p, first);
    if (first > 0)
        TN_TRY(launch_product(caller, recording, &whole, choice));
    tn_frame frame = rows_from(p, first);
    tn_frame_enter(recording, &frame);
    const tenon_status status = launch_cut(caller, recording, p, choice, p->m - first);
    tn_frame_leave(recording);
    return status;
}

bool tn_gemm_is_matrix(const tn_solver *solver)
{
    return solver->parameters == tn_gemm_matrix_parameters;
}

#define NEEDS "workspace if K is split"

const tn_solver tn_gemm_mma =
    TN_MATRIX_SOLVER(mma, gemm_matrix_solvers, MATRIX_GEMM_PARAMETERS,
                     "f16 and bf16, and f32 if TF32 is allowed, on NVIDIA's matrix units", NEEDS);
const tn_solver tn_gemm_mfma =
    TN_MATRIX_SOLVER(mfma, gemm_matrix_solvers, MATRIX_GEMM_PARAMETERS,
                     "f16, bf16 and f32 on the matrix units of AMD's CDNA", NEEDS);
const tn_solver tn_gemm_wmma =
    TN_MATRIX_SOLVER(wmma, gemm_matrix_solvers, MATRIX_GEMM_PARAMETERS,
                     "f16 and bf16 on the matrix units of AMD's RDNA", NEEDS);
const tn_solver tn_gemm_xmx = TN_MATRIX_SOLVER(xmx, gemm_matrix_solvers, MATRIX_GEMM_PARAMETERS,
                                               "f16 and bf16 on Intel's matrix units", NEEDS);
const tn_solver tn_gemm_wgmma =
    TN_MATRIX_SOLVER(wgmma, gemm_matrix_solvers, MATRIX_GEMM_PARAMETERS,
                     "f16 and bf16 on Hopper's matrix units, if the driver accepts wgmma", NEEDS);
