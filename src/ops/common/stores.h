/* The parameter `nt` of solvers that write a tensor once: whether its elements pass through the
 * caches. A CPU that stores into a line first reads it; where the caches would keep little of what
 * is written, the read can be saved. */
#ifndef TN_OPS_COMMON_STORES_H
#define TN_OPS_COMMON_STORES_H

#include "dispatch/solver.h"

enum { TN_STORES_CACHED = 1, TN_STORES_NONTEMPORAL = 2 };

/* Of a solver that has this parameter alone. */
extern const tn_parameter tn_stores_parameter[1];

/* Gives the parameter its value, where it is free, for so many bytes that are written by vectors;
 * says where the forced one does not serve. */
void tn_stores_configure(tenon_context *context, int64_t bytes, tn_choice *choice);

/* The bytes that elements of a type count for: none of halves, which OpenCL's own function stores.
 */
int64_t tn_stores_bytes(uint32_t dtype, int64_t elements);

/* What the compiler is told. NULL stands for cached stores. */
const char *tn_stores_option(const int32_t *values);

#endif
