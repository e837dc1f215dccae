/* gemm/mma, gemm/mfma, gemm/wmma, gemm/xmx and gemm/wgmma: one kernel on the matrix units of
 * NVIDIA, of AMD's data-centre and other GPUs, of Intel, and of NVIDIA's Hopper where its driver
 * lets them be used. */
#include "ops/gemm/matrix.h"

#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/gemm/split_k.h"

#include <stdio.h>
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

static const char *refuses(tenon_context *context, const tn_problem *problem, matrix_kind kind)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int type = type_of(p, kind);
    matrix_unit unit;
    if (type == 0)
        return "the units do not multiply this type, or would round it";
    if (!tn_matrix_unit(context, kind, problem->forced_values[MATRIX_FORM], type, &unit))
        return "the device has no such matrix units";
    if (problem->forced < 0 && (p->m == 1 || p->n == 1))
        return "a vector is read once, which other solvers do with fewer work-items idle";
    if (p->batch_invariant)
        return "other solvers sum in another order, and which is chosen follows M";
    return (p->sums & ~(UINT64_C(1) << GEMM_D)) != 0 ? "a factor is sums" : NULL;
}

/* The unit of a problem that is not refused. */
static matrix_unit unit_of(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                           const int32_t *values)
{
    matrix_unit unit;
    tn_matrix_unit(context, kind, values[MATRIX_FORM], type_of((const gemm_problem *)problem, kind),
                   &unit);
    return unit;
}

/* K is cut where there are fewer work-groups than cores, and the sums fit the workspace. */
static int32_t tune_slices(tenon_context *context, const gemm_problem *p, const int32_t *values)
{
    const int64_t groups = tn_ceil_div(p->m, values[MATRIX_MB]) *
                           tn_ceil_div(p->n, values[MATRIX_NB]) * tn_gemm_batch_count(p);
    const int64_t cores = tn_gpu_cores(context);
    if (context->device.is_cpu || 2 * groups > cores || tn_gemm_split_refuses(p) != NULL)
        return 1;
    int32_t slices = tn_gemm_split_tune(p, groups, cores);
    while (slices > 1 && tn_gemm_split_bytes(p, slices) > p->head.workspace_limit)
        slices /= 2;
    return slices;
}

static void tune(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                 int32_t *values)
{
    const matrix_unit unit = unit_of(context, problem, kind, values);
    tn_matrix_tune(context, problem, &unit, values);
    if (values[MATRIX_SLICES] == 0)
        values[MATRIX_SLICES] = tune_slices(context, (const gemm_problem *)problem, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                              const int32_t *values)
{
    const matrix_unit unit = unit_of(context, problem, kind, values);
    const char *why =
        values[MATRIX_SLICES] > 1 ? tn_gemm_split_refuses((const gemm_problem *)problem) : NULL;
    return why != NULL ? why : tn_matrix_constrains(context, &unit, values);
}

static uint64_t workspace(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    (void)context;
    return values[MATRIX_SLICES] > 1
               ? tn_gemm_split_bytes((const gemm_problem *)problem, values[MATRIX_SLICES])
               : 0;
}

/* What the kernel on the units is given: the problem, or its slices. */
static gemm_problem product_of(const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    return values[MATRIX_SLICES] > 1 ? tn_gemm_split_partial(p, values[MATRIX_SLICES]) : *p;
}

static double estimate(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                       const int32_t *values)
{
    const matrix_unit unit = unit_of(context, problem, kind, values);
    const gemm_problem product = product_of(problem, values);
    const double time = tn_matrix_estimate(context, &product, &unit, values);
    return values[MATRIX_SLICES] > 1
               ? time + tn_gemm_split_sum_time(context, (const gemm_problem *)problem,
                                               values[MATRIX_SLICES])
               : time;
}

static void options(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                    const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    const matrix_unit unit = unit_of(context, problem, kind, values);
    const gemm_problem product = product_of(problem, values);
    tn_matrix_options(context, &product, &unit, values, text);
    if (values[MATRIX_SLICES] > 1) { /* the second kernel's */
        const size_t used = strlen(text);
        snprintf(text + used, TN_OPTIONS_SIZE - used, " " GEMM_OPTIONS_FORMAT,
                 GEMM_OPTIONS_VALUES((const gemm_problem *)problem));
    }
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, matrix_kind kind, const int32_t *values)
{
    const matrix_unit unit = unit_of(recording->context, problem, kind, values);
    const gemm_problem product = product_of(problem, values);
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    tn_launch launch = {.source = "gemm/matrix", .options = text, .kernel = "gemm_matrix"};
    tn_matrix_options(recording->context, &product, &unit, values, text);
    tn_gemm_arguments(&product, &arguments);
    tn_matrix_sizes(&product, &unit, values, &launch);
    TN_TRY(tn_gemm_record_launch(operation, recording, &product, &arguments, &launch));
    if (values[MATRIX_SLICES] <= 1)
        return TENON_OK;
    return tn_gemm_split_record_sum(operation, recording, (const gemm_problem *)problem,
                                    values[MATRIX_SLICES], false);
}

bool tn_gemm_is_matrix(const tn_solver *solver)
{
    return solver->parameters == tn_gemm_matrix_parameters;
}

TN_MATRIX_SOLVER(tn_gemm_mma, mma, MATRIX_MMA, MATRIX_SPLIT_PARAMETERS, workspace);
TN_MATRIX_SOLVER(tn_gemm_mfma, mfma, MATRIX_AMD_MFMA, MATRIX_SPLIT_PARAMETERS, workspace);
TN_MATRIX_SOLVER(tn_gemm_wmma, wmma, MATRIX_WMMA, MATRIX_SPLIT_PARAMETERS, workspace);
TN_MATRIX_SOLVER(tn_gemm_xmx, xmx, MATRIX_XMX, MATRIX_SPLIT_PARAMETERS, workspace);
TN_MATRIX_SOLVER(tn_gemm_wgmma, wgmma, MATRIX_NVIDIA_WGMMA, MATRIX_SPLIT_PARAMETERS, workspace);
