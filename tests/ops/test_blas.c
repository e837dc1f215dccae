/* Tests the BLAS-style functions against products of the matrices that their arguments describe. */
#include "fixture.h"

#include "base/dtype.h"
#include "ops/gemm/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Arguments of a call other than its memory; the leading dimension of a vector is its increment. */
typedef struct blas_call {
    tenon_blas_layout layout;
    tenon_blas_transpose ta, tb;
    size_t m, n, k;
    double alpha, beta;
    size_t ld[GEMM_OPERANDS];
} blas_call;

static blas_call called;

/* Returns op(X), rows by cols, where BLAS sees X as a block with a leading dimension. */
static tenon_tensor block(int operand, tenon_dtype dtype, tenon_blas_transpose transpose,
                          size_t rows, size_t cols, int64_t offset, size_t gap)
{
    const int64_t shape[] = {(int64_t)rows, (int64_t)cols};
    const bool by_rows =
        (called.layout == TENON_BLAS_ROW_MAJOR) == (transpose == TENON_BLAS_NO_TRANSPOSE);
    tenon_tensor view = test_view(dtype, TEST_ROW, false, 2, shape, offset);
    called.ld[operand] = (by_rows ? cols : rows) + gap;
    view.stride[by_rows ? 0 : 1] = (int64_t)called.ld[operand];
    view.stride[by_rows ? 1 : 0] = 1;
    return view;
}

/* Returns a vector as a matrix of one column. */
static tenon_tensor vector(int operand, tenon_dtype dtype, size_t size, int64_t offset,
                           test_random *random)
{
    const int64_t shape[] = {(int64_t)size, 1};
    tenon_tensor view = test_view(dtype, TEST_ROW, false, 2, shape, offset);
    called.ld[operand] = (size_t)test_between(random, 1, 3);
    view.stride[0] = (int64_t)called.ld[operand];
    return view;
}

static size_t offset_of(const tenon_tensor *view)
{
    return (size_t)view->offset / tenon_dtype_size(view->dtype);
}

#define BUFFER(operand) v[operand]->memory.u.buffer, offset_of(v[operand]), called.ld[operand]
#define GEMM(name, scalar)                                                                         \
    name(test_stream, called.layout, called.ta, called.tb, called.m, called.n, called.k,           \
         scalar(called.alpha), BUFFER(GEMM_A), BUFFER(GEMM_B), scalar(called.beta),                \
         BUFFER(GEMM_D), NULL)
#define GEMV(name, scalar)                                                                         \
    name(test_stream, called.layout, called.ta, called.m, called.n, scalar(called.alpha),          \
         BUFFER(GEMM_A), BUFFER(GEMM_B), scalar(called.beta), BUFFER(GEMM_D), NULL)

static tenon_status call_gemm(const void *params, const tenon_tensor *const *v)
{
    const tenon_dtype dtype = v[GEMM_D]->dtype;
    (void)params;
    return dtype == TENON_DTYPE_F32   ? GEMM(tenon_sgemm, (float))
           : dtype == TENON_DTYPE_F16 ? GEMM(tenon_hgemm, tn_f16_from_double)
                                      : GEMM(tenon_dgemm, );
}

static tenon_status call_gemv(const void *params, const tenon_tensor *const *v)
{
    const tenon_dtype dtype = v[GEMM_D]->dtype;
    (void)params;
    return dtype == TENON_DTYPE_F32   ? GEMV(tenon_sgemv, (float))
           : dtype == TENON_DTYPE_F16 ? GEMV(tenon_hgemv, tn_f16_from_double)
                                      : GEMV(tenon_dgemv, );
}

static tenon_blas_transpose random_transpose(test_random *random)
{
    return (tenon_blas_transpose)test_between(random, TENON_BLAS_NO_TRANSPOSE,
                                              TENON_BLAS_CONJUGATE_TRANSPOSE);
}

