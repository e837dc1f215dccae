/* Tests views of views: each element against its expected address. */
#include "views.h"

static int64_t whole[MAX_ELEMENTS], part[MAX_ELEMENTS];

static void assert_invalid(tenon_tensor view)
{
    assert_int_equal(view.dtype, TENON_DTYPE_INVALID);
    assert_contains(tenon_last_error(), "tenon_tensor_");
    assert_int_equal(tenon_last_cl_error(), CL_SUCCESS);
}

/* Returns the address of an element by its index. */
static int64_t address(const tenon_tensor *view, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < view->rank; d++)
        at += index[d] * view->stride[d];
    return (int64_t)view->offset + at * (int64_t)tenon_dtype_size(view->dtype);
}

TEST(slices_with_steps)
{
    test_random random = test_random_for(21);
    for (int n = 0; n < 3000; n++) {
        tenon_tensor view = random_view(&random, 3, 9);
        if (view.rank == 0)
            continue;
        uint32_t dim = (uint32_t)test_between(&random, 0, view.rank - 1);
        int64_t start = test_between(&random, 0, 5), size = test_between(&random, 0, 4),
                step = test_between(&random, 1, 4);
        tenon_tensor slice = tenon_tensor_slice_step(view, dim, start, size, step);
        bool there =
            size > 0 ? start + (size - 1) * step < view.shape[dim] : start <= view.shape[dim];
        assert_int_equal(slice.dtype, there ? view.dtype : TENON_DTYPE_INVALID);
        size_t count = there ? addresses(&slice, part) : 0;
        int64_t index[TENON_MAX_RANK] = {0};
        for (size_t i = 0; i < count; i++) {
            int64_t from[TENON_MAX_RANK];
            memcpy(from, index, sizeof from);
            from[dim] = start + index[dim] * step;
            assert_true(part[i] == address(&view, from));
            tn_next_index(index, slice.shape, slice.rank);
        }
    }
}

TEST(permutations)
{
    test_random random = test_random_for(22);
    for (int n = 0; n < 1000; n++) {
        tenon_tensor view = random_view(&random, 4, 9);
        uint32_t order[] = {0, 1, 2, 3};
        int64_t index[TENON_MAX_RANK] = {0}, from[TENON_MAX_RANK] = {0};
        for (uint32_t d = 0; d + 1 < view.rank; d++) {
            uint32_t other = (uint32_t)test_between(&random, d, view.rank - 1), kept = order[d];
            order[d] = order[other];
            order[other] = kept;
        }
        tenon_tensor turned = tenon_tensor_permute(view, order);
        size_t count = addresses(&turned, part);
        for (size_t i = 0; i < count; i++) {
            for (uint32_t d = 0; d < view.rank; d++)
                from[order[d]] = index[d];
            assert_true(part[i] == address(&view, from));
            tn_next_index(index, turned.shape, turned.rank);
        }
    }
}

TEST(reshapes_keep_the_elements)
{
    test_random random = test_random_for(23);
    int allowed = 0, refused = 0;
    for (int n = 0; n < 20000; n++) {
        static const int64_t factors[] = {1, 2, 3, 4, 6, 12, -1, 0};
        tenon_tensor view = random_view(&random, 4, 12), shaped = {.rank = 77};
        if (n % 2 == 0) { /* dense, or transposed */
            view = tenon_tensor_view(TENON_DTYPE_F16, view.rank, view.shape);
            if (view.rank > 1 && n % 3 == 0)
                view = tenon_tensor_transpose(view, 0, view.rank - 1);
        }
        int64_t shape[4];
        uint32_t rank = (uint32_t)test_between(&random, 0, 4);
        for (uint32_t d = 0; d < rank; d++)
            shape[d] = factors[test_between(&random, 0, 7)];
        tenon_status status = tenon_tensor_reshape(&view, rank, shape, &shaped);
        if (status != TENON_OK) {
            assert_int_equal(shaped.rank, 77);
            refused += status == TENON_ERROR_UNSUPPORTED;
            continue;
        }
        allowed++;
        size_t count = addresses(&view, whole);
        assert_int_equal(addresses(&shaped, part), count);
        assert_memory_equal(whole, part, count * sizeof *whole);
    }
    assert_true(allowed > 100 && refused > 20);
}

