/* The BLAS-shaped calls against loops over the arguments as BLAS defines them. */
#include "support.h"

#include "base/dtype.h"

#include <math.h>

/* A matrix in host memory and on the device, as BLAS sees it: a block of elements with an offset
 * and a leading dimension. Exact integers, so that sums are the same in any order. */
typedef struct block {
    size_t rows, cols; /* as stored: `rows` vectors of `cols` elements, or columns */
    size_t offset, ld;
    test_tensor memory;
} block;

static void make_block(block *b, tenon_dtype dtype, tenon_blas_layout layout, size_t rows,
                       size_t cols, size_t offset, size_t gap, test_random *random)
{
    bool by_rows = layout == TENON_BLAS_ROW_MAJOR;
    b->rows = rows;
    b->cols = cols;
    b->ld = (by_rows ? cols : rows) + gap;
    const int64_t shape[] = {(int64_t)rows, (int64_t)cols};
    const int64_t stride[] = {by_rows ? (int64_t)b->ld : 1, by_rows ? 1 : (int64_t)b->ld};
    test_tensor_create(&b->memory, dtype, 2, shape, stride, (int64_t)offset);
    b->offset = (size_t)b->memory.view.offset / tenon_dtype_size(dtype);
    test_fill_integers(&b->memory, random, 3);
    test_upload(&b->memory);
}

/* op(b)[i, j] */
static double at(const block *b, bool transposed, size_t i, size_t j)
{
    return test_get(&b->memory, (int64_t)(transposed ? j * b->cols + i : i * b->cols + j));
}

static bool is_transposed(tenon_blas_transpose transpose)
{
    return transpose != TENON_BLAS_NO_TRANSPOSE;
}

static tenon_blas_transpose random_transpose(test_random *random)
{
    return (tenon_blas_transpose)test_between(random, TENON_BLAS_NO_TRANSPOSE,
                                              TENON_BLAS_CONJUGATE_TRANSPOSE);
}

static void check_result(const block *c, const tn_bounded *expected, const char *what)
{
    char why[256];
    if (!test_result(&c->memory, expected, TEST_EXACT, why))
        fail_msg("%s: %s (TENON_TEST_SEED=%llu)", what, why, (unsigned long long)test_seed());
}

static void check_gemm(tenon_dtype dtype, test_random *random)
{
    tenon_blas_layout layout = test_one_in(random, 2) ? TENON_BLAS_ROW_MAJOR : TENON_BLAS_COL_MAJOR;
    tenon_blas_transpose ta = random_transpose(random), tb = random_transpose(random);
    size_t m = (size_t)test_between(random, 0, 20), n = (size_t)test_between(random, 0, 20);
    size_t k = (size_t)test_between(random, 0, 20), gap = (size_t)test_between(random, 1, 3);
    double alpha = (double)test_between(random, -2, 2), beta = (double)test_between(random, -1, 1);
    bool at_ = is_transposed(ta), bt = is_transposed(tb);
    block a, b, c;
    make_block(&a, dtype, layout, at_ ? k : m, at_ ? m : k, 5, gap, random);
    make_block(&b, dtype, layout, bt ? n : k, bt ? k : n, 0, gap, random);
    make_block(&c, dtype, layout, m, n, 7, gap, random);
    tn_bounded *expected = calloc(m * n + 1, sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += at(&a, at_, i, l) * at(&b, bt, l, j);
            expected[i * n + j].value = alpha * sum + beta * at(&c, false, i, j);
        }
    cl_mem ma = a.memory.view.memory.u.buffer, mb = b.memory.view.memory.u.buffer;
    cl_mem mc = c.memory.view.memory.u.buffer;
    if (dtype == TENON_DTYPE_F32)
        assert_ok(tenon_sgemm(test_stream, layout, ta, tb, m, n, k, (float)alpha, ma, a.offset,
                              a.ld, mb, b.offset, b.ld, (float)beta, mc, c.offset, c.ld, NULL));
    else if (dtype == TENON_DTYPE_F16)
        assert_ok(tenon_hgemm(test_stream, layout, ta, tb, m, n, k, tn_f16_from_double(alpha), ma,
                              a.offset, a.ld, mb, b.offset, b.ld, tn_f16_from_double(beta), mc,
                              c.offset, c.ld, NULL));
    else
        assert_ok(tenon_dgemm(test_stream, layout, ta, tb, m, n, k, alpha, ma, a.offset, a.ld, mb,
                              b.offset, b.ld, beta, mc, c.offset, c.ld, NULL));
    check_result(&c, expected, "gemm");
    free(expected);
    test_tensor_destroy(&a.memory);
    test_tensor_destroy(&b.memory);
    test_tensor_destroy(&c.memory);
}

