/* Programs that are about to be asked for, built side by side. */
#ifndef TN_RUNTIME_PROGRAM_BUILD_LIST_H
#define TN_RUNTIME_PROGRAM_BUILD_LIST_H

#include "runtime/context/context.h"
#include "runtime/program/kernel_sources.h"

#define TN_MOST_BUILDS 8

typedef struct tn_build_list {
    struct {
        const struct tenon_kernel_file *source;
        char *options;
    } programs[TN_MOST_BUILDS];
    uint32_t count;
} tn_build_list;

/* Whether the context's driver builds several at once: PoCL has a lock for its compiler. */
bool tn_builds_side_by_side(const tenon_context *context);

/* Adds one that is not there yet. What does not fit, or has no memory, is built when it is asked
 * for. */
void tn_build_list_add(tn_build_list *list, const struct tenon_kernel_file *source,
                       const char *options);

/* Builds them, on as many threads, and empties the list. What fails is built again, and fails,
 * where it is asked for. */
void tn_build_list_run(tenon_context *context, tn_build_list *list);

#endif
