/*
 * Tests products with a constant 0, which are NaN if the other factor is infinite or NaN. Mesa 25.0
 * (rusticl on llvmpipe) folds them to 0.
 */
#include "driver.h"

#include <ctype.h>
#include <math.h>

enum { SIZE = 3 };

static const char source[] = "__kernel void zeros(__global const float *x, __global float *y)\n"
                             "{\n"
                             "    const size_t i = get_global_id(0);\n"
                             "    y[i] = 0 * x[i];\n"
                             "}\n";

static driver_outcome reduced(const driver *d)
{
    const float x[SIZE] = {1, INFINITY, NAN};
    float y[SIZE] = {0};
    cl_kernel kernel = driver_kernel(d, source, "zeros");
    cl_mem result = driver_buffer(d, sizeof y, NULL);
    driver_set_buffer(kernel, 0, driver_buffer(d, sizeof x, x));
    driver_set_buffer(kernel, 1, result);
    driver_run(d, kernel, SIZE, 1, result, sizeof y, y);
    return y[0] == 0 && isnan(y[1]) && isnan(y[2]) ? DRIVER_RIGHT : DRIVER_WRONG;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Returns the first product with a constant 0, or NULL. */
static const char *multiplies_by_zero(const char *text)
{
    for (const char *at = text; (at = strstr(at, "0 * ")) != NULL; at++)
        if (at == text || !is_of_word(at[-1]))
            return at;
    for (const char *at = text; (at = strstr(at, " * 0")) != NULL; at++)
        if (!is_of_word(at[4]))
            return at;
    return NULL;
}

static void look(const char *path, const char *text)
{
    const char *found = multiplies_by_zero(text);
    if (found != NULL)
        fail_msg("%s: a product with 0 instead of zero_times(): %.60s", path, found);
}

TEST(sources_do_not_multiply_by_zero)
{
    assert_non_null(multiplies_by_zero(source));
    assert_non_null(multiplies_by_zero("y += x * 0;"));
    assert_null(multiplies_by_zero("y += 10 * x + 1.0 * x + x * 0.5f + x * 0x7f;"));
    assert_true(driver_each_source(look) > 40);
}

int main(void)
{
    driver_try("a product with a constant 0", NULL, reduced);
    return test_main();
}
