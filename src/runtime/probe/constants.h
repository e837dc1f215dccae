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
#include "runtime/context/context.h"

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
