#include "runtime/memory/usage.h"

#include <stdatomic.h>
#include <stdlib.h>

struct tn_usage {
    atomic_uint references; /* one by the context and one by each buffer */
    atomic_uint_fast64_t bytes, peak;
};

tenon_status tn_usage_create(const char *caller, tn_usage **out)
{
    tn_usage *usage = calloc(1, sizeof *usage);
    if (usage == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    atomic_init(&usage->references, 1);
    atomic_init(&usage->bytes, 0);
    atomic_init(&usage->peak, 0);
    *out = usage;
    return TENON_OK;
}

void tn_usage_close(tn_usage *usage)
{
    if (usage != NULL && atomic_fetch_sub(&usage->references, 1) == 1)
        free(usage);
}

void tn_usage_add(tn_usage *usage, uint64_t bytes)
{
    if (usage == NULL)
        return;
    atomic_fetch_add(&usage->references, 1);
    const uint_fast64_t now = atomic_fetch_add(&usage->bytes, bytes) + bytes;
    uint_fast64_t peak = atomic_load(&usage->peak);
    while (now > peak && !atomic_compare_exchange_weak(&usage->peak, &peak, now))
        continue;
}

void tn_usage_remove(tn_usage *usage, uint64_t bytes)
{
    if (usage == NULL)
        return;
    atomic_fetch_sub(&usage->bytes, bytes);
    tn_usage_close(usage);
}

uint64_t tn_usage_peak(tn_usage *usage)
{
    return usage != NULL ? atomic_load(&usage->peak) : 0;
}
