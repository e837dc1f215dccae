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

/* Multiple of the measured cache size up to which a following operation may find its input in the
 * caches. Reads that the hardware prefetches can take equally long from memory and from a shared
 * cache, so the measured size is a lower bound (docs/performance.md, "Non-temporal stores"). */
#define REACH 8

/* Returns the bytes that the caches may keep for the next operation: the driver's size of the
 * last-level cache, of which a virtual machine may have only a small share, limits it. */
static uint64_t kept_bytes(const tn_device *device)
{
    const uint64_t size = device->model.cache_size, reach = REACH * size;
    const uint64_t most = device->driver_cache > size ? device->driver_cache : size;
    return reach < most ? reach : most;
}

void tn_stores_configure(tenon_context *context, int64_t bytes, tn_choice *choice)
{
    const uint64_t kept = kept_bytes(&context->device);
    /* Inputs occupy at least as much of the cache as the output. */
    const bool beyond = context->device.is_cpu && kept > 0 && 2 * (uint64_t)bytes >= kept;
    if (choice->values[0] == 0)
        choice->values[0] = beyond && can_pass(context) ? TN_STORES_NONTEMPORAL : TN_STORES_CACHED;
    else if (choice->values[0] == TN_STORES_NONTEMPORAL && !can_pass(context))
        choice->misfit = "the compiler has no non-temporal stores";
}

const char *tn_stores_option(const int32_t *values)
{
    return values != NULL && values[0] == TN_STORES_NONTEMPORAL ? " -DTENON_STREAM=1" : "";
}
