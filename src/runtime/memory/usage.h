/* Bytes of device memory that a context has allocated now, and the most that it ever had. */
#ifndef TN_RUNTIME_MEMORY_USAGE_H
#define TN_RUNTIME_MEMORY_USAGE_H

#include "base/status.h"

#include <stdint.h>

/* A counter, which lives as long as its context or any buffer that it counts. */
typedef struct tn_usage tn_usage;

tenon_status tn_usage_create(const char *caller, tn_usage **out);

/* Ends the context's reference. NULL does nothing. */
void tn_usage_close(tn_usage *usage);

/* Count a buffer from its allocation to its release. NULL does nothing. */
void tn_usage_add(tn_usage *usage, uint64_t bytes);
void tn_usage_remove(tn_usage *usage, uint64_t bytes);

/* Returns the most bytes so far; 0 for NULL. */
uint64_t tn_usage_peak(tn_usage *usage);

#endif
