#include "views.h"

tenon_tensor strided_view(tenon_dtype dtype, uint64_t offset, uint32_t rank, const int64_t *shape,
                          const int64_t *stride)
{
    tenon_tensor view = {.dtype = dtype, .offset = offset, .rank = rank};
    memcpy(view.shape, shape, rank * sizeof *shape);
    memcpy(view.stride, stride, rank * sizeof *stride);
    return view;
}

size_t addresses(const tenon_tensor *view, int64_t *at)
{
    int64_t index[TENON_MAX_RANK] = {0};
    size_t count = 0;
    for (uint32_t d = 0; d < view->rank; d++)
        if (view->shape[d] == 0)
            return 0;
    for (;;) {
        int64_t element = 0;
        for (uint32_t d = 0; d < view->rank; d++)
            element += index[d] * view->stride[d];
        assert_true(count < MAX_ELEMENTS);
        at[count++] = (int64_t)view->offset + element * (int64_t)tenon_dtype_size(view->dtype);
        uint32_t d = view->rank;
        while (d-- > 0 && ++index[d] == view->shape[d])
            index[d] = 0;
        if (d == UINT32_MAX)
            return count;
    }
}

tenon_tensor random_view(test_random *random, uint32_t most_rank, int64_t most_stride)
{
    static const tenon_dtype types[] = {TENON_DTYPE_U8, TENON_DTYPE_F16, TENON_DTYPE_F32};
    tenon_tensor view = {.dtype = types[test_between(random, 0, 2)]};
    view.rank = (uint32_t)test_between(random, 0, most_rank);
    view.offset = (uint64_t)test_between(random, 0, 12) * tenon_dtype_size(view.dtype);
    for (uint32_t d = 0; d < view.rank; d++) {
        view.shape[d] = test_one_in(random, 12) ? 0 : test_between(random, 1, 5);
        view.stride[d] = test_between(random, 0, most_stride);
    }
    return view;
}

const char *view_text(const tenon_tensor *view)
{
    static char texts[4][512];
    static int next;
    char shape[160], stride[160], *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s at %llu, shape %s, strides %s",
             tenon_dtype_string(view->dtype), (unsigned long long)view->offset,
             tn_shape_text(view->rank, view->shape, shape),
             tn_shape_text(view->rank, view->stride, stride));
    return text;
}
