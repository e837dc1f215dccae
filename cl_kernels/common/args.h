/* Integer types of kernel arguments, identical on host and device. Included by C11 and by OpenCL
 * C. */
#ifndef TENON_COMMON_ARGS_H
#define TENON_COMMON_ARGS_H

/* When clang compiles for a bare CPU target, it defines only the second macro. */
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef long tenon_i64;
typedef int tenon_i32;
#else
#include <stddef.h>
#include <stdint.h>
/* OpenCL C aligns a long to 8 bytes. 32-bit x86 aligns it to 4 within a struct unless told
 * otherwise. */
#ifdef __GNUC__
typedef int64_t tenon_i64 __attribute__((aligned(8)));
#else
typedef int64_t tenon_i64;
#endif
typedef int32_t tenon_i32;

struct tenon_args_layout {
    tenon_i32 first;
    tenon_i64 second;
    tenon_i32 third;
};
_Static_assert(offsetof(struct tenon_args_layout, second) == 8 &&
                   sizeof(struct tenon_args_layout) == 24,
               "kernel arguments lie as in OpenCL C");
#endif

#endif
