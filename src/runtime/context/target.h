/* Contexts of devices that are not present. Plans can be created in such a context, but not run.
 * The kernels that Tenon would build for the device can be listed and compiled offline. */
#ifndef TN_RUNTIME_CONTEXT_TARGET_H
#define TN_RUNTIME_CONTEXT_TARGET_H

#include "runtime/context/context.h"

/* Creates a context of a typical device of the kind. `listener` receives the kernels; it may be
 * NULL. */
tenon_status tn_target_context(const tn_device_kind *kind, tn_kernel_listener listener, void *user,
                               tenon_context **out);

/* Creates a context of a present device that is treated as another kind: its plans are selected by
 * that kind's tables. Capabilities and workspace limit are those of `context`. */
tenon_status tn_target_like(tenon_context *context, const tn_device_kind *kind,
                            tn_kernel_listener listener, void *user, tenon_context **out);

#endif
