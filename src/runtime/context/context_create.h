/* How contexts are made; tenon_context_release is here as well. */
#ifndef TN_RUNTIME_CONTEXT_CONTEXT_CREATE_H
#define TN_RUNTIME_CONTEXT_CONTEXT_CREATE_H

#include "runtime/context/context.h"

/* A context without an OpenCL context: its capabilities are set (tn_capability_set), its kernels
 * are told to its programs' listener. */
tenon_status tn_context_without_device(const char *caller, const tn_device *device,
                                       tenon_context **out);

/* The context of a tn_validation: an OpenCL context of its own on the device of `owner`. */
tenon_status tn_context_for_validation(const char *caller, tenon_context *owner,
                                       tenon_context **out);

#endif
