/* gemm_int8/mma, gemm_int8/mfma, gemm_int8/wmma, gemm_int8/xmx and gemm_int8/wgmma: products of
 * bytes on matrix units. Integer sums are exact in any order, so these solvers serve every problem
 * that gemm_int8/tiled serves. */
#include "ops/gemm/int8.h"
#include "ops/gemm/matrix.h"

static const char *gemm_int8_matrix_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    matrix_unit *unit = TN_LAYOUT(matrix_unit, choice);
    if (!tn_matrix_unit(context, tn_matrix_kind(choice->solver), choice->values[MATRIX_FORM],
                        MATRIX_I8, unit))
        return "the device has no such matrix units";
    unit->async = false; /* bytes are converted to signed in registers while they are staged */
    tn_matrix_choose_block(context, problem, unit, tn_matrix_try, choice);
    if (choice->misfit == NULL &&
        tn_matrix_local_way(context, unit, choice->values, &unit->local) && !choice->is_estimate)
        tn_matrix_options(context, (const gemm_problem *)problem, unit, choice->values,
                          choice->options);
    return NULL;
}

static tenon_status gemm_int8_matrix_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    const int8_problem *p = (const int8_problem *)problem;
    tn_launch launch = {
        .source = "gemm/int8_matrix", .options = choice->options, .kernel = "gemm_int8_matrix"};
    tn_matrix_sizes(&p->gemm, TN_LAYOUT(const matrix_unit, choice), choice->values, &launch);
    return tn_gemm_int8_record_launch(caller, recording, p, 0, &launch);
}

const tn_solver tn_gemm_int8_mma = TN_MATRIX_SOLVER(mma, gemm_int8_matrix, MATRIX_PARAMETERS,
                                                    "everything, on NVIDIA's matrix units", NULL);
const tn_solver tn_gemm_int8_mfma =
    TN_MATRIX_SOLVER(mfma, gemm_int8_matrix, MATRIX_PARAMETERS,
                     "everything, on the matrix units of AMD's CDNA", NULL);
const tn_solver tn_gemm_int8_wmma =
    TN_MATRIX_SOLVER(wmma, gemm_int8_matrix, MATRIX_PARAMETERS,
                     "everything, on the matrix units of AMD's RDNA", NULL);
const tn_solver tn_gemm_int8_xmx = TN_MATRIX_SOLVER(xmx, gemm_int8_matrix, MATRIX_PARAMETERS,
                                                    "everything, on Intel's matrix units", NULL);
const tn_solver tn_gemm_int8_wgmma =
    TN_MATRIX_SOLVER(wgmma, gemm_int8_matrix, MATRIX_PARAMETERS,
                     "everything, on Hopper's matrix units, if the driver accepts wgmma", NULL);
