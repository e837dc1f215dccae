/* OpenCL functions under their own names. Macros map each name to a function pointer that is
 * looked up in the OpenCL loader at first use, so that an application also starts on a machine
 * without a loader. Every caller of OpenCL includes this header; a call without it does not link.
 */
#ifndef TN_RUNTIME_OPENCL_OPENCL_H
#define TN_RUNTIME_OPENCL_OPENCL_H

#include <tenon/status.h>

#include <stdbool.h>

/* All functions that the library calls, all in OpenCL 1.2. Add a new one here and to the macros
 * below. */
#define TN_OPENCL_FUNCTIONS(X)                                                                     \
    X(clBuildProgram)                                                                              \
    X(clCreateBuffer)                                                                              \
    X(clCreateCommandQueue)                                                                        \
    X(clCreateContext)                                                                             \
    X(clCreateKernel)                                                                              \
    X(clCreateProgramWithBinary)                                                                   \
    X(clCreateProgramWithSource)                                                                   \
    X(clCreateSubDevices)                                                                          \
    X(clCreateUserEvent)                                                                           \
    X(clEnqueueBarrierWithWaitList)                                                                \
    X(clEnqueueFillBuffer)                                                                         \
    X(clEnqueueMapBuffer)                                                                          \
    X(clEnqueueMarkerWithWaitList)                                                                 \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueUnmapMemObject)                                                                     \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clFinish)                                                                                    \
    X(clFlush)                                                                                     \
    X(clGetCommandQueueInfo)                                                                       \
    X(clGetContextInfo)                                                                            \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clGetEventInfo)                                                                              \
    X(clGetExtensionFunctionAddressForPlatform)                                                    \
    X(clGetKernelWorkGroupInfo)                                                                    \
    X(clGetMemObjectInfo)                                                                          \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetProgramBuildInfo)                                                                       \
    X(clGetProgramInfo)                                                                            \
    X(clReleaseCommandQueue)                                                                       \
    X(clReleaseContext)                                                                            \
    X(clReleaseEvent)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clReleaseMemObject)                                                                          \
    X(clReleaseProgram)                                                                            \
    X(clRetainCommandQueue)                                                                        \
    X(clRetainContext)                                                                             \
    X(clRetainEvent)                                                                               \
    X(clRetainMemObject)                                                                           \
    X(clRetainProgram)                                                                             \
    X(clSetEventCallback)                                                                          \
    X(clSetKernelArg)                                                                              \
    X(clSetUserEventStatus)                                                                        \
    X(clWaitForEvents)

/* Functions of OpenCL 2.0, which a loader may lack. */
#define TN_OPENCL_SVM_FUNCTIONS(X)                                                                 \
    X(clEnqueueSVMMap)                                                                             \
    X(clEnqueueSVMMemcpy)                                                                          \
    X(clEnqueueSVMUnmap)                                                                           \
    X(clSetKernelArgSVMPointer)

#ifdef __GNUC__
/* clCreateCommandQueue is deprecated, but its successor in OpenCL 2.0 does not exist in 1.2, the
 * minimum that Tenon supports. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
typedef struct tn_opencl_functions {
#define TN_OPENCL_MEMBER(name) __typeof__(&name) name;
    TN_OPENCL_FUNCTIONS(TN_OPENCL_MEMBER)
    TN_OPENCL_SVM_FUNCTIONS(TN_OPENCL_MEMBER)
#undef TN_OPENCL_MEMBER
} tn_opencl_functions;
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

extern tn_opencl_functions tn_opencl;

/* Advice for users without an OpenCL loader, or without any driver. */
#define TN_INSTALL_DRIVER "install an OpenCL driver (on Debian, for CPUs: pocl-opencl-icd)"
#define TN_INSTALL_LOADER                                                                          \
    "install OpenCL's loader (on Debian: ocl-icd-libopencl1) and a driver (for CPUs: "             \
    "pocl-opencl-icd)"

/* Looks the functions up. Every function that takes or gives an OpenCL object without a Tenon
 * context calls it first. Cheap after the first call. Returns TENON_OK, or TENON_ERROR_NO_OPENCL
 * with the reason; the result never changes. */
tenon_status tn_opencl_load(const char *caller);

