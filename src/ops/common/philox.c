#include "ops/common/philox.h"

#include <math.h>

#define ROUNDS 10
#define BLOCKS 16 /* per group of elements */

void tn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    uint32_t key0 = key[0], key1 = key[1];
    for (int i = 0; i < 4; i++)
        words[i] = counter[i];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t product0 = UINT64_C(0xD2511F53) * words[0];
        uint64_t product1 = UINT64_C(0xCD9E8D57) * words[2];
        words[0] = (uint32_t)(product1 >> 32) ^ words[1] ^ key0;
        words[2] = (uint32_t)(product0 >> 32) ^ words[3] ^ key1;
        words[1] = (uint32_t)product1;
        words[3] = (uint32_t)product0;
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
}

static void block_words(uint64_t seed, uint64_t sequence, uint64_t block, uint32_t words[4])
{
    const uint32_t counter[] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)sequence,
                                (uint32_t)(sequence >> 32)};
    const uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    tn_philox(counter, key, words);
}

uint32_t tn_philox_word(uint64_t seed, uint64_t sequence, uint64_t number)
{
    const uint64_t group = number / (4 * BLOCKS), place = number % (4 * BLOCKS);
    uint32_t words[4];
    block_words(seed, sequence, BLOCKS * group + place % BLOCKS, words);
    return words[place / BLOCKS];
}

uint64_t tn_philox_wide_word(uint64_t seed, uint64_t sequence, uint64_t number)
{
    const uint64_t group = number / (2 * BLOCKS), place = number % (2 * BLOCKS);
    uint32_t words[4];
    block_words(seed, sequence, BLOCKS * group + place % BLOCKS, words);
    const uint32_t *pair = &words[place / BLOCKS * 2];
    return pair[0] | (uint64_t)pair[1] << 32;
}

int64_t tn_philox_threshold(double probability)
{
    return llrint(probability * 0x1p32);
}
