/*
 * The device model's numbers of the CPU at hand, in place of those that its kind's table has of
 * another one: how fast its cores multiply and how fast memory and cache are. Measured once, kept
 * in the store, and rounded to the table's own where they are near them, so that equal machines
 * choose alike. A context that keeps nothing, or leaves measurements out, has the table's. Of a GPU
 * the copy bandwidth alone is measured (runtime/probe/copy_bandwidth.h).
 */
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
    /* tn_host_times_take, or a test's; of a context without a device NULL, or a test's. */
    tn_host_timer *take;
    const struct tn_copy_probe *probe; /* a test's imaginary GPU; NULL: the device */
    tn_device_kind kind;               /* the device's, with its own numbers */
} tn_device_constants;

/* Must have been called before anything in the context is chosen. */
void tn_constants_need(tenon_context *context);

/* What is kept of the processor; false where nothing is. Measures nothing. */
bool tn_constants_measured(tenon_context *context, tn_host_speed *speed);

/* The kind with the numbers of a processor. */
void tn_constants_apply(const tn_device_kind *kind, const tn_host_speed *speed,
                        tn_device_kind *out);

/* As it is kept; takes any text. */
#define TN_CONSTANTS_TEXT 192
int tn_constants_text(const tn_host_speed *speed, char *text, size_t size);
bool tn_constants_parse(const char *text, tn_host_speed *speed);

#endif