/* Returns true if the loader has the functions for shared virtual memory. */
bool tn_opencl_has_svm(void);

#ifndef TN_OPENCL_BY_NAME
#define clBuildProgram                           tn_opencl.clBuildProgram
#define clCreateBuffer                           tn_opencl.clCreateBuffer
#define clCreateCommandQueue                     tn_opencl.clCreateCommandQueue
#define clCreateContext                          tn_opencl.clCreateContext
#define clCreateKernel                           tn_opencl.clCreateKernel
#define clCreateProgramWithBinary                tn_opencl.clCreateProgramWithBinary
#define clCreateProgramWithSource                tn_opencl.clCreateProgramWithSource
#define clCreateSubDevices                       tn_opencl.clCreateSubDevices
#define clCreateUserEvent                        tn_opencl.clCreateUserEvent
#define clEnqueueBarrierWithWaitList             tn_opencl.clEnqueueBarrierWithWaitList
#define clEnqueueFillBuffer                      tn_opencl.clEnqueueFillBuffer
#define clEnqueueMapBuffer                       tn_opencl.clEnqueueMapBuffer
#define clEnqueueMarkerWithWaitList              tn_opencl.clEnqueueMarkerWithWaitList
#define clEnqueueNDRangeKernel                   tn_opencl.clEnqueueNDRangeKernel
#define clEnqueueReadBuffer                      tn_opencl.clEnqueueReadBuffer
#define clEnqueueSVMMap                          tn_opencl.clEnqueueSVMMap
#define clEnqueueSVMMemcpy                       tn_opencl.clEnqueueSVMMemcpy
#define clEnqueueSVMUnmap                        tn_opencl.clEnqueueSVMUnmap
#define clEnqueueUnmapMemObject                  tn_opencl.clEnqueueUnmapMemObject
#define clEnqueueWriteBuffer                     tn_opencl.clEnqueueWriteBuffer
#define clFinish                                 tn_opencl.clFinish
#define clFlush                                  tn_opencl.clFlush
#define clGetCommandQueueInfo                    tn_opencl.clGetCommandQueueInfo
#define clGetContextInfo                         tn_opencl.clGetContextInfo
#define clGetDeviceIDs                           tn_opencl.clGetDeviceIDs
#define clGetDeviceInfo                          tn_opencl.clGetDeviceInfo
#define clGetEventInfo                           tn_opencl.clGetEventInfo
#define clGetExtensionFunctionAddressForPlatform tn_opencl.clGetExtensionFunctionAddressForPlatform
#define clGetKernelWorkGroupInfo                 tn_opencl.clGetKernelWorkGroupInfo
#define clGetMemObjectInfo                       tn_opencl.clGetMemObjectInfo
#define clGetPlatformIDs                         tn_opencl.clGetPlatformIDs
#define clGetPlatformInfo                        tn_opencl.clGetPlatformInfo
#define clGetProgramBuildInfo                    tn_opencl.clGetProgramBuildInfo
#define clGetProgramInfo                         tn_opencl.clGetProgramInfo
#define clReleaseCommandQueue                    tn_opencl.clReleaseCommandQueue
#define clReleaseContext                         tn_opencl.clReleaseContext
#define clReleaseEvent                           tn_opencl.clReleaseEvent
#define clReleaseKernel                          tn_opencl.clReleaseKernel
#define clReleaseMemObject                       tn_opencl.clReleaseMemObject
#define clReleaseProgram                         tn_opencl.clReleaseProgram
#define clRetainCommandQueue                     tn_opencl.clRetainCommandQueue
#define clRetainContext                          tn_opencl.clRetainContext
#define clRetainEvent                            tn_opencl.clRetainEvent
#define clRetainMemObject                        tn_opencl.clRetainMemObject
#define clRetainProgram                          tn_opencl.clRetainProgram
#define clSetEventCallback                       tn_opencl.clSetEventCallback
#define clSetKernelArg                           tn_opencl.clSetKernelArg
#define clSetUserEventStatus                     tn_opencl.clSetUserEventStatus
#define clSetKernelArgSVMPointer                 tn_opencl.clSetKernelArgSVMPointer
#define clWaitForEvents                          tn_opencl.clWaitForEvents
#endif

#endif
