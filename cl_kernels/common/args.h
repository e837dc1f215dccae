/* The integer types of kernel arguments, the same on host and device: included by C11 and by OpenCL
 * C. */
#ifndef TENON_COMMON_ARGS_H
#define TENON_COMMON_ARGS_H

/* clang defines only the second macro when it compiles for a bare CPU. */
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef long tenon_i64;
typedef int tenon_i32;
#else
#include <stdint.h>
typedef int64_t tenon_i64;
typedef int32_t tenon_i32;
#endif

#endif
