#include "runtime/probe/local_memory.h"

#include "runtime/probe/capability_trials.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/context/identity.h"
#include "runtime/program/program.h"
#include "runtime/program/ptx_edit.h"
#include "runtime/probe/crash_guard.h"
#include "runtime/queue/stream.h"
#include "runtime/context/validation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minimum of OpenCL 1.2's full profile. */
#define MIN_SIZE (32 << 10)

/* Sizes to distinguish: the maximum per work-group of NVIDIA's compute capabilities (CUDA C++
 * Programming Guide, technical specifications). */
static const uint32_t sizes[TN_LOCAL_SIZES] = {48 << 10, 64 << 10, 98 << 10, 162 << 10, 226 << 10};

const char *tn_local_method_name(tn_local_method method)
{
    static const char *const names[TN_LOCAL_WAYS] = {
        [TN_LOCAL_ARRAY] = "array",
        [TN_LOCAL_ARGUMENT] = "argument",
        [TN_LOCAL_ENLARGED] = "enlarged",
    };
    return names[method];
}

void tn_local_options(tn_local_method method, uint64_t bytes, char options[96])
{
    options[0] = '\0';
    if (method == TN_LOCAL_ARGUMENT)
        snprintf(options, 96, TN_LOCAL_METHOD_OPTION "%d", method);
    if (method == TN_LOCAL_ENLARGED)
        snprintf(options, 96,
                 TN_LOCAL_METHOD_OPTION "%d " TN_PTX_OPTION " " TN_PTX_LOCAL_OPTION "%u", method,
                 (unsigned)bytes);
}

/* Returns the size tried for an index: the driver's own figure if it lies between two sizes. */
static uint64_t size_of(const tenon_context *context, int number)
{
    const uint64_t said = context->device.info.local_memory,
                   below = number > 0 ? sizes[number - 1] : 0;
    return said > below && said < sizes[number] ? said : sizes[number];
}

/* Returns the index of the first size that holds the bytes; TN_LOCAL_SIZES if there is none. */
static int number_for(const tenon_context *context, uint64_t bytes)
{
    int number = 0;
    while (number < TN_LOCAL_SIZES && size_of(context, number) < bytes)
        number++;
    return number;
}

static bool get_known(tenon_context *context, tn_local_method method, int number,
                      tn_local_result *result)
{
    tn_mutex_lock(&context->capabilities.lock);
    *result = context->local.results[method][number];
    tn_mutex_unlock(&context->capabilities.lock);
    return result->known;
}

static void set_known(tenon_context *context, tn_local_method method, int number,
                      tn_local_result *result)
{
    result->known = true;
    tn_mutex_lock(&context->capabilities.lock);
    context->local.results[method][number] = *result;
    tn_mutex_unlock(&context->capabilities.lock);
}

/* Parses "works 1\nREASON". Accepts any text. */
static bool recall(tenon_context *context, const char *key, tn_local_result *result)
{
    size_t size;
    int works, length = 0;
    char *text =
        key != NULL ? tn_store_get(context->persistence.store, TN_STORE_TRIAL, key, &size) : NULL;
    const bool found = text != NULL && sscanf(text, "works %d%n", &works, &length) == 1 &&
                       (works == 0 || works == 1) && text[length] == '\n';
    if (found) {
        result->works = works == 1;
        snprintf(result->reason, sizeof result->reason, "%s", text + length + 1);
    }
    free(text);
    return found;
}

static void keep(tenon_context *context, const char *key, const tn_local_result *result)
{
    char text[sizeof result->reason + 16];
    if (key == NULL)
        return;
    const int length = snprintf(text, sizeof text, "works %d\n%s", result->works, result->reason);
    tn_store_put(context->persistence.store, TN_STORE_TRIAL, key, text, (size_t)length);
}

void tn_local_memory_trial(tn_local_method method, uint64_t bytes, tn_trial_build *out)
{
    char of_way[96];
    *out = (tn_trial_build){.source = "capability/local_memory", .items = TN_MAX_TRIAL_ITEMS};
    tn_local_options(method, bytes, of_way);
    snprintf(out->options, sizeof out->options, TN_MIN_VERSION " -DTRIAL_BYTES=%u%s",
             (unsigned)bytes, of_way);
}

/* Runs the kernel in the validation context, which the caller has entered. `*lasts` is true if the
 * result would be the same again. A size that is too large may cause a launch error for lack of
 * resources, among others. */
static tenon_status local_memory_run(tenon_stream *stream, tn_local_method method, uint64_t bytes,
                                     tn_local_result *result, bool *lasts)
{
    tn_trial_build build;
    tn_capability_result tried = {.option_set = -1};
    tn_local_memory_trial(method, bytes, &build);
    const tn_trial trial = {.name = "local memory",
                            .source = build.source,
                            .found = "all of it can be written and read back",
                            .items = build.items,
                            .local_argument =
                                method == TN_LOCAL_ARGUMENT ? bytes + TN_LOCAL_SLACK : 0};
    tenon_status status = tn_trial_try(&stream, &trial, build.options, &tried);
    *lasts = status == TENON_OK;
    if (status != TENON_OK && tenon_last_cl_error() == CL_OUT_OF_RESOURCES)
        status = TENON_OK;
    result->works = tried.available;
    snprintf(result->reason, sizeof result->reason, "%s", tried.reason);
    tn_programs_judge(stream->context, false); /* its programs are not needed again */
    return status;
}

