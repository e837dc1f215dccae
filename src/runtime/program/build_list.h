/* Building the programs of a plan concurrently. */
#ifndef TN_RUNTIME_PROGRAM_BUILD_LIST_H
#define TN_RUNTIME_PROGRAM_BUILD_LIST_H

#include "runtime/context/context.h"
#include "runtime/program/kernel_sources.h"

#define TN_MAX_BUILDS 8

typedef struct tn_build_list {
    struct {
        const struct tenon_kernel_file *source;
        char *options;
    } programs[TN_MAX_BUILDS];
    uint32_t count;
} tn_build_list;

/* Returns true if the context's driver can build several programs at once. PoCL cannot: it locks
 * its compiler. */
bool tn_builds_in_parallel(const tenon_context *context);

/* Adds a program unless it is built already. Programs beyond the list's capacity are built when
 * they are needed. */
void tn_build_list_add(tn_build_list *list, const struct tenon_kernel_file *source,
                       const char *options);

/* Builds the programs, each on a thread of its own, and empties the list. A build that fails is
 * repeated, and its error reported, when the program is needed. */
void tn_build_list_run(tenon_context *context, tn_build_list *list);

#endif
