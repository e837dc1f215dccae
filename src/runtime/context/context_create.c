#include "runtime/context/context_create.h"

#include "base/checked.h"
#include "base/sized.h"
#include "device/host_speed.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/heap.h"
#include "runtime/context/identity.h"
#include "runtime/program/binary_writer.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/program/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tenon_context_params defaults = TENON_CONTEXT_PARAMS_INIT;

TENON_API void tenon_context_params_default(tenon_context_params *params, uint32_t size)
{
    tn_params_give(params, size, &defaults, sizeof defaults);
}

static tenon_status context_create_check_params(const char *caller,
                                                const tenon_context_params *params)
{
    if (params->log_level > TENON_LOG_DEBUG)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: log_level is %u, must be at most %d", caller, params->log_level,
                       TENON_LOG_DEBUG);
    if (params->profiling > 1 || params->unchecked > 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: %s is %u, must be 0 or 1", caller,
                       params->profiling > 1 ? "profiling" : "unchecked",
                       params->profiling > 1 ? params->profiling : params->unchecked);
    if ((params->flags & ~(uint64_t)TENON_CONTEXT_CHECK_NUMERICS) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: flags is %#" PRIx64 ", valid flags are %#x", caller,
                       params->flags, TENON_CONTEXT_CHECK_NUMERICS);
    if (params->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: reserved is %u, must be 0",
                       caller, params->reserved);
    if (params->measurements > TENON_MEASUREMENTS_MADE)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: measurements is %u, which is not a tenon_measurements", caller,
                       params->measurements);
    return TENON_OK;
}

static tenon_measurements measurements(uint32_t wanted)
{
    const char *text = getenv("TENON_TUNE");
    if (wanted != TENON_MEASUREMENTS_USUAL || text == NULL)
        return (tenon_measurements)wanted;
    return strcmp(text, "1") == 0   ? TENON_MEASUREMENTS_MADE
           : strcmp(text, "0") == 0 ? TENON_MEASUREMENTS_NONE
                                    : TENON_MEASUREMENTS_USUAL;
}

/* Returns a limit: `wanted`, or by default (UINT64_MAX) the smaller of `most` and an eighth of the
 * device's memory. */
static uint64_t limit_of(const tn_device *device, uint64_t wanted, uint64_t most)
{
    const uint64_t share = device->info.global_memory / 8;
    if (wanted != UINT64_MAX)
        return wanted;
    return share < most ? share : most;
}

static tenon_status check_allocator(const char *caller, const tenon_allocator *allocator,
                                    uint64_t pool_limit)
{
    if (allocator->create == NULL || allocator->destroy == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: allocator: %s is NULL", caller,
                       allocator->create == NULL ? "create" : "destroy");
    if (allocator->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: allocator: reserved is %u, must be 0", caller,
                       allocator->reserved);
    if (pool_limit != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: pool_limit is %" PRIu64 ", must be 0 with an allocator", caller,
                       pool_limit);
    return TENON_OK;
}

static tenon_status open_heap(const char *caller, tenon_context *context,
                              const tenon_context_params *params)
{
    static const tenon_allocator none = TENON_ALLOCATOR_INIT;
    const uint64_t limit = limit_of(&context->device, params->pool_limit, UINT64_C(1) << 30);
    const uint64_t largest = tn_min_u64(context->device.info.max_allocation, SIZE_MAX);
    tenon_allocator room;
    const void *taken = NULL;
    if (context->cl == NULL || (limit == 0 && params->allocator == NULL))
        return TENON_OK;
    if (params->allocator != NULL) {
        TN_TRY(tn_params_take(caller, params->allocator, &none, sizeof none, "TENON_ALLOCATOR_INIT",
                              &room, &taken));
        TN_TRY(check_allocator(caller, taken, limit));
    }
    return tn_heap_create(caller, context->cl, largest, limit, taken, &context->memory.heap);
}

static tenon_status init_locks(const char *caller, tenon_context *context)
{
    if (!tn_recursive_mutex_init(&context->validation.lock) ||
        !tn_mutex_init(&context->slot_lock) || !tn_mutex_init(&context->capabilities.lock) ||
        tn_queue_tracker_init(caller, &context->binary_writer.streams) != TENON_OK)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create the context's locks", caller);
    return tn_program_cache_init(caller, &context->programs);
}

