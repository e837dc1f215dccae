/* Contexts of devices that are not there: what Tenon would build for them can be listed and
 * compiled offline. Plans can be made in such a context, and not run. */
#ifndef TN_RUNTIME_TARGET_H
#define TN_RUNTIME_TARGET_H

#include "base/status.h"
#include "device/kind.h"

#include <tenon/context.h>

/* Takes a kernel that a plan needs: the embedded source, the options of its build, its name, and
 * the work-items of its work-group (0 where the driver may choose). */
typedef void (*tn_kernel_listener)(void *user, const char *source, const char *options,
                                   const char *kernel, size_t work_group);

/* A context of a usual device of the kind. */
tenon_status tn_target_context(const tn_device_kind *kind, tn_kernel_listener listener, void *user,
                               tenon_context **out);

#endif
