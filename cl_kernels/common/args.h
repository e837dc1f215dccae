/* The integer types of kernel arguments, the same on host and device: included by C11 and by OpenCL C. */
#ifndef TENON_COMMON_ARGS_H
#define TENON_COMMON_ARGS_H

#ifdef __OPENCL_VERSION__
typedef long tenon_i64;
typedef int tenon_i32;
#else
#include <stdint.h>
typedef int64_t tenon_i64;
typedef int32_t tenon_i32;
#endif

#endif
