/*
 * Tests storing structs to a private array in a loop of known length. Mesa 25.0 (rusticl on
 * llvmpipe) keeps only the last one. Stores of single members or through a pointer are correct.
 */
#include "driver.h"

#include <ctype.h>

enum { LINES = 3 };

static const char source[] = "typedef struct span {\n"
                             "    int first, count;\n"
                             "} span;\n"
                             "span span_of(int d, int x)\n"
                             "{\n"
                             "    span s;\n"
                             "    s.first = d + x;\n"
                             "    s.count = 2 * d + x;\n"
                             "    return s;\n"
                             "}\n"
                             "__kernel void spans(__global int *y, int x)\n"
                             "{\n"
                             "    span all[3];\n"
                             "    for (int d = 0; d < 3; d++)\n"
                             "        all[d] = span_of(d, x);\n"
                             "    for (int d = 0; d < 3; d++) {\n"
                             "        y[2 * d] = all[d].first;\n"
                             "        y[2 * d + 1] = all[d].count;\n"
                             "    }\n"
                             "}\n";

static driver_outcome reduced(const driver *d)
{
    const cl_int x = 7;
    int y[2 * LINES] = {0};
    cl_kernel kernel = driver_kernel(d, source, "spans");
    cl_mem result = driver_buffer(d, sizeof y, y);
    driver_set_buffer(kernel, 0, result);
    clSetKernelArg(kernel, 1, sizeof x, &x);
    driver_run(d, kernel, 1, 1, result, sizeof y, y);
    for (int i = 0; i < LINES; i++)
        if (y[2 * i] != i + x || y[2 * i + 1] != 2 * i + x)
            return DRIVER_WRONG;
    return DRIVER_RIGHT;
}

/* Names of struct types, or of functions that return one. */
typedef struct name_list {
    char names[400][48];
    int count;
} name_list;

static name_list structs, functions;

static void add(name_list *list, const char *name, size_t length)
{
    assert_true(list->count < 400 && length < 48);
    memcpy(list->names[list->count], name, length);
    list->names[list->count++][length] = '\0';
}

static bool has(const name_list *list, const char *name, size_t length)
{
    for (int i = 0; i < list->count; i++)
        if (strlen(list->names[i]) == length && strncmp(list->names[i], name, length) == 0)
            return true;
    return false;
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

/* Collects each type definition that ends with "} name;" at the beginning of a line. */
static void find_structs(const char *path, const char *text)
{
    (void)path;
    for (const char *at = text; (at = strstr(at, "\n} ")) != NULL;) {
        at += 3;
        if (at[word_length(at)] == ';')
            add(&structs, at, word_length(at));
    }
}

/* Collects functions by "type name(", with the type at the beginning of a line or after
 * TENON_INLINE. */
static void find_functions(const char *path, const char *text)
{
    (void)path;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *type = strncmp(line, "TENON_INLINE ", 13) == 0 ? line + 13 : line;
        const char *name = type + word_length(type) + 1;
        if (name > type + 1 && name[-1] == ' ' && name[word_length(name)] == '(' &&
            has(&structs, type, word_length(type)))
            add(&functions, name, word_length(name));
    }
}

/* Returns true if the name that ends at `end` is a loop variable in the same function. */
static bool is_of_loop(const char *text, const char *name, size_t length)
{
    for (const char *at = name; at >= text + 10 && strncmp(at, "\n}", 2) != 0; at--)
        if (strncmp(at, name, length) == 0 && word_length(at) == length &&
            (strncmp(at - 9, "for (int ", 9) == 0 || strncmp(at - 10, "for (long ", 10) == 0))
            return true;
    return false;
}

/* Returns the first place where a loop stores a struct returned by a function to an array, or
 * NULL. */
static const char *stores_structs(const char *text)
{
    for (const char *at = text; (at = strstr(at, "] = ")) != NULL; at++) {
        const char *called = at + 4, *index = at;
        while (index > text && index[-1] != '[')
            index--;
        const size_t length = word_length(called);
        if (called[length] == '(' && has(&functions, called, length) &&
            is_of_loop(text, index, (size_t)(at - index)))
            return index;
    }
    return NULL;
}

static void look(const char *path, const char *text)
{
    const char *found = stores_structs(text);
    if (found != NULL)
        fail_msg("%s: a loop stores structs to an array: %.60s", path, found);
}

TEST(loops_do_not_store_structs_to_arrays)
{
    find_structs("", source);
    find_functions("", source);
    assert_true(has(&functions, "span_of", 7));
    assert_non_null(stores_structs(source));
    assert_null(stores_structs("{\n    best[me] = span_of(me, 1);\n}\n"));
    assert_true(driver_each_source(find_structs) > 40);
    assert_true(driver_each_source(find_functions) > 40);
    assert_true(structs.count > 60 && functions.count > 30);
    driver_each_source(look);
}

int main(void)
{
    driver_try("structs stored into an array by a loop", NULL, reduced);
    return test_main();
}
