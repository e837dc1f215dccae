/*
 * Tests sizes beyond any memory: they must be refused and never truncated to 32 bits. The byte
 * counts are multiples of 2^32, which truncation would reduce to almost nothing.
 */
#include "common/testing.h"

#include "base/checked.h"
#include "check/host.h"
#include "runtime/context/context.h"

TEST(sizes_are_not_truncated)
{
    size_t size;
    assert_true(tn_to_size(0, &size) && size == 0);
    assert_true(tn_to_size(SIZE_MAX, &size) && size == SIZE_MAX);
    assert_int_equal(tn_to_size(UINT64_C(1) << 32, &size), sizeof size > 4);
    assert_int_equal(tn_to_size(UINT64_MAX, &size), sizeof size > 4);
}

TEST(arrays_that_overflow_are_null)
{
    volatile int64_t many = INT64_C(1)
                            << 61; /* volatile, to hide the value from compilers that would warn */
    unsigned char *bytes = tn_array(3, 2), *least = tn_array(0, 1);
    assert_non_null(bytes);
    for (int i = 0; i < 6; i++)
        assert_int_equal(bytes[i], 0);
    assert_non_null(least);
    assert_int_equal(*least, 0);
    free(bytes);
    free(least);
    /* Volatile, because clang removes an unused allocation and assumes that it succeeded. */
    void *volatile none = tn_array(-1, 1);
    assert_null(none);
    none = tn_array(many, 8); /* 2^64 bytes */
    assert_null(none);
}

/* The memory is a few bytes, but the view describes many elements, which a reference would read. */
TEST(views_too_large_to_read_are_refused)
{
    float one = 1;
    const int64_t shape[] = {INT64_C(1) << 30, INT64_C(1) << 30};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL);
    view.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = &one};
    assert_null(tn_host_read(&view, 2, shape));
}

TEST(mirrors_too_large_are_out_of_memory)
{
    const int64_t elements = INT64_C(1) << 60;
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 1, &elements);
    uint64_t seed = 1;
    tn_mirror mirror;
    assert_int_equal(tn_mirror_create(NULL, &view, &seed, &mirror), TENON_ERROR_OUT_OF_MEMORY);
}

/* A device may have more memory than a 32-bit program can request. */
TEST(buffers_beyond_size_t_are_out_of_memory)
{
    if (sizeof(size_t) > 4)
        skip();
    tenon_context *context = calloc(1, sizeof *context);
    tenon_memory memory;
    assert_non_null(context);
    context->device.info.max_allocation = UINT64_MAX;
    assert_int_equal(tenon_memory_create(context, (UINT64_C(1) << 32) + 64, &memory),
                     TENON_ERROR_OUT_OF_MEMORY);
    free(context);
}
