/* Tests the defaults of epilogues: c is added if it is given. The expected values do not come from
 * the library's references, which share its defaults. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

/* Factors are ones and K is 3, so each element of the result is 3 before the epilogue. */
enum { A, B, RAGGED_B, C, D, OFFSETS, IMAGE, FILTERS };
enum { TRANSPOSED_FILTERS = FILTERS + 1, RESIDUAL, RESULT, BIAS, TENSORS };
static test_tensor tensors[TENSORS];
static tenon_packed *packed_b, *packed_filters;
#define VIEW(name) (&tensors[name].view)

/* One function for each call with an epilogue. If `epilogue` is NULL, so are the parameters. */
#define DEFINE_CALL(name, type, function, ...)                                                     \
    static tenon_status name(const tenon_epilogue *epilogue, const tenon_tensor *c)                \
    {                                                                                              \
        type params = type();                                                                      \
        if (epilogue != NULL)                                                                      \
            params.epilogue = *epilogue;                                                           \
        return function(test_stream, epilogue != NULL ? &params : NULL, __VA_ARGS__, NULL);        \
    }
DEFINE_CALL(gemm, tenon_gemm_params, tenon_gemm, VIEW(A), VIEW(B), c, NULL, VIEW(D))
DEFINE_CALL(gemm_packed, tenon_gemm_params, tenon_gemm_packed, VIEW(A), packed_b, c, NULL, VIEW(D))
DEFINE_CALL(gemm_ragged, tenon_gemm_ragged_params, tenon_gemm_ragged, VIEW(A), VIEW(RAGGED_B),
            VIEW(OFFSETS), c, NULL, VIEW(D))
DEFINE_CALL(conv, tenon_conv_params, tenon_conv_forward, VIEW(IMAGE), VIEW(FILTERS), c, NULL,
            VIEW(RESULT))
DEFINE_CALL(conv_packed, tenon_conv_params, tenon_conv_forward_packed, VIEW(IMAGE), packed_filters,
            c, NULL, VIEW(RESULT))
DEFINE_CALL(conv_transpose, tenon_conv_transpose_params, tenon_conv_transpose_forward, VIEW(IMAGE),
            VIEW(TRANSPOSED_FILTERS), c, NULL, VIEW(RESULT))

static const struct {
    tenon_status (*call)(const tenon_epilogue *epilogue, const tenon_tensor *c);
    int result, added;
} calls[] = {{gemm, D, C},
             {gemm_packed, D, C},
             {gemm_ragged, D, C},
             {conv, RESULT, RESIDUAL},
             {conv_packed, RESULT, RESIDUAL},
             {conv_transpose, RESULT, RESIDUAL}};
#define CALLS (sizeof calls / sizeof *calls)

/* Checks that a call gives `alpha` times the product plus `beta` times c. */
static void expect(size_t i, const tenon_epilogue *epilogue, bool has_c, double alpha, double beta)
{
    const test_tensor *added = &tensors[calls[i].added], *result = &tensors[calls[i].result];
    test_upload(result);
    assert_ok(calls[i].call(epilogue, has_c ? &added->view : NULL));
    double *got = test_download(result);
    for (int64_t n = 0; n < tenon_tensor_elements(&result->view); n++) {
        const double term = beta != 0 ? beta * test_get(added, n) : 0;
        if (got[n] != alpha * 3 + term)
            fail_msg("call %zu, element %d: %g, expected %g", i, (int)n, got[n], alpha * 3 + term);
    }
    free(got);
}

static void make(int number, tenon_dtype dtype, uint32_t rank, const int64_t *shape, double value,
                 double step)
{
    test_tensor *t = &tensors[number];
    int64_t strides[TENON_MAX_RANK];
    test_strides(TEST_ROW, false, rank, shape, strides);
    test_tensor_create(t, dtype, rank, shape, strides, 0);
    for (int64_t n = 0; n < tenon_tensor_elements(&t->view) && number != D && number != RESULT; n++)
        test_set(t, n, value + step * (double)n);
    test_upload(t);
}

