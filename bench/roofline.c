#include "roofline.h"

#include "device.h"

#include "base/store.h"
#include "runtime/context/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A range may be this much larger than the one with which the bandwidth of a cache was measured,
 * which fills three quarters of the cache at most. */
#define FITS (4.0 / 3.0)

/* The key of the store's entry; the number is that of the format. */
#define KEY "ceilings of tenon-bench 1"

json_t *bench_ceilings_stored(const bench_session *session)
{
    const tenon_context *context = session->context;
    size_t size = 0;
    char *key = tn_identity_machine_key(context, KEY);
    char *text = key != NULL
                     ? tn_store_get(context->persistence.store, TN_STORE_CONSTANTS, key, &size)
                     : NULL;
    json_t *ceilings = text != NULL ? json_loads(text, 0, NULL) : NULL;
    if (ceilings != NULL && !json_is_array(json_object_get(ceilings, "limits"))) {
        json_decref(ceilings);
        ceilings = NULL;
    }
    free(text);
    free(key);
    return ceilings;
}

void bench_ceilings_store(const bench_session *session, const json_t *ceilings)
{
    const tenon_context *context = session->context;
    char *key = tn_identity_machine_key(context, KEY),
         *text = json_dumps(ceilings, JSON_COMPACT | JSON_REAL_PRECISION(8));
    if (key != NULL && text != NULL)
        tn_store_put(context->persistence.store, TN_STORE_CONSTANTS, key, text, strlen(text));
    free(text);
    free(key);
}

static bool is_kind(const json_t *limit, const char *kind)
{
    return strcmp(bench_json_text(limit, "kind"), kind) == 0 &&
           bench_json_number(limit, "value") > 0 &&
           json_is_true(json_object_get(limit, "verified"));
}

/* Returns the fastest arithmetic of a type, by vectors or matrix units; NULL if none was measured.
 */
static const json_t *arithmetic_of(const json_t *limits, const char *dtype)
{
    const json_t *limit, *best = NULL;
    size_t i;
    json_array_foreach(limits, i, limit)
    {
        const bool counts = (is_kind(limit, "vector") || is_kind(limit, "matrix")) &&
                            strcmp(bench_json_text(limit, "dtype"), dtype) == 0;
        if (counts &&
            (best == NULL || bench_json_number(limit, "value") > bench_json_number(best, "value")))
            best = limit;
    }
    return best;
}

/* Returns the ceiling of a case's arithmetic. Without units for a 16-bit type it is that of f32, in
 * which such elements are computed. */
static const json_t *ceiling_of_type(const json_t *limits, tenon_dtype dtype)
{
    const char *name = tenon_dtype_string(dtype);
    const json_t *own = arithmetic_of(limits, dtype == TENON_DTYPE_U8 ? "i8" : name);
    const bool is_half = dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_BF16;
    return own == NULL && is_half ? arithmetic_of(limits, "f32") : own;
}

/* Returns the highest bandwidth of the memories that hold the bytes; NULL if none was measured. */
static const json_t *bandwidth_for(const json_t *limits, double bytes)
{
    const json_t *limit, *best = NULL;
    size_t i;
    json_array_foreach(limits, i, limit)
    {
        const char *level = bench_json_text(limit, "level");
        const bool holds =
            strcmp(level, "memory") == 0 || bytes <= FITS * bench_json_number(limit, "window");
        if (is_kind(limit, "bandwidth") && *level != '\0' && holds &&
            (best == NULL || bench_json_number(limit, "value") > bench_json_number(best, "value")))
            best = limit;
    }
    return best;
}

static const json_t *launch_of(const json_t *limits)
{
    const json_t *limit;
    size_t i;
    json_array_foreach(limits, i, limit)
    {
        if (is_kind(limit, "launch"))
            return limit;
    }
    return NULL;
}

static void raise_to(double time, const json_t *limit, double *most, char name[64])
{
    if (time <= *most || !isfinite(time))
        return;
    *most = time;
    snprintf(name, 64, "%s", bench_json_text(limit, "name"));
}

double bench_attainable(const json_t *ceilings, const bench_case *bench, char name[64])
{
    const json_t *limits = json_object_get(ceilings, "limits");
    const double footprint = bench->footprint > 0 ? bench->footprint : bench->bytes;
    double most = 0;
    name[0] = '\0';
    if (limits == NULL)
        return 0;
    const json_t *arithmetic = ceiling_of_type(limits, bench->dtype),
                 *bandwidth = bandwidth_for(limits, footprint), *launch = launch_of(limits);
    if (launch != NULL) /* us */
        raise_to(1e3 * bench_json_number(launch, "value"), launch, &most, name);
    if (arithmetic != NULL) /* operations per nanosecond */
        raise_to(bench->operations / bench_json_number(arithmetic, "value"), arithmetic, &most,
                 name);
    if (bandwidth != NULL) /* bytes per nanosecond */
        raise_to(bench->bytes / bench_json_number(bandwidth, "value"), bandwidth, &most, name);
    return most;
}

void bench_print_ceilings(const json_t *ceilings)
{
    const json_t *limit;
    size_t i;
    printf("ceilings of %s:\n", bench_json_text(ceilings, "date"));
    json_array_foreach(json_object_get(ceilings, "limits"), i, limit)
    {
        printf("  %-28s %12.4g %-8s (%.4g to %.4g)%s\n", bench_json_text(limit, "name"),
               bench_json_number(limit, "value"), bench_json_text(limit, "unit"),
               bench_json_number(limit, "low"), bench_json_number(limit, "high"),
               json_is_true(json_object_get(limit, "verified")) ? "" : "  WRONG");
    }
}
