#include "ops/registry.h"

#define X(name) &tn_operation_##name,
const tn_operation *const tn_operations[] = {
#include "ops/operation_list.h"
};
#undef X
const uint32_t tn_operation_count = sizeof tn_operations / sizeof *tn_operations;
