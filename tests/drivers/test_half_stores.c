/*
 * Tests storing a loop-invariant vector of halves at an address aligned to a half but not to the
 * vector. PoCL 3.1 assumes alignment to the vector, and the store crashes.
 */
#include "driver.h"

enum { LANES = 16, VECTORS = 60, ONE = 0x3c00 };

static const char source[] = "__kernel void fill(__global half *y, float value, int vectors)\n"
                             "{\n"
                             "    for (int i = 0; i < vectors; i++)\n"
                             "        vstore_half16_rte((float16)(value), 0, y + 1 + 16 * i);\n"
                             "}\n";

static driver_outcome reduced(const driver *d)
{
    static uint16_t y[LANES * VECTORS + 2];
    const cl_float value = 1;
    const cl_int vectors = VECTORS;
    cl_kernel kernel = driver_kernel(d, source, "fill");
    cl_mem result = driver_buffer(d, sizeof y, y);
    driver_set_buffer(kernel, 0, result);
    clSetKernelArg(kernel, 1, sizeof value, &value);
    clSetKernelArg(kernel, 2, sizeof vectors, &vectors);
    driver_run(d, kernel, 1, 1, result, sizeof y, y);
    bool right = y[0] == 0 && y[LANES * VECTORS + 1] == 0;
    for (int i = 1; i <= LANES * VECTORS; i++)
        right &= y[i] == ONE;
    return right ? DRIVER_RIGHT : DRIVER_WRONG;
}

/* Returns true if a source stores vectors of halves without first testing that the address is
 * aligned to the vector. */
static bool stores_vectors(const char *text)
{
    static const char guard[] = "& (2 * TENON_VW - 1)) == 0";
    for (const char *at = text; (at = strstr(at, "vstore_half")) != NULL;) {
        const size_t before = (size_t)(at - text) < 160 ? (size_t)(at - text) : 160;
        char context[161] = "";
        memcpy(context, at - before, before);
        at += strlen("vstore_half");
        if (strncmp(at, "_rte(", 5) != 0 && *at != '(' && strstr(context, guard) == NULL)
            return true;
    }
    return false;
}

static void look(const char *path, const char *text)
{
    if (stores_vectors(text))
        fail_msg("%s stores vectors of halves without testing their alignment", path);
}

TEST(sources_test_vector_alignment)
{
    assert_true(stores_vectors(source));
    assert_true(stores_vectors("TENON_CAT(TENON_CAT(vstore_half, TENON_VW), _rte)(x, 0, p);"));
    assert_false(stores_vectors("vstore_half_rte(x, 0, p); vstore_half(x, 0, p);"));
    assert_true(driver_each_source(look) > 40);
}

/* With alpha 0 the same zeros are stored everywhere, at every offset within a vector. */
TEST(zeros_of_a_product_at_any_offset)
{
    enum { M = 3, N = 197, MOST = 33, SIZE = M * N + 2 * MOST };
    static uint16_t image[SIZE], got[SIZE];
    const int64_t whole[] = {SIZE}, sa[] = {M, 5}, sb[] = {5, N}, sd[] = {M, N};
    tenon_tensor all, a, b;
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.alpha = 0;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F16, 1, whole, &all));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F16, 2, sa, &a));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F16, 2, sb, &b));
    for (int i = 0; i < SIZE; i++)
        image[i] = ONE;
    for (int offset = 0; offset <= MOST; offset++) {
        tenon_tensor d = tenon_tensor_view(TENON_DTYPE_F16, 2, sd);
        d.memory = all.memory;
        d.offset = (uint64_t)offset * sizeof *image;
        assert_ok(tenon_tensor_upload(test_stream, image, sizeof image, &all, NULL));
        assert_ok(tenon_gemm(test_stream, &params, &a, &b, NULL, NULL, &d, NULL));
        assert_ok(tenon_tensor_download(test_stream, &all, got, sizeof got, NULL));
        for (int i = 0; i < SIZE; i++)
            assert_int_equal(got[i], i >= offset && i < offset + M * N ? 0 : ONE);
    }
    tenon_memory_destroy(&all.memory);
    tenon_memory_destroy(&a.memory);
    tenon_memory_destroy(&b.memory);
}

int main(void)
{
    driver_try("vstore_half16 where halves alone are aligned", NULL, reduced);
    return test_main();
}