/* A dense view can be reshaped to any shape with the same number of elements. */
TEST(dense_tensors_reshape)
{
    const int64_t from[] = {4, 1, 6, 5}, to[] = {2, 10, -1, 2, 1}, flat[] = {-1}, one[] = {1, 1};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 4, from),
                       scalar = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL);
    tenon_tensor shaped;
    assert_int_equal(tenon_tensor_reshape(&view, 5, to, &shaped), TENON_OK);
    assert_int_equal(shaped.shape[2], 3);
    assert_true(tn_tensor_dense(&shaped));
    assert_int_equal(tenon_tensor_reshape(&shaped, 1, flat, &shaped), TENON_OK);
    assert_true(shaped.shape[0] == 120 && shaped.stride[0] == 1);
    assert_int_equal(tenon_tensor_reshape(&scalar, 2, one, &shaped), TENON_OK);
    assert_int_equal(tenon_tensor_reshape(&shaped, 0, NULL, &shaped), TENON_OK);
    assert_int_equal(shaped.rank, 0);
}

static void refuse_reshape(const tenon_tensor *view, uint32_t rank, const int64_t *shape,
                           tenon_status status, const char *word)
{
    tenon_tensor shaped;
    assert_int_equal(tenon_tensor_reshape(view, rank, shape, &shaped), status);
    assert_contains(tenon_last_error(), "tenon_tensor_reshape: ");
    assert_contains(tenon_last_error(), word);
}

TEST(invalid_reshapes_are_refused)
{
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, flat[] = {24}, fewer[] = {23}, two[] = {-1, -1},
                  odd[] = {5, -1}, large[] = {INT64_MAX, 3}, negative[] = {-2, -12};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape),
                       turned = tenon_tensor_transpose(view, 0, 1);
    refuse_reshape(NULL, 1, flat, invalid, "tensor");
    refuse_reshape(&view, 1, NULL, invalid, "shape");
    refuse_reshape(&view, 9, flat, invalid, "rank is 9");
    refuse_reshape(&view, 1, fewer, invalid, "23");
    refuse_reshape(&view, 2, two, invalid, "-1x-1");
    refuse_reshape(&view, 2, odd, invalid, "5x-1");
    refuse_reshape(&view, 2, large, invalid, "24 elements");
    refuse_reshape(&view, 2, negative, invalid, "-2x-12");
    refuse_reshape(&turned, 1, flat, TENON_ERROR_UNSUPPORTED, "copy it first");
    assert_int_equal(tenon_tensor_reshape(&view, 1, flat, NULL), invalid);
}

TEST(squeeze_and_unsqueeze)
{
    const int64_t shape[] = {4, 6};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    for (uint32_t dim = 0; dim <= 2; dim++) {
        tenon_tensor more = tenon_tensor_unsqueeze(view, dim);
        assert_true(more.rank == 3 && more.shape[dim] == 1);
        tenon_tensor back = tenon_tensor_squeeze(more, dim);
        assert_memory_equal(&back, &view, sizeof view);
    }
    assert_invalid(tenon_tensor_unsqueeze(view, 3));
    assert_invalid(tenon_tensor_squeeze(view, 0));
    assert_invalid(tenon_tensor_squeeze(view, 2));
    tenon_tensor full = view;
    while (full.rank < TENON_MAX_RANK)
        full = tenon_tensor_unsqueeze(full, 0);
    assert_invalid(tenon_tensor_unsqueeze(full, 0));
}

TEST(broadcasts)
{
    const int64_t shape[] = {4, 1}, wide[] = {3, 4, 5}, other[] = {3, 2, 5}, negative[] = {4, -1};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    tenon_tensor read = tenon_tensor_broadcast(view, 3, wide);
    assert_int_equal(read.rank, 3);
    assert_memory_equal(read.shape, wide, sizeof wide);
    assert_true(read.stride[0] == 0 && read.stride[1] == 1 && read.stride[2] == 0);
    assert_invalid(tenon_tensor_broadcast(view, 3, other));
    assert_invalid(tenon_tensor_broadcast(view, 1, wide));
    assert_invalid(tenon_tensor_broadcast(view, 2, negative));
    assert_invalid(tenon_tensor_broadcast(view, 9, wide));
    assert_invalid(tenon_tensor_broadcast(view, 3, NULL));
}

