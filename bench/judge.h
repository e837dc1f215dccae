/* Functions shared by the cases: making a plan, and comparing its result with the operation's
 * reference. */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include "operands.h"

#include "check/case.h"

/* Makes the plan of a call, and sets in `bench`, unless that is NULL, its solver's name and the
 * line that repeats it. */
bool bench_plan(bench_session *session, const tn_operation *operation, const void *params,
                const tenon_tensor *const *views, bench_case *bench, tenon_plan **plan);

/* Reads the call from the line that repeats it. */
bool bench_case_of(const bench_case *bench, tn_case *c);

/* Plans the calls of a case with packed weights by its `replan`, and sets the solver's name and the
 * line that repeats the call with other weights. */
bool bench_plan_packed(bench_session *session, bench_case *bench, tenon_plan **plans,
                       uint32_t copies);

/* A part of a result as a call that the reference computes: the parameters, and views of the
 * operands on the host in the operation's order (type 0 if absent); the result has no memory. The
 * elements of the part are `step` apart in the whole result, from element `first` on; a step of 0
 * means 1. */
typedef struct bench_part {
    tn_case_params params;
    tenon_tensor views[TN_MAX_OPERANDS];
    int64_t first, step;
} bench_part;

/* A result divided into parts, of which as many are compared as the reference computes in a moment.
 */
typedef struct bench_parts {
    const tn_operation *operation;
    const void *params;
    const char *solver; /* the solver whose error bound is used; NULL: the bound of all solvers */
    const bench_operands *operands;
    uint32_t result; /* operand number of the result */
    int64_t count;
    double work; /* multiply-adds of each part */
    /* Cuts out a part, whose parameters are those of the call. */
    void (*cut)(const void *data, int64_t number, bench_part *part);
    const void *data;
} bench_parts;

/* Compares parts of the result, including the first and the last; raises *error_over_bound to the
 * worst ratio. Returns false, with the first difference in `why`, if an error exceeds its bound. */
bool bench_verify(tenon_stream *stream, const bench_parts *parts, double *error_over_bound,
                  char why[256]);

#endif
