/* What the cases share: comparing with a reference, and making a plan. */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include "bench.h"

#include "dispatch/operation.h"

#include "ops/common/epilogue.h"

/* Multiply-adds of a reference that take a moment. */
#define BENCH_JUDGE_WORK ((int64_t)1 << 24)

/* Compares elements first, first + step, … of a dense result with what is expected; raises
 * *error_over_bound to the worst. False, with the first difference in `why`, where one is beyond
 * its bound. */
bool bench_judge(tenon_dtype dtype, const void *got, int64_t first, int64_t step, int64_t count,
                 const tn_bounded *expected, double *error_over_bound, char why[256]);

/* The plan of a call, and in `bench`, unless that is NULL, its solver's name and the line that
 * repeats it. */
bool bench_plan(bench_session *session, const tn_operation *operation, const void *params,
                const tenon_tensor *const *views, bench_case *bench, tenon_plan **plan);

#endif
