#include "bench.h"

extern const bench_suite bench_suite_gemm, bench_suite_conv, bench_suite_activation,
    bench_suite_packed, bench_suite_start;

const bench_suite *const bench_suites[] = {
    &bench_suite_gemm,
    &bench_suite_conv,
    &bench_suite_activation,
    &bench_suite_packed,
    &bench_suite_start,
};
const uint32_t bench_suite_count = sizeof bench_suites / sizeof *bench_suites;
