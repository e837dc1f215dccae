/** @file
 * Macros used in every declaration of the API, and the include of the OpenCL header.
 */
#ifndef TENON_EXPORT_H
#define TENON_EXPORT_H

#ifndef CL_TARGET_OPENCL_VERSION
/** The OpenCL version that CL/cl.h declares. A program may define it before including Tenon. */
#define CL_TARGET_OPENCL_VERSION 300
#endif
/* macOS has the OpenCL headers in a framework. Khronos's own headers are preferred where they are
 * installed. */
#if defined(__APPLE__) && defined(__has_include)
#if !__has_include(<CL/cl.h>)
#define TENON_OPENCL_FRAMEWORK_
#endif
#endif
#ifdef TENON_OPENCL_FRAMEWORK_
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#include <stddef.h>
#include <stdint.h>

/** @def TENON_API
 * Marks a declaration that the library exports. On Windows, define TENON_SHARED to link the DLL.
 * Without TENON_SHARED the static library links, and so does the DLL, at the cost of one extra jump
 * per call. */
#if defined(_WIN32) && defined(TENON_SHARED)
#ifdef TENON_BUILDING
#define TENON_API __declspec(dllexport)
#else
#define TENON_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

/** @def TENON_CALL
 * Marks a function that returns a tenon_status: the compiler warns if the caller ignores it. */
#ifdef __GNUC__
#define TENON_CALL TENON_API __attribute__((warn_unused_result))
#else
#define TENON_CALL TENON_API
#endif

/** @def TENON_DEPRECATED
 * Marks a deprecated declaration. The text names its replacement; the declaration remains until the
 * next major version. */
#ifdef __GNUC__
#define TENON_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define TENON_DEPRECATED(text)
#endif

/** @def TENON_BEGIN_C
 * Begins the declarations of a header, which have C linkage in C++ too. */
/** @def TENON_END_C
 * Ends them. */
#ifdef __cplusplus
#define TENON_BEGIN_C extern "C" {
#define TENON_END_C   }
#else
#define TENON_BEGIN_C
#define TENON_END_C
#endif

/** @def TENON_LITERAL
 * Makes a parameter struct in place, in C: the defaults, overridden by the members named in the
 * arguments.
 *
 *     tenon_conv_forward(stream, &tenon_conv_params(.groups = 2, .geometry.stride = {2, 2}), …)
 *
 * The struct lives as long as the enclosing block. Use the macro only within functions; elsewhere,
 * and in C++, start from the initializer: tenon_conv_params params = TENON_CONV_PARAMS_INIT. Set
 * the members of a nested struct one by one, as above, or by that struct's own macro: .epilogue =
 * tenon_epilogue(.beta = 2). `.geometry = {…}` replaces the whole nested struct and sets its other
 * members to 0. */
#ifndef __cplusplus
#ifdef __GNUC__
#ifdef __clang__
#define TENON_OVERRIDES_ _Pragma("GCC diagnostic ignored \"-Winitializer-overrides\"")
#else
#define TENON_OVERRIDES_ _Pragma("GCC diagnostic ignored \"-Woverride-init\"")
#endif
/* The value is made in its own block because compilers can be told there that overriding a default
 * is intended. */
#define TENON_LITERAL(type, defaults, ...)                                                         \
    (*(const struct type[1]){__extension__({                                                       \
        _Pragma("GCC diagnostic push")                                                             \
            TENON_OVERRIDES_ const struct type type##_ = {defaults, __VA_ARGS__};                  \
        _Pragma("GCC diagnostic pop") type##_;                                                     \
    })})
#else
#define TENON_LITERAL(type, defaults, ...) ((const struct type){defaults, __VA_ARGS__})
#endif
#endif

#endif