TEST(invalid_orders_and_steps_are_refused)
{
    const int64_t shape[] = {4, 6};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    const uint32_t twice[] = {1, 1}, far[] = {0, 2};
    assert_invalid(tenon_tensor_permute(view, twice));
    assert_invalid(tenon_tensor_permute(view, far));
    assert_invalid(tenon_tensor_permute(view, NULL));
    assert_invalid(tenon_tensor_slice_step(view, 0, 0, 2, 0));
    assert_invalid(tenon_tensor_slice_step(view, 0, 0, 2, -1));
    assert_invalid(tenon_tensor_slice_step(view, 2, 0, 1, 1));
    assert_invalid(tenon_tensor_slice_step(view, 0, 0, INT64_MAX, INT64_MAX));
    assert_invalid(tenon_tensor_slice_step(view, 0, 0, 2, INT64_MAX));
    assert_int_equal(tenon_tensor_slice_step(view, 0, 3, 1, INT64_MAX).offset, 3 * 6 * 4);
}

/* Strides that a program may have miscalculated: the resulting addresses do not fit in 63 bits. */
TEST(overflowing_strides_are_refused)
{
    const int64_t far = INT64_C(1) << 62, shape[] = {8, 2}, longest[] = {INT64_MAX},
                  split[] = {1, 2};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_I8, 2, shape), read;
    view.stride[0] = far;
    assert_invalid(tenon_tensor_slice(view, 0, 2, 1)); /* 2^63 */
    assert_invalid(tenon_tensor_slice(view, 0, 4, 1)); /* 2^64, which is 0 in 64 bits */
    assert_invalid(tenon_tensor_slice_step(view, 0, 4, 2, 2));
    assert_invalid(tenon_tensor_slice_step(view, 0, 0, 2, 2)); /* its stride would be 2^63 */
    assert_int_equal(tenon_tensor_slice(view, 0, 4, 0).dtype, TENON_DTYPE_I8);
    assert_true(tenon_tensor_slice(view, 0, 1, 1).offset == (uint64_t)far);
    view.dtype = TENON_DTYPE_F32;
    assert_invalid(tenon_tensor_slice(view, 0, 1, 1)); /* 2^64 bytes */
    view.dtype = TENON_DTYPE_I8;
    view.stride[0] = -far;
    assert_invalid(tenon_tensor_slice(view, 0, 1, 1));
    view.stride[0] = 1;
    view.offset = UINT64_MAX;
    assert_invalid(tenon_tensor_slice(view, 0, 1, 1));
    view = tenon_tensor_view(TENON_DTYPE_I8, 1, longest);
    assert_invalid(tenon_tensor_slice_step(view, 0, 0, 2, INT64_MAX));
    view = tenon_tensor_view(TENON_DTYPE_I8, 2, split);
    view.stride[1] = far; /* the last element is there; the next one would overflow */
    assert_int_equal(tenon_tensor_reshape(&view, 1, split + 1, &read), TENON_OK);
    assert_true(read.stride[0] == far);
}

/* Checks the message of a call that is given the view; after "view: " it repeats the message of the
 * function that created the view. */
static void refused_with(tenon_tensor view, const char *text)
{
    assert_int_equal(view.dtype, TENON_DTYPE_INVALID);
    assert_contains(tenon_last_error(), strstr(text, "view: ") + strlen("view: "));
    assert_int_equal(tn_tensor_check("gemm", "a", &view), TENON_ERROR_INVALID_ARGUMENT);
    assert_string_equal(tenon_last_error(), text);
}

/* The call that is given an invalid view reports the request that created it. */
TEST(calls_report_why_a_view_is_invalid)
{
    const int64_t shape[] = {4, 6}, negative[] = {4, -1}, wide[] = {3, 2, 5};
    const uint32_t twice[] = {1, 1};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    view.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = &view};
