/*
 * Tests sin(), cos() and tan() of a vector of floats with small and large lanes. PoCL 3.1 treats
 * the small lanes of such a vector as large, and their results have an error of about 0.01.
 */
#include "driver.h"

#include "runtime/context/context.h"
#include "runtime/probe/capability.h"

#include <ctype.h>
#include <math.h>

enum { LANES = 8, SIZE = 64 };

static const char source[] = "__kernel void waves(__global const float8 *x, __global float8 *y)\n"
                             "{\n"
                             "    const size_t i = get_global_id(0);\n"
                             "    y[i] = sin(x[i]) + cos(x[i]);\n"
                             "}\n";

static driver_outcome reduced(const driver *d)
{
    float x[SIZE], y[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = i % 2 == 0 ? (float)i * 1e-3F : (float)i * 1e30F;
    cl_kernel kernel = driver_kernel(d, source, "waves");
    cl_mem result = driver_buffer(d, sizeof y, NULL);
    driver_set_buffer(kernel, 0, driver_buffer(d, sizeof x, x));
    driver_set_buffer(kernel, 1, result);
    driver_run(d, kernel, SIZE / LANES, 1, result, sizeof y, y);
    for (int i = 0; i < SIZE; i++)
        if (!(fabs((double)y[i] - (sin((double)x[i]) + cos((double)x[i]))) < 1e-6))
            return DRIVER_WRONG;
    return DRIVER_RIGHT;
}

/* Returns true if a source calls one of the functions by its name. */
static bool calls(const char *text)
{
    static const char *const names[] = {"sin(", "cos(", "tan("};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (const char *at = text; (at = strstr(at, names[n])) != NULL; at++)
            if (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'))
                return true;
    return false;
}

/* The list of functions has the names that C calls. Random numbers use them for doubles only. */
static void look(const char *path, const char *text)
{
    if (strstr(path, "/common/function") == NULL && strstr(path, "/random/") == NULL && calls(text))
        fail_msg("%s calls sin(), cos() or tan() instead of those of common/function.clh", path);
}

TEST(sources_do_not_call_them)
{
    assert_true(calls(source));
    assert_false(calls("y = function_sin(x) + asin(x);"));
    assert_true(driver_each_source(look) > 40);
}

TEST(functions_are_correct)
{
    static const char *const lines[] = {"function x=f32:4001 y=f32:4001 kind=sin",
                                        "function x=f32:4001 y=f32:4001 kind=cos",
                                        "function x=f32:4001 y=f32:4001 kind=tan"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        driver_check_line(test_stream, lines[i]);
    if (tn_context_has(test_context, TENON_CAPABILITY_F64))
        driver_check_line(test_stream, "elementwise a=f64:4001 b=f64:4001 d=f64:4001 kind=pow");
}

int main(void)
{
    driver_try("sin and cos of a vector with small and large floats", NULL, reduced);
    return test_main();
}
