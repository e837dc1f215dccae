/* Identity of store entries: the library, the driver and the device that an entry is valid for. */
#ifndef TN_RUNTIME_CONTEXT_IDENTITY_H
#define TN_RUNTIME_CONTEXT_IDENTITY_H

#include "base/platform.h"
#include "base/store.h"
#include "runtime/opencl/device.h"

/* The store of a context, where measurements, verdicts and binaries are kept. */
typedef struct tn_persistence {
    tn_log log;
    tn_store *store; /* for a validation context: its owner's; NULL if nothing is stored */
    char *identity;  /* text appended to the key of each entry */
} tn_persistence;

/* Hash of the library's sources (build_id.py). */
extern const char tn_build_id[];

/* Returns, as text, everything besides its own key that a result or a binary depends on. The
 * caller frees it. Returns NULL if memory is short. */
char *tn_identity_make(const tn_device *device);

/* Returns the key of an entry: the formatted text followed by the context's identity. The caller
 * frees it. Returns NULL if memory is short or the context stores nothing. */
char *tn_identity_key(const tenon_context *context, const char *format, ...) TN_PRINTF(2, 3);

/* Like tn_identity_key, for measurements of the machine. The key contains the library's version
 * but not the hash of its sources, so it stays valid when the sources change. */
char *tn_identity_machine_key(const tenon_context *context, const char *format, ...)
    TN_PRINTF(2, 3);

#endif
