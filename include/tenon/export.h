/** @file
 * What declarations of the API are made of, and the OpenCL header that it is written in terms of.
 */
#ifndef TENON_EXPORT_H
#define TENON_EXPORT_H

#ifndef CL_TARGET_OPENCL_VERSION
/** The version of OpenCL that its header declares, unless the program has defined it before. */
#define CL_TARGET_OPENCL_VERSION 300
#endif
/* macOS has these headers in a framework; Khronos's own, where they are installed, go before. */
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
 * Before a declaration: the library exports it. On Windows define TENON_SHARED to link the DLL.
 * Without it the static library links, and the DLL too, by one more jump for each call. */
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
 * Before a function that returns a tenon_status: the compiler warns where it is not used. */
#ifdef __GNUC__
#define TENON_CALL TENON_API __attribute__((warn_unused_result))
#else
#define TENON_CALL TENON_API
#endif

/** @def TENON_DEPRECATED
 * Before a declaration: there is a better way, which the text names; it stays to the next major
 * version. */
#ifdef __GNUC__
#define TENON_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define TENON_DEPRECATED(text)
#endif

/** @def TENON_LITERAL
 * Parameters where they are used, in C: the defaults, and what is named after them.
 *
 *     tenon_conv_forward(stream, &tenon_conv_params(.groups = 2, .geometry.stride = {2, 2}), …)
 *
 * The object lives as long as the block that it is in. Within functions only; elsewhere, and in
 * C++, start from the initialiser: tenon_conv_params params = TENON_CONV_PARAMS_INIT. Members of a
 * member are set one by one, as above, or by the member's own macro: .epilogue =
 * tenon_epilogue(.beta = 2). `.geometry = {…}` replaces all of them, by zeros where none is given.
 */
#ifndef __cplusplus
#ifdef __GNUC__
#ifdef __clang__
#define TENON_OVERRIDES_ _Pragma("GCC diagnostic ignored \"-Winitializer-overrides\"")
#else
#define TENON_OVERRIDES_ _Pragma("GCC diagnostic ignored \"-Woverride-init\"")
#endif
/* The value is made in a block of its own, where compilers can be told that overriding a default is
 * meant. */
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
