/* Shared parts of the view tests: small views, and the addresses of their elements by brute force.
 */
#ifndef TEST_UNIT_VIEWS_H
#define TEST_UNIT_VIEWS_H

#include "common/testing.h"

#include "base/shape.h"

/* Maximum number of elements of the views. */
#define MAX_ELEMENTS 4096

tenon_tensor strided_view(tenon_dtype dtype, uint64_t offset, uint32_t rank, const int64_t *shape,
                          const int64_t *stride);

/* Returns a view of one of three types with strides up to most_stride, some of them 0, so elements
 * may repeat. */
tenon_tensor random_view(test_random *random, uint32_t most_rank, int64_t most_stride);

/* Stores the byte addresses of the elements in row-major order; returns their number. */
size_t addresses(const tenon_tensor *view, int64_t *at);

/* Returns the view as text, which is valid for three more calls. */
const char *view_text(const tenon_tensor *view);

#endif
