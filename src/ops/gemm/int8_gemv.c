/* gemm_int8/gemv: a matrix times a vector, for CPUs. For a contiguous along K or along M. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/int8.h"

#define GROUPS_PER_UNIT 8
/* Matches gemm/int8_gemv.cl for a contiguous along M: a few cache lines for each step of K. */
#define VECTORS 16

static bool along_k(const gemm_problem *p)
{
    return tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL;
}

static int64_t rows_of(tenon_context *context, const gemm_problem *p)
{
    int64_t groups = GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units;
    return along_k(p) ? tn_round_up(tn_ceil_div(p->m, groups), INT8_TOGETHER)
                      : VECTORS * tn_gemm_lanes(context, p->dtype);
}

static const char *gemm_int8_gemv_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const int lanes = (int)tn_gemm_lanes(context, p->dtype);
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    if (p->n != 1)
        return "not a vector";
    if (tn_gemm_layout(p, GEMM_A) == GEMM_STRIDED)
        return "no dimension of the matrix is contiguous";
    const tn_work work = {
        .launches = 1,
        .blocks = true,
        .groups = (double)(tn_ceil_div(p->m, rows_of(context, p)) * tn_gemm_batch_count(p)),
        .vector_elements = tn_gemm_work(p),
        .bytes = tn_gemm_work(p)};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      GEMM_OPTIONS_FORMAT " -DTENON_VW=%d -DTENON_A_LAYOUT=%d -DTENON_ROWS=%d",
                      GEMM_OPTIONS_VALUES(p), lanes, along_k(p) ? 1 : 2, VECTORS * lanes);
    return NULL;
}

static tenon_status gemm_int8_gemv_launch(const char *caller, tn_recording *recording,
                                          const tn_problem *problem, const tn_choice *choice)
{
    const int8_problem *p = (const int8_problem *)problem;
    const int64_t rows = rows_of(recording->context, &p->gemm);
    tn_launch launch = {.source = "gemm/int8_gemv",
                        .options = choice->options,
                        .kernel = "gemm_int8_gemv",
                        .global = {(size_t)tn_ceil_div(p->gemm.m, rows), 1},
                        .local = {1, 1}};
    return tn_gemm_int8_record_launch(caller, recording, p, rows, &launch);
}

const tn_solver tn_gemm_int8_gemv = {.name = "gemv",
                                     .serves =
                                         "a vector and a matrix contiguous along K or M, on CPUs",
                                     .awkward = "m=701 n=1",
                                     .configure = gemm_int8_gemv_configure,
                                     .launch = gemm_int8_gemv_launch};
