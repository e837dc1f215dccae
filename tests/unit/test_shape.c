/* Tests the validation of views, and every property derived from strides against brute force. */
#include "views.h"

static void refuse(const tenon_tensor *view, const char *value)
{
    assert_int_equal(tn_tensor_check("tenon_op", "arg", view), TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(strncmp(tenon_last_error(), "tenon_op: arg", 13), 0);
    assert_contains(tenon_last_error(), value);
}

TEST(malformed_views_are_refused)
{
    const int64_t shape[] = {2, 3};
    const tenon_tensor good = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    tenon_tensor view;
    assert_int_equal(tn_tensor_check("tenon_op", "arg", &good), TENON_OK);
    refuse(NULL, "NULL");
#define REFUSE(member, value, text) (view = good, view.member = (value), refuse(&view, text))
    REFUSE(dtype, TENON_DTYPE_INVALID, "0");
    REFUSE(dtype, (tenon_dtype)99, "99");
    REFUSE(rank, 9, "9");
    REFUSE(rank, UINT32_MAX, "4294967295");
    REFUSE(memory.kind, TENON_MEMORY_SEQUENCE + 1, "5");
    REFUSE(shape[1], -7, "-7");
    REFUSE(shape[1], INT64_MIN, "-9223372036854775808");
    REFUSE(stride[0], -5, "-5");
    REFUSE(offset, 6, "6");
#undef REFUSE
}

TEST(sizes_that_overflow_are_refused)
{
    const int64_t big = INT64_C(1) << 32;
    const struct {
        uint64_t offset;
        int64_t shape[3], stride[3];
        bool fits;
    } cases[] = {
        {0, {big, big, 1}, {0, 0, 1}, false},                 /* too many elements */
        {0, {big, big / 8, 1}, {0, 0, 1}, false},             /* too many bytes */
        {0, {big, big / 32, 1}, {0, 0, 1}, true},             /* 2^61 bytes of repeats */
        {0, {3, 1, 1}, {INT64_MAX / 2, 0, 0}, false},         /* the address of the last element */
        {0, {2, 2, 1}, {INT64_MAX / 2, INT64_MAX, 0}, false}, /* the sum of the addresses */
        {0, {2, 1, 1}, {INT64_MAX / 8, 0, 0}, true},          /* just fits */
        {0, {2, 1, 1}, {INT64_MAX / 4, 0, 0}, false},         /* one byte too far */
        {UINT64_MAX - 3, {1, 1, 1}, {0, 0, 0}, false},        /* the offset alone */
        {INT64_MAX - 7, {2, 1, 1}, {1, 0, 0}, false},         /* the offset plus the elements */
        {0, {INT64_MAX, 0, INT64_MAX}, {1, 1, INT64_MAX}, true},  /* empty: none of it matters */
        {0, {INT64_MAX, 1, 1}, {0, INT64_MAX, INT64_MAX}, false}, /* 2^65 bytes */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_tensor view =
            strided_view(TENON_DTYPE_F32, cases[i].offset, 3, cases[i].shape, cases[i].stride);
        tenon_status status = tn_tensor_check("tenon_op", "arg", &view);
        if ((status == TENON_OK) != cases[i].fits)
            fail_msg("case %zu: %s: %s", i, view_text(&view), tenon_status_string(status));
        if (!cases[i].fits)
            assert_contains(tenon_last_error(), "overflow");
    }
}

TEST(views_are_row_major)
{
    const int64_t shape[] = {2, 0, 5, 1, 3}, stride[] = {15, 15, 3, 3, 1};
    const int64_t negative[] = {2, -1}, large[] = {INT64_MAX, INT64_MAX, 2};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F16, 5, shape);
    assert_int_equal(view.dtype, TENON_DTYPE_F16);
    assert_int_equal(view.rank, 5);
    assert_int_equal(view.offset, 0);
    assert_int_equal(view.memory.kind, TENON_MEMORY_NONE);
    assert_memory_equal(view.shape, shape, sizeof shape);
    assert_memory_equal(view.stride, stride, sizeof stride);
    assert_int_equal(tenon_tensor_view(TENON_DTYPE_F32, 0, NULL).dtype, TENON_DTYPE_F32);
    assert_int_equal(tenon_tensor_view(TENON_DTYPE_F32, 2, NULL).dtype, TENON_DTYPE_INVALID);
    assert_int_equal(tenon_tensor_view(TENON_DTYPE_F32, 9, shape).dtype, TENON_DTYPE_INVALID);
    assert_int_equal(tenon_tensor_view(TENON_DTYPE_F32, 2, negative).dtype, TENON_DTYPE_INVALID);
    assert_int_equal(tenon_tensor_view(TENON_DTYPE_F32, 3, large).dtype, TENON_DTYPE_INVALID);
}

