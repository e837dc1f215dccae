/* What the tests of the runtime share. */
#ifndef TEST_OPS_RUNTIME_H
#define TEST_OPS_RUNTIME_H

#include "support.h"

/* A dense f32 tensor of one dimension. */
tenon_tensor make_tensor(tenon_context *context, int64_t size);

tenon_status relu(tenon_stream *stream, const tenon_tensor *x, const tenon_tensor *y,
                  const tenon_sync *sync);

/* A failure of the thread's own, and whether calls that succeeded left it as it is. */
void fail_before(void);
void assert_as_before(void);

#endif
