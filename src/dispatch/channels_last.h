/* A hint for calls whose images are described in memory order, N H W C, instead of N C H W. */
#ifndef TN_DISPATCH_CHANNELS_LAST_H
#define TN_DISPATCH_CHANNELS_LAST_H

#include "dispatch/operation.h"

/* To be called after a call's preparation failed. If it would succeed with some images read as N H
 * W C, the message is extended by the smallest such set and the function that makes the views. The
 * same is done if only the number of channels suggests it. Returns `status`. */
tenon_status tn_channels_last_hint(const void *params, const tn_call *call, tenon_status status);

#endif
