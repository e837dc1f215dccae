/* What a context holds. Layers above keep what is theirs in slots, whose destructors they give. */
#ifndef TN_RUNTIME_CONTEXT_H
#define TN_RUNTIME_CONTEXT_H

#include "base/log.h"
#include "runtime/capability.h"
#include "runtime/device.h"
#include "runtime/program.h"

#include <tenon/stream.h>

#include <pthread.h>
#include <stdatomic.h>

/* Where trials and self-checks run: a private OpenCL context and queue on the same device, so that
 * they can neither wait behind the application's events nor spoil its context. Made at the first
 * need. */
typedef struct tn_validation {
    pthread_mutex_t
        lock; /* recursive: a self-check may ask for a capability, which may need a trial */
    _Atomic(tenon_context *) context;
    tenon_stream *stream;
} tn_validation;

/* Who keeps something in a context. */
typedef enum tn_slot_id { TN_SLOT_DISPATCH, TN_SLOT_COUNT } tn_slot_id;

typedef struct tn_slot {
    void *data;
    void (*destroy)(void *data);
} tn_slot;

struct tenon_context {
    atomic_uint references;
    cl_context cl; /* NULL where there is no device */
    tn_device device;
    tn_log log;
    uint64_t workspace_limit;
    bool profiling;
    bool only_chosen;     /* a forced solver is refused where it would not be chosen */
    tenon_context *owner; /* of a validation context: the context that it serves, not retained; NULL
                             for any other */
    /* How often kernels were wanted compiled anew, which their options say; the validation
     * context's is ahead while a self-check tries (dispatch/self_check.c). */
    atomic_uint anew;
    tn_capabilities capabilities;
    tn_validation validation;
    tn_program_cache programs;
    pthread_mutex_t slot_lock;
    tn_slot slots[TN_SLOT_COUNT];
};

/* A context without an OpenCL context: its capabilities are set (tn_capability_set), its kernels
 * are told to its programs' listener. */
tenon_status tn_context_without_device(const char *operation, const tn_device *device,
                                       tenon_context **out);

/* What is kept in a slot, made by `create` at the first call (NULL when that fails). */
void *tn_context_slot(tenon_context *context, tn_slot_id id, void *(*create)(void),
                      void (*destroy)(void *));

/* Enters the validation context of a context: the caller alone uses it until tn_validation_leave.
 * Must not be called with a lock held. */
tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream);
void tn_validation_leave(tenon_context *context);

/* The validation context where it has been made, or NULL. */
tenon_context *tn_validation_if_made(tenon_context *context);

#endif
