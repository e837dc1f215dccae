/*
 * Tests a function that is not inlined and takes a pointer to a __local array of its kernel. PoCL
 * turns such an array into a kernel argument. If every call passes the same array, LLVM has already
 * replaced the parameter by the array itself, and the function reads an array that is never
 * written. A function with external linkage keeps its parameter.
 */
#include "driver.h"

enum { DEPTH = 50, GROUPS = 8, LANES = 16, ROWS = 2 };

/* The program, whose function is declared with `linkage`. */
#define SOURCE(linkage)                                                                            \
    linkage " __attribute__((noinline)) void multiply(__local const float16 *tile,\n"              \
            "                                         __global const float *a,\n"                  \
            "                                         __global float *d, int depth)\n"             \
            "{\n"                                                                                  \
            "    float16 first = 0, second = 0;\n"                                                 \
            "    for (int i = 0; i < depth; i++) {\n"                                              \
            "        first += a[i] * tile[i];\n"                                                   \
            "        second += a[depth + i] * tile[i];\n"                                          \
            "    }\n"                                                                              \
            "    vstore16(first, 0, d);\n"                                                         \
            "    vstore16(second, 1, d);\n"                                                        \
            "}\n"                                                                                  \
            "__kernel void product(__global const float *a, __global const float *b,\n"            \
            "                      __global float *d, int depth)\n"                                \
            "{\n"                                                                                  \
            "    __local float16 tile[64];\n"                                                      \
            "    for (int i = 0; i < depth; i++)\n"                                                \
            "        tile[i] = vload16(i, b + get_group_id(0) * 16 * depth);\n"                    \
            "    multiply(tile, a, d + get_group_id(0) * 32, depth);\n"                            \
            "}\n"

static driver_outcome reduced(const driver *d, const char *source)
{
    static float a[ROWS * DEPTH], b[GROUPS * DEPTH * LANES], got[GROUPS][ROWS][LANES];
    const cl_int depth = DEPTH;
    for (int i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)(i % 7);
    for (int i = 0; i < GROUPS * DEPTH * LANES; i++)
        b[i] = (float)(i % 17);
    cl_kernel kernel = driver_kernel(d, source, "product");
    cl_mem result = driver_buffer(d, sizeof got, NULL);
    driver_set_buffer(kernel, 0, driver_buffer(d, sizeof a, a));
    driver_set_buffer(kernel, 1, driver_buffer(d, sizeof b, b));
    driver_set_buffer(kernel, 2, result);
    clSetKernelArg(kernel, 3, sizeof depth, &depth);
    driver_run(d, kernel, GROUPS, 1, result, sizeof got, got);
    for (int g = 0; g < GROUPS; g++)
        for (int r = 0; r < ROWS; r++)
            for (int l = 0; l < LANES; l++) {
                float sum = 0;
                for (int i = 0; i < DEPTH; i++)
                    sum += a[r * DEPTH + i] * b[(g * DEPTH + i) * LANES + l];
                if (sum != got[g][r][l])
                    return DRIVER_WRONG;
            }
    return DRIVER_RIGHT;
}

static driver_outcome internal(const driver *d)
{
    return reduced(d, SOURCE("static"));
}

static driver_outcome external(const driver *d)
{
    return reduced(d, SOURCE(""));
}

/* Returns true if `at` is in a one-line directive, such as an object-like macro. */
static bool is_in_directive(const char *text, const char *at)
{
    const char *begin = at, *end = at + strcspn(at, "\n");
    while (begin > text && begin[-1] != '\n')
        begin--;
    return *begin == '#' && end[-1] != '\\';
}

/* Distinguishes a cast from a parameter, which has a name after the star. */
static bool is_cast(const char *at)
{
    const char *star = at + strcspn(at, "*,;{}");
    return star[0] == '*' && star[1] == ')';
}

