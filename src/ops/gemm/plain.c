/* gemm/plain: one work-item per element. Serves every problem, on any device. */
#include "base/checked.h"
#include "ops/gemm/internal.h"

/* Above this number of multiply-adds every device has solvers that are many times faster, so this
 * one is never chosen. */
#define PLAIN_LIMIT (1 << 20)
/* Columns and rows of a work-group. */
#define PLAIN_COLS 16
#define PLAIN_ROWS 4

void tn_gemm_plain_configure(tenon_context *context, const gemm_problem *p, tn_choice *choice)
{
    if (tn_gemm_work(p) > PLAIN_LIMIT)
        choice->never_chosen = "more than 2^20 multiply-adds";
    const double items = (double)tn_round_up(p->m, PLAIN_ROWS) *
                         (double)tn_round_up(p->n, PLAIN_COLS) * (double)tn_gemm_batch_count(p);
    const tn_work work = {.launches = 1, .items = items, .scalar = items * ((double)p->k + 8)};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, GEMM_OPTIONS_FORMAT, GEMM_OPTIONS_VALUES(p));
}

tn_launch tn_gemm_plain_launch(const gemm_problem *p, const char *options, const char *source,
                               const char *kernel)
{
    return (tn_launch){
        .source = source,
        .options = options,
        .kernel = kernel,
        .global = {(size_t)tn_round_up(p->n, PLAIN_COLS), (size_t)tn_round_up(p->m, PLAIN_ROWS)},
        .local = {PLAIN_COLS, PLAIN_ROWS}};
}

static const char *gemm_plain_configure(tenon_context *context, const tn_problem *problem,
                                        tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    tn_gemm_plain_configure(context, p, choice);
    if (p->batch_invariant && context->device.is_cpu)
        choice->never_chosen = "the call is batch-invariant: on CPUs gemm/cpu_packed is used";
    return NULL;
}

static tenon_status gemm_plain_launch(const char *caller, tn_recording *recording,
                                      const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    gemm_arguments arguments;
    tn_launch plain = tn_gemm_plain_launch(p, choice->options, "gemm/plain", "gemm_plain");
    tn_gemm_arguments(p, &arguments);
    return tn_gemm_record_launch(caller, recording, p, &arguments, &plain);
}

const tn_solver tn_gemm_plain = {.name = "plain",
                                 .serves = "everything; chosen up to 2²⁰ multiply-adds",
                                 .configure = gemm_plain_configure,
                                 .launch = gemm_plain_launch};
