/* Shared parts of the runtime's tests. */
#ifndef TEST_OPS_RUNTIME_H
#define TEST_OPS_RUNTIME_H

#include "support.h"

/* Creates a dense f32 tensor of one dimension. */
tenon_tensor make_tensor(tenon_context *context, int64_t size);

tenon_status relu(tenon_stream *stream, const tenon_tensor *x, const tenon_tensor *y,
                  const tenon_sync *sync);

/* Set a failure of this thread, and check that successful calls have left it unchanged. */
void fail_before(void);
void assert_as_before(void);

#endif
