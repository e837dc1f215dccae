/*
 * Tests exp() of doubles. On llvmpipe (Mesa 25.0, rusticl) fma() of doubles rounds the product and
 * the sum separately. exp() is built on it, and its error in ulp is half the magnitude of its
 * argument.
 */
#include "driver.h"

#include "runtime/probe/capability.h"
#include "runtime/context/context.h"

#include <ctype.h>
#include <math.h>

enum { SIZE = 256 };

static const char source[] = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                             "#pragma OPENCL FP_CONTRACT OFF\n"
                             "__kernel void exp_of(__global const double *x, __global double *y)\n"
                             "{\n"
                             "    y[get_global_id(0)] = exp(x[get_global_id(0)]);\n"
                             "}\n"
                             "__kernel void rest_of(__global const double *x, __global double *y)\n"
                             "{\n"
                             "    const double value = x[get_global_id(0)];\n"
                             "    y[get_global_id(0)] = fma(value, value, -(value * value));\n"
                             "}\n";

static void run_on(const driver *d, const char *name, const double *x, double *y)
{
    cl_kernel kernel = driver_kernel(d, source, name);
    cl_mem result = driver_buffer(d, SIZE * sizeof *y, NULL);
    driver_set_buffer(kernel, 0, driver_buffer(d, SIZE * sizeof *x, x));
    driver_set_buffer(kernel, 1, result);
    driver_run(d, kernel, SIZE, 1, result, SIZE * sizeof *y, y);
}

static driver_outcome reduced_fma(const driver *d)
{
    double x[SIZE], y[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = 1 + (i + 1) / 3.0;
    run_on(d, "rest_of", x, y);
    for (int i = 0; i < SIZE; i++)
        if (y[i] != fma(x[i], x[i], -(x[i] * x[i])))
            return DRIVER_WRONG;
    return DRIVER_RIGHT;
}

/* The host's exp() is accurate to 1 ulp, and OpenCL allows 3. */
static driver_outcome reduced_exp(const driver *d)
{
    double x[SIZE], y[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = -700 + 5.5 * i;
    run_on(d, "exp_of", x, y);
    for (int i = 0; i < SIZE; i++)
        if (!(fabs(y[i] - exp(x[i])) <= 4 * (nextafter(exp(x[i]), INFINITY) - exp(x[i]))))
            return DRIVER_WRONG;
    return DRIVER_RIGHT;
}

/* Returns true if a source calls exp() by that name. */
static bool calls_exp(const char *text)
{
    for (const char *at = text; (at = strstr(at, "exp(")) != NULL; at++)
        if (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'))
            return true;
    return false;
}

static void look(const char *path, const char *text)
{
    const char *own = strstr(path, "/common/math.clh");
    if (own == NULL && calls_exp(text))
        fail_msg("%s calls exp() instead of math_exp()", path);
}

TEST(sources_do_not_call_exp)
{
    assert_true(calls_exp(source));
    assert_true(calls_exp("y = -exp(x);"));
    assert_false(calls_exp("y = math_exp(x) + math_exp_v(x);"));
    assert_true(driver_each_source(look) > 40);
}

/* Runs with the device's own exp(), or with Tenon's (form 1). */
static void run_lines(int form)
{
    static const char *const lines[] = {
        "activation x=f64:4001 y=f64:4001 activation=sigmoid",
        "activation_backward x=f64:401 dy=f64:401 dx=f64:401 activation=elu activation.alpha=0.5",
        "softmax_backward y=f64:5x37 dy=f64:5x37 dx=f64:5x37 flags=1",
        "cross_entropy_backward logits=f64:9x23 labels=i32:9 dloss=f64:9 dlogits=f64:9x23"};
    tenon_context *context;
    tenon_stream *stream;
    assert_ok(tenon_context_create(NULL, &context));
    assert_ok(tenon_stream_create(context, NULL, &stream));
    if (form >= 0)
        tn_capability_set(context, TENON_CAPABILITY_F64, form);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        driver_check_line(stream, lines[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

TEST(operations_with_exp_are_correct)
{
    if (!tn_context_has(test_context, TENON_CAPABILITY_F64))
        skip();
    run_lines(-1);
    run_lines(1);
}

int main(void)
{
    driver_try("fma of doubles rounds once", NULL, reduced_fma);
    driver_try("exp of doubles", NULL, reduced_exp);
    return test_main();
}