/* Returns true for the head of a function that may take __local memory. */
static bool may_take(const char *head)
{
    static const char *const good[] = {"TENON_INLINE", "__kernel", "TENON_KERNEL",
                                       "TENON_VECTOR_KERNEL", "TENON_DEFINE_STORE" /* inlined */};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (strstr(head, good[i]) != NULL)
            return true;
    return strstr(head, "TENON_LOCAL_FUNCTION") != NULL && strstr(head, "static") == NULL;
}

/* Returns the head of the first function that takes __local memory and is neither a kernel, nor
 * always inlined, nor of external linkage, or NULL. A head ends with a brace and begins after the
 * end of the preceding declaration. */
static const char *not_inlined(const char *text)
{
    for (const char *at = text; (at = strstr(at, "__local")) != NULL; at++) {
        const char *end = at + strcspn(at, ";{}"), *begin = at;
        if (is_in_directive(text, at) || is_cast(at))
            continue;
        while (begin > text && strchr(";{}", begin[-1]) == NULL)
            begin--;
        const char *brackets = memchr(begin, '(', (size_t)(at - begin));
        if (*end != '{' || brackets == NULL)
            continue; /* an array or a cast */
        char head[4096] = "";
        snprintf(head, sizeof head, "%.*s", (int)(end - begin), begin);
        if (!may_take(head))
            return begin;
    }
    return NULL;
}

static void look(const char *path, const char *text)
{
    const char *found = not_inlined(text);
    /* Except in the definitions of TENON_FUNCTION and TENON_LOCAL_FUNCTION; functions declared with
     * them are checked like all others. */
    const char *word = strstr(text, "noinline");
    if (word != NULL && !is_in_directive(text, word))
        fail_msg("%s has a function that is not inlined", path);
    if (found != NULL)
        fail_msg("%s: a function without TENON_INLINE or TENON_LOCAL_FUNCTION takes __local "
                 "memory: %.200s",
                 path, found);
}

TEST(functions_with_local_pointers_are_inlined_or_external)
{
    assert_non_null(not_inlined("static void f(__local float *t, int n)\n{\n}\n"));
    assert_non_null(not_inlined("int x;\nfloat f(int n,\n    __local const float16 *t) {"));
    assert_non_null(not_inlined(SOURCE("static")));
    assert_non_null(not_inlined("#define F \\\n void f(__local float *t) \\\n{\n}\n"));
    assert_null(not_inlined("#define GET(p) (*(__local int *)(p))\nstruct s {\n    int i;\n};\n"));
    assert_null(not_inlined("#define PUT(p) \\\n (*(__local V(2) *)(p) = 1)\nstruct s {\n};\n"));
    assert_null(not_inlined("TENON_INLINE void f(__local float *t)\n{\n}\n"));
    assert_non_null(not_inlined("TENON_FUNCTION void f(__local float *t)\n{\n}\n"));
    assert_null(not_inlined("TENON_LOCAL_FUNCTION void f(__local float *t)\n{\n}\n"));
    assert_non_null(not_inlined("static TENON_LOCAL_FUNCTION void f(__local float *t)\n{\n}\n"));
    assert_null(not_inlined("__kernel void k(__local float *t)\n{\n    __local float u[3];\n}\n"));
    assert_true(driver_each_source(look) > 40);
}

/* The product keeps panels of b in __local memory. The operands are integers, so every bit must be
 * correct. */
TEST(a_product_through_local_memory_is_exact)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    char line[128];
    assert_ok(tenon_context_device(test_context, &info));
    snprintf(line, sizeof line, "gemm/%s a=f32:37x401 b=f32:401x131 d=f32:37x131 --integers",
             info.type == CL_DEVICE_TYPE_CPU ? "cpu_packed" : "tiled");
    driver_check_line(test_stream, line);
}

int main(void)
{
    driver_try("a function that is not inlined reads its kernel's __local array", NULL, internal);
    driver_try("a function with external linkage reads its kernel's __local array", NULL, external);
    return test_main();
}
