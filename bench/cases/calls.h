/* Suites whose cases are calls in the syntax of "tenon check", as lists. */
#ifndef BENCH_CASES_CALLS_H
#define BENCH_CASES_CALLS_H

#include "bench.h"

#include "../peers/peers.h"
#include "line.h"
#include "shapes/shapes.h"

/* The functions of such suites. */
extern const bench_kind bench_listed_calls;

/* Describes the operands of a line to peers. */
bench_call bench_call_of(const bench_line *line, const char *name);

#endif
