/* Tests store entries as bytes: reading them back, and refusing invalid ones. */
#include "common/testing.h"

#include "base/store_entry.h"

#define MOST_KEY  300
#define MOST_DATA 2000

/* Draws a key of any bytes except 0, which ends a key. */
static void draw_key(test_random *random, char key[MOST_KEY + 1])
{
    const int64_t length = test_between(random, 0, MOST_KEY);
    for (int64_t i = 0; i < length; i++)
        key[i] = (char)test_between(random, 1, 255);
    key[length] = '\0';
}

static size_t draw_data(test_random *random, unsigned char data[MOST_DATA])
{
    const size_t size = (size_t)test_between(random, 0, test_one_in(random, 3) ? 8 : MOST_DATA);
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)test_next(random);
    return size;
}

/* Copies the entry to a heap block of exactly its size, so that memory checkers detect reads past
 * its end. */
static bool reads(const unsigned char *bytes, size_t size)
{
    tn_entry entry;
    unsigned char *exact = malloc(size > 0 ? size : 1);
    assert_non_null(exact);
    if (size > 0)
        memcpy(exact, bytes, size);
    const bool right = tn_entry_read(exact, size, &entry);
    if (right) {
        assert_true((size_t)entry.kind < TN_STORE_KINDS);
        assert_true(strlen(entry.key) < size);
        assert_ptr_equal(entry.data + entry.data_size, exact + size);
    }
    free(exact);
    return right;
}

TEST(entries_are_read_back)
{
    test_random random = test_random_for(1);
    for (int i = 0; i < 500; i++) {
        char key[MOST_KEY + 1];
        unsigned char data[MOST_DATA];
        size_t size;
        tn_entry entry;
        draw_key(&random, key);
        const size_t data_size = draw_data(&random, data);
        const tn_store_kind kind = (tn_store_kind)test_between(&random, 0, TN_STORE_KINDS - 1);
        unsigned char *bytes = tn_entry_make(kind, key, data, data_size, &size);
        assert_non_null(bytes);
        assert_true(tn_entry_read(bytes, size, &entry));
        assert_int_equal(entry.kind, kind);
        assert_string_equal(entry.key, key);
        assert_int_equal(entry.data_size, data_size);
        assert_memory_equal(entry.data, data, data_size);
        free(bytes);
    }
}

static unsigned char *make_small(size_t *size)
{
    return tn_entry_make(TN_STORE_CHECK, "check gemm/tiled -DX=1\nlibrary 1", "right 1 paths 3\n",
                         16, size);
}

TEST(every_altered_byte_is_detected)
{
    size_t size;
    unsigned char *bytes = make_small(&size);
    assert_true(reads(bytes, size));
    for (size_t at = 0; at < size; at++)
        for (int bits = 1; bits < 256; bits++) {
            bytes[at] ^= (unsigned char)bits;
            if (reads(bytes, size))
                fail_msg("byte %zu altered by %#x is not detected", at, bits);
            bytes[at] ^= (unsigned char)bits;
        }
    assert_true(reads(bytes, size));
    free(bytes);
}

TEST(wrong_lengths_are_detected)
{
    size_t size;
    unsigned char *bytes = make_small(&size), *longer;
    for (size_t left = 0; left < size; left++) {
        assert_false(reads(bytes, left));
        assert_false(reads(bytes + size - left, left));
    }
    longer = calloc(2, size);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    for (size_t more = 1; more <= size; more++)
        assert_false(reads(longer, size + more));
    memcpy(longer + size, bytes, size);
    assert_false(reads(longer, 2 * size));
    free(longer);
    free(bytes);
}

/* Sizes whose sum is correct only because it overflows, and keys without a terminator. */
TEST(sizes_that_overflow_are_refused)
{
    size_t size;
    unsigned char *bytes = make_small(&size);
    uint64_t sizes[2];
    memcpy(sizes, bytes + 16, sizeof sizes);
    for (int bit = 20; bit < 64; bit++) {
        const uint64_t wrong[2] = {sizes[0] + (UINT64_C(1) << bit),
                                   sizes[1] - (UINT64_C(1) << bit)};
        memcpy(bytes + 16, wrong, sizeof wrong);
        assert_false(reads(bytes, size));
    }
    free(bytes);
    assert_null(tn_entry_make(TN_STORE_TRIAL, "key", "", (size_t)TN_ENTRY_MAX_SIZE, &size));
    assert_null(tn_entry_make(TN_STORE_TRIAL, "key", "", SIZE_MAX, &size));
}

TEST(random_bytes_are_refused)
{
    test_random random = test_random_for(2);
    unsigned char noise[400];
    size_t size;
    unsigned char *bytes = make_small(&size);
    for (int i = 0; i < 5000; i++) {
        const size_t length = (size_t)test_between(&random, 0, sizeof noise);
        for (size_t k = 0; k < length; k++)
            noise[k] = (unsigned char)test_next(&random);
        /* Keeps the beginning of a valid entry, of random length. */
        const size_t head = (size_t)test_between(&random, 0, 48);
        memcpy(noise, bytes, head < length ? head : length);
        assert_false(reads(noise, length));
    }
    free(bytes);
}

TEST(mutated_entries_are_refused)
{
    test_random random = test_random_for(3);
    size_t size;
    unsigned char *bytes = make_small(&size), *copy = malloc(size);
    assert_non_null(copy);
    for (int i = 0; i < 5000; i++) {
        memcpy(copy, bytes, size);
        for (int64_t n = test_between(&random, 1, 8); n > 0; n--)
            copy[test_between(&random, 0, (int64_t)size - 1)] = (unsigned char)test_next(&random);
        assert_true(reads(copy, size) == (memcmp(copy, bytes, size) == 0));
    }
    free(copy);
    free(bytes);
}

TEST(names_depend_on_key_and_kind)
{
    char first[TN_STORE_NAME_SIZE], again[TN_STORE_NAME_SIZE], other[TN_STORE_NAME_SIZE];
    for (int kind = 0; kind < TN_STORE_KINDS; kind++) {
        tn_store_name((tn_store_kind)kind, "key", first);
        tn_store_name((tn_store_kind)kind, "key", again);
        assert_string_equal(first, again);
        assert_int_equal(strspn(first, "0123456789abcdef"), 32);
        assert_int_equal(first[32], '.');
        assert_string_equal(first + 33, tn_store_kind_name((tn_store_kind)kind));
        tn_store_name((tn_store_kind)kind, "kez", other);
        assert_string_not_equal(first, other);
        tn_store_name((tn_store_kind)((kind + 1) % TN_STORE_KINDS), "key", other);
        assert_memory_equal(first, other, 33);
        assert_string_not_equal(first, other);
    }
}
