/* The list of the library's operations, and the registry that gives lower layers access to them. */
#include "ops/registry.h"

#define X(name) &tn_operation_##name,
const tn_operation *const tn_operations[] = {
#include "ops/operation_list.h"
};
#undef X
const uint32_t tn_operation_count = sizeof tn_operations / sizeof *tn_operations;

const tn_registry tn_library_registry = {.operations = tn_operations,
                                         .operation_count =
                                             sizeof tn_operations / sizeof *tn_operations,
                                         .check = tn_oracle,
                                         .call_text = tn_case_text_of_call,
                                         .nonfinite = &tn_operation_nonfinite};

const tn_family *tn_family_at(uint32_t number)
{
    for (uint32_t i = 0; i < tn_operation_count; i++)
        if (tn_operation_of_family(tn_operations[i]->family) == tn_operations[i] && number-- == 0)
            return tn_operations[i]->family;
    return NULL;
}
