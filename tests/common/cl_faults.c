/* With --wrap=NAME the linker redirects calls of NAME to __wrap_NAME, and calls of __real_NAME to
 * the real NAME. */
#include "common/cl_faults.h"

#include "common/testing.h"

#include "base/platform.h"

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdatomic.h>

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_NTH,
    FAULT_ALL,
    FAULT_DELAY,
    FAULT_QUERY,
    FAULT_ANSWER
} fault_kind;

typedef struct fault {
    fault_kind kind;
    const char *function;
    cl_uint what;
    cl_int error;
    unsigned left;  /* calls up to and including the one that fails */
    unsigned calls; /* bit mask of the calls to delay */
    const void *answer;
    size_t size;
    unsigned hits;
} fault;

static _Thread_local fault now;

void faults_fail_next(const char *function, cl_int error, unsigned nth)
{
    now = (fault){.kind = FAULT_NTH, .function = function, .error = error, .left = nth};
}

void faults_fail_all(const char *function, cl_int error)
{
    now = (fault){.kind = FAULT_ALL, .function = function, .error = error};
}

void faults_fail_query(const char *function, cl_uint what, cl_int error)
{
    now = (fault){.kind = FAULT_QUERY, .function = function, .what = what, .error = error};
}

void faults_answer_query(const char *function, cl_uint what, const void *value, size_t size)
{
    now = (fault){
        .kind = FAULT_ANSWER, .function = function, .what = what, .answer = value, .size = size};
}

void faults_delay(const char *function, unsigned calls)
{
    now = (fault){.kind = FAULT_DELAY, .function = function, .calls = calls};
}

unsigned faults_end(void)
{
    now.kind = FAULT_NONE;
    return now.hits;
}

/* Delays the call if its bit is set. The call itself is still made. */
static bool delay(void)
{
    const struct timespec time = {.tv_nsec = 10000000};
    if ((now.calls & 1) != 0) {
        now.hits++;
        nanosleep(&time, NULL);
    }
    now.calls >>= 1;
    return false;
}

static bool is_of_opencl(const char *function)
{
    return strncmp(function, "cl", 2) == 0;
}

static bool is_meant(const char *function)
{
    if (now.function == FAULTS_ANY)
        return true;
    if (strcmp(now.function, FAULTS_MEMORY) == 0)
        return !is_of_opencl(function);
    if (strcmp(now.function, FAULTS_OPENCL) == 0)
        return is_of_opencl(function);
    return strcmp(now.function, function) == 0;
}

/* Counts a call that the current fault applies to. Returns true if the call must fail. */
static bool strikes(const char *function, cl_uint what)
{
    if (now.kind == FAULT_NONE || !is_meant(function))
        return false;
    if (now.kind >= FAULT_QUERY && now.what != what)
        return false;
    if (now.kind == FAULT_DELAY)
        return delay();
    if (now.kind == FAULT_NTH && --now.left > 0)
        return false;
    now.hits++;
    if (now.kind == FAULT_NTH)
        now.kind = FAULT_NONE;
    return true;
}

static cl_int answer(size_t size, void *value, size_t *used)
{
    if (now.kind != FAULT_ANSWER)
        return now.error;
    if (value != NULL && size < now.size)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, now.answer, now.size);
    if (used != NULL)
        *used = now.size;
    return CL_SUCCESS;
}

/* Counters, in the order of the members of faults_alive. */
typedef enum alive { BLOCKS, CONTEXTS, QUEUES, BUFFERS, PROGRAMS, KERNELS, EVENTS, KINDS } alive;
static atomic_long alive_now[KINDS];

faults_alive faults_count(void)
{
    return (faults_alive){alive_now[BLOCKS],  alive_now[CONTEXTS], alive_now[QUEUES],
                          alive_now[BUFFERS], alive_now[PROGRAMS], alive_now[KERNELS],
                          alive_now[EVENTS]};
}

void faults_assert_alive(const faults_alive *before, const char *where)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    faults_alive after = faults_count();
    for (int look = 0; look < 2000 && memcmp(&after, before, sizeof after) != 0; look++) {
        nanosleep(&millisecond, NULL);
        after = faults_count();
    }
    if (memcmp(&after, before, sizeof after) != 0)
        fail_msg("%s: left behind: %ld blocks, %ld contexts, %ld queues, %ld buffers, %ld "
                 "programs, %ld kernels, %ld events",
                 where, after.blocks - before->blocks, after.contexts - before->contexts,
                 after.queues - before->queues, after.buffers - before->buffers,
                 after.programs - before->programs, after.kernels - before->kernels,
                 after.events - before->events);
}

