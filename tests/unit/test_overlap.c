/* Tests the detection of views that overlap themselves or each other: by brute force, no overlap is
 * missed. */
#include "views.h"

static bool any_shared(const int64_t *a, size_t count_a, int64_t size_a, const int64_t *b,
                       size_t count_b, int64_t size_b)
{
    for (size_t i = 0; i < count_a; i++)
        for (size_t j = 0; j < count_b; j++)
            if (a[i] < b[j] + size_b && b[j] < a[i] + size_a)
                return true;
    return false;
}

static bool has_duplicates(const int64_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (at[i] == at[j])
                return true;
    return false;
}

/* Returns a view with nested strides, in a random order of dimensions. */
static tenon_tensor nested_view(test_random *random)
{
    tenon_tensor view = {.dtype = TENON_DTYPE_F32, .rank = (uint32_t)test_between(random, 0, 4)};
    int64_t span = 1;
    for (uint32_t d = 0; d < view.rank; d++) {
        view.shape[d] = test_between(random, 1, 4);
        view.stride[d] = span + test_between(random, 0, 3);
        span += (view.shape[d] - 1) * view.stride[d];
    }
    for (uint32_t d = 1; d < view.rank; d++)
        view = tenon_tensor_transpose(view, d, (uint32_t)test_between(random, 0, d));
    return view;
}

TEST(self_overlap_is_always_found)
{
    test_random random = test_random_for(7);
    static int64_t at[MAX_ELEMENTS];
    for (int n = 0; n < 10000; n++) {
        tenon_tensor view = random_view(&random, 3, 12);
        if (has_duplicates(at, addresses(&view, at)) && !tn_tensor_self_overlaps(&view))
            fail_msg("missed: %s", view_text(&view));
        view = nested_view(&random);
        assert_false(has_duplicates(at, addresses(&view, at)));
        if (tn_tensor_self_overlaps(&view))
            fail_msg("nested strides do not overlap: %s", view_text(&view));
    }
}

TEST(overlapping_outputs_are_refused)
{
    const int64_t shape[] = {2, 3}, bad[] = {1, 1}, good[] = {3, 1};
    tenon_tensor view = strided_view(TENON_DTYPE_F32, 0, 2, shape, good);
    assert_int_equal(tn_output_check("tenon_op", "y", &view), TENON_OK);
    view = strided_view(TENON_DTYPE_F32, 0, 2, shape, bad);
    assert_int_equal(tn_output_check("tenon_op", "y", &view), TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "tenon_op: y");
    assert_contains(tenon_last_error(), "1x1");
}

TEST(overlap_of_two_views_is_always_found)
{
    test_random random = test_random_for(8);
    static int64_t a[MAX_ELEMENTS], b[MAX_ELEMENTS];
    int apart = 0, told_apart = 0;
    for (int n = 0; n < 20000; n++) {
        tenon_tensor va = random_view(&random, 3, 20), vb = random_view(&random, 3, 20);
        int64_t shift = test_between(&random, -100, 100);
        size_t count_a = addresses(&va, a), count_b = addresses(&vb, b);
        for (size_t i = 0; i < count_b; i++)
            b[i] += shift;
        bool shared = any_shared(a, count_a, (int64_t)tenon_dtype_size(va.dtype), b, count_b,
                                 (int64_t)tenon_dtype_size(vb.dtype));
        bool answer = tn_tensor_overlaps(&va, &vb, shift);
        if (shared && !answer)
            fail_msg("missed: %s and %s, shift %lld", view_text(&va), view_text(&vb),
                     (long long)shift);
        assert_int_equal(answer, tn_tensor_overlaps(&vb, &va, -shift));
        apart += !shared;
        told_apart += !answer;
    }
    /* The check may report a false overlap, but not for most disjoint views. */
    assert_true(told_apart > apart / 2);
}

/* For blocks of one matrix, the usual case in real programs, the answer is exact. */
TEST(disjoint_blocks_of_a_matrix_are_distinguished)
{
    test_random random = test_random_for(9);
    for (int n = 0; n < 20000; n++) {
        int64_t shape[3] = {test_between(&random, 1, 3), test_between(&random, 1, 6),
                            test_between(&random, 1, 6)};
        tenon_tensor whole = tenon_tensor_view(TENON_DTYPE_F32, 3, shape);
        whole.offset = 4 * (uint64_t)test_between(&random, 0, 9);
        tenon_tensor block[2] = {whole, whole};
        /* One dimension is cut twice: the blocks overlap exactly if the cuts do. */
        uint32_t d = (uint32_t)test_between(&random, 0, 2);
        int64_t start[2], size[2];
        for (int i = 0; i < 2; i++) {
            start[i] = test_between(&random, 0, shape[d] - 1);
            size[i] = test_between(&random, 1, shape[d] - start[i]);
            block[i] = tenon_tensor_slice(whole, d, start[i], size[i]);
        }
        bool shared = start[0] < start[1] + size[1] && start[1] < start[0] + size[0];
        if (tn_tensor_overlaps(&block[0], &block[1], 0) != shared)
            fail_msg("%s and %s of a matrix", view_text(&block[0]), view_text(&block[1]));
    }
}
