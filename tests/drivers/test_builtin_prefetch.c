/*
 * Tests clang's __builtin_prefetch in OpenCL C. Mesa's compiler translates to SPIR-V, which has no
 * such instruction, and ends the process. Mesa accepts OpenCL's prefetch(), which does nothing on
 * PoCL.
 */
#include "driver.h"

#include "runtime/context/context.h"

enum { SIZE = 64 };

static const char source[] = "__kernel void copy(__global const float *x, __global float *y)\n"
                             "{\n"
                             "    const size_t i = get_global_id(0);\n"
                             "    __builtin_prefetch((const void *)(size_t)(x + i + 1));\n"
                             "    y[i] = x[i];\n"
                             "}\n";

static driver_outcome reduced(const driver *d)
{
    float x[SIZE], y[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = (float)i;
    cl_kernel kernel = driver_kernel(d, source, "copy");
    cl_mem result = driver_buffer(d, sizeof y, NULL);
    driver_set_buffer(kernel, 0, driver_buffer(d, sizeof x, x));
    driver_set_buffer(kernel, 1, result);
    driver_run(d, kernel, SIZE, 1, result, sizeof y, y);
    for (int i = 0; i < SIZE; i++)
        if (y[i] != x[i])
            return DRIVER_WRONG;
    return DRIVER_RIGHT;
}

/* Returns true if a source uses the builtin anywhere other than directly after the test of
 * TENON_BUILTIN_PREFETCH. */
static bool has_builtin(const char *text)
{
    static const char question[] = "#if TENON_BUILTIN_PREFETCH\n";
    const char *begin = text, *last = NULL;
    const char *at = strstr(text, "__builtin_prefetch");
    if (at == NULL)
        return false;
    for (; (begin = strstr(begin, question)) != NULL && begin < at; begin += strlen(question))
        last = begin + strlen(question);
    return last == NULL || last + strspn(last, " ") != at || has_builtin(at + 1);
}

static void look(const char *path, const char *text)
{
    if (has_builtin(text))
        fail_msg("%s uses __builtin_prefetch without testing TENON_BUILTIN_PREFETCH", path);
}

TEST(sources_test_for_the_builtin)
{
    assert_true(has_builtin(source));
    assert_true(has_builtin("#if __has_builtin(__builtin_prefetch)\n#endif\n"));
    assert_true(has_builtin("#if TENON_BUILTIN_PREFETCH\n#endif\n    __builtin_prefetch(p);\n"));
    assert_false(has_builtin("#if TENON_BUILTIN_PREFETCH\n    __builtin_prefetch(p);\n#endif\n"));
    assert_false(has_builtin("prefetch(p, 1);"));
    assert_true(driver_each_source(look) > 40);
}

/* Runs the kernels with the builtin, those of Winograd and of pooling, on a device that is treated
 * as one without it. */
TEST(kernels_work_without_the_builtin)
{
    static const char *const lines[] = {
        "conv/winograd2 x=f32:2x19x12x11 w=f32:35x19x3x3 y=f32:2x35x10x9",
        "conv/winograd4 x=f16:2x19x12x11 w=f16:35x19x3x3 y=f16:2x35x10x9",
        "pool/values x=f32:2x3x40x41 y=f32:2x3x20x20 window=2,2 stride=2,2"};
    tenon_context *context;
    tenon_stream *stream;
    assert_ok(tenon_context_create(NULL, &context));
    assert_ok(tenon_stream_create(context, NULL, &stream));
    context->device.has_builtin_prefetch = false;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        driver_check_line(stream, lines[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

int main(void)
{
    driver_try("__builtin_prefetch", NULL, reduced);
    return test_main();
}