static tenon_status run_in_validation(tenon_context *context, tn_local_method method,
                                      uint64_t bytes, const char *key, tn_local_result *result)
{
    tenon_stream *stream;
    tenon_status status = TENON_OK;
    bool lasts = false;
    const uint64_t began = tn_now();
    TN_TRY(tn_validation_enter(context, &stream));
    if (!tn_crash_guard_bars(context, key, 1, result->reason)) {
        tn_guard *guard = tn_crash_guard_begin(context, key, 1);
        status = local_memory_run(stream, method, bytes, result, &lasts);
        tn_crash_guard_end(guard);
        tn_count(context, TN_TRIALS_MADE, began);
    }
    tn_validation_leave(context);
    if (status == TENON_OK && lasts)
        keep(context, key, result);
    return status;
}

static tenon_status try_size(tenon_context *context, tn_local_method method, uint64_t bytes,
                             tn_local_result *result)
{
    tenon_status status = TENON_OK;
    char *key = tn_identity_key(context, "trial local memory, %s of %" PRIu64,
                                tn_local_method_name(method), bytes);
    *result = (tn_local_result){.known = false};
    if (recall(context, key, result))
        tn_count_only(context, TN_TRIALS_RECALLED, 1);
    else
        status = run_in_validation(context, method, bytes, key, result);
    free(key);
    return status;
}

tenon_status tn_local_memory_try(tenon_context *context, tn_local_method method, uint64_t bytes,
                                 bool *works, char reason[256])
{
    tn_local_result result;
    context = context->owner != NULL ? context->owner : context;
    TN_TRY(try_size(context, method, bytes, &result));
    *works = result.works;
    snprintf(reason, 256, "%s", result.reason);
    return TENON_OK;
}

/* Returns why this method is ruled out without a trial, or NULL. */
static const char *ruled_out(const tenon_context *context, tn_local_method method, uint64_t bytes)
{
    if (bytes > context->device.info.local_memory && !context->device.speaks_nvidia)
        return "the driver reports less";
    return method == TN_LOCAL_ENLARGED && !context->device.speaks_nvidia ? "not NVIDIA's compiler"
                                                                         : NULL;
}

/* If a trial cannot be carried out, the driver's figure is used, and the trial is repeated next
 * time. Preserves the thread's error message. */
static tn_local_result determine(tenon_context *context, tn_local_method method, int number)
{
    tn_local_result result;
    tn_kept_message kept;
    const uint64_t bytes = size_of(context, number);
    if (get_known(context, method, number, &result))
        return result;
    const char *why = ruled_out(context, method, bytes);
    result = (tn_local_result){.works = why == NULL && bytes <= context->device.info.local_memory};
    snprintf(result.reason, sizeof result.reason, "%s", why != NULL ? why : "cannot be tried");
    if (why != NULL || context->cl == NULL || !tn_message_keep(&kept))
        return result;
    tn_local_result tried;
    if (try_size(context, method, bytes, &tried) == TENON_OK) {
        result = tried;
        set_known(context, method, number, &result);
    } else {
        atomic_fetch_add(&context->capabilities.untested, 1);
    }
    tn_message_restore(&kept);
    return result;
}

/* Selects the first method that provides the bytes. */
static bool fits(tenon_context *context, uint64_t bytes, int ways, tn_local_method *method)
{
    context = context->owner != NULL ? context->owner : context;
    const uint64_t said = context->device.info.local_memory;
    const int number = number_for(context, bytes);
    *method = TN_LOCAL_ARRAY;
    if (context->device.is_cpu || (bytes <= said && bytes <= MIN_SIZE))
        return bytes <= said;
    for (int w = 0; w < ways && number < TN_LOCAL_SIZES; w++) {
        *method = (tn_local_method)w;
        if (determine(context, *method, number).works)
            return true;
    }
    return false;
}

bool tn_local_memory_fits(tenon_context *context, uint64_t bytes, tn_local_method *method)
{
    return fits(context, bytes, TN_LOCAL_WAYS, method);
}

bool tn_local_array_fits(tenon_context *context, uint64_t bytes)
{
    tn_local_method method;
    return fits(context, bytes, TN_LOCAL_ARRAY + 1, &method);
}

uint64_t tn_local_memory_most(tenon_context *context, tn_local_method method, char reason[256])
{
    context = context->owner != NULL ? context->owner : context;
    for (int number = TN_LOCAL_SIZES - 1; number >= 0; number--) {
        const tn_local_result result = determine(context, method, number);
        if (result.works) {
            if (number == TN_LOCAL_SIZES - 1)
                snprintf(reason, 256, "%s", result.reason);
            return size_of(context, number);
        }
        snprintf(reason, 256, "%s", result.reason);
    }
    return 0;
}

void tn_local_memory_set(tenon_context *context, tn_local_method method, uint64_t bytes)
{
    for (int number = 0; number < TN_LOCAL_SIZES; number++) {
        tn_local_result result = {.works = size_of(context, number) <= bytes,
                                  .reason = "set without a trial"};
        set_known(context, method, number, &result);
    }
}

void tn_local_memory_copy(tenon_context *to, tenon_context *from)
{
    from = from->owner != NULL ? from->owner : from;
    tn_mutex_lock(&from->capabilities.lock);
    to->local = from->local;
    tn_mutex_unlock(&from->capabilities.lock);
}