static void set_up(void)
{
    make(A, TENON_DTYPE_F32, 2, (const int64_t[]){2, 3}, 1, 0);
    make(B, TENON_DTYPE_F32, 2, (const int64_t[]){3, 2}, 1, 0);
    make(RAGGED_B, TENON_DTYPE_F32, 3, (const int64_t[]){1, 3, 2}, 1, 0);
    make(C, TENON_DTYPE_F32, 2, (const int64_t[]){2, 2}, 10, 1);
    make(D, TENON_DTYPE_F32, 2, (const int64_t[]){2, 2}, 0, 0);
    make(OFFSETS, TENON_DTYPE_I32, 1, (const int64_t[]){2}, 0, 2);
    make(IMAGE, TENON_DTYPE_F32, 4, (const int64_t[]){1, 3, 1, 5}, 1, 0);
    make(FILTERS, TENON_DTYPE_F32, 4, (const int64_t[]){2, 3, 1, 1}, 1, 0);
    make(TRANSPOSED_FILTERS, TENON_DTYPE_F32, 4, (const int64_t[]){3, 2, 1, 1}, 1, 0);
    make(RESIDUAL, TENON_DTYPE_F32, 4, (const int64_t[]){1, 2, 1, 5}, 10, 1);
    make(RESULT, TENON_DTYPE_F32, 4, (const int64_t[]){1, 2, 1, 5}, 0, 0);
    make(BIAS, TENON_DTYPE_F32, 1, (const int64_t[]){2}, 100, 100);
    assert_ok(tenon_gemm_pack(test_stream, NULL, VIEW(B), &packed_b, NULL));
    assert_ok(tenon_conv_pack_filter(test_stream, NULL, VIEW(FILTERS), &packed_filters, NULL));
}

static void tear_down(void)
{
    tenon_packed_release(packed_b);
    tenon_packed_release(packed_filters);
    for (int i = 0; i < TENSORS; i++)
        test_tensor_destroy(&tensors[i]);
}

TEST_WITH(c_is_added_by_default, set_up, tear_down)
{
    for (size_t i = 0; i < CALLS; i++) {
        expect(i, NULL, true, 1, 1);
        expect(i, NULL, false, 1, 0);
        expect(i, &tenon_epilogue(), true, 1, 1);
        expect(i, &tenon_epilogue(), false, 1, 0);
    }
}

TEST_WITH(factors_by_the_macro, set_up, tear_down)
{
    for (size_t i = 0; i < CALLS; i++) {
        expect(i, &tenon_epilogue(.beta = 1), true, 1, 1);
        expect(i, &tenon_epilogue(.beta = 2), true, 1, 2);
        expect(i, &tenon_epilogue(.alpha = 2), true, 2, 1);
        expect(i, &tenon_epilogue(.alpha = 2, .beta = 0), false, 2, 0);
    }
}

TEST_WITH(beta_of_0_reads_nothing, set_up, tear_down)
{
    for (size_t i = 0; i < CALLS; i++) {
        test_tensor *added = &tensors[calls[i].added];
        for (int64_t n = 0; n < tenon_tensor_elements(&added->view); n++)
            test_set(added, n, (double)NAN);
        test_upload(added);
        expect(i, &tenon_epilogue(.beta = 0), true, 1, 0);
        for (int64_t n = 0; n < tenon_tensor_elements(&added->view); n++)
            test_set(added, n, (double)n + 10);
        test_upload(added);
    }
}

/* `.epilogue = {.beta = 1}` is refused, since it sets alpha to 0. */
TEST_WITH(alpha_is_not_lost, set_up, tear_down)
{
    const tenon_epilogue bare = {.beta = 1};
    for (size_t i = 0; i < CALLS; i++) {
        test_upload(&tensors[calls[i].result]);
        assert_int_equal(calls[i].call(&bare, &tensors[calls[i].added].view),
                         TENON_ERROR_INVALID_ARGUMENT);
        assert_contains(tenon_last_error(), "tenon_epilogue(.beta = 1)");
        assert_untouched(&tensors[calls[i].result]);
    }
}

/* A bias passed as c broadcasts, or is refused because of its shape. */
TEST_WITH(a_bias_as_c, set_up, tear_down)
{
    for (size_t i = 0; i < CALLS; i++) {
        test_upload(&tensors[calls[i].result]);
        if (calls[i].result == D) {
            assert_ok(calls[i].call(NULL, VIEW(BIAS)));
            double *got = test_download(&tensors[D]);
            for (int64_t n = 0; n < 4; n++)
                assert_true(got[n] == 3 + test_get(&tensors[BIAS], n % 2));
            free(got);
        } else {
            assert_int_equal(calls[i].call(NULL, VIEW(BIAS)), TENON_ERROR_INVALID_ARGUMENT);
            assert_contains(tenon_last_error(), "pass a bias as the argument bias");
            assert_untouched(&tensors[RESULT]);
        }
    }
}
