/* The measured copy bandwidth of the GPU in use. It replaces the value in its kind's table, since
 * cards of one kind differ in memory (H100 and H200, MI300X and MI325X). Measured once per device
 * and driver, and stored with the other constants. */
#ifndef TN_RUNTIME_PROBE_COPY_BANDWIDTH_H
#define TN_RUNTIME_PROBE_COPY_BANDWIDTH_H

#include "runtime/context/context.h"

#define TN_COPY_SOURCE "capability/copy"
#define TN_COPY_KERNEL "copy_vectors"
#define TN_COPY_GROUP  256

/* Returns true if it may be measured: the device is a present GPU, there is a store, and
 * measurements are not TENON_MEASUREMENTS_NONE. */
bool tn_copy_bandwidth_applies(const tenon_context *context);

/* Reads the stored speed, or measures and stores it. `*found` is false if neither succeeds; the
 * table's value is then used. Fails if there is no memory for the key. */
tenon_status tn_copy_bandwidth_find(tenon_context *context, double *speed, bool *found);

/* Copies in the validation context, whose stream is given, and converts the median time to a
 * speed. Returns false if memory, a build or a launch fails, too. */
bool tn_copy_bandwidth_measure(tenon_stream *stream, double *speed);

/* Parses the stored text; accepts any text. */
bool tn_copy_bandwidth_parse(const char *text, double *speed);

#endif
