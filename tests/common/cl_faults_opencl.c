/* Wrappers of OpenCL functions, and simulated drivers. */
#include "common/cl_faults_wrap.h"

#include <string.h>

/* State of a simulated driver whose binaries are PTX. */
static _Thread_local struct {
    const char *text; /* NULL: the real driver's binaries */
    char loaded[4096];
    char source[1 << 18]; /* source of the program created last */
} ptx;

void faults_give_ptx(const char *text)
{
    ptx.text = text;
    ptx.loaded[0] = '\0';
}

const char *faults_loaded_ptx(void)
{
    return ptx.loaded;
}

static bool gives_ptx(cl_uint what)
{
    return ptx.text != NULL && (what == CL_PROGRAM_BINARY_SIZES || what == CL_PROGRAM_BINARIES);
}

static cl_int give_ptx(cl_uint what, void *value)
{
    const size_t size = strlen(ptx.text) + 1;
    if (what == CL_PROGRAM_BINARY_SIZES)
        memcpy(value, &size, sizeof size);
    else
        memcpy(*(unsigned char **)value, ptx.text, size);
    return CL_SUCCESS;
}

static void keep_text(char *to, size_t room, const char *from, size_t length)
{
    const size_t kept = length < room ? length : room - 1;
    memcpy(to, from, kept);
    to[kept] = '\0';
}

WRAP(clGetPlatformIDs, (cl_uint room, cl_platform_id *ids, cl_uint *count), (room, ids, count))
WRAP(clGetDeviceIDs,
     (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *ids,
      cl_uint *count),
     (platform, type, room, ids, count))
WRAP(clCreateSubDevices,
     (cl_device_id device, const cl_device_partition_property *how, cl_uint room, cl_device_id *ids,
      cl_uint *count),
     (device, how, room, ids, count))

/* Wraps clGet…Info of an object type. */
#define WRAP_INFO(name, type)                                                                      \
    WRAP_QUERY(name, (type object, cl_uint what, size_t size, void *value, size_t *used),          \
               (object, what, size, value, used))
WRAP_INFO(clGetPlatformInfo, cl_platform_id)

/* Answers of a simulated device. */
static _Thread_local struct {
    const faults_answer *list;
    size_t count;
} other_device;

void faults_give_device(const faults_answer *answers, size_t count)
{
    other_device.list = answers;
    other_device.count = count;
}

static cl_int give(const faults_answer *a, size_t size, void *value, size_t *used)
{
    if (value != NULL && size < a->size)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, a->value, a->size);
    if (used != NULL)
        *used = a->size;
    return CL_SUCCESS;
}

cl_int __real_clGetDeviceInfo(cl_device_id object, cl_uint what, size_t size, void *value,
                              size_t *used);
cl_int __wrap_clGetDeviceInfo(cl_device_id object, cl_uint what, size_t size, void *value,
                              size_t *used);
cl_int __wrap_clGetDeviceInfo(cl_device_id object, cl_uint what, size_t size, void *value,
                              size_t *used)
{
    if (faults_strike("clGetDeviceInfo", what))
        return faults_answer_now(size, value, used);
    for (size_t i = 0; i < other_device.count; i++)
        if (other_device.list[i].what == what)
            return give(&other_device.list[i], size, value, used);
    return __real_clGetDeviceInfo(object, what, size, value, used);
}
WRAP_INFO(clGetContextInfo, cl_context)
WRAP_INFO(clGetCommandQueueInfo, cl_command_queue)
WRAP_INFO(clGetMemObjectInfo, cl_mem)
WRAP_INFO(clGetEventInfo, cl_event)

cl_int __real_clGetProgramInfo(cl_program program, cl_uint what, size_t size, void *value,
                               size_t *used);
cl_int __wrap_clGetProgramInfo(cl_program program, cl_uint what, size_t size, void *value,
                               size_t *used);
cl_int __wrap_clGetProgramInfo(cl_program program, cl_uint what, size_t size, void *value,
                               size_t *used)
{
    if (faults_strike("clGetProgramInfo", what))
        return faults_answer_now(size, value, used);
    return gives_ptx(what) ? give_ptx(what, value)
                           : __real_clGetProgramInfo(program, what, size, value, used);
}

WRAP_QUERY(clGetProgramBuildInfo,
           (cl_program program, cl_device_id device, cl_uint what, size_t size, void *value,
            size_t *used),
           (program, device, what, size, value, used))
