/* The operations that there are. */
#ifndef TN_OPS_REGISTRY_H
#define TN_OPS_REGISTRY_H

#include "dispatch/operation.h"

#define X(name) extern const tn_operation tn_operation_##name;
#include "ops/operation_list.h"
#undef X

#endif