#define A "gemm: a is an invalid view: "
    refused_with(tenon_tensor_view(TENON_DTYPE_F32, 2, negative),
                 A "tenon_tensor_view refused shape 4x-1: size 1 is -1, must be at least 0");
    refused_with(tenon_tensor_view(TENON_DTYPE_F32, 9, shape),
                 A "tenon_tensor_view refused a rank of 9: must be at most 8");
    refused_with(tenon_tensor_view(TENON_DTYPE_F32, 2, NULL),
                 A "tenon_tensor_view refused shape NULL: a rank of 1 or more needs sizes");
    refused_with(
        tenon_tensor_transpose(view, 1, 2),
        A "tenon_tensor_transpose of 4x6 refused d0 1, d1 2: d1 is 2, must be below the rank, 2");
    refused_with(tenon_tensor_slice(view, 1, -2, 3),
                 A "tenon_tensor_slice of 4x6 refused dim 1, start -2, size 3: start is -2, must "
                   "be at least 0");
    refused_with(tenon_tensor_slice_step(view, 0, 1, 2, 3),
                 A "tenon_tensor_slice_step of 4x6 refused dim 0, start 1, size 2, step 3: "
                   "dimension 0 has 4 entries");
    refused_with(tenon_tensor_permute(view, twice),
                 A "tenon_tensor_permute of 4x6 refused order 1x1: dimension 1 appears twice");
    refused_with(tenon_tensor_squeeze(view, 1),
                 A "tenon_tensor_squeeze of 4x6 refused dim 1: its size is 6, must be 1");
    refused_with(
        tenon_tensor_unsqueeze(view, 3),
        A "tenon_tensor_unsqueeze of 4x6 refused dim 3: dim is 3, must be at most the rank, 2");
    refused_with(tenon_tensor_broadcast(view, 3, wide),
                 A "tenon_tensor_broadcast of 4x6 refused shape 3x2x5: size 1 is 2, must be 4");
    refused_with(tenon_tensor_nhwc(view),
                 A "tenon_tensor_nhwc of 4x6 refused rank 2: must be 3, 4 or 5: N, the spatial "
                   "dimensions and C");
    refused_with(
        tenon_tensor_view((tenon_dtype)77, 2, shape), A
        "tenon_tensor_view refused dtype 77: must be a tenon_dtype other than TENON_DTYPE_INVALID");
    refused_with(
        tenon_tensor_view(TENON_DTYPE_INVALID, 2, shape), A
        "tenon_tensor_view refused dtype 0: must be a tenon_dtype other than TENON_DTYPE_INVALID");
    refused_with(tenon_tensor_transpose((tenon_tensor){0}, 0, 1),
                 A "its dtype is 0: it was destroyed or never initialized");
    assert_string_equal(tenon_last_error(),
                        A "its dtype is 0: it was destroyed or never initialized");
    tenon_tensor bad = tenon_tensor_squeeze(view, 1);
    assert_true(bad.memory.u.svm == &view);
    /* The first cause is preserved in all views derived from the invalid one. */
    bad = tenon_tensor_slice(tenon_tensor_transpose(bad, 0, 1), 0, 0, 1);
    bad = tenon_tensor_unsqueeze(tenon_tensor_permute(bad, (const uint32_t[]){1, 0}), 0);
    bad = tenon_tensor_broadcast(tenon_tensor_squeeze(bad, 0), 2, shape);
    refused_with(bad, A "tenon_tensor_squeeze of 4x6 refused dim 1: its size is 6, must be 1");
    assert_int_equal(tenon_tensor_reshape(&bad, 2, shape, &view), TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "tenon_tensor_squeeze of 4x6");
#undef A
}

TEST(every_refusal_has_a_reason)
{
    const int64_t shape[] = {4, 1}, longest[] = {INT64_MAX, 3}, negative[] = {4, -1}, less[] = {4};
    const uint32_t far[] = {0, 2};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape), odd = view, full = view;
    odd.rank = 9;
    odd.stride[0] = INT64_MAX;
    while (full.rank < TENON_MAX_RANK)
        full = tenon_tensor_unsqueeze(full, 0);