WRAP_QUERY(clGetKernelWorkGroupInfo,
           (cl_kernel kernel, cl_device_id device, cl_uint what, size_t size, void *value,
            size_t *used),
           (kernel, device, what, size, value, used))

typedef void(CL_CALLBACK *context_callback)(const char *text, const void *data, size_t size,
                                            void *user);
typedef void(CL_CALLBACK *program_callback)(cl_program program, void *user);

/* Callback and user data of this thread's last context that was created with a callback. */
static _Thread_local struct {
    context_callback callback;
    void *user;
} report;

#define CONTEXT_PARAMETERS                                                                         \
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,           \
        context_callback callback, void *user, cl_int *error
cl_context __real_clCreateContext(CONTEXT_PARAMETERS);
cl_context __wrap_clCreateContext(CONTEXT_PARAMETERS);
cl_context __wrap_clCreateContext(CONTEXT_PARAMETERS)
{
    if (faults_strike("clCreateContext", 0)) {
        *error = faults_error();
        return NULL;
    }
    if (callback != NULL) {
        report.callback = callback;
        report.user = user;
    }
    return faults_made(FAULTS_CONTEXTS,
                       __real_clCreateContext(properties, count, devices, callback, user, error));
}

bool faults_report(const char *text)
{
    if (report.callback != NULL)
        report.callback(text, NULL, 0, report.user);
    return report.callback != NULL;
}

WRAP_OBJECT(FAULTS_QUEUES, cl_command_queue, clCreateCommandQueue,
            (cl_context context, cl_device_id device, cl_command_queue_properties properties,
             cl_int *error),
            (context, device, properties, error))
WRAP_OBJECT(FAULTS_BUFFERS, cl_mem, clCreateBuffer,
            (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error),
            (context, flags, size, host, error))

#define SOURCE_PARAMETERS                                                                          \
    cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *error
cl_program __real_clCreateProgramWithSource(SOURCE_PARAMETERS);
cl_program __wrap_clCreateProgramWithSource(SOURCE_PARAMETERS);
cl_program __wrap_clCreateProgramWithSource(SOURCE_PARAMETERS)
{
    if (faults_strike("clCreateProgramWithSource", 0)) {
        *error = faults_error();
        return NULL;
    }
    if (ptx.text != NULL)
        keep_text(ptx.source, sizeof ptx.source, texts[0], lengths[0]);
    return faults_made(FAULTS_PROGRAMS,
                       __real_clCreateProgramWithSource(context, count, texts, lengths, error));
}

#define BINARY_PARAMETERS                                                                          \
    cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,         \
        const unsigned char **binaries, cl_int *loaded, cl_int *error
cl_program __real_clCreateProgramWithBinary(BINARY_PARAMETERS);
cl_program __wrap_clCreateProgramWithBinary(BINARY_PARAMETERS);
cl_program __wrap_clCreateProgramWithBinary(BINARY_PARAMETERS)
{
    const char *source = ptx.source;
    if (faults_strike("clCreateProgramWithBinary", 0)) {
        *error = faults_error();
        return NULL;
    }
    if (ptx.text == NULL)
        return faults_made(FAULTS_PROGRAMS,
                           __real_clCreateProgramWithBinary(context, count, devices, lengths,
                                                            binaries, loaded, error));
    keep_text(ptx.loaded, sizeof ptx.loaded, (const char *)binaries[0], lengths[0]);
    *loaded = CL_SUCCESS;
    return faults_made(FAULTS_PROGRAMS,
                       __real_clCreateProgramWithSource(context, 1, &source, NULL, error));
}

WRAP(clBuildProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      program_callback callback, void *user),
     (program, count, devices, options, callback, user))
WRAP_OBJECT(FAULTS_KERNELS, cl_kernel, clCreateKernel,
            (cl_program program, const char *name, cl_int *error), (program, name, error))
WRAP(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
     (kernel, index, size, value))
WRAP_OBJECT(FAULTS_EVENTS, cl_event, clCreateUserEvent, (cl_context context, cl_int *error),
            (context, error))
WRAP(clSetUserEventStatus, (cl_event event, cl_int status), (event, status))
WRAP(clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint index, const void *value),
     (kernel, index, value))

