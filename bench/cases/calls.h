/* Suites whose cases are calls in the syntax of "tenon check", as lists. */
#ifndef BENCH_CASES_CALLS_H
#define BENCH_CASES_CALLS_H

#include "bench.h"

#include "../peers/peers.h"
#include "line.h"

/* A call. In the line $N stands for the number of elements and $R for that of rows of 1024. */
typedef struct bench_listed_call {
    const char *name, *line;
    const char *numpy;  /* the same in NumPy (bench_call); NULL: none */
    bool by_rows;       /* as in bench_call */
    const char *picked; /* operand of which only as many elements are read as the result has */
    const char *limit;  /* limit of the operand "indices": N, R or a number; NULL: none */
} bench_listed_call;

typedef struct bench_call_suite {
    bench_suite suite;
    const bench_listed_call *calls;
    uint32_t call_count;
    const int64_t *sizes; /* numbers of elements; 0: the lines have their sizes */
    uint32_t size_count;
} bench_call_suite;

/* The members that follow the suite's. */
#define BENCH_CALLS(calls, sizes)                                                                  \
    calls, sizeof(calls) / sizeof *(calls), sizes, sizeof(sizes) / sizeof *(sizes)

/* The functions of such suites. */
extern const bench_kind bench_listed_calls;

/* Describes the operands of a line to peers. */
bench_call bench_call_of(const bench_line *line, const char *name);

#endif