TEST(transpose_swaps_two_dimensions)
{
    const int64_t shape[] = {2, 3, 4};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 3, shape);
    tenon_tensor turned = tenon_tensor_transpose(view, 0, 2);
    tenon_tensor back = tenon_tensor_transpose(turned, 2, 0);
    assert_true(turned.shape[0] == 4 && turned.shape[1] == 3 && turned.shape[2] == 2);
    assert_true(turned.stride[0] == 1 && turned.stride[1] == 4 && turned.stride[2] == 12);
    assert_memory_equal(&back, &view, sizeof view);
    assert_int_equal(tenon_tensor_transpose(view, 0, 3).dtype, TENON_DTYPE_INVALID);
    assert_int_equal(tenon_tensor_transpose(view, 3, 0).dtype, TENON_DTYPE_INVALID);
}

TEST(slices_select_elements)
{
    test_random random = test_random_for(4);
    static int64_t whole[MAX_ELEMENTS], part[MAX_ELEMENTS];
    for (int n = 0; n < 3000; n++) {
        tenon_tensor view = random_view(&random, 3, 9);
        if (view.rank == 0)
            continue;
        uint32_t dim = (uint32_t)test_between(&random, 0, view.rank - 1);
        int64_t start = test_between(&random, 0, view.shape[dim]);
        int64_t size = test_between(&random, 0, view.shape[dim] - start);
        tenon_tensor slice = tenon_tensor_slice(view, dim, start, size);
        assert_int_equal(slice.dtype, view.dtype);
        size_t count = addresses(&view, whole), taken = addresses(&slice, part), next = 0;
        int64_t inner = 1;
        for (uint32_t d = dim + 1; d < view.rank; d++)
            inner *= view.shape[d];
        for (size_t i = 0; i < count; i++) {
            int64_t at = (int64_t)i / inner % view.shape[dim];
            if (at < start || at >= start + size)
                continue;
            assert_true(next < taken && part[next] == whole[i]);
            next++;
        }
        assert_int_equal(next, taken);
    }
}

TEST(slices_outside_are_invalid)
{
    const int64_t shape[] = {4, 5};
    static const int64_t bad[][3] = {{2, 0, 1}, {0, -1, 1},        {0, 0, 5},        {0, 4, 1},
                                     {1, 5, 1}, {1, 0, -1},        {0, 5, 0},        {1, 1, 5},
                                     {8, 0, 0}, {0, INT64_MAX, 1}, {0, 1, INT64_MAX}};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tenon_tensor_slice(view, (uint32_t)bad[i][0], bad[i][1], bad[i][2]).dtype,
                         TENON_DTYPE_INVALID);
    assert_int_equal(tenon_tensor_slice(view, 0, 4, 0).offset, 0);
}

TEST(counts)
{
    const int64_t shape[] = {2, 3, 4}, huge[] = {INT64_MAX, 3, 1};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 3, shape);
    assert_int_equal(tenon_tensor_elements(&view), 24);
    view.shape[1] = 0;
    assert_int_equal(tenon_tensor_elements(&view), 0);
    view.shape[1] = -3;
    assert_int_equal(tenon_tensor_elements(&view), 0);
    memcpy(view.shape, huge, sizeof huge);
    assert_int_equal(tenon_tensor_elements(&view), 0);
    view = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL);
    assert_int_equal(tenon_tensor_elements(&view), 1);
    view.dtype = TENON_DTYPE_INVALID;
    assert_int_equal(tenon_tensor_elements(&view), 0);
    assert_int_equal(tenon_tensor_elements(NULL), 0);
}

/* Extent, density, emptiness and element count of random views. */
TEST(derived_properties_agree_with_brute_force)
{
    test_random random = test_random_for(5);
    static int64_t at[MAX_ELEMENTS];
    for (int n = 0; n < 5000; n++) {
        tenon_tensor view = random_view(&random, 4, 12);
        if (test_one_in(&random, 3)) /* random strides are almost never dense */
            for (int64_t d = (int64_t)view.rank - 1, stride = 1; d >= 0; stride *= view.shape[d--])
                view.stride[d] = view.shape[d] == 1 ? 7 : stride;
        size_t count = addresses(&view, at);
        int64_t size = (int64_t)tenon_dtype_size(view.dtype), last = 0;
        bool dense = true;
        for (size_t i = 0; i < count; i++) {
            last = at[i] > last ? at[i] : last;
            dense &= at[i] == (int64_t)view.offset + (int64_t)i * size;
        }
        tn_extent extent = tn_tensor_extent(&view);
        assert_int_equal(tn_tensor_empty(&view), count == 0);
        assert_int_equal(tenon_tensor_elements(&view), count);
        assert_int_equal(extent.first, view.offset);
        assert_int_equal(extent.end, count == 0 ? view.offset : (uint64_t)(last + size));
        if (count > 0)
            assert_int_equal(tn_tensor_dense(&view), dense);
    }
}

