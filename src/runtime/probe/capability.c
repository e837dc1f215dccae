#include "runtime/probe/capability.h"

#include "base/status.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/gate.h"
#include "runtime/context/identity.h"
#include "runtime/program/program.h"
#include "runtime/probe/crash_guard.h"
#include "runtime/queue/stream.h"
#include "runtime/context/validation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TENON_API const char *tenon_capability_string(tenon_capability capability)
{
    return (unsigned)capability < TN_CAPABILITY_COUNT ? tn_trials[capability].name : NULL;
}

static bool get_known(tn_capabilities *known, tenon_capability capability,
                      tn_capability_result *result)
{
    tn_mutex_lock(&known->lock);
    *result = known->results[capability];
    tn_mutex_unlock(&known->lock);
    return result->known;
}

static void set_known(tn_capabilities *known, tenon_capability capability,
                      tn_capability_result *result)
{
    result->known = true;
    tn_mutex_lock(&known->lock);
    known->results[capability] = *result;
    tn_mutex_unlock(&known->lock);
}

/* Parses the stored text: the index of the options, -1 if the device lacks the capability, and the
 * reason on a line of its own. Accepts any text. */
static bool read_result(tenon_capability capability, const char *text, tn_capability_result *result)
{
    int option_set, length = 0;
    char types[sizeof result->types + 1];
    if (sscanf(text, "way %d types %8[0-9-]%n", &option_set, types, &length) != 2 ||
        text[length] != '\n' || option_set < -1 || option_set >= TN_TRIAL_OPTION_SETS ||
        strlen(types) > sizeof result->types ||
        (option_set >= 0 && tn_trials[capability].options[option_set] == NULL))
        return false;
    *result = (tn_capability_result){
        .available = option_set >= 0,
        .option_set = option_set,
        .options = option_set >= 0 ? tn_trials[capability].options[option_set] : NULL,
    };
    /* A dash means that there are no types. */
    snprintf(result->types, sizeof result->types, "%.7s", types[0] != '-' ? types : "");
    snprintf(result->reason, sizeof result->reason, "%s", text + length + 1);
    return true;
}

static bool recall_trial(tenon_context *context, const char *key, tenon_capability capability,
                         tn_capability_result *result)
{
    size_t size;
    char *text =
        key != NULL ? tn_store_get(context->persistence.store, TN_STORE_TRIAL, key, &size) : NULL;
    const bool found = text != NULL && read_result(capability, text, result);
    free(text);
    return found;
}

static void store_trial(tenon_context *context, const char *key, const tn_capability_result *result)
{
    char text[sizeof result->reason + 32];
    if (key == NULL)
        return;
    const int length = snprintf(text, sizeof text, "way %d types %s\n%s",
                                result->available ? result->option_set : -1,
                                result->types[0] != '\0' ? result->types : "-", result->reason);
    tn_store_put(context->persistence.store, TN_STORE_TRIAL, key, text, (size_t)length);
}

/* Returns how many processes must end during a trial before it is disabled for a time. Without f64
 * or f16, calls of these types would be rejected, and without fma results would have other bits.
 * These three trials are plain OpenCL C, which rarely crashes a process. */
static unsigned least_to_bar(tenon_capability capability)
{
    switch (capability) {
    case TENON_CAPABILITY_F64:
    case TENON_CAPABILITY_F16:
        return TN_NEVER_BARRED;
    case TENON_CAPABILITY_HARDWARE_FMA:
        return 3;
    default:
        return 1;
    }
}

/* The caller has entered the validation context. */
static tenon_status run_trial(tenon_context *context, tenon_stream *stream, const char *key,
                              tenon_capability capability, tn_capability_result *result)
{
    const char *name = tn_trials[capability].name;
    const uint64_t began = tn_now();
    *result = (tn_capability_result){.option_set = -1};
    if (tn_crash_guard_bars(context, key, least_to_bar(capability), result->reason)) {
        const tn_log log = tn_context_log(context);
        tn_log_send(&log, TENON_LOG_WARNING, "the trial of %s is disabled on %s: %s", name,
                    context->device.info.name, result->reason);
        return TENON_OK;
    }
    tn_progress_send(stream->context, TENON_PROGRESS_TRIAL, name, "", -1);
    tn_guard *guard = tn_crash_guard_begin(context, key, least_to_bar(capability));
    tenon_status status = tn_trial_run(stream, capability, result);
    tn_programs_judge(stream->context, false); /* its programs are not needed again */
    tn_crash_guard_end(guard);
    tn_progress_send(stream->context, TENON_PROGRESS_TRIAL, name, result->reason,
                     tn_count(context, TN_TRIALS_MADE, began));
    if (status == TENON_OK)
        store_trial(context, key, result);
    return status;
}

