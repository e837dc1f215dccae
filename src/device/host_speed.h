/* Benchmarks of the processor that runs this code, for a device that is that processor. */
#ifndef TN_DEVICE_HOST_SPEED_H
#define TN_DEVICE_HOST_SPEED_H

#include "device/host_times.h"

/* Times reads of working sets up to 256 MiB (halved until at most `most_bytes`), and the inner
 * loop of a product with vectors of `lanes` f32, on `threads` threads (at most 64), or as many as
 * the system provides.
 *
 * Takes about 300 ms if memory delivers 30 GB/s. On slow memory or a busy processor, no larger set
 * is begun after 0.2 s and no repeat after 0.6 s. Returns false if there is no memory for 4 MiB. */
tn_host_timer tn_host_times_take;

#endif
