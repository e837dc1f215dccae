/* gemm_int8/plain: one work-item per element. Serves every problem, on any device. */
#include "base/checked.h"
#include "ops/gemm/int8.h"

static const char *gemm_int8_plain_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    tn_gemm_plain_configure(context, (const gemm_problem *)problem, choice);
    return NULL;
}

static tenon_status gemm_int8_plain_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const int8_problem *p = (const int8_problem *)problem;
    tn_launch plain =
        tn_gemm_plain_launch(&p->gemm, choice->options, "gemm/int8_plain", "gemm_int8_plain");
    return tn_gemm_int8_record_launch(caller, recording, p, 0, &plain);
}

const tn_solver tn_gemm_int8_plain = {.name = "plain",
                                      .serves = "everything; chosen up to 2²⁰ multiply-adds",
                                      .configure = gemm_int8_plain_configure,
                                      .launch = gemm_int8_plain_launch};
