/* How fast the processor is that this runs on, for a device that is that processor. */
#ifndef TN_DEVICE_HOST_SPEED_H
#define TN_DEVICE_HOST_SPEED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_host_speed {
    /* Multiply-adds of f32 in a nanosecond of a core, where all cores work: of a product's inner
     * loop at a depth of K whose panel is in the second cache. */
    double rate;
    /* Bytes in a nanosecond: from memory, of all cores together; from the last cache, of each. */
    double memory, cache;
} tn_host_speed;

/* Takes some 150 milliseconds with so many threads, vectors of so many f32, and twice the bytes of
 * the last cache. False where these are more than `most_bytes` or 256 MiB, the size of the cache is
 * not known (0), threads or memory are short, or the processor has no such vectors. */
bool tn_host_speed_measure(uint32_t threads, uint32_t lanes, uint64_t cache_size,
                           uint64_t most_bytes, tn_host_speed *out);

#endif