/* The last parameters of every clEnqueue… function. */
#define WAIT_PARAMETERS cl_uint waits, const cl_event *list, cl_event *event
#define WAIT_ARGUMENTS  waits, list, event

WRAP_COMMAND(clEnqueueNDRangeKernel,
             (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
              const size_t *global, const size_t *local, WAIT_PARAMETERS),
             (queue, kernel, dimensions, offset, global, local, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueReadBuffer,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
              void *data, WAIT_PARAMETERS),
             (queue, buffer, blocking, offset, size, data, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueWriteBuffer,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
              const void *data, WAIT_PARAMETERS),
             (queue, buffer, blocking, offset, size, data, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueFillBuffer,
             (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
              size_t offset, size_t size, WAIT_PARAMETERS),
             (queue, buffer, pattern, pattern_size, offset, size, WAIT_ARGUMENTS))
#define MAP_PARAMETERS                                                                             \
    cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,    \
        size_t size, WAIT_PARAMETERS, cl_int *error
void *__real_clEnqueueMapBuffer(MAP_PARAMETERS);
void *__wrap_clEnqueueMapBuffer(MAP_PARAMETERS);
void *__wrap_clEnqueueMapBuffer(MAP_PARAMETERS)
{
    if (faults_strike("clEnqueueMapBuffer", 0)) {
        *error = faults_error();
        return NULL;
    }
    void *mapped = __real_clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
                                             WAIT_ARGUMENTS, error);
    return event != NULL ? faults_made(FAULTS_EVENTS, mapped) : mapped;
}
WRAP_COMMAND(clEnqueueUnmapMemObject,
             (cl_command_queue queue, cl_mem buffer, void *pointer, WAIT_PARAMETERS),
             (queue, buffer, pointer, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueSVMMap,
             (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer,
              size_t size, WAIT_PARAMETERS),
             (queue, blocking, flags, pointer, size, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueSVMUnmap, (cl_command_queue queue, void *pointer, WAIT_PARAMETERS),
             (queue, pointer, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAIT_PARAMETERS),
             (queue, WAIT_ARGUMENTS))
WRAP_COMMAND(clEnqueueBarrierWithWaitList, (cl_command_queue queue, WAIT_PARAMETERS),
             (queue, WAIT_ARGUMENTS))
WRAP(clFlush, (cl_command_queue queue), (queue))
WRAP(clFinish, (cl_command_queue queue), (queue))
WRAP_RETAIN(FAULTS_CONTEXTS, clRetainContext, cl_context)
WRAP_RETAIN(FAULTS_QUEUES, clRetainCommandQueue, cl_command_queue)
WRAP_RETAIN(FAULTS_EVENTS, clRetainEvent, cl_event)
WRAP_RETAIN(FAULTS_BUFFERS, clRetainMemObject, cl_mem)
WRAP_RETAIN(FAULTS_PROGRAMS, clRetainProgram, cl_program)
WRAP_RELEASE(FAULTS_CONTEXTS, clReleaseContext, cl_context)
WRAP_RELEASE(FAULTS_QUEUES, clReleaseCommandQueue, cl_command_queue)
WRAP_RELEASE(FAULTS_EVENTS, clReleaseEvent, cl_event)
WRAP_RELEASE(FAULTS_BUFFERS, clReleaseMemObject, cl_mem)
WRAP_RELEASE(FAULTS_PROGRAMS, clReleaseProgram, cl_program)
WRAP_RELEASE(FAULTS_KERNELS, clReleaseKernel, cl_kernel)
typedef void(CL_CALLBACK *event_callback)(cl_event event, cl_int state, void *user);
WRAP(clSetEventCallback, (cl_event event, cl_int state, event_callback callback, void *user),
     (event, state, callback, user))
WRAP(clWaitForEvents, (cl_uint count, const cl_event *list), (count, list))
WRAP_COMMAND(clEnqueueSVMMemcpy,
             (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
              WAIT_PARAMETERS),
             (queue, blocking, to, from, size, WAIT_ARGUMENTS))

/* Simulates a driver with extension functions. */
static _Thread_local void *(*extension)(const char *name);

void faults_give_extension(void *(*find)(const char *name))
{
    extension = find;
}

void *__real_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name);
void *__wrap_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name);
void *__wrap_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    return extension != NULL ? extension(name)
                             : __real_clGetExtensionFunctionAddressForPlatform(platform, name);
}
