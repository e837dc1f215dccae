/* Random numbers on the host, identical to those of cl_kernels/common/philox.clh.
 * include/tenon/random.h defines them. */
#ifndef TN_OPS_COMMON_PHILOX_H
#define TN_OPS_COMMON_PHILOX_H

#include <stdint.h>

/* Computes Philox4x32-10 of a counter and a key, low words first. */
void tn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/* Return the random bits of element `number`: one word, or two for f64. */
uint32_t tn_philox_word(uint64_t seed, uint64_t sequence, uint64_t number);
uint64_t tn_philox_wide_word(uint64_t seed, uint64_t sequence, uint64_t number);

/* Returns p · 2³², rounded to an integer: a word is below it with probability p. */
int64_t tn_philox_threshold(double probability);

#endif
