/* gemm_int8/mma, gemm_int8/mfma, gemm_int8/wmma and gemm_int8/xmx: products of bytes on matrix
 * units. Sums are exact in any order, so that these serve whatever gemm_int8/tiled does. */
#include "ops/gemm/int8.h"
#include "ops/gemm/matrix.h"

static const char *refuses(tenon_context *context, const tn_problem *problem, matrix_kind kind)
{
    matrix_unit unit;
    return tn_matrix_unit(context, kind, problem->forced_values[MATRIX_FORM], MATRIX_I8, &unit)
               ? NULL
               : "the device has no such matrix units";
}

/* Bytes are made signed on their way through registers: none pass them by. */
static matrix_unit unit_of(tenon_context *context, matrix_kind kind, const int32_t *values)
{
    matrix_unit unit;
    tn_matrix_unit(context, kind, values[MATRIX_FORM], MATRIX_I8, &unit);
    unit.async = false;
    return unit;
}

static void tune(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                 int32_t *values)
{
    const matrix_unit unit = unit_of(context, kind, values);
    tn_matrix_tune(context, problem, &unit, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                              const int32_t *values)
{
    (void)problem;
    const matrix_unit unit = unit_of(context, kind, values);
    return tn_matrix_constrains(context, &unit, values);
}

static double estimate(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                       const int32_t *values)
{
    const matrix_unit unit = unit_of(context, kind, values);
    return tn_matrix_estimate(context, (const gemm_problem *)problem, &unit, values);
}

static void options(tenon_context *context, const tn_problem *problem, matrix_kind kind,
                    const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    const matrix_unit unit = unit_of(context, kind, values);
    tn_matrix_options(context, (const gemm_problem *)problem, &unit, values, text);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, matrix_kind kind, const int32_t *values)
{
    const int8_problem *p = (const int8_problem *)problem;
    const matrix_unit unit = unit_of(recording->context, kind, values);
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {
        .source = "gemm/int8_matrix", .options = text, .kernel = "gemm_int8_matrix"};
    tn_matrix_options(recording->context, &p->gemm, &unit, values, text);
    tn_matrix_sizes(&p->gemm, &unit, values, &launch);
    return tn_gemm_int8_record_launch(operation, recording, p, 0, &launch);
}

TN_MATRIX_SOLVER(tn_gemm_int8_mma, mma, MATRIX_MMA, MATRIX_PARAMETERS, NULL);
TN_MATRIX_SOLVER(tn_gemm_int8_mfma, mfma, MATRIX_AMD_MFMA, MATRIX_PARAMETERS, NULL);
TN_MATRIX_SOLVER(tn_gemm_int8_wmma, wmma, MATRIX_WMMA, MATRIX_PARAMETERS, NULL);
TN_MATRIX_SOLVER(tn_gemm_int8_xmx, xmx, MATRIX_XMX, MATRIX_PARAMETERS, NULL);
