/* Measured constants of the device model for the CPU in use: its arithmetic rate and the speed of
 * its memory and caches. They replace the constants of its kind's table, which come from another
 * processor. They are measured once and stored, and rounded to the table's values if they are
 * close, so that equal machines make equal choices. A context without a store, or with
 * TENON_MEASUREMENTS_NONE, uses the table. For a GPU only the copy bandwidth is measured
 * (runtime/probe/copy_bandwidth.h). */
#ifndef TN_RUNTIME_PROBE_CONSTANTS_H
#define TN_RUNTIME_PROBE_CONSTANTS_H

#include "device/host_times.h"
#include "device/kind.h"

#include <tenon/context.h>

#include <stdatomic.h>
#include <stdbool.h>

struct tn_copy_probe;

typedef struct tn_device_constants {
    atomic_bool are_settled;
    /* tn_host_times_take, or a test's function; NULL without a device unless a test sets it. */
    tn_host_timer *take;
    const struct tn_copy_probe *probe; /* an imaginary GPU of a test; NULL: the device */
    tn_device_kind kind;               /* the device's kind with the measured constants */
} tn_device_constants;

/* Measures or reads the constants. Must be called before any solver is selected in the context. */
void tn_constants_need(tenon_context *context);

/* Reads the stored constants of the processor without measuring. Returns false if there are none.
 */
bool tn_constants_measured(tenon_context *context, tn_host_speed *speed);

/* Returns the kind with a processor's measured constants. */
void tn_constants_apply(const tn_device_kind *kind, const tn_host_speed *speed,
                        tn_device_kind *out);

/* Format and parse the stored text. The parser accepts any text. */
#define TN_CONSTANTS_TEXT 192
int tn_constants_text(const tn_host_speed *speed, char *text, size_t size);
bool tn_constants_parse(const char *text, tn_host_speed *speed);

#endif
