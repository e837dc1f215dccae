/* Calls whose images are given in the order that they lie in, N H W C, where N C H W is meant. */
#ifndef TN_DISPATCH_CHANNELS_LAST_H
#define TN_DISPATCH_CHANNELS_LAST_H

#include "dispatch/operation.h"

/* After a call's preparation failed: where it would not have, had some of the images been read as
 * N H W C, the message says which, the fewest that do, and by what function; so it does where the
 * channels alone say that of an image and more is wrong. Returns `status`. */
tenon_status tn_channels_last_hint(const void *params, const tn_call *call, tenon_status status);

#endif
