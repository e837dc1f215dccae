/* The context: one device with its programs, capabilities and memory. Each part is declared by the
 * header of the files that work on it. Layers above keep their data in slots, with a destructor. */
#ifndef TN_RUNTIME_CONTEXT_CONTEXT_H
#define TN_RUNTIME_CONTEXT_CONTEXT_H

#include "runtime/context/identity.h"
#include "runtime/context/reports.h"
#include "runtime/context/statistics.h"
#include "runtime/context/validation.h"
#include "runtime/memory/heap.h"
#include "runtime/opencl/device.h"
#include "runtime/probe/capability.h"
#include "runtime/probe/constants.h"
#include "runtime/probe/local_memory.h"
#include "runtime/program/binary_writer.h"
#include "runtime/program/program.h"

#include <stdatomic.h>

/* Owners of context slots. */
typedef enum tn_slot_id { TN_SLOT_DISPATCH, TN_SLOT_STAGING, TN_SLOT_COUNT } tn_slot_id;

typedef struct tn_slot {
    void *data;
    void (*destroy)(void *data);
} tn_slot;

/* Settings for the selection and the check of solvers. */
typedef struct tn_policy {
    bool profiling;
    bool unchecked; /* no self-checks */
    tenon_measurements measurements;
    bool only_chosen; /* rejects a forced solver that the automatic choice would not select */
    char *record; /* path of the file to which calls are appended; NULL: calls are not recorded */
    atomic_bool record_failed;
} tn_policy;

/* Each member's type is declared by the header that owns it. */
struct tenon_context {
    atomic_uint references;
    cl_context cl; /* NULL for a context without a device */
    tn_device device;
    tenon_context *owner; /* for a validation context: the context that it serves, not retained;
                           * otherwise NULL */
    tn_reports reports;
    tn_failure_reports failures;
    tn_statistics statistics;
    tn_persistence persistence;
    tn_binary_writer binary_writer;
    tn_context_memory memory;
    tn_policy policy;
    tn_device_constants constants;
    tn_capabilities capabilities;
    tn_local_memory local;
    tn_validation validation;
    tn_program_cache programs;
    tn_mutex slot_lock;
    tn_slot slots[TN_SLOT_COUNT];
};

/* Returns the data of a slot. The first call creates it with `create`; returns NULL if that fails.
 */
void *tn_context_slot(tenon_context *context, tn_slot_id id, void *(*create)(void),
                      void (*destroy)(void *));

#endif
