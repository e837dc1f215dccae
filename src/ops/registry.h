/* The operations that there are, and their families. */
#ifndef TN_OPS_REGISTRY_H
#define TN_OPS_REGISTRY_H

#include "dispatch/operation.h"

extern const tn_family *const tn_families[];
extern const uint32_t tn_family_count;

#define X(name) extern const tn_operation tn_operation_##name;
#include "ops/operation_list.h"
#undef X

#endif
