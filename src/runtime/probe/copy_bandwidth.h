/*
 * The copy bandwidth of the GPU at hand, in place of the one in its kind's table: cards of one kind
 * differ in their memory (H100 and H200, MI300X and MI325X). Measured once for a device and a
 * driver, and kept in the store with the other constants.
 */
#ifndef TN_RUNTIME_PROBE_COPY_BANDWIDTH_H
#define TN_RUNTIME_PROBE_COPY_BANDWIDTH_H

#include "runtime/context/context.h"

#define TN_COPY_SOURCE "capability/copy"
#define TN_COPY_KERNEL "copy_vectors"
#define TN_COPY_GROUP  256

/* Whether it may be measured: a GPU that is there, a store, and measurements that are not
 * TENON_MEASUREMENTS_NONE. */
bool tn_copy_bandwidth_applies(const tenon_context *context);

/* Recalls the device's speed, or measures and keeps it; `*found` is false where neither works, and
 * the table's bandwidth stays. Fails where there is no memory for the key. */
tenon_status tn_copy_bandwidth_find(tenon_context *context, double *speed, bool *found);

/* Copies in the validation context, whose stream this is, and gives the nanoseconds of the median
 * repeat as a speed. False where memory, a build or a launch fails, too. */
bool tn_copy_bandwidth_measure(tenon_stream *stream, double *speed);

/* As it is kept; takes any text. */
bool tn_copy_bandwidth_parse(const char *text, double *speed);

#endif
