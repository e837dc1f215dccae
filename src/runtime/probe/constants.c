#include "runtime/probe/constants.h"

#include "device/copy_speed.h"
#include "runtime/probe/copy_bandwidth.h"
#include "runtime/context/identity.h"
#include "runtime/context/validation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounding of factors: steps per power of two. Within one step the table's value is kept. */
#define STEPS     4
#define MAX_STEPS 24
/* Shares are rounded to eighths. */
#define SHARE_STEPS 8
/* In bytes; a stored text with a larger cache is rejected. */
#define MAX_CACHE 1e15
/* Fraction of the device's memory that is used to measure. */
#define MEMORY_SHARE 16

static double rounded(double factor)
{
    const double steps = fmax(fmin(nearbyint(STEPS * log2(factor)), MAX_STEPS), -MAX_STEPS);
    return fabs(steps) <= 1 ? 1 : exp2(steps / STEPS);
}

static double rounded_share(double share)
{
    return fmin(fmax(nearbyint(SHARE_STEPS * share), 1), SHARE_STEPS) / SHARE_STEPS;
}

void tn_constants_apply(const tn_device_kind *kind, const tn_host_speed *speed, tn_device_kind *out)
{
    const double rate = rounded(kind->reached.rate * speed->rate / kind->rates.f32);
    *out = *kind;
    out->rates.f32 *= rate;
    out->rates.f64 *= rate;
    out->rates.scalar *= rate;
    out->steps.vector_element /= rate;
    out->steps.single_element /= rate;
    out->steps.row /= rate;
    out->memory.bandwidth *= rounded(kind->reached.memory * speed->memory / kind->memory.bandwidth);
    if (kind->memory.cache > 0)
        out->memory.cache *= rounded(kind->reached.cache * speed->cache / kind->memory.cache);
    out->in_place = (tn_kind_in_place){.pages = rounded_share(speed->pages),
                                       .unaligned = rounded_share(speed->unaligned)};
}

int tn_constants_text(const tn_host_speed *speed, char *text, size_t size)
{
    return snprintf(text, size,
                    "rate %.4g memory %.4g cache %.4g cache_size %.0f pages %.4g unaligned %.4g\n",
                    speed->rate, speed->memory, speed->cache, (double)speed->cache_size,
                    speed->pages, speed->unaligned);
}

static bool makes_sense(double number)
{
    return number > 1e-3 && number < 1e6;
}

static bool is_share(double number)
{
    return number > 0 && number <= 1;
}

bool tn_constants_parse(const char *text, tn_host_speed *speed)
{
    double size = 0;
    if (sscanf(text, "rate %lf memory %lf cache %lf cache_size %lf pages %lf unaligned %lf",
               &speed->rate, &speed->memory, &speed->cache, &size, &speed->pages,
               &speed->unaligned) != 6 ||
        !(size >= 1 && size <= MAX_CACHE))
        return false;
    speed->cache_size = (uint64_t)size;
    return makes_sense(speed->rate) && makes_sense(speed->memory) && makes_sense(speed->cache) &&
           is_share(speed->pages) && is_share(speed->unaligned);
}

static bool recall(tenon_context *context, const char *key, tn_host_speed *speed)
{
    size_t size;
    char *text = tn_store_get(context->persistence.store, TN_STORE_CONSTANTS, key, &size);
    const bool found = text != NULL && tn_constants_parse(text, speed);
    if (text != NULL && !found)
        tn_store_remove(context->persistence.store, TN_STORE_CONSTANTS, key);
    free(text);
    return found;
}

static bool take(tenon_context *context, const tn_device_kind *table, tn_host_speed *speed)
{
    const tn_device *device = &context->device;
    tn_host_times times;
    return context->constants.take((uint32_t)device->model.units, table->lanes,
                                   device->info.global_memory / MEMORY_SHARE, &times) &&
           tn_host_speed_of(&times, speed);
}

static bool measure(tenon_context *context, const tn_device_kind *table, const char *key,
                    tn_host_speed *speed)
{
    const tn_log log = tn_context_log(context);
    const uint64_t began = tn_now();
    char text[TN_CONSTANTS_TEXT];
    /* If an entry exists but could not be read for lack of memory, nothing is measured. */
    if (tn_store_has(context->persistence.store, TN_STORE_CONSTANTS, key) ||
        !take(context, table, speed))
        return false;
    const int length = tn_constants_text(speed, text, sizeof text);
    tn_store_put(context->persistence.store, TN_STORE_CONSTANTS, key, text, (size_t)length);
    tn_log_send(&log, TENON_LOG_INFO, "measured constants of the processor: %.*s, in %.1f ms",
                length - 1, text, 1e-6 * (double)(tn_now() - began));
    return tn_constants_parse(text, speed); /* with the digits that the next process will read */
}

