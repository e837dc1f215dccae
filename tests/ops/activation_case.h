/* The activations that the tests of forward and backward run. */
#ifndef TEST_ACTIVATION_CASE_H
#define TEST_ACTIVATION_CASE_H

#include "fixture.h"

#include "ops/common/epilogue.h"

/* Every kind, with a self-check's constants, and some with others. */
extern const size_t test_activations;
tenon_activation test_activation(size_t index);

/* Makes a call on rows of `size` elements. */
void activation_begin(test_fixture *f, const tn_operation *operation, tenon_activation activation,
                      tenon_dtype dtype, int64_t size);

/* The 16-bit types compute in f32: kinds with builds of their own take turns at them, to save build
 * time. */
bool test_takes_turn(uint32_t kind, tenon_dtype dtype);

#endif
