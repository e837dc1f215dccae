/* gemm/cpu_packed: explicit vectors, with blocks of b packed in local memory. Serves every layout.
 */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"

static int64_t local_elements(const gemm_problem *p, const int32_t *values)
{
    return (int64_t)values[CPU_PANELS] * values[CPU_NR] * values[CPU_KC] +
           tn_gemm_cpu_packed_a(p, values) + tn_gemm_cpu_sums(p, values);
}

static const char *gemm_cpu_packed_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const gemm_layout b = tn_gemm_layout(p, GEMM_B);
    /* If a is packed too, wider work-groups pack it less often. Packing a transposed b takes
     * longest; narrow work-groups are then split along fewer rows, and each split packs b again. */
    const int32_t panels = tn_gemm_layout(p, GEMM_A) != GEMM_UNIT_COL ? 4
                           : b == GEMM_UNIT_ROW                       ? 1
                                                                      : 2;
    tn_gemm_cpu_configure(context, p, panels, local_elements, 1, choice);
    const char *why = tn_gemm_cpu_refuses_post(p, choice->values);
    if (choice->misfit != NULL || why != NULL)
        return why;
    /* Each group of rows packs b again. */
    const double row_groups =
        (double)tn_ceil_div(p->m, tn_gemm_cpu_tile_rows(context, p, choice->values));
    const double packed = (double)p->k * (double)tn_round_up(p->n, choice->values[CPU_NR]) *
                          (double)tn_gemm_batch_count(p) * row_groups;
    const tn_work work = {.rate = tn_sum_rate(p->dtype),
                          .vector_elements = b == GEMM_UNIT_COL   ? 2 * packed
                                             : b == GEMM_UNIT_ROW ? 4 * packed
                                                                  : 0,
                          .single_elements = b == GEMM_STRIDED ? packed : 0};
    tn_choice_add(context, choice, &work);
    return NULL;
}

static tenon_status gemm_cpu_packed_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    return tn_gemm_cpu_record(caller, recording, (const gemm_problem *)problem, choice,
                              "gemm/cpu_packed", "gemm_cpu_packed");
}

const tn_solver tn_gemm_cpu_packed = {.name = "cpu_packed",
                                      .serves = "any layout, on CPUs",
                                      .awkward = TN_GEMM_CPU_AWKWARD,
                                      TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
                                      .configure = gemm_cpu_packed_configure,
                                      .launch = gemm_cpu_packed_launch};
