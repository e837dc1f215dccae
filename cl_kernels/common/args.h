/* Integer types for the argument structs that host and kernels share. Included from C11 and from
 * OpenCL C; every struct made of them must lay out the same on both sides: 64-bit members first,
 * 32-bit members in pairs. */
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
