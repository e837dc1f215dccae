/* The kernel that sets the elements of a tensor with gaps. */
#ifndef TN_RUNTIME_FILL_H
#define TN_RUNTIME_FILL_H

#include "runtime/launch.h"

#include <tenon/tensor.h>

/* Records it; `element` has as many bytes as the type. */
tenon_status tn_fill_record(const char *operation, tn_recording *recording,
                            const tenon_tensor *tensor, const void *element);

#endif
