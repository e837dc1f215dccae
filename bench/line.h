/* A call in the syntax of "tenon check" with its operands in memory and its plan, for suites whose
 * cases are lines of text. */
#ifndef BENCH_LINE_H
#define BENCH_LINE_H

#include "bench.h"

#include "check/case.h"

typedef struct bench_line {
    tn_case text;
    tn_mirror mirrors[TN_MAX_OPERANDS];
    tenon_plan *plan;
} bench_line;

/* Parses the call, makes its operands with random values that the operation allows, and its plan
 * with the session's solver. If `limit` is not 0, the operand "indices" has values in [0, limit);
 * otherwise some may be out of range. Without a stream, the operands get no memory. On failure,
 * prints the reason to stderr and returns false; bench_line_destroy is needed as well. */
bool bench_line_make(bench_session *session, const char *text, tenon_dtype dtype, int64_t limit,
                     bench_line *line);
void bench_line_destroy(bench_line *line);

/* Functions for a bench_way and a bench_case whose data begin with a bench_line: run the plan;
 * repeat the call on other values, and compare all of its results with the reference. */
bool bench_line_run(void *data, tenon_stream *stream, int turn);
bool bench_line_verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256]);

/* Returns the bytes that the call must read and write at least: each element of its operands once.
 * Of the operand `picked` (NULL: none) it reads only as many elements as its result has. */
double bench_line_bytes(const bench_line *line, const char *picked);

/* Returns the floating-point operations of a product or a convolution; 0 for other calls. */
double bench_line_operations(const bench_line *line);

/* Sets the plan, the solver's name and the line that repeats the call. */
void bench_line_describe(bench_line *line, bench_case *bench);

#endif
