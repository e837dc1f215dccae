/* Timing for the benchmarks: a clock, medians, and how a failed call ends a program. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <tenon/tenon.h>

/* Seconds on a clock that only goes forward. */
double bench_now(void);

/* The median of `count` values, which get sorted. */
double bench_median(double *values, int count);

/* Ends the program with the library's message unless the call went well. */
void bench_check(tenon_status status, const char *call);
#define BENCH_CHECK(call) bench_check(call, #call)

/* A context and a stream on the default device, which is printed. */
tenon_stream *bench_open(void);

/* A row-major f32 tensor of random values in [-1, 1]. */
tenon_tensor bench_tensor(tenon_stream *stream, int64_t rows, int64_t cols, float **host);

#endif
