/* What the tests of shapes share: small views, and their elements by brute force. */
#ifndef TEST_UNIT_VIEWS_H
#define TEST_UNIT_VIEWS_H

#include "common/testing.h"

#include "base/shape.h"

/* Small views lie within so many elements. */
#define MAX_ELEMENTS 4096

tenon_tensor strided_view(tenon_dtype dtype, uint64_t offset, uint32_t rank, const int64_t *shape,
                          const int64_t *stride);

/* Of one of three types and strides up to most_stride, some of them 0: elements may repeat. */
tenon_tensor random_view(test_random *random, uint32_t most_rank, int64_t most_stride);

/* The bytes at which the elements begin, in row-major order; returns how many. */
size_t addresses(const tenon_tensor *view, int64_t *at);

/* The text lasts for three more calls. */
const char *view_text(const tenon_tensor *view);

#endif
