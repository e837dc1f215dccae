/* Tests tenon_clip_by_norm: tensors of several types clipped by one norm. */
#include "support.h"

#include <math.h>

/* Creates tensors of several types and layouts, which together form one vector with the given
 * norm. */
enum { TENSORS = 4 };

static void make_tensors(test_tensor *t, bool wide)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_BF16, TENON_DTYPE_F16,
                                        TENON_DTYPE_F32};
    static const int64_t shapes[][2] = {{37, 41}, {3, 5}, {0, 7}, {100, 101}};
    test_random random = test_random_for(935);
    for (int i = 0; i < TENSORS; i++) {
        int64_t stride[2];
        test_strides((test_layout)i, false, 2, shapes[i], stride);
        test_tensor_create(&t[i], wide ? TENON_DTYPE_F64 : types[i], 2, shapes[i], stride, i);
        test_fill_reals(&t[i], &random);
        test_upload(&t[i]);
    }
}

static double norm_of(const test_tensor *t)
{
    double sum = 0;
    for (int i = 0; i < TENSORS; i++) {
        double *x = test_download(&t[i]);
        for (int64_t n = 0; n < tenon_tensor_elements(&t[i].view); n++)
            sum += x[n] * x[n];
        free(x);
    }
    return sqrt(sum);
}

TEST(all_by_one_norm)
{
    for (int wide = 0; wide < (test_has(TENON_CAPABILITY_F64) ? 2 : 1); wide++)
        for (int clips = 0; clips < 2; clips++) {
            tenon_clip_params params = TENON_CLIP_PARAMS_INIT;
            const tenon_dtype dtype = wide ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
            test_tensor t[TENSORS];
            tenon_tensor gradients[TENSORS], sum;
            cl_event event = NULL;
            const tenon_sync sync = {.event = &event};
            make_tensors(t, wide == 1);
            for (int i = 0; i < TENSORS; i++)
                gradients[i] = t[i].view;
            double before = norm_of(t);
            params.max_norm = clips ? 2.5 : before * 1.01;
            sum = test_dense(dtype, 0, NULL, NULL);
            assert_ok(tenon_tensor_fill(test_stream, &sum, 77, NULL));
            assert_ok(tenon_clip_by_norm(test_stream, &params, gradients, TENSORS, &sum, &sync));
            assert_non_null(event);
            clReleaseEvent(event);
            /* Elements of bf16 are off by up to 2^-9, and the norm by less. */
            if (clips)
                assert_true(fabs(norm_of(t) - 2.5) < 2.5 * 0x1p-9);
            for (int i = 0; i < TENSORS; i++) {
                if (!clips)
                    assert_untouched(&t[i]);
                test_tensor_destroy(&t[i]);
            }
            tenon_memory_destroy(&sum.memory);
        }
}

TEST(no_gradients)
{
    float got;
    tenon_tensor sum = test_dense(TENON_DTYPE_F32, 0, NULL, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &sum, 77, NULL));
    assert_ok(tenon_clip_by_norm(test_stream, NULL, NULL, 0, &sum, NULL));
    assert_ok(tenon_tensor_download(test_stream, &sum, &got, sizeof got, NULL));
    assert_true(got == 0);
    tenon_memory_destroy(&sum.memory);
}

TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, stride[] = {6, 1}, one[] = {1};
    test_tensor x, sum;
    test_tensor_create(&x, TENON_DTYPE_F32, 2, shape, stride, 0);
    test_tensor_create(&sum, TENON_DTYPE_F32, 1, one, one, 0);
    test_upload(&x);
    test_upload(&sum);
    const tenon_tensor gradients[] = {x.view, sum.view};
    static const char op[] = "tenon_clip_by_norm";
    assert_invalid(tenon_clip_by_norm(test_stream, NULL, NULL, 1, &sum.view, NULL),
                   "gradients is NULL");
    assert_invalid(tenon_clip_by_norm(test_stream, NULL, gradients, 1, NULL, NULL), "sum is NULL");
    /* The second tensor is invalid, and the first must not be modified. */
    assert_invalid(tenon_clip_by_norm(test_stream, NULL, gradients, 2, &sum.view, NULL), "overlap");
    tenon_clip_params bad = tenon_clip_params(.max_norm = -1);
    assert_invalid(tenon_clip_by_norm(test_stream, &bad, gradients, 1, &sum.view, NULL),
                   "max_norm is -1");
    bad = (tenon_clip_params)TENON_CLIP_PARAMS_INIT;
    bad.solver = "square_sum/lines";
    assert_invalid(tenon_clip_by_norm(test_stream, &bad, gradients, 1, &sum.view, NULL), "solver");
    assert_invalid(tenon_clip_by_norm(NULL, NULL, gradients, 1, &sum.view, NULL), "stream");
    const tenon_sync sync = {.wait_list = NULL, .wait_count = 2};
    assert_invalid(tenon_clip_by_norm(test_stream, NULL, gradients, 1, &sum.view, &sync),
                   "wait_list");
    tenon_tensor halved = sum.view;
    halved.dtype = TENON_DTYPE_F16;
    assert_refused(tenon_clip_by_norm(test_stream, NULL, gradients, 1, &halved, NULL),
                   TENON_ERROR_UNSUPPORTED, op, "sum is f16, must be f32");
    assert_untouched(&x);
    assert_untouched(&sum);
    test_tensor_destroy(&x);
    test_tensor_destroy(&sum);
}
