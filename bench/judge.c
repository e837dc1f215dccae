#include "judge.h"

#include "base/dtype.h"
#include "dispatch/plan.h"
#include "check/case.h"

#include <math.h>
#include <stdio.h>

bool bench_judge(tenon_dtype dtype, const void *got, int64_t first, int64_t step, int64_t count,
                 const tn_bounded *expected, double *error_over_bound, char why[256])
{
    const size_t size = tenon_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = first + i * step;
        double value = tn_dtype_load(dtype, (const unsigned char *)got + (size_t)at * size);
        double error = fabs(value - expected[i].value);
        if (expected[i].bound > 0 && error / expected[i].bound > *error_over_bound)
            *error_over_bound = error / expected[i].bound;
        if (!(error <= expected[i].bound)) {
            snprintf(why, 256, "element %lld is %.9g, must be %.9g within %.3g", (long long)at,
                     value, expected[i].value, expected[i].bound);
            return false;
        }
    }
    return true;
}

bool bench_plan(bench_session *session, const tn_operation *operation, const void *params,
                const tenon_tensor *const *views, bench_case *bench, tenon_plan **plan)
{
    tn_case c;
    if (!bench_went_well(operation->plan(session->context, params, views, plan), operation->name))
        return false;
    if (bench == NULL)
        return true;
    snprintf(bench->solver, sizeof bench->solver, "%s", (*plan)->name);
    tn_case_make(operation, params, views, (*plan)->name, 1, &c);
    tn_case_text(&c, bench->repeat);
    return true;
}