/* Records the calls of a context with a device if TENON_RECORD names a file. */
static tenon_status open_record(const char *caller, tenon_context *context)
{
    const char *path = getenv("TENON_RECORD");
    if (context->owner != NULL || context->cl == NULL || path == NULL || path[0] == '\0')
        return TENON_OK;
    if ((context->policy.record = tn_text_copy(path)) == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    return TENON_OK;
}

/* Prints a log line, including those of builds and checks, and forwards it to the application. */
static void print_and_tell(void *user, tenon_log_level level, const char *message)
{
    const tenon_context *context = user;
    fprintf(stderr, "tenon: %s\n", message);
    tn_log_send(&context->reports.application_log, level, "%s", message);
}

static void read_verbosity(tenon_context *context)
{
    const char *wanted = getenv("TENON_VERBOSE");
    if (context->owner != NULL || context->cl == NULL || wanted == NULL || strcmp(wanted, "1") != 0)
        return;
    context->reports.is_verbose = true;
    context->reports.application_log = context->reports.log;
    context->reports.log = (tn_log){print_and_tell, context, TENON_LOG_INFO};
    if (context->reports.application_log.level > context->reports.log.level)
        context->reports.log.level = context->reports.application_log.level;
}

/* The environment's setting also prints. */
static void read_numerics(tenon_context *context, const tenon_context_params *params)
{
    const char *wanted = getenv("TENON_CHECK_NUMERICS");
    if (context->owner != NULL || context->cl == NULL)
        return;
    context->reports.prints_numerics = wanted != NULL && strcmp(wanted, "1") == 0;
    context->reports.checks_numerics =
        context->reports.prints_numerics || (params->flags & TENON_CONTEXT_CHECK_NUMERICS) != 0;
}

/* Opens the store, whose entries carry the identity of the device. */
static tenon_status open_store(const char *caller, tenon_context *context,
                               const tenon_context_params *params)
{
    if (context->owner != NULL) {
        context->persistence.store = context->owner->persistence.store;
        context->persistence.identity = context->owner->persistence.identity;
        return TENON_OK;
    }
    if (context->cl == NULL)
        return TENON_OK;
    context->persistence.log = tn_context_log(context);
    TN_TRY(tn_store_create(caller, &params->store, &context->persistence.log,
                           &context->persistence.store));
    if (context->persistence.store != NULL &&
        (context->persistence.identity = tn_identity_make(&context->device)) == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    return TENON_OK;
}

static void close_store(tenon_context *context)
{
    if (context->owner != NULL)
        return;
    tn_store_destroy(context->persistence.store);
    free(context->persistence.identity);
}

static void release_cl_context(cl_context cl)
{
    if (cl != NULL)
        clReleaseContext(cl);
}

/* Takes ownership of the reference to `cl`, even if it fails. */
static tenon_status make_context(const char *caller, cl_context cl, const tn_device *device,
                                 const tenon_context_params *params, tenon_context *owner,
                                 tenon_context **out)
{
    tenon_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        release_cl_context(cl);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    tenon_status status = init_locks(caller, context);
    if (status != TENON_OK) {
        free(context);
        release_cl_context(cl);
        return status;
    }
    atomic_init(&context->references, 1);
    atomic_init(&context->binary_writer.is_shared, false);
    if (owner == NULL && cl != NULL)
        tn_binary_writer_enter(context);
    atomic_init(&context->validation.context, NULL);
    atomic_init(&context->capabilities.untested, 0);
    atomic_init(&context->constants.are_settled, false);
    context->constants.take = cl != NULL ? tn_host_times_take : NULL;
    context->cl = cl;
    context->device = *device;
    context->reports.log = (tn_log){params->log, params->log_user,
                                    params->log_level != 0 ? params->log_level : TENON_LOG_WARNING};
    context->memory.workspace_limit =
        limit_of(device, params->workspace_limit, UINT64_C(256) << 20);
    context->policy.profiling = params->profiling == 1;
    context->policy.unchecked = params->unchecked == 1;
    context->policy.measurements = measurements(params->measurements);
    context->reports.progress = params->progress;
    context->reports.progress_user = params->progress_user;
    context->failures.callback = params->failure;
    context->failures.user = params->failure_user;
    context->owner = owner;
    read_verbosity(context);
    read_numerics(context, params);
    if (owner == NULL && cl != NULL)
        status = tn_usage_create(caller, &context->memory.usage);
    if (status != TENON_OK || (status = open_heap(caller, context, params)) != TENON_OK ||
        (status = open_store(caller, context, params)) != TENON_OK ||
        (status = open_record(caller, context)) != TENON_OK) {
        tenon_context_release(context);
        return status;
    }
    *out = context;
    return TENON_OK;
}

static void end_driver_listener(tn_driver_listener *driver)
{
    if (driver != NULL)
        tn_listener_end(driver->listener);
    free(driver);
}

/* Gives NULL, and returns TENON_OK, if the application set no failure callback. */
static tenon_status begin_driver_listener(const char *caller, const tenon_context_params *params,
                                          tn_driver_listener **out)
{
    *out = NULL;
    if (params->failure == NULL)
        return TENON_OK;
    tn_driver_listener *driver = malloc(sizeof *driver);
    if (driver != NULL) {
        *driver = (tn_driver_listener){params->failure, params->failure_user, NULL};
        driver->listener = tn_listener_begin(driver);
    }
    if (driver == NULL || driver->listener == NULL) {
        free(driver);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    *out = driver;
    return TENON_OK;
}

/* Called by the driver on any of its threads. */
static void CL_CALLBACK hear_driver(const char *text, const void *data, size_t size, void *number)
{
    const tn_driver_listener *driver = tn_listener_enter(number);
    (void)data;
    (void)size;
    if (driver == NULL)
        return;
    const tenon_failure failure = {.struct_size = sizeof failure,
                                   .status = TENON_ERROR_OPENCL,
                                   .message = text != NULL ? text : ""};
    driver->failure(driver->user, &failure);
    tn_listener_leave(number);
}

static tenon_status create_cl_context(const char *caller, const tn_device *device,
                                      const tn_driver_listener *driver, cl_context *cl)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                          (cl_context_properties)device->info.platform, 0};
    cl_int error;
    TN_TRY(tn_gate_enter(caller));
    *cl = clCreateContext(properties, 1, &device->info.device, driver != NULL ? hear_driver : NULL,
                          driver != NULL ? tn_listener_number(driver->listener) : NULL, &error);
    tn_gate_leave();
    tn_process_reregister(NULL);
    TN_CL_TRY(caller, "clCreateContext", error);
    return TENON_OK;
}

TENON_API tenon_status tenon_context_create(const tenon_context_params *params, tenon_context **out)
{
    static const char caller[] = "tenon_context_create";
    tenon_context_params room;
    const void *taken;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    tn_device device;
    cl_context cl;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(tn_params_take(caller, params, &defaults, sizeof defaults, "TENON_CONTEXT_PARAMS_INIT",
                          &room, &taken));
    params = taken;
    TN_TRY(context_create_check_params(caller, params));
    TN_TRY(tn_gate_check(caller));
    TN_TRY(tn_device_select(caller, params->device, &info));
    TN_TRY(tn_device_read(caller, info.device, &device));
    memcpy(device.info.selector, info.selector, sizeof info.selector);
    tn_driver_listener *driver;
    TN_TRY(begin_driver_listener(caller, params, &driver));
    tenon_status status = create_cl_context(caller, &device, driver, &cl);
    tenon_context *made = NULL;
    if (status == TENON_OK)
        status = make_context(caller, cl, &device, params, NULL, &made);
    if (made != NULL)
        made->failures.driver = driver;
    else
        end_driver_listener(driver);
    *out = made;
    return status;
}

tenon_status tn_context_without_device(const char *caller, const tn_device *device,
                                       tenon_context **out)
{
    const tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    return make_context(caller, NULL, device, &params, NULL, out);
}

TENON_API tenon_status tenon_context_import(cl_context cl, cl_device_id id,
                                            const tenon_context_params *params, tenon_context **out)
{
    static const char caller[] = "tenon_context_import";
    tenon_context_params room;
    const void *taken;
    tn_device device;
    bool belongs;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    if (cl == NULL || id == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       cl == NULL ? "cl" : "device");
    TN_TRY(tn_params_take(caller, params, &defaults, sizeof defaults, "TENON_CONTEXT_PARAMS_INIT",
                          &room, &taken));
    params = taken;
    TN_TRY(context_create_check_params(caller, params));
    TN_TRY(tn_opencl_load(caller));
    TN_TRY(tn_device_of_context(caller, cl, id, &belongs));
    if (!belongs)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: device %p does not belong to the OpenCL context", caller, (void *)id);
    TN_TRY(tn_device_read(caller, id, &device));
    TN_CL_TRY(caller, "clRetainContext", clRetainContext(cl));
    TN_TRY(make_context(caller, cl, &device, params, NULL, out));
    if (*out != NULL)
        (*out)->binary_writer.is_imported = true;
    return TENON_OK;
}

/* Destroying the stream releases the reference that keeps the validation context alive. */
static void destroy_validation(tn_validation *validation)
{
    tenon_context *context = atomic_load(&validation->context);
    tenon_stream_destroy(validation->stream);
    tenon_context_release(context);
    while ((context = validation->retired) != NULL) {
        validation->retired = context->validation.replaced.next;
        tenon_stream_destroy(context->validation.replaced.stream);
        tenon_context_release(context);
    }
    tn_deferred_lines_send(NULL, validation->lines);
    tn_recursive_mutex_destroy(&validation->lock);
}

TENON_API void tenon_context_release(tenon_context *context)
{
    if (context == NULL || tn_gate_is_shut() || atomic_fetch_sub(&context->references, 1) != 1)
        return;
    for (int i = 0; i < TN_SLOT_COUNT; i++)
        if (context->slots[i].data != NULL)
            context->slots[i].destroy(context->slots[i].data);
    if (context->owner == NULL && context->cl != NULL)
        tn_binary_writer_leave(context);
    destroy_validation(&context->validation);
    tn_queue_tracker_destroy(&context->binary_writer.streams);
    tn_program_cache_destroy(&context->programs);
    tn_heap_close(context->memory.heap);
    tn_usage_close(context->memory.usage);
    tn_mutex_destroy(&context->slot_lock);
    tn_mutex_destroy(&context->capabilities.lock);
    close_store(context);
    free(context->policy.record);
    end_driver_listener(context->failures.driver);
    release_cl_context(context->cl);
    free(context);
}

tenon_status tn_context_for_validation(const char *caller, tenon_context *owner,
                                       tenon_context **out)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    cl_context cl;
    /* No log: the validation context's lock is held. The caller reports what was found. */
    params.workspace_limit = UINT64_C(16) << 20;
    params.profiling = 1;
    TN_TRY(create_cl_context(caller, &owner->device, NULL, &cl));
    return make_context(caller, cl, &owner->device, &params, owner, out);
}
