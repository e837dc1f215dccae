/* Symbol visibility, and the OpenCL header that the rest of the API is written in terms of. */
#ifndef TENON_EXPORT_H
#define TENON_EXPORT_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

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

#endif
