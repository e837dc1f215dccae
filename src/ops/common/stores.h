/* The tuning parameter `nt` of solvers that write a tensor once: cached or non-temporal stores. A
 * cached store first reads the cache line. If the caches would keep little of the output,
 * non-temporal stores save that read. */
#ifndef TN_OPS_COMMON_STORES_H
#define TN_OPS_COMMON_STORES_H

#include "dispatch/solver.h"

enum { TN_STORES_CACHED = 1, TN_STORES_NONTEMPORAL = 2 };

/* The parameter list of a solver whose only parameter is `nt`. */
extern const tn_parameter tn_stores_parameter[1];

/* Sets `nt` for an output of this many bytes that is written by vectors. A forced value is kept;
 * sets misfit if the device does not support it. */
void tn_stores_configure(tenon_context *context, int64_t bytes, tn_choice *choice);

/* Returns the bytes of elements of a type for tn_stores_configure: 0 for f16, which is stored by
 * OpenCL's built-in function. */
int64_t tn_stores_bytes(uint32_t dtype, int64_t elements);

/* Returns the build option for the value. NULL means cached stores. */
const char *tn_stores_option(const int32_t *values);

#endif
