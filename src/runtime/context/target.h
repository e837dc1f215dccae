/* Contexts of devices that are not there: what Tenon would build for them can be listed and
 * compiled offline. Plans can be made in such a context, and not run. */
#ifndef TN_RUNTIME_CONTEXT_TARGET_H
#define TN_RUNTIME_CONTEXT_TARGET_H

#include "runtime/context/context.h"

/* A context of a usual device of the kind. The listener may be NULL: nobody is told of kernels. */
tenon_status tn_target_context(const tn_device_kind *kind, tn_kernel_listener listener, void *user,
                               tenon_context **out);

/* A context of a device that is there, taken for another kind: its plans choose by that kind's
 * tables. It has the capabilities and the workspace limit of `context`. */
tenon_status tn_target_like(tenon_context *context, const tn_device_kind *kind,
                            tn_kernel_listener listener, void *user, tenon_context **out);

#endif