static tenon_status find_in_validation(tenon_context *context, const char *key,
                                       tenon_capability capability, tn_capability_result *result)
{
    tn_capabilities *known = &context->capabilities;
    tenon_status status = TENON_OK;
    tenon_stream *stream;
    TN_TRY(tn_validation_enter(context, &stream));
    /* Another thread may have run the trial while this one waited for the validation context. */
    if (!get_known(known, capability, result) &&
        (status = run_trial(context, stream, key, capability, result)) == TENON_OK)
        set_known(known, capability, result);
    tn_validation_leave(context);
    return status;
}

static tenon_status make_trial(tenon_context *context, tenon_capability capability,
                               tn_capability_result *result)
{
    const char *ruled_out = tn_trials[capability].ruled_out(&context->device);
    *result = (tn_capability_result){.option_set = -1};
    if (ruled_out != NULL) {
        snprintf(result->reason, sizeof result->reason, "%s", ruled_out);
        set_known(&context->capabilities, capability, result);
        return TENON_OK;
    }
    tenon_status status = TENON_OK;
    char *key = tn_identity_key(context, "trial %s", tn_trials[capability].name);
    if (recall_trial(context, key, capability, result)) {
        tn_count_only(context, TN_TRIALS_RECALLED, 1);
        set_known(&context->capabilities, capability, result);
    } else {
        status = find_in_validation(context, key, capability, result);
    }
    free(key);
    return status;
}

/* Returns the result for a capability, running its trial if necessary. Fails if the trial cannot
 * be carried out; nothing is then recorded, and the next call tries again. The error message names
 * `caller`; with NULL no message is left. */
static tenon_status determine(const char *caller, tenon_context *context,
                              tenon_capability capability, tn_capability_result *result)
{
    tn_kept_message kept;
    tenon_status status = TENON_ERROR_OUT_OF_MEMORY;
    context = context->owner != NULL ? context->owner : context;
    if (get_known(&context->capabilities, capability, result))
        return TENON_OK;
    const bool is_kept = tn_message_keep(&kept);
    if (is_kept)
        status = make_trial(context, capability, result);
    if (status != TENON_OK) {
        result->available = false;
        atomic_fetch_add(&context->capabilities.untested, 1);
    }
    if (status != TENON_OK && caller != NULL && !is_kept)
        tn_fail(status, "%s: no memory for the trial of %s", caller, tn_trials[capability].name);
    else if (status != TENON_OK && caller != NULL)
        tn_fail_because(status, "%s: whether %s has %s cannot be tried", caller,
                        context->device.info.name, tn_trials[capability].name);
    if (is_kept)
        tn_message_end(&kept, caller != NULL ? status : TENON_OK);
    return status;
}

static tn_capability_result get(tenon_context *context, tenon_capability capability)
{
    tn_capability_result result;
    determine(NULL, context, capability, &result);
    return result;
}

tenon_status tn_context_try(const char *caller, tenon_context *context, tenon_capability capability,
                            bool *available)
{
    tn_capability_result result;
    TN_TRY(determine(caller, context, capability, &result));
    *available = result.available;
    return TENON_OK;
}

unsigned tn_capabilities_untested(tenon_context *context)
{
    context = context->owner != NULL ? context->owner : context;
    return atomic_load(&context->capabilities.untested);
}

bool tn_context_has(tenon_context *context, tenon_capability capability)
{
    return get(context, capability).available;
}

int tn_capability_form(tenon_context *context, tenon_capability capability)
{
    const tn_capability_result result = get(context, capability);
    return result.available ? TN_TRIAL_FORM(result.option_set) : -1;
}

