/* Tests the numbers of tenon_random: the block function by its published test vectors, and the
 * distributions. */
#include "support.h"

#include "base/dtype.h"
#include "ops/common/philox.h"

#include <math.h>

static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
    const uint32_t a0 = a & 0xffff, a1 = a >> 16, b0 = b & 0xffff, b1 = b >> 16;
    const uint32_t middle = a1 * b0 + (a0 * b0 >> 16), other = a0 * b1 + (middle & 0xffff);
    *low = a * b;
    *high = a1 * b1 + (middle >> 16) + (other >> 16);
}

/* Implements the paper's figure word by word, with only 32-bit arithmetic. */
static void by_the_paper(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    uint32_t l0 = counter[1], r0 = counter[0], l1 = counter[3], r1 = counter[2];
    for (uint32_t round = 0; round < 10; round++) {
        uint32_t high0, low0, high1, low1;
        multiply(r0, 0xD2511F53, &high0, &low0);
        multiply(r1, 0xCD9E8D57, &high1, &low1);
        r0 = high1 ^ l0 ^ (key[0] + round * 0x9E3779B9);
        r1 = high0 ^ l1 ^ (key[1] + round * 0xBB67AE85);
        l0 = low1;
        l1 = low0;
    }
    words[0] = r0, words[1] = l0, words[2] = r1, words[3] = l1;
}

/* Test vectors published with Random123 (kat_vectors): counter, key, words. */
TEST(known_answers)
{
    static const uint32_t vectors[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    test_random random = test_random_for(901);
    uint32_t words[4], again[4];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        tn_philox(vectors[i], vectors[i] + 4, words);
        assert_memory_equal(words, vectors[i] + 6, sizeof words);
    }
    for (int i = 0; i < 10000; i++) {
        uint32_t input[6];
        for (int w = 0; w < 6; w++)
            input[w] = (uint32_t)test_next(&random);
        tn_philox(input, input + 4, words);
        by_the_paper(input, input + 4, again);
        assert_memory_equal(words, again, sizeof words);
    }
}

/* Returns dense random numbers as doubles; the caller frees them. */
static double *generate(const tenon_random_params *params, tenon_dtype dtype, int64_t size)
{
    const size_t bytes = (size_t)size * tenon_dtype_size(dtype);
    double *values = calloc((size_t)size, sizeof *values);
    unsigned char *elements = malloc(bytes);
    assert_true(values != NULL && elements != NULL);
    tenon_tensor y = test_dense(dtype, 1, &size, NULL);
    assert_ok(tenon_random(test_stream, params, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, elements, bytes, NULL));
    for (int64_t i = 0; i < size; i++)
        values[i] = tn_dtype_load(dtype, elements + (size_t)i * tenon_dtype_size(dtype));
    tenon_memory_destroy(&y.memory);
    free(elements);
    return values;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double distribution(uint32_t kind, double x)
{
    return kind == TENON_RANDOM_UNIFORM ? x : erfc(-x / sqrt(2)) / 2;
}

/* Returns the Kolmogorov-Smirnov statistic, multiplied by the square root of the count. It exceeds
 * 1.95 in one of a thousand cases. Sorts the values. */
static double distance(uint32_t kind, double *values, int64_t size)
{
    double worst = 0;
    qsort(values, (size_t)size, sizeof *values, ascending);
    for (int64_t i = 0; i < size; i++) {
        double f = distribution(kind, values[i]);
        worst = fmax(worst, fmax(f - (double)i / (double)size, (double)(i + 1) / (double)size - f));
    }
    return worst * sqrt((double)size);
}

/* Seeds are fixed, so the result does not vary. */
TEST(distributions)
{
    enum { SIZE = 1 << 16 };
    static const double mean[] = {0.5, 0, 0.3}, variance[] = {1.0 / 12, 1, 0.21};
    static const double fourth[] = {1.0 / 80, 3, 0.21 * (1 - 3 * 0.21)}; /* central moment */
    for (uint32_t kind = 0; kind <= TENON_RANDOM_BERNOULLI; kind++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            const bool wide = seed % 2 == 1 && test_has(TENON_CAPABILITY_F64);
            tenon_random_params params =
                tenon_random_params(.kind = kind, .seed = seed, .sequence = 7 * seed,
                                    .probability = 0.3);
            double *x = generate(&params, wide ? TENON_DTYPE_F64 : TENON_DTYPE_F32, SIZE);
            double sum = 0, squares = 0, lag[3] = {0};
            static const int lags[] = {1, 16, 64};
            for (int i = 0; i < SIZE; i++) {
                double d = x[i] - mean[kind];
                sum += d;
                squares += d * d;
                for (int l = 0; l < 3; l++)
                    lag[l] += i + lags[l] < SIZE ? d * (x[i + lags[l]] - mean[kind]) : 0;
            }
            /* Each estimate must be within five standard deviations. */
            assert_true(fabs(sum / SIZE) < 5 * sqrt(variance[kind] / SIZE));
            assert_true(fabs(squares / SIZE - variance[kind]) <
                        5 * sqrt((fourth[kind] - variance[kind] * variance[kind]) / SIZE));
            for (int l = 0; l < 3; l++)
                assert_true(fabs(lag[l] / SIZE) < 5 * variance[kind] / sqrt(SIZE));
            if (kind != TENON_RANDOM_BERNOULLI)
                assert_true(distance(kind, x, SIZE) < 1.95);
            free(x);
        }
}

/* Streams with different seeds and sequences are not correlated. */
TEST(streams_differ)
{
    enum { SIZE = 1 << 14 };
    static const uint64_t others[][2] = {
        {1, 0},          {0, 1},         {UINT64_C(1) << 32, 0}, {0, UINT64_C(1) << 32},
        {UINT64_MAX, 0}, {0, UINT64_MAX}};
    tenon_random_params params = TENON_RANDOM_PARAMS_INIT;
    double *first = generate(&params, TENON_DTYPE_F32, SIZE);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        double product = 0;
        params.seed = others[i][0];
        params.sequence = others[i][1];
        double *second = generate(&params, TENON_DTYPE_F32, SIZE);
        for (int n = 0; n < SIZE; n++)
            product += (first[n] - 0.5) * (second[n] - 0.5);
        assert_true(fabs(product / SIZE) < 5.0 / 12 / sqrt(SIZE));
        free(second);
    }
    free(first);
}