/* Returns true for an imaginary processor of a test, which stores nothing. */
static bool is_imaginary(const tenon_context *context)
{
    return context->cl == NULL && context->constants.take != NULL;
}

/* Returns the table whose constants are to be replaced; NULL if they are kept or already replaced.
 */
static const tn_device_kind *table_of(tenon_context *context)
{
    tn_mutex_lock(&context->slot_lock);
    const tn_device_kind *kind =
        atomic_load(&context->constants.are_settled) ? NULL : context->device.model.kind;
    tn_mutex_unlock(&context->slot_lock);
    const bool has_own = kind != NULL && tn_device_kind_is_cpu(kind) && context->device.is_cpu &&
                         (context->persistence.store != NULL || is_imaginary(context)) &&
                         context->policy.measurements != TENON_MEASUREMENTS_NONE;
    return has_own ? kind : NULL;
}

bool tn_constants_measured(tenon_context *context, tn_host_speed *speed)
{
    char *key = context->persistence.store != NULL
                    ? tn_identity_machine_key(context, "constants of the processor")
                    : NULL;
    const bool found = key != NULL && recall(context, key, speed);
    free(key);
    return found;
}

/* One thread measures; threads that waited for it read its stored result. Fails if nothing can be
 * determined now. */
static tenon_status constants_find(tenon_context *context, const tn_device_kind *table,
                                   tn_host_speed *speed, bool *found)
{
    tenon_stream *stream;
    tenon_status status = TENON_OK;
    if (is_imaginary(context)) {
        *found = take(context, table, speed);
        return TENON_OK;
    }
    char *key = tn_identity_machine_key(context, "constants of the processor");
    if (key == NULL)
        return TENON_ERROR_OUT_OF_MEMORY;
    *found = recall(context, key, speed);
    if (!*found && (status = tn_validation_enter(context, &stream)) == TENON_OK) {
        *found = recall(context, key, speed) || measure(context, table, key, speed);
        tn_validation_leave(context);
    }
    free(key);
    return status;
}

/* Sets the constants; only the first call has an effect. With `own` NULL the table's kind is kept.
 * A `cache_size` of 0 keeps the driver's. */
static void settle(tenon_context *context, const tn_device_kind *own, uint64_t cache_size)
{
    tn_mutex_lock(&context->slot_lock);
    if (!atomic_load(&context->constants.are_settled) && own != NULL) {
        context->constants.kind = *own;
        context->device.model.kind = &context->constants.kind;
        if (cache_size != 0)
            context->device.model.cache_size = cache_size;
    }
    atomic_store(&context->constants.are_settled, true);
    tn_mutex_unlock(&context->slot_lock);
}

static void settle_cpu(tenon_context *context)
{
    tn_host_speed speed;
    tn_device_kind own;
    const tn_device_kind *table = table_of(context);
    bool found = false;
    if (table != NULL && constants_find(context, table, &speed, &found) != TENON_OK)
        return;
    if (found)
        tn_constants_apply(table, &speed, &own);
    settle(context, found ? &own : NULL, found ? speed.cache_size : 0);
}

static void settle_gpu(tenon_context *context)
{
    double speed;
    tn_device_kind own;
    bool found = false;
    if (tn_copy_bandwidth_find(context, &speed, &found) != TENON_OK)
        return;
    tn_mutex_lock(&context->slot_lock);
    const tn_device_kind *table = context->device.model.kind;
    tn_mutex_unlock(&context->slot_lock);
    if (found)
        tn_copy_speed_apply(table, speed, &own);
    settle(context, found ? &own : NULL, 0);
}

/* A validation context uses its owner's constants, which are set before anything is selected. */
void tn_constants_need(tenon_context *context)
{
    if (context->owner != NULL)
        context->device.model = context->owner->device.model;
    else if (!atomic_load(&context->constants.are_settled) && tn_copy_bandwidth_applies(context))
        settle_gpu(context);
    else if (!atomic_load(&context->constants.are_settled))
        settle_cpu(context);
}
