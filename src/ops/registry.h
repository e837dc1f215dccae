/* The library's operations. */
#ifndef TN_OPS_REGISTRY_H
#define TN_OPS_REGISTRY_H

#include "check/case.h"
#include "dispatch/operation.h"

#define X(name) extern const tn_operation tn_operation_##name;
#include "ops/operation_list.h"
#undef X

extern const tn_operation *const tn_operations[];
extern const uint32_t tn_operation_count;

/* Returns a family by index, each once; NULL past the last. */
const tn_family *tn_family_at(uint32_t number);

/* Calls tn_case_read and tn_case_read_line with the library's operations. */
static inline tenon_status tn_case_parse(const char *asked, const char *const *words,
                                         uint32_t count, tenon_dtype type, tn_case *out)
{
    return tn_case_read(&tn_library_registry, asked, words, count, type, out);
}

static inline tenon_status tn_case_parse_line(const char *line, tenon_dtype type, tn_case *out)
{
    return tn_case_read_line(&tn_library_registry, line, type, out);
}

#endif