static void begin(test_fixture *f, int64_t most, test_random *random)
{
    called =
        (blas_call){.layout = test_one_in(random, 2) ? TENON_BLAS_ROW_MAJOR : TENON_BLAS_COL_MAJOR,
                    .ta = random_transpose(random),
                    .tb = random_transpose(random),
                    .m = (size_t)test_between(random, 0, most),
                    .n = (size_t)test_between(random, 0, most),
                    .k = (size_t)test_between(random, 0, most),
                    .alpha = (double)test_between(random, -2, 2),
                    .beta = (double)test_between(random, -1, 1)};
    test_begin(f, &tn_operation_gemm);
    f->c.same[GEMM_C] = 1 + GEMM_D;
    test_params(f, tenon_gemm_params)->epilogue.alpha = called.alpha;
    test_params(f, tenon_gemm_params)->epilogue.beta = called.beta;
}

static void check_gemm(tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    begin(&f, 20, random);
    const size_t m = called.m, n = called.n, k = called.k, gap = (size_t)test_between(random, 1, 3);
    f.c.views[GEMM_A] = block(GEMM_A, dtype, called.ta, m, k, 5, gap);
    f.c.views[GEMM_B] = block(GEMM_B, dtype, called.tb, k, n, 0, gap);
    f.c.views[GEMM_D] = block(GEMM_D, dtype, TENON_BLAS_NO_TRANSPOSE, m, n, 7, gap);
    f.call = call_gemm;
    test_run_fixture(&f, TEST_EXACT, TEST_ONCE, random);
}

static void check_gemv(tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    begin(&f, 40, random);
    const bool transposed = called.ta != TENON_BLAS_NO_TRANSPOSE;
    const size_t rows = transposed ? called.n : called.m, cols = transposed ? called.m : called.n;
    f.c.views[GEMM_A] = block(GEMM_A, dtype, called.ta, rows, cols, 3, 2);
    f.c.views[GEMM_B] = vector(GEMM_B, dtype, cols, 1, random);
    f.c.views[GEMM_D] = vector(GEMM_D, dtype, rows, 2, random);
    f.call = call_gemv;
    if (cols == 0) /* the header specifies that nothing is done */
        test_params(&f, tenon_gemm_params)->epilogue.beta = 1;
    test_run_fixture(&f, TEST_EXACT, TEST_ONCE, random);
}

/* Returns the types that have BLAS-style functions. */
static const tenon_dtype *blas_types(void)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_F64,
                                        TENON_DTYPE_INVALID};
    static const tenon_dtype without_f64[] = {TENON_DTYPE_F32, TENON_DTYPE_F16,
                                              TENON_DTYPE_INVALID};
    return test_has(TENON_CAPABILITY_F64) ? types : without_f64;
}

TEST(products)
{
    test_random random = test_random_for(501);
    for (int i = 0; i < 150; i++)
        for (const tenon_dtype *type = blas_types(); *type != 0; type++)
            check_gemm(*type, &random);
}

TEST(vectors)
{
    test_random random = test_random_for(502);
    for (int i = 0; i < 150; i++)
        for (const tenon_dtype *type = blas_types(); *type != 0; type++)
            check_gemv(*type, &random);
}

/* If there are no columns y is unchanged, and if K is 0 c is multiplied by beta, as in the
 * reference BLAS. */
TEST(empty_sums)
{
    float values[] = {3, NAN};
    const int64_t shape[] = {2};
    tenon_tensor y = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    tenon_tensor a = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    const cl_mem buffer = y.memory.u.buffer, other = a.memory.u.buffer;
    assert_ok(tenon_tensor_upload(test_stream, values, sizeof values, &y, NULL));
    assert_ok(tenon_sgemv(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, 2, 0, 1,
                          other, 0, 1, other, 0, 1, 0, buffer, 0, 1, NULL));
    assert_ok(tenon_sgemv(test_stream, TENON_BLAS_COL_MAJOR, TENON_BLAS_TRANSPOSE, 0, 2, 1, other,
                          0, 1, other, 0, 1, 5, buffer, 0, 1, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, values, sizeof values, NULL));
    assert_true(values[0] == 3 && isnan(values[1]));
    assert_ok(tenon_sgemm(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                          TENON_BLAS_NO_TRANSPOSE, 1, 1, 0, 1, other, 0, 1, other, 0, 1, 5, buffer,
                          0, 1, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, values, sizeof values, NULL));
    assert_true(values[0] == 15 && isnan(values[1]));
    test_destroy(&y, &a);
}

