#include "ops/common/stores.h"

const tn_parameter tn_stores_parameter[1] = {{"nt", TN_STORES_CACHED, TN_STORES_NONTEMPORAL}};

int64_t tn_stores_bytes(uint32_t dtype, int64_t elements)
{
    return dtype == TENON_DTYPE_F16 ? 0 : elements * (int64_t)tenon_dtype_size((tenon_dtype)dtype);
}

/* Returns true if non-temporal stores work. May probe the device, so call it only if needed. */
static bool can_pass(tenon_context *context)
{
    return tn_context_has(context, TENON_CAPABILITY_NONTEMPORAL_STORE);
}

void tn_stores_configure(tenon_context *context, int64_t bytes, tn_choice *choice)
{
    const uint64_t cache = context->device.model.cache_size;
    /* Inputs occupy at least as much of the cache as the output. */
    const bool beyond = context->device.is_cpu && cache > 0 && 2 * (uint64_t)bytes >= cache;
    if (choice->values[0] == 0)
        choice->values[0] = beyond && can_pass(context) ? TN_STORES_NONTEMPORAL : TN_STORES_CACHED;
    else if (choice->values[0] == TN_STORES_NONTEMPORAL && !can_pass(context))
        choice->misfit = "the compiler has no non-temporal stores";
}

const char *tn_stores_option(const int32_t *values)
{
    return values != NULL && values[0] == TN_STORES_NONTEMPORAL ? " -DTENON_STREAM=1" : "";
}
