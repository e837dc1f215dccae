/* Creation of contexts. tenon_context_release is defined here as well. */
#ifndef TN_RUNTIME_CONTEXT_CONTEXT_CREATE_H
#define TN_RUNTIME_CONTEXT_CONTEXT_CREATE_H

#include "runtime/context/context.h"

/* Creates a context without an OpenCL context. Its capabilities are set with tn_capability_set;
 * its kernels are reported to the listener of its program cache instead of being built. */
tenon_status tn_context_without_device(const char *caller, const tn_device *device,
                                       tenon_context **out);

/* Creates the context of a tn_validation: it has a separate OpenCL context on the device of
 * `owner`. */
tenon_status tn_context_for_validation(const char *caller, tenon_context *owner,
                                       tenon_context **out);

#endif