/* Arguments that BLAS forbids; c is unchanged. */
TEST(wrong_arguments)
{
    static const struct {
        const char *argument;
        int layout, ta, tb;
        size_t m, n, k, a_ld, b_ld, c_ld, a_offset;
    } cases[] = {
        {"layout is 100, must be TENON_BLAS_ROW_MAJOR or", 100, 111, 111, 4, 4, 4, 4, 4, 4, 0},
        {"a_transpose is 110, must be TENON_BLAS_NO_TRANSPOSE,", 101, 110, 111, 4, 4, 4, 4, 4, 4,
         0},
        {"b_transpose", 101, 111, 114, 4, 4, 4, 4, 4, 4, 0},
        {"a_ld", 101, 111, 111, 4, 4, 4, 3, 4, 4, 0},
        {"a_ld", 101, 112, 111, 5, 4, 4, 4, 4, 4, 0},
        {"a_ld", 102, 111, 111, 5, 4, 4, 4, 4, 5, 0},
        {"b_ld", 101, 111, 111, 4, 4, 4, 4, 3, 4, 0},
        {"c_ld", 101, 111, 111, 4, 4, 4, 4, 4, 3, 0},
        {"a:", 101, 111, 111, 4, 4, 4, SIZE_MAX, 4, 4, 0},
        {"a:", 101, 111, 111, 4, 4, 4, 4, 4, 4, 1000},
        {"a:", 101, 111, 111, 4, 4, 4, 4, 4, 4, SIZE_MAX},
        {"a:", 101, 111, 111, SIZE_MAX, 4, 4, 4, 4, 4, 0},
        {"", 101, 111, 111, 4, SIZE_MAX / 2, 4, 4, SIZE_MAX / 2, SIZE_MAX / 2, 0},
    };
    test_fixture f;
    test_begin_line(&f, "gemm a=f32:6x6 b=f32:6x6 d=f32:6x6", TENON_DTYPE_F32);
    test_make(&f);
    test_upload_all(&f);
    cl_mem ma = f.operands[GEMM_A].view.memory.u.buffer;
    cl_mem mb = f.operands[GEMM_B].view.memory.u.buffer;
    cl_mem mc = f.operands[GEMM_D].view.memory.u.buffer;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_invalid(tenon_sgemm(test_stream, (tenon_blas_layout)cases[i].layout,
                                   (tenon_blas_transpose)cases[i].ta,
                                   (tenon_blas_transpose)cases[i].tb, cases[i].m, cases[i].n,
                                   cases[i].k, 1, ma, cases[i].a_offset, cases[i].a_ld, mb, 0,
                                   cases[i].b_ld, 1, mc, 0, cases[i].c_ld, NULL),
                       cases[i].argument);
    assert_invalid(tenon_sgemm(NULL, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                               TENON_BLAS_NO_TRANSPOSE, 1, 1, 1, 1, ma, 0, 1, mb, 0, 1, 0, mc, 0, 1,
                               NULL),
                   "stream");
    assert_invalid(tenon_sgemm(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                               TENON_BLAS_NO_TRANSPOSE, 1, 1, 1, 1, NULL, 0, 1, mb, 0, 1, 0, mc, 0,
                               1, NULL),
                   "a:");
    assert_invalid(tenon_sgemm(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                               TENON_BLAS_NO_TRANSPOSE, 4, 4, 4, 1, ma, 0, 4, mc, 0, 4, 0, mc, 0, 4,
                               NULL),
                   "overlaps");
    assert_invalid(tenon_sgemv(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, 2, 2, 1,
                               ma, 0, 2, mb, 0, 0, 0, mc, 0, 1, NULL),
                   "x_inc");
    assert_invalid(tenon_dgemv(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, 2, 2, 1,
                               ma, 0, 2, mb, 0, 1, 0, mc, 0, 0, NULL),
                   "y_inc");
    assert_untouched(&f.operands[GEMM_D]);
    test_release(&f);
}
