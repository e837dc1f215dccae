/* Contexts of processors that have only some instructions for sums of products of bytes. */
#ifndef TN_TESTS_OPS_INSTRUCTIONS_H
#define TN_TESTS_OPS_INSTRUCTIONS_H

#include "support.h"

/* Makes a context of the same device, whose processor has only the given features, current. Its
 * vectors have `lanes` floats, or as many as before if 0. The second makes the previous context
 * current again. */
void test_begin_processor(const char *features, uint32_t lanes);
void test_end_processor(void);

/* Calls a function for each instruction that the processor has, in vectors of every width, with a
 * context of a processor without the others. Skips the test if the device is not a processor of
 * this host. */
void test_each_instruction(void (*run)(test_random *random), test_random *random);

#endif