/* Counts an object that a call has created, and returns it. */
static void *made(alive kind, void *object)
{
    if (object != NULL)
        alive_now[kind]++;
    return object;
}

static cl_int retained(alive kind, cl_int error)
{
    if (error == CL_SUCCESS)
        alive_now[kind]++;
    return error;
}

static cl_int released(alive kind, cl_int error)
{
    if (error == CL_SUCCESS)
        alive_now[kind]--;
    return error;
}

/* Counts the event of an enqueued command. */
static cl_int enqueued(const cl_event *event, cl_int error)
{
    return event != NULL ? retained(EVENTS, error) : error;
}

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

#define WRAP_AS(result, type, name, what, parameters, real)                                        \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return strikes(#name, what) ? (result) : (real);                                           \
    }

/* Wraps a function that returns its error. */
#define WRAP(name, parameters, arguments)                                                          \
    WRAP_AS(now.error, cl_int, name, 0, parameters, __real_##name arguments)

/* Wraps a function that enqueues a command and returns an event if `event` is not NULL. */
#define WRAP_COMMAND(name, parameters, arguments)                                                  \
    WRAP_AS(now.error, cl_int, name, 0, parameters, enqueued(event, __real_##name arguments))

/* Wraps a function that returns an object, and its error through the last parameter. */
#define WRAP_OBJECT(kind, type, name, parameters, arguments)                                       \
    WRAP_AS((*error = now.error, NULL), type, name, 0, parameters,                                 \
            made(kind, __real_##name arguments))

#define WRAP_MEMORY(name, parameters, arguments)                                                   \
    WRAP_AS(NULL, void *, name, 0, parameters, made(BLOCKS, __real_##name arguments))

/* Wraps an information function, whose answer a fault can replace. */
#define WRAP_QUERY(name, parameters, arguments)                                                    \
    WRAP_AS(answer(size, value, used), cl_int, name, what, parameters, __real_##name arguments)

/* Wraps a function that retains an object. */
#define WRAP_RETAIN(kind, name, type)                                                              \
    WRAP_AS(now.error, cl_int, name, 0, (type object), retained(kind, __real_##name(object)))

/* Wraps a function that releases an object. It never fails. */
#define WRAP_RELEASE(kind, name, type)                                                             \
    cl_int __real_##name(type object);                                                             \
    cl_int __wrap_##name(type object);                                                             \
    cl_int __wrap_##name(type object)                                                              \
    {                                                                                              \
        return released(kind, __real_##name(object));                                              \
    }

static const char *hidden; /* name of a function that dlsym does not find */

void faults_hide(const char *function)
{
    hidden = function;
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

/* Used where the library opens OpenCL with dlopen: dlsym returns the wrappers below instead of the
 * driver's functions. */
void *__wrap_dlsym(void *library, const char *name)
{
    char wrapped[80];
    if (hidden != NULL && strcmp(hidden, name) == 0)
        return NULL;
    void *program = dlopen(NULL, RTLD_NOW), *found = NULL;
    snprintf(wrapped, sizeof wrapped, "__wrap_%s", name);
    if (program != NULL)
        found = __real_dlsym(program, wrapped);
    return found != NULL ? found : __real_dlsym(library, name);
}

WRAP_MEMORY(malloc, (size_t size), (size))
WRAP_MEMORY(calloc, (size_t count, size_t size), (count, size))
/* A block that has grown counts as the same block. */
WRAP_AS(NULL, void *, realloc, 0, (void *old, size_t size),
        old != NULL ? __real_realloc(old, size) : made(BLOCKS, __real_realloc(NULL, size)))

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (block != NULL)
        alive_now[BLOCKS]--;
    __real_free(block);
}

/* Wraps functions of the library for locks and threads (base/platform.h). */
#define WRAP_SYSTEM(name, parameters, arguments)                                                   \
    WRAP_AS(false, bool, name, 0, parameters, __real_##name arguments)
WRAP_SYSTEM(tn_mutex_init, (tn_mutex * mutex), (mutex))
WRAP_SYSTEM(tn_recursive_mutex_init, (tn_recursive_mutex * mutex), (mutex))
WRAP_SYSTEM(tn_condition_init, (tn_condition * condition), (condition))
WRAP_SYSTEM(tn_thread_create, (tn_thread * thread, void *(*work)(void *), void *data),
            (thread, work, data))

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
    if (strikes("clGetDeviceInfo", what))
        return answer(size, value, used);
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
    if (strikes("clGetProgramInfo", what))
        return answer(size, value, used);
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
    if (strikes("clCreateContext", 0)) {
        *error = now.error;
        return NULL;
    }
    if (callback != NULL) {
        report.callback = callback;
        report.user = user;
    }
    return made(CONTEXTS,
                __real_clCreateContext(properties, count, devices, callback, user, error));
}

bool faults_report(const char *text)
{
    if (report.callback != NULL)
        report.callback(text, NULL, 0, report.user);
    return report.callback != NULL;
}

WRAP_OBJECT(QUEUES, cl_command_queue, clCreateCommandQueue,
            (cl_context context, cl_device_id device, cl_command_queue_properties properties,
             cl_int *error),
            (context, device, properties, error))
WRAP_OBJECT(BUFFERS, cl_mem, clCreateBuffer,
            (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error),
            (context, flags, size, host, error))

#define SOURCE_PARAMETERS                                                                          \
    cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *error
cl_program __real_clCreateProgramWithSource(SOURCE_PARAMETERS);
cl_program __wrap_clCreateProgramWithSource(SOURCE_PARAMETERS);
cl_program __wrap_clCreateProgramWithSource(SOURCE_PARAMETERS)
{
    if (strikes("clCreateProgramWithSource", 0)) {
        *error = now.error;
        return NULL;
    }
    if (ptx.text != NULL)
        keep_text(ptx.source, sizeof ptx.source, texts[0], lengths[0]);
    return made(PROGRAMS, __real_clCreateProgramWithSource(context, count, texts, lengths, error));
}

#define BINARY_PARAMETERS                                                                          \
    cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,         \
        const unsigned char **binaries, cl_int *loaded, cl_int *error
cl_program __real_clCreateProgramWithBinary(BINARY_PARAMETERS);
cl_program __wrap_clCreateProgramWithBinary(BINARY_PARAMETERS);
cl_program __wrap_clCreateProgramWithBinary(BINARY_PARAMETERS)
{
    const char *source = ptx.source;
    if (strikes("clCreateProgramWithBinary", 0)) {
        *error = now.error;
        return NULL;
    }
    if (ptx.text == NULL)
        return made(PROGRAMS, __real_clCreateProgramWithBinary(context, count, devices, lengths,
                                                               binaries, loaded, error));
    keep_text(ptx.loaded, sizeof ptx.loaded, (const char *)binaries[0], lengths[0]);
    *loaded = CL_SUCCESS;
    return made(PROGRAMS, __real_clCreateProgramWithSource(context, 1, &source, NULL, error));
}

WRAP(clBuildProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      program_callback callback, void *user),
     (program, count, devices, options, callback, user))
WRAP_OBJECT(KERNELS, cl_kernel, clCreateKernel,
            (cl_program program, const char *name, cl_int *error), (program, name, error))
WRAP(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
     (kernel, index, size, value))
WRAP_OBJECT(EVENTS, cl_event, clCreateUserEvent, (cl_context context, cl_int *error),
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
    if (strikes("clEnqueueMapBuffer", 0)) {
        *error = now.error;
        return NULL;
    }
    void *mapped = __real_clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
                                             WAIT_ARGUMENTS, error);
    return event != NULL ? made(EVENTS, mapped) : mapped;
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
WRAP_RETAIN(CONTEXTS, clRetainContext, cl_context)
WRAP_RETAIN(QUEUES, clRetainCommandQueue, cl_command_queue)
WRAP_RETAIN(EVENTS, clRetainEvent, cl_event)
WRAP_RETAIN(BUFFERS, clRetainMemObject, cl_mem)
WRAP_RETAIN(PROGRAMS, clRetainProgram, cl_program)
WRAP_RELEASE(CONTEXTS, clReleaseContext, cl_context)
WRAP_RELEASE(QUEUES, clReleaseCommandQueue, cl_command_queue)
WRAP_RELEASE(EVENTS, clReleaseEvent, cl_event)
WRAP_RELEASE(BUFFERS, clReleaseMemObject, cl_mem)
WRAP_RELEASE(PROGRAMS, clReleaseProgram, cl_program)
WRAP_RELEASE(KERNELS, clReleaseKernel, cl_kernel)
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