TEST(same_view_compares_elements)
{
    test_random random = test_random_for(6);
    static int64_t at[2][MAX_ELEMENTS];
    for (int n = 0; n < 5000; n++) {
        tenon_tensor a = random_view(&random, 3, 6), b = a;
        if (a.rank > 0) {
            uint32_t d = (uint32_t)test_between(&random, 0, a.rank - 1);
            *(test_one_in(&random, 2) ? &b.stride[d] : &b.shape[d]) = test_between(&random, 1, 3);
        }
        size_t count = addresses(&a, at[0]), count_b = addresses(&b, at[1]);
        bool same = count == count_b && memcmp(a.shape, b.shape, sizeof a.shape) == 0 &&
                    memcmp(at[0], at[1], count * sizeof *at[0]) == 0;
        if (count > 0 && tn_tensor_same_view(&a, &b) != same)
            fail_msg("%s and %s", view_text(&a), view_text(&b));
    }
    tenon_tensor a = random_view(&random, 0, 0), b = a;
    b.offset += 8;
    assert_false(tn_tensor_same_view(&a, &b));
    b = a;
    b.dtype = TENON_DTYPE_I32;
    assert_false(tn_tensor_same_view(&a, &b));
}

TEST(broadcast_rules_are_numpys)
{
    const int64_t to[] = {2, 3, 4};
    const struct {
        uint32_t rank;
        int64_t shape[4], stride[3];
        bool fits;
    } cases[] = {
        {0, {0}, {0, 0, 0}, true},       {1, {4}, {0, 0, 1}, true},
        {1, {1}, {0, 0, 0}, true},       {2, {3, 1}, {0, 1, 0}, true},
        {2, {3, 4}, {0, 4, 1}, true},    {3, {2, 1, 4}, {4, 0, 1}, true},
        {3, {1, 1, 1}, {0, 0, 0}, true}, {1, {3}, {0}, false},
        {2, {2, 4}, {0}, false},         {1, {0}, {0}, false},
        {4, {1, 2, 3, 4}, {0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, cases[i].rank, cases[i].shape);
        int64_t stride[TENON_MAX_RANK] = {-1, -1, -1};
        tenon_status status = tn_broadcast("tenon_op", "bias", &view, 3, to, stride);
        assert_int_equal(status, cases[i].fits ? TENON_OK : TENON_ERROR_INVALID_ARGUMENT);
        if (cases[i].fits)
            assert_memory_equal(stride, cases[i].stride, sizeof cases[i].stride);
        else
            assert_contains(tenon_last_error(), "tenon_op: bias");
    }
}

TEST(shape_text)
{
    const int64_t shape[] = {2, 3, 4};
    const int64_t longest[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                               INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN};
    char text[160];
    assert_string_equal(tn_shape_text(3, shape, text), "2x3x4");
    assert_string_equal(tn_shape_text(1, shape, text), "2");
    assert_string_equal(tn_shape_text(0, shape, text), "scalar");
    assert_true(strlen(tn_shape_text(8, longest, text)) < sizeof text);
}

static tenon_tensor view_of_space(const tn_space *space, uint32_t v)
{
    return strided_view(TENON_DTYPE_U8, 0, space->rank, space->shape, space->stride[v]);
}

static tn_space random_space(test_random *random)
{
    tn_space space = {.rank = (uint32_t)test_between(random, 0, 5),
                      .views = (uint32_t)test_between(random, 1, 3)};
    for (uint32_t d = 0; d < space.rank; d++)
        space.shape[d] = test_one_in(random, 20) ? 0 : test_between(random, 1, 4);
    for (uint32_t v = 0; v < space.views; v++) {
        int64_t stride = test_between(random, 0, 2);
        for (uint32_t d = space.rank; d-- > 0;) {
            space.stride[v][d] = test_one_in(random, 6) ? test_between(random, 0, 9) : stride;
            stride = space.stride[v][d] * space.shape[d];
        }
    }
    return space;
}

static void check_collapsed(const tn_space *before, const tn_space *after)
{
    static int64_t a[MAX_ELEMENTS], b[MAX_ELEMENTS];
    for (uint32_t v = 0; v < before->views; v++) {
        tenon_tensor va = view_of_space(before, v), vb = view_of_space(after, v);
        size_t count = addresses(&va, a);
        assert_int_equal(addresses(&vb, b), count);
        if (memcmp(a, b, count * sizeof *a) != 0)
            fail_msg("%s becomes %s", view_text(&va), view_text(&vb));
    }
    for (uint32_t d = 0; d < after->rank; d++)
        assert_int_not_equal(after->shape[d], 1);
    for (uint32_t d = 0; d + 1 < after->rank; d++) {
        bool merges = true;
        for (uint32_t v = 0; v < after->views; v++)
            merges &= after->stride[v][d] == after->stride[v][d + 1] * after->shape[d + 1];
        assert_false(merges);
    }
}

TEST(collapsing_keeps_element_order)
{
    test_random random = test_random_for(10);
    for (int n = 0; n < 20000; n++) {
        tn_space before = random_space(&random), after = before;
        tn_space_collapse(&after);
        assert_int_equal(after.views, before.views);
        check_collapsed(&before, &after);
        for (uint32_t d = after.rank; d < TENON_MAX_RANK; d++) {
            assert_int_equal(after.shape[d], 0);
            for (uint32_t v = 0; v < after.views; v++)
                assert_int_equal(after.stride[v][d], 0);
        }
        tn_space again = after;
        tn_space_collapse(&again);
        assert_memory_equal(&again, &after, sizeof after);
    }
}
