#include "ops/common/stores.h"

const tn_parameter tn_stores_parameter[1] = {{"st", TN_STORES_CACHED, TN_STORES_PAST}};

const char *tn_stores_constrains(tenon_context *context, const tn_problem *problem,
                                 const int32_t *values)
{
    (void)problem;
    return values[0] == TN_STORES_CACHED ||
                   tn_context_has(context, TENON_CAPABILITY_NONTEMPORAL_STORE)
               ? NULL
               : "the compiler has no store that bypasses the caches";
}

int64_t tn_stores_bytes(uint32_t dtype, int64_t elements)
{
    return dtype == TENON_DTYPE_F16 ? 0 : elements * (int64_t)tenon_dtype_size((tenon_dtype)dtype);
}

void tn_stores_tune(tenon_context *context, int64_t bytes, int32_t *value)
{
    const uint64_t cache = context->device.cache_size;
    /* What is read takes as much of the cache, at least. */
    const bool beyond = context->device.is_cpu && cache > 0 && 2 * (uint64_t)bytes >= cache;
    if (*value == 0)
        *value = beyond && tn_context_has(context, TENON_CAPABILITY_NONTEMPORAL_STORE)
                     ? TN_STORES_PAST
                     : TN_STORES_CACHED;
}

void tn_stores_configure(tenon_context *context, int64_t bytes, tn_choice *choice)
{
    tn_stores_tune(context, bytes, &choice->values[0]);
    choice->misfit = tn_stores_constrains(context, NULL, choice->values);
}

const char *tn_stores_option(const int32_t *values)
{
    return values != NULL && values[0] == TN_STORES_PAST ? " -DTENON_STREAM=1" : "";
}
