/* How long the processor takes that this runs on, for a device that is that processor. */
#ifndef TN_DEVICE_HOST_SPEED_H
#define TN_DEVICE_HOST_SPEED_H

#include "device/host_times.h"

/*
 * Times reads of working sets up to 256 MiB, or the half of it and so on that is at most
 * `most_bytes`, and a product's inner loop with vectors of `lanes` f32, by so many threads (64 at
 * most) or those that the system gives.
 *
 * Takes some 300 milliseconds where memory gives 30 GB/s. Where memory is slow or the processor
 * busy, no larger set is begun after 0.2 seconds and no repeat after 0.6 seconds. False where there
 * is no memory for 4 MiB.
 */
tn_host_timer tn_host_times_take;

#endif