void tn_capability_set(tenon_context *context, tenon_capability capability, int form)
{
    context->capabilities.results[capability] =
        (tn_capability_result){.known = true,
                               .available = form >= 0,
                               .option_set = form,
                               .options = form >= 0 ? tn_trials[capability].options[form] : NULL,
                               .reason = "set without a trial"};
    if (form >= 0 && tn_trials[capability].types != NULL)
        snprintf(context->capabilities.results[capability].types,
                 sizeof context->capabilities.results[capability].types, "%s",
                 tn_trials[capability].types);
}

bool tn_capability_has_type(tenon_context *context, tenon_capability capability, int type)
{
    const tn_capability_result result = get(context, capability);
    return result.available && strchr(result.types, '0' + type) != NULL;
}

bool tn_capability_trial(tenon_context *context, tenon_capability capability, uint32_t number,
                         tn_trial_build *out)
{
    const tn_trial *t = &tn_trials[capability];
    const tn_capability_result result = get(context, capability);
    if (!result.available || number >= (t->types != NULL ? strlen(result.types) : 1))
        return false;
    *out = (tn_trial_build){.source = t->source, .items = tn_trial_items(t)};
    if (t->types != NULL)
        tn_trial_options(t, result.option_set, result.types[number], out->options);
    else
        snprintf(out->options, sizeof out->options, "%s", result.options);
    return true;
}

/* Returns true for options of an f64 kernel if the driver's f64 exp is inaccurate. */
static bool want_own_exp(tenon_context *context, const char *options)
{
    static const char type[] = "-DTENON_DTYPE=1";
    const char *at = strstr(options, type);
    return at != NULL && strchr(" ", at[strlen(type)]) != NULL &&
           tn_capability_form(context, TENON_CAPABILITY_F64) == 1;
}

static char *build_options(tenon_context *context, const char *first, char options[512],
                           const char *format, va_list arguments)
{
    const bool fma = tn_context_has(context, TENON_CAPABILITY_HARDWARE_FMA);
    /* CPU drivers compute some functions lane by lane, which no trial could detect reliably. */
    const char *cpu = context->device.is_cpu ? "-DTENON_CPU=1 " : "";
    const char *math = fma && context->device.is_cpu ? "-DTENON_VECTOR_MATH=1 " : "";
    const uint32_t sub_group = context->device.least_sub_group;
    const uint32_t salt = context->programs.rebuild_salt;
    int used = snprintf(options, 512, "%s -DTENON_HW_FMA=%d %s%s", first, fma, cpu, math);
    if (sub_group > 0)
        used += snprintf(options + used, (size_t)(512 - used), "-DTENON_SUB_GROUP=%u ", sub_group);
    if (salt > 0)
        used += snprintf(options + used, (size_t)(512 - used), "-DTENON_REBUILD_SALT=%u ", salt);
    used += vsnprintf(options + used, (size_t)(512 - used), format, arguments);
    if (used < 512 && want_own_exp(context, options))
        snprintf(options + used, (size_t)(512 - used), " -DTENON_CUSTOM_EXP=1");
    return options;
}

char *tn_build_options_list(tenon_context *context, char options[512], const char *format,
                            va_list arguments)
{
    return build_options(context, TN_MIN_VERSION, options, format, arguments);
}

char *tn_build_options(tenon_context *context, char options[512], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tn_build_options_list(context, options, format, arguments);
    va_end(arguments);
    return options;
}

char *tn_build_options_with(tenon_context *context, tenon_capability capability, char options[512],
                            const char *format, ...)
{
    const char *first = get(context, capability).options;
    va_list arguments;
    va_start(arguments, format);
    build_options(context, first != NULL ? first : TN_MIN_VERSION, options, format, arguments);
    va_end(arguments);
    return options;
}

TENON_API tenon_status tenon_context_capability(tenon_context *context, tenon_capability capability,
                                                uint32_t *available, char *reason,
                                                size_t reason_size)
{
    static const char caller[] = "tenon_context_capability";
    if (context == NULL || available == NULL || (reason == NULL && reason_size > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL     ? "context"
                       : available == NULL ? "available"
                                           : "reason");
    TN_TRY(tn_gate_check(caller));
    if ((unsigned)capability >= TN_CAPABILITY_COUNT)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: capability is %d, which is not a tenon_capability", caller,
                       (int)capability);
    tn_capability_result result;
    TN_TRY(determine(caller, context, capability, &result));
    *available = result.available;
    if (reason != NULL)
        snprintf(reason, reason_size, "%s", result.reason);
    return TENON_OK;
}
