/* The families of operations that there are, for tests and tools. */
#ifndef TN_OPS_REGISTRY_H
#define TN_OPS_REGISTRY_H

#include "dispatch/solver.h"

extern const tn_family *const tn_families[];
extern const uint32_t tn_family_count;

#endif
