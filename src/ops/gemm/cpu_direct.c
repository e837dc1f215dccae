/* gemm/cpu_direct: the register tiles of cpu_packed, with b read in place. For b contiguous along
 * N. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"

static const char *gemm_cpu_direct_refuses(tenon_context *context, const gemm_problem *p)
{
    if (p->batch_invariant)
        return "the call is batch-invariant: gemm/cpu_packed, which supports every N, is used";
    if (p->matrix[GEMM_B].col != 1)
        return "b is not contiguous along N";
    /* The last panel is shifted left to end at the matrix's last column, so at least one whole
     * panel is required. */
    return p->n < 2 * tn_gemm_lanes(context, p->dtype) ? "n is less than the width of a panel"
                                                       : NULL;
}

#define PAGE     4096 /* bytes */
#define LONG_ROW 1024 /* bytes: in shorter rows, adjacent panels share most cache lines */
#define FEW_ROWS 128  /* rows of b, i.e. K; a panel of this many rows of 64 f32 has 32 KiB */

/* Returns the share of the peak rate that is left when panels of b are read in place. A panel of
 * few rows stays in the L1 cache with any layout. Measured: unaligned rows of 784 bytes cost 7 %,
 * rows of 4052 bytes 25 %. */
static double efficiency(tenon_context *context, const gemm_problem *p)
{
    const tn_kind_in_place *shares = &context->device.model.kind->in_place;
    const int64_t row = p->matrix[GEMM_B].row * (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    if (p->k <= FEW_ROWS)
        return 1;
    if (row % PAGE == 0)
        return shares->pages;
    return row > LONG_ROW && row % TN_LINE_BYTES != 0 ? shares->unaligned : 1;
}

/* Adds the time to convert the elements of b, once for each tile of rows. */
static void add_conversions(tenon_context *context, const gemm_problem *p, tn_choice *choice)
{
    const double tiles = (double)tn_ceil_div(p->m, choice->values[CPU_MR]);
    const tn_work work = {.rate = tn_sum_rate(p->dtype),
                          .vector_elements = GEMM_CONVERSION * tiles * (double)p->k *
                                             (double)tn_gemm_batch_count(p) *
                                             tn_gemm_cpu_columns(context, p, choice->values)};
    if (choice->misfit == NULL && tn_gemm_converts(p))
        tn_choice_add(context, choice, &work);
}

static int64_t local_elements(const gemm_problem *p, const int32_t *values)
{
    return tn_gemm_cpu_packed_a(p, values) + tn_gemm_cpu_sums(p, values);
}

static const char *gemm_cpu_direct_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int32_t panels = tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL ? 2 : 8;
    const double share = efficiency(context, p);
    tn_choice narrow = *choice; /* with panels no wider than the matrix */
    const char *why = gemm_cpu_direct_refuses(context, p);
    if (why != NULL)
        return why;
    tn_gemm_cpu_configure(context, p, panels, local_elements, share, choice);
    if (narrow.values[CPU_NR] == 0 && choice->values[CPU_NR] > p->n) {
        narrow.values[CPU_NR] = (int32_t)(2 * tn_gemm_lanes(context, p->dtype));
        tn_gemm_cpu_configure(context, p, panels, local_elements, share, &narrow);
        *choice = narrow;
    }
    add_conversions(context, p, choice);
    if (choice->values[CPU_NR] > p->n)
        choice->misfit = "n is less than nr";
    return tn_gemm_cpu_refuses_post(p, choice->values);
}

static tenon_status gemm_cpu_direct_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    return tn_gemm_cpu_record(caller, recording, (const gemm_problem *)problem, choice,
                              "gemm/cpu_direct", "gemm_cpu_direct");
}

const tn_solver tn_gemm_cpu_direct = {.name = "cpu_direct",
                                      .serves = "b contiguous along N, on CPUs",
                                      .awkward = TN_GEMM_CPU_AWKWARD,
                                      TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
                                      .configure = gemm_cpu_direct_configure,
                                      .launch = gemm_cpu_direct_launch};