static void check_gemv(tenon_dtype dtype, test_random *random)
{
    tenon_blas_layout layout = test_one_in(random, 2) ? TENON_BLAS_ROW_MAJOR : TENON_BLAS_COL_MAJOR;
    tenon_blas_transpose ta = random_transpose(random);
    bool transposed = is_transposed(ta);
    size_t m = (size_t)test_between(random, 0, 40), n = (size_t)test_between(random, 0, 40);
    size_t rows = transposed ? n : m, cols = transposed ? m : n;
    double alpha = (double)test_between(random, -2, 2), beta = (double)test_between(random, -1, 1);
    block a, x, y; /* a vector is a matrix of one column, its increment the leading dimension */
    make_block(&a, dtype, layout, m, n, 3, 2, random);
    make_block(&x, dtype, TENON_BLAS_ROW_MAJOR, cols, 1, 1, (size_t)test_between(random, 0, 2),
               random);
    make_block(&y, dtype, TENON_BLAS_ROW_MAJOR, rows, 1, 2, (size_t)test_between(random, 0, 2),
               random);
    tn_bounded *expected = calloc(rows + 1, sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t l = 0; l < cols; l++)
            sum += at(&a, transposed, i, l) * at(&x, false, l, 0);
        expected[i].value = alpha * sum + beta * at(&y, false, i, 0);
        if (cols == 0) /* by the header: nothing is done */
            expected[i].value = at(&y, false, i, 0);
    }
    cl_mem ma = a.memory.view.memory.u.buffer, mx = x.memory.view.memory.u.buffer;
    cl_mem my = y.memory.view.memory.u.buffer;
    if (dtype == TENON_DTYPE_F32)
        assert_ok(tenon_sgemv(test_stream, layout, ta, m, n, (float)alpha, ma, a.offset, a.ld, mx,
                              x.offset, x.ld, (float)beta, my, y.offset, y.ld, NULL));
    else if (dtype == TENON_DTYPE_F16)
        assert_ok(tenon_hgemv(test_stream, layout, ta, m, n, tn_f16_from_double(alpha), ma,
                              a.offset, a.ld, mx, x.offset, x.ld, tn_f16_from_double(beta), my,
                              y.offset, y.ld, NULL));
    else
        assert_ok(tenon_dgemv(test_stream, layout, ta, m, n, alpha, ma, a.offset, a.ld, mx,
                              x.offset, x.ld, beta, my, y.offset, y.ld, NULL));
    check_result(&y, expected, "gemv");
    free(expected);
    test_tensor_destroy(&a.memory);
    test_tensor_destroy(&x.memory);
    test_tensor_destroy(&y.memory);
}

/* The types that have calls of their own. */
static const tenon_dtype *blas_types(void)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_F64,
                                        TENON_DTYPE_INVALID};
    static const tenon_dtype without_f64[] = {TENON_DTYPE_F32, TENON_DTYPE_F16,
                                              TENON_DTYPE_INVALID};
    return test_has(TENON_CAPABILITY_F64) ? types : without_f64;
}

static void products(void **state)
{
    test_random random = test_random_for(501);
    (void)state;
    for (int i = 0; i < 150; i++)
        for (const tenon_dtype *type = blas_types(); *type != 0; type++)
            check_gemm(*type, &random);
}

static void vectors(void **state)
{
    test_random random = test_random_for(502);
    (void)state;
    for (int i = 0; i < 150; i++)
        for (const tenon_dtype *type = blas_types(); *type != 0; type++)
            check_gemv(*type, &random);
}

/* Without a column y stays as it is, and without a K c is multiplied by beta, as in the reference
 * BLAS. */
static void empty_sums(void **state)
{
    float values[] = {3, NAN};
    const int64_t shape[] = {2};
    tenon_tensor y, a;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &y));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &a));
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
    tenon_memory_destroy(&y.memory);
    tenon_memory_destroy(&a.memory);
}

/* Arguments that BLAS forbids; c stays as it was. */
static void wrong_arguments(void **state)
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
    test_random random = test_random_for(503);
    block a, b, c;
    (void)state;
    make_block(&a, TENON_DTYPE_F32, TENON_BLAS_ROW_MAJOR, 6, 6, 0, 0, &random);
    make_block(&b, TENON_DTYPE_F32, TENON_BLAS_ROW_MAJOR, 6, 6, 0, 0, &random);
    make_block(&c, TENON_DTYPE_F32, TENON_BLAS_ROW_MAJOR, 6, 6, 0, 0, &random);
    cl_mem ma = a.memory.view.memory.u.buffer, mb = b.memory.view.memory.u.buffer;
    cl_mem mc = c.memory.view.memory.u.buffer;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(tenon_sgemm(test_stream, (tenon_blas_layout)cases[i].layout,
                                   (tenon_blas_transpose)cases[i].ta,
                                   (tenon_blas_transpose)cases[i].tb, cases[i].m, cases[i].n,
                                   cases[i].k, 1, ma, cases[i].a_offset, cases[i].a_ld, mb, 0,
                                   cases[i].b_ld, 1, mc, 0, cases[i].c_ld, NULL),
                       TENON_ERROR_INVALID_ARGUMENT, "tenon_sgemm", cases[i].argument);
    assert_refused(tenon_sgemm(NULL, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                               TENON_BLAS_NO_TRANSPOSE, 1, 1, 1, 1, ma, 0, 1, mb, 0, 1, 0, mc, 0, 1,
                               NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sgemm", "stream");
    assert_refused(tenon_sgemm(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                               TENON_BLAS_NO_TRANSPOSE, 1, 1, 1, 1, NULL, 0, 1, mb, 0, 1, 0, mc, 0,
                               1, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sgemm", "a:");
    assert_refused(tenon_sgemm(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE,
                               TENON_BLAS_NO_TRANSPOSE, 4, 4, 4, 1, ma, 0, 4, mc, 0, 4, 0, mc, 0, 4,
                               NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sgemm", "overlaps");
    assert_refused(tenon_sgemv(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, 2, 2, 1,
                               ma, 0, 2, mb, 0, 0, 0, mc, 0, 1, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sgemv", "x_inc");
    assert_refused(tenon_dgemv(test_stream, TENON_BLAS_ROW_MAJOR, TENON_BLAS_NO_TRANSPOSE, 2, 2, 1,
                               ma, 0, 2, mb, 0, 1, 0, mc, 0, 0, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_dgemv", "y_inc");
    assert_untouched(&c.memory);
    test_tensor_destroy(&a.memory);
    test_tensor_destroy(&b.memory);
    test_tensor_destroy(&c.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(vectors),
        cmocka_unit_test(empty_sums),
        cmocka_unit_test(wrong_arguments),
    };
    return TEST_MAIN(tests);
}
