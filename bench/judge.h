/* What the cases share: making a plan, and comparing what it gave with the operation's reference.
 */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include "operands.h"

#include "check/case.h"

/* The plan of a call, and in `bench`, unless that is NULL, its solver's name and the line that
 * repeats it. */
bool bench_plan(bench_session *session, const tn_operation *operation, const void *params,
                const tenon_tensor *const *views, bench_case *bench, tenon_plan **plan);

/* A part of a result as a call of its own, which the reference computes: the parameters, and views
 * of the host's operands by the operation's order (type 0 where absent), of which the result has no
 * memory. Its elements lie one after the other in the whole result, from `first` on. */
typedef struct bench_part {
    tn_case_params params;
    tenon_tensor views[TN_MAX_OPERANDS];
    int64_t first;
} bench_part;

/* A result in parts, of which so many are compared as take the reference a moment. */
typedef struct bench_parts {
    const tn_operation *operation;
    const void *params;
    const char *solver; /* whose bounds count; NULL: those of all */
    const bench_operands *operands;
    uint32_t result; /* of the operands */
    int64_t count;
    double work; /* multiply-adds of each */
    /* Cuts a part out, whose parameters are those of the call. */
    void (*cut)(const void *data, int64_t number, bench_part *part);
    const void *data;
} bench_parts;

/* Compares parts of the result, the first and the last among them; raises *error_over_bound to the
 * worst. False, with the first difference in `why`, where one is beyond its bound. */
bool bench_verify(tenon_stream *stream, const bench_parts *parts, double *error_over_bound,
                  char why[256]);

#endif
