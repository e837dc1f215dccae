/* Contexts, streams, events and dense tensors, created and checked in one call. */
#ifndef TENON_TESTS_OPS_OBJECTS_H
#define TENON_TESTS_OPS_OBJECTS_H

#include "common/testing.h"

#include <tenon/tenon.h>

/* Creates a context with the given members of its parameters, or NULL parameters. */
#define test_context_with(...) test_new_context(&tenon_context_params(__VA_ARGS__))
tenon_context *test_new_context(const tenon_context_params *params);

/* Creates a stream with a queue of its own. */
tenon_stream *test_new_stream(tenon_context *context);

tenon_statistics test_statistics(tenon_context *context);

/* Creates a dense tensor in test_context; uploads its elements from `data` if it is not NULL. */
tenon_tensor test_dense(tenon_dtype dtype, uint32_t rank, const int64_t *shape, const void *data);

/* Downloads all elements of a tensor in test_context. */
void test_read(const tenon_tensor *tensor, void *data);

/* Frees the memory of tensors. */
#define test_destroy(...) test_destroy_all((tenon_tensor *const[]){__VA_ARGS__, NULL})
void test_destroy_all(tenon_tensor *const *tensors);

/* Creates a user event, for which commands wait until the test sets it. */
cl_event test_gate(tenon_context *context);

/* Returns true if a command has completed or failed. */
bool test_is_over(cl_event event);

#endif
