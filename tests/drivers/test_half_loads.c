/*
 * Tests loading a vector of halves from an address aligned to a half but not to the vector. PoCL
 * 3.1 assumes alignment to the vector. An instruction that converts halves in memory accepts any
 * address, but where the halves are needed in a register, the load crashes.
 */
#include "driver.h"

enum { LANES = 8, VECTORS = 60, SIZE = LANES * VECTORS + 1, ONE = 0x3c00 };

static const char source[] =
    "__kernel void activate(__global const half *x, __global half *y, int kind, int vectors)\n"
    "{\n"
    "    for (int i = 0; i < vectors; i++) {\n"
    "        float8 v = vload_half8(0, x + 1 + 8 * i);\n"
    "        switch (kind + (int)vload_half(0, y + 8 * i)) {\n"
    "        case 0: break;\n"
    "        case 1: v = v > 0.0f ? v : 0.5f * v; break;\n"
    "        case 2: v = fabs(v) == INFINITY ? copysign(1.0f, v) : v / (1 + fabs(v)); break;\n"
    "        default: v = v * v; break;\n"
    "        }\n"
    "        vstore_half8_rte(v, i, y);\n"
    "    }\n"
    "}\n";

static driver_outcome reduced(const driver *d)
{
    static uint16_t x[SIZE], y[LANES * VECTORS];
    const cl_int kind = 0, vectors = VECTORS;
    for (int i = 0; i < SIZE; i++)
        x[i] = ONE;
    cl_kernel kernel = driver_kernel(d, source, "activate");
    cl_mem result = driver_buffer(d, sizeof y, y);
    driver_set_buffer(kernel, 0, driver_buffer(d, sizeof x, x));
    driver_set_buffer(kernel, 1, result);
    clSetKernelArg(kernel, 2, sizeof kind, &kind);
    clSetKernelArg(kernel, 3, sizeof vectors, &vectors);
    driver_run(d, kernel, 1, 1, result, sizeof y, y);
    bool right = true;
    for (int i = 0; i < LANES * VECTORS; i++)
        right &= y[i] == ONE;
    return right ? DRIVER_RIGHT : DRIVER_WRONG;
}

/* Returns true if a source loads vectors of halves with vload_half on PoCL. */
static bool loads_vectors(const char *text)
{
    static const char guard[] = "TENON_VLOAD_HALF_UNALIGNED\n";
    for (const char *at = text; (at = strstr(at, "vload_half")) != NULL;) {
        const size_t before = (size_t)(at - text) < 60 ? (size_t)(at - text) : 60;
        char context[61] = "";
        memcpy(context, at - before, before);
        at += strlen("vload_half");
        if (*at != '(' && strstr(context, guard) == NULL)
            return true;
    }
    return false;
}

static void look(const char *path, const char *text)
{
    if (loads_vectors(text))
        fail_msg("%s loads vectors of halves with vload_half", path);
}

TEST(sources_do_not_load_vectors_of_halves)
{
    assert_true(loads_vectors(source));
    assert_true(loads_vectors("TENON_CAT(vload_half, TENON_VW)(0, p + i);"));
    assert_false(loads_vectors("#if TENON_VLOAD_HALF_UNALIGNED\nvload_half8(0, p);"));
    assert_false(loads_vectors("vload_half(0, p); TENON_CAT(vloada_half, TENON_VW)(0, p);"));
    assert_true(driver_each_source(look) > 40);
}

/* relu shares a kernel with the activations whose lanes the compiler handles separately. */
TEST(activations_at_any_offset)
{
    enum { N = 197, MAX_OFFSET = 17 };
    static const char *const activations[] = {"relu", "mish", "sigmoid"};
    for (int offset = 0; offset <= MAX_OFFSET; offset++) {
        char line[128];
        snprintf(line, sizeof line, "activation x=f16:%d+%d y=f16:%d+%d activation=%s", N, offset,
                 N, offset, activations[offset % 3]);
        driver_check_line(test_stream, line);
    }
}

int main(void)
{
    driver_try("vload_half8 from an address aligned only to a half", NULL, reduced);
    return test_main();
}