#define REASON(made, text)                                                                         \
    do {                                                                                           \
        assert_invalid(made);                                                                      \
        assert_contains(tenon_last_error(), text);                                                 \
    } while (0)
    REASON(tenon_tensor_view(TENON_DTYPE_F32, 2, longest), ": sizes and strides overflow");
    REASON(tenon_tensor_transpose(view, 7, 0), ": d0 is 7, must be below the rank, 2");
    REASON(tenon_tensor_transpose(odd, 0, 1), ": its rank is 9, must be at most 8");
    REASON(tenon_tensor_slice(view, 2, 0, 1), ": dim is 2, must be below the rank, 2");
    REASON(tenon_tensor_slice(view, 0, 0, -1), ": size is -1, must be at least 0");
    REASON(tenon_tensor_slice(view, 0, 5, 0), ": dimension 0 has 4 entries");
    REASON(tenon_tensor_slice(view, 0, 4, 1), ": dimension 0 has 4 entries");
    REASON(tenon_tensor_slice(view, 0, 2, INT64_MAX), ": dimension 0 has 4 entries");
    REASON(tenon_tensor_slice_step(view, 0, 0, 2, 0), ": step is 0, must be at least 1");
    REASON(tenon_tensor_slice_step(view, 0, 1, 2, INT64_MAX), ": dimension 0 has 4 entries");
    REASON(tenon_tensor_permute(view, far), ": entry 1 is 2, must be below the rank, 2");
    REASON(tenon_tensor_permute(view, NULL), ": must list all 2 dimensions");
    REASON(tenon_tensor_squeeze(view, 2), ": dim is 2, must be below the rank, 2");
    REASON(tenon_tensor_unsqueeze(full, 0), ": the rank is already the maximum, 8");
    REASON(tenon_tensor_broadcast(view, 2, negative), ": size 1 is -1, must be at least 0");
    REASON(tenon_tensor_broadcast(view, 1, less), ": its rank is 1, must be at least 2");
    REASON(tenon_tensor_broadcast(view, 9, shape), ": must be at most 8");
    odd = view;
    odd.stride[0] = INT64_MAX;
    REASON(tenon_tensor_slice(odd, 0, 3, 1), ": sizes and strides overflow");
#undef REASON
}

/* The message of the view function is available at once, replaces an older one, and is not changed
 * by views created later. */
TEST(refusals_set_the_message_at_once)
{
    const int64_t shape[] = {4, 6};
    const char told[] = "tenon_tensor_slice of 4x6 refused dim 1, start 5, size 3: dimension 1 has "
                        "6 entries";
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    assert_invalid(tenon_tensor_squeeze(view, 0));
    const tenon_tensor bad = tenon_tensor_slice(view, 1, 5, 3);
    assert_string_equal(tenon_last_error(), told);
    (void)tenon_tensor_transpose(view, 0, 1);
    (void)tenon_tensor_slice_step(view, 1, 0, 3, 2);
    (void)tenon_tensor_broadcast(tenon_tensor_unsqueeze(view, 0), 3, (const int64_t[]){5, 4, 6});
    assert_int_equal(tenon_tensor_check(&view), TENON_OK);
    assert_string_equal(tenon_last_error(), told);
    (void)tenon_tensor_permute(bad, (const uint32_t[]){1, 0});
    assert_string_equal(tenon_last_error(),
                        "tenon_tensor_permute: tensor is an invalid view: "
                        "tenon_tensor_slice of 4x6 refused dim 1, start 5, size 3: dimension 1 has "
                        "6 entries");
}

/* Element (n, c, h, w) of the view is element (n, h, w, c) of the original. */
TEST(nhwc_as_nchw)
{
    test_random random = test_random_for(24);
    int made = 0;
    for (int n = 0; n < 1000; n++) {
        const tenon_tensor view = random_view(&random, 5, 5), read = tenon_tensor_nhwc(view);
        assert_int_equal(read.dtype, view.rank < 3 ? TENON_DTYPE_INVALID : view.dtype);
        int64_t index[TENON_MAX_RANK] = {0}, from[TENON_MAX_RANK];
        size_t count = view.rank < 3 ? 0 : addresses(&read, part);
        made += count > 0;
        for (size_t i = 0; i < count; i++) {
            from[0] = index[0];
            memcpy(from + 1, index + 2, (view.rank - 2) * sizeof *from);
            from[view.rank - 1] = index[1];
            assert_true(part[i] == address(&view, from));
            tn_next_index(index, read.shape, read.rank);
        }
    }
    assert_true(made > 100);
    const int64_t longer[] = {1, 2, 3, 4, 5, 6};
    assert_invalid(tenon_tensor_nhwc(tenon_tensor_view(TENON_DTYPE_F32, 6, longer)));
}
