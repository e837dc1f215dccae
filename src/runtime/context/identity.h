/* What entries of the store are for: the library, the driver and the device. */
#ifndef TN_RUNTIME_CONTEXT_IDENTITY_H
#define TN_RUNTIME_CONTEXT_IDENTITY_H

#include "base/platform.h"
#include "base/store.h"
#include "runtime/opencl/device.h"

/* Where a context keeps what it learns. */
typedef struct tn_persistence {
    tn_log log;
    tn_store *store; /* of a validation context: its owner's; NULL if nothing is kept */
    char *identity;  /* what entries of the store are for */
} tn_persistence;

/* A hash of the library's sources (build_id.py). */
extern const char tn_build_id[];

/* All that an outcome or a binary depends on besides its own key, as text; the caller frees it.
 * NULL without memory. */
char *tn_identity_make(const tn_device *device);

/* The key of an entry of a context: these words and the context's identity. The caller frees it;
 * NULL without memory, and where the context keeps nothing. */
char *tn_identity_key(const tenon_context *context, const char *format, ...) TN_PRINTF(2, 3);

/* The same for what was measured on the machine, which does not depend on the library's sources: it
 * holds for the same version. */
char *tn_identity_machine_key(const tenon_context *context, const char *format, ...)
    TN_PRINTF(2, 3);

#endif
