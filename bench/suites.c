#include "cases/calls.h"

extern const bench_suite bench_suite_gemm, bench_suite_gemm_cpu, bench_suite_conv,
    bench_suite_conv_cpu, bench_suite_conv_cpu_backward, bench_suite_conv_cpu_depthwise,
    bench_suite_conv_cpu_nhwc, bench_suite_conv_cpu_nhwc_backward, bench_suite_activation,
    bench_suite_bandwidth_cpu, bench_suite_bandwidth_cpu_nhwc, bench_suite_packed,
    bench_suite_pool_cpu, bench_suite_start, bench_suite_gemm_gpu, bench_suite_conv_gpu,
    bench_suite_bandwidth_gpu, bench_suite_networks, bench_suite_recurrence, bench_suite_conv_int8,
    bench_suite_historic;

/* Suites of calls that are lists of text. */
extern const bench_call_suite bench_suite_elementwise, bench_suite_reduce, bench_suite_indexing,
    bench_suite_sorting, bench_suite_images, bench_suite_random;

/* One entry per line. */
/* clang-format off */
const bench_suite *const bench_suites[] = {
    &bench_suite_gemm,
    &bench_suite_gemm_cpu,
    &bench_suite_conv,
    &bench_suite_conv_cpu,
    &bench_suite_conv_cpu_backward,
    &bench_suite_conv_cpu_depthwise,
    &bench_suite_conv_cpu_nhwc,
    &bench_suite_conv_cpu_nhwc_backward,
    &bench_suite_activation,
    &bench_suite_bandwidth_cpu,
    &bench_suite_bandwidth_cpu_nhwc,
    &bench_suite_packed,
    &bench_suite_pool_cpu,
    &bench_suite_recurrence,
    &bench_suite_conv_int8,
    &bench_suite_elementwise.suite,
    &bench_suite_reduce.suite,
    &bench_suite_indexing.suite,
    &bench_suite_sorting.suite,
    &bench_suite_images.suite,
    &bench_suite_random.suite,
    &bench_suite_networks,
    &bench_suite_historic,
    &bench_suite_start,
    &bench_suite_gemm_gpu,
    &bench_suite_conv_gpu,
    &bench_suite_bandwidth_gpu,
};
/* clang-format on */
const uint32_t bench_suite_count = sizeof bench_suites / sizeof *bench_suites;

const char *const bench_peer_names[BENCH_PEER_NAMES] = {

    "openblas",    "onednn",   "onednn-blocked", "clblast", "loop",
    "tenon-f32",   "unpacked", "cublas",         "cudnn",   "rocblas",
    "onnxruntime", "pytorch",  "nchw",           "numpy",   "boost-compute"};

bool bench_floating(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    (void)suite;
    (void)number;
    return dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F16 ||
           dtype == TENON_DTYPE_BF16;
}
