/* Random numbers on the host, the same as cl_kernels/common/philox.clh's; include/tenon/random.h
 * has the rule. */
#ifndef TN_OPS_COMMON_PHILOX_H
#define TN_OPS_COMMON_PHILOX_H

#include <stdint.h>

/* Philox4x32-10 of a counter and a key, low words first. */
void tn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/* The word of element `number`, of those that need one, and of those that need two. */
uint32_t tn_philox_word(uint64_t seed, uint64_t sequence, uint64_t number);
uint64_t tn_philox_wide_word(uint64_t seed, uint64_t sequence, uint64_t number);

/* What a word is below with this probability: p · 2³², rounded to an integer. */
int64_t tn_philox_threshold(double probability);

#endif
