/* Timing for the benchmarks: a clock, medians, and the handling of failed calls. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <tenon/tenon.h>

/* Returns the seconds on a monotonic clock. */
double bench_now(void);

/* Returns the median of `count` values, and sorts them. */
double bench_median(double *values, int count);

/* Ends the program with the library's message if the call failed. */
void bench_check(tenon_status status, const char *call);
#define BENCH_CHECK(call) bench_check(call, #call)

/* Opens a context and a stream on the default device, and prints the device. */
tenon_stream *bench_open(void);

/* Makes a row-major f32 tensor of random values in [-1, 1]. */
tenon_tensor bench_tensor(tenon_stream *stream, int64_t rows, int64_t cols, float **host);

#endif
