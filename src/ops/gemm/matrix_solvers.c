/* gemm/mma, gemm/mfma, gemm/wmma, gemm/xmx and gemm/wgmma: one kernel on the matrix units of
 * NVIDIA, of AMD's data-centre and other GPUs, of Intel, and of NVIDIA's Hopper where its driver
 * lets them be used. */
#include "ops/gemm/matrix.h"

#include "base/checked.h"
#include "ops/gemm/split_k.h"

#include <string.h>

/* The type that factors are multiplied in, or 0 where the kind has none that keeps what the caller
 * has not given up. */
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

/* What a choice keeps: the unit, and how much of its options is the product's kernel's. */
typedef struct matrix_layout {
    matrix_unit unit;
    uint64_t options;
} matrix_layout;

static const char *refuses(tenon_context *context, const gemm_problem *p, const tn_choice *choice,
                           matrix_unit *unit)
{
    const matrix_kind kind = tn_matrix_kind(choice->solver);
    const int type = type_of(p, kind);
    if (type == 0)
        return "the units do not multiply this type, or would round it";
    if (!tn_matrix_unit(context, kind, choice->values[MATRIX_FORM], type, unit))
        return "the device has no such matrix units";
    if (p->batch_invariant)
        return "other solvers sum in another order, and which is chosen follows M";
    return (p->sums & ~(UINT64_C(1) << GEMM_D)) != 0 ? "a factor is sums" : NULL;
}

/* A block with the number of slices that is given. */
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
    const gemm_problem partial = tn_gemm_split_partial(p, slices);
    const tn_work sum = tn_gemm_split_sum_work(context, p, slices);
    tn_matrix_try(context, &partial.head, unit, choice);
    tn_choice_add(context, choice, &sum);
    choice->workspace = tn_gemm_split_bytes(p, slices);
}

/* K may be cut where a block leaves half the cores without work. */
static bool may_be_cut(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    const int64_t groups = tn_ceil_div(p->m, values[MATRIX_MB]) *
                           tn_ceil_div(p->n, values[MATRIX_NB]) * tn_gemm_batch_count(p);
    return !context->device.is_cpu && tn_gemm_split_refuses(p) == NULL &&
           2.0 * (double)groups <= tn_model_cores(&context->device.model);
}

/* A block with as many slices as are fastest. */
static void try_block(tenon_context *context, const tn_problem *problem, const matrix_unit *unit,
                      tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const bool is_free = choice->values[MATRIX_SLICES] == 0;
    if (is_free)
        choice->values[MATRIX_SLICES] = 1;
    const tn_choice given = *choice;
    try_slices(context, p, unit, choice);
    if (!is_free || choice->misfit != NULL || !may_be_cut(context, p, given.values))
        return;
    for (int32_t slices = 2;
         slices <= TN_GEMM_MOST_SLICES && p->k >= (int64_t)slices * TN_GEMM_TUNED_SLICE &&
         tn_gemm_split_bytes(p, slices) <= p->head.workspace_limit;
         slices *= 2) {
        tn_choice tried = given;
        tried.values[MATRIX_SLICES] = slices;
        try_slices(context, p, unit, &tried);
        if (tn_choice_beats(&tried, choice))
            *choice = tried;
    }
}

static void set_options(tenon_context *context, const gemm_problem *p, matrix_layout *layout,
                        tn_choice *choice)
{
    const int32_t slices = choice->values[MATRIX_SLICES];
    const gemm_problem product = slices > 1 ? tn_gemm_split_partial(p, slices) : *p;
    tn_matrix_options(context, &product, &layout->unit, choice->values, choice->options);
    if (slices > 1)
        tn_gemm_split_add_options(p, choice->options, &layout->options);
}

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    matrix_layout *layout = TN_LAYOUT(matrix_layout, choice);
    const char *why = refuses(context, p, choice, &layout->unit);
    if (why != NULL)
        return why;
    if (p->m == 1 || p->n == 1)
        choice->never_chosen =
            "a vector is read once, which other solvers do with fewer work-items idle";
    tn_matrix_choose_block(context, problem, &layout->unit, try_block, choice);
    if (choice->misfit == NULL && !choice->is_estimate)
        set_options(context, p, layout, choice);
    return NULL;
}

static tenon_status launch_product(const char *operation, tn_recording *recording,
                                   const gemm_problem *p, const tn_choice *choice,
                                   const char *options)
{
    gemm_arguments arguments;
    tn_launch launch = {.source = "gemm/matrix", .options = options, .kernel = "gemm_matrix"};
    tn_gemm_arguments(p, &arguments);
    tn_matrix_sizes(p, &TN_LAYOUT(const matrix_layout, choice)->unit, choice->values, &launch);
    return tn_gemm_record_launch(operation, recording, p, &arguments, &launch);
}

static tenon_status launch(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int32_t slices = choice->values[MATRIX_SLICES];
    char options[TN_OPTIONS_SIZE];
    if (slices <= 1)
        return launch_product(operation, recording, p, choice, choice->options);
    const gemm_problem partial = tn_gemm_split_partial(p, slices);
    memcpy(options, choice->options, sizeof options);
    options[TN_LAYOUT(const matrix_layout, choice)->options] = '\0';
    TN_TRY(launch_product(operation, recording, &partial, choice, options));
    return tn_gemm_split_record_sum(operation, recording, p, slices, false);
}

bool tn_gemm_is_matrix(const tn_solver *solver)
{
    return solver->parameters == tn_gemm_matrix_parameters;
}

#define NEEDS "workspace where K is cut"

const tn_solver tn_gemm_mma = TN_MATRIX_SOLVER(
    mma, MATRIX_SPLIT_PARAMETERS,
    "f16 and bf16, and f32 where TF32 is allowed, on NVIDIA's matrix units", NEEDS);
const tn_solver tn_gemm_mfma = TN_MATRIX_SOLVER(
    mfma, MATRIX_SPLIT_PARAMETERS, "f16, bf16 and f32 on the matrix units of AMD's CDNA", NEEDS);
const tn_solver tn_gemm_wmma = TN_MATRIX_SOLVER(
    wmma, MATRIX_SPLIT_PARAMETERS, "f16 and bf16 on the matrix units of AMD's RDNA", NEEDS);
const tn_solver tn_gemm_xmx =
    TN_MATRIX_SOLVER(xmx, MATRIX_SPLIT_PARAMETERS, "f16 and bf16 on Intel's matrix units", NEEDS);
const tn_solver tn_gemm_wgmma =
    TN_MATRIX_SOLVER(wgmma, MATRIX_SPLIT_PARAMETERS,
                     "f16 and bf16 on Hopper's matrix units, where the driver takes wgmma", NEEDS);
