#include "runtime/probe/copy_bandwidth.h"

#include "capability/args.h"
#include "device/copy_speed.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/context/identity.h"
#include "runtime/queue/launch.h"
#include "runtime/memory/memory.h"
#include "runtime/program/program.h"
#include "runtime/probe/crash_guard.h"
#include "runtime/context/validation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes per buffer: more than the last-level cache of any GPU, but only a fraction of a small
 * device's memory. */
#define MAX_BYTES    ((uint64_t)256 << 20)
#define MIN_BYTES    ((uint64_t)4 << 20)
#define MEMORY_SHARE 32
/* Bytes that a work-item copies. */
#define ITEM_BYTES 64

bool tn_copy_bandwidth_applies(const tenon_context *context)
{
    const tn_device *device = &context->device;
    return !device->is_cpu && (device->info.type & CL_DEVICE_TYPE_CPU) == 0 &&
           context->cl != NULL && context->persistence.store != NULL &&
           context->policy.measurements != TENON_MEASUREMENTS_NONE;
}

/* Resources for the copies. */
typedef struct copier {
    tenon_stream *stream;
    tn_recording recording;
    tn_operand operands[2];
} copier;

static bool copy_bandwidth_run(void *user, uint32_t copies, double *nanoseconds)
{
    copier *c = user;
    const uint64_t began = tn_now();
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < copies && status == TENON_OK; i++)
        status = tn_recording_run("copy bandwidth", "copy bandwidth", c->stream, &c->recording,
                                  c->operands, NULL, NULL);
    if (status == TENON_OK)
        status = tenon_stream_finish(c->stream);
    *nanoseconds = (double)(tn_now() - began);
    return status == TENON_OK;
}

static bool prepare(copier *c, uint64_t bytes)
{
    const trial_args args = {1, 0};
    const size_t most = c->stream->context->device.info.max_work_group;
    const tn_launch launch = {.source = TN_COPY_SOURCE,
                              .options = TN_MIN_VERSION,
                              .kernel = TN_COPY_KERNEL,
                              .dimensions = 1,
                              .global = {bytes / ITEM_BYTES},
                              .local = {most < TN_COPY_GROUP ? 64 : TN_COPY_GROUP},
                              .operands = {0, 1},
                              .operand_count = 2,
                              TN_ARGS(args)};
    for (int i = 0; i < 2; i++)
        if (tn_memory_make("copy bandwidth", c->stream->context, CL_MEM_READ_WRITE, NULL, bytes,
                           &c->operands[i].memory) != TENON_OK)
            return false;
    return tn_record("copy bandwidth", &c->recording, &launch) == TENON_OK;
}

static uint64_t bytes_for(const tn_device *device)
{
    uint64_t bytes = device->info.global_memory / MEMORY_SHARE;
    bytes = bytes < MAX_BYTES ? bytes : MAX_BYTES;
    bytes = bytes < device->info.max_allocation ? bytes : device->info.max_allocation;
    bytes -= bytes % (ITEM_BYTES * TN_COPY_GROUP);
    return bytes >= MIN_BYTES && bytes > device->model.cache_size ? bytes : 0;
}

bool tn_copy_bandwidth_measure(tenon_stream *stream, double *speed)
{
    const tn_device *device = &stream->context->device;
    copier c = {.stream = stream, .recording = {.context = stream->context}};
    const uint64_t bytes = bytes_for(device);
    const tn_copy_probe probe = {copy_bandwidth_run, &c, 2.0 * (double)bytes, device->model.units};
    const bool well = bytes > 0 && prepare(&c, bytes) && tn_copy_speed_measure(&probe, speed);
    tn_recording_destroy(&c.recording);
    for (int i = 0; i < 2; i++)
        tenon_memory_destroy(&c.operands[i].memory);
    return well;
}

bool tn_copy_bandwidth_parse(const char *text, double *speed)
{
    return sscanf(text, "copy %lf", speed) == 1 && *speed > 1e-2 && *speed < 1e5;
}

static bool recall(tenon_context *context, const char *key, double *speed)
{
    size_t size;
    char *text = tn_store_get(context->persistence.store, TN_STORE_CONSTANTS, key, &size);
    const bool found = text != NULL && tn_copy_bandwidth_parse(text, speed);
    if (text != NULL && !found)
        tn_store_remove(context->persistence.store, TN_STORE_CONSTANTS, key);
    free(text);
    return found;
}

/* Guarded, so that a kernel that crashes the process is not run again by every later process. */
static bool measure(tenon_context *context, tenon_stream *stream, const char *key, double *speed)
{
    const tn_copy_probe *imaginary = context->constants.probe;
    char why[256];
    if (tn_crash_guard_bars(context, key, 1, why))
        return false;
    tn_guard *guard = tn_crash_guard_begin(context, key, 1);
    const bool well = imaginary != NULL ? tn_copy_speed_measure(imaginary, speed)
                                        : tn_copy_bandwidth_measure(stream, speed);
    tn_crash_guard_end(guard);
    return well;
}

static bool measure_and_keep(tenon_context *context, tenon_stream *stream, const char *key,
                             double *speed)
{
    const tn_log log = tn_context_log(context);
    const uint64_t began = tn_now();
    char text[64];
    if (tn_store_has(context->persistence.store, TN_STORE_CONSTANTS, key) ||
        !measure(context, stream, key, speed))
        return false;
    const int length = snprintf(text, sizeof text, "copy %.4g\n", *speed);
    tn_store_put(context->persistence.store, TN_STORE_CONSTANTS, key, text, (size_t)length);
    tn_log_send(&log, TENON_LOG_INFO, "the GPU's copy bandwidth: %.4g GB/s, measured in %.1f ms",
                *speed, 1e-6 * (double)(tn_now() - began));
    return tn_copy_bandwidth_parse(text, speed); /* with the digits that the next process reads */
}

tenon_status tn_copy_bandwidth_find(tenon_context *context, double *speed, bool *found)
{
    tenon_stream *stream;
    tn_kept_message kept;
    char *key = tn_identity_machine_key(context, "copy bandwidth of the device");
    if (key == NULL || !tn_message_keep(&kept)) {
        free(key);
        return TENON_ERROR_OUT_OF_MEMORY;
    }
    *found = recall(context, key, speed);
    if (!*found && tn_validation_enter(context, &stream) == TENON_OK) {
        *found = recall(context, key, speed) || measure_and_keep(context, stream, key, speed);
        if (!*found)
            tn_validation_renewed(context, &stream);
        tn_validation_leave(context);
    }
    tn_message_restore(&kept);
    free(key);
    return TENON_OK;
}
