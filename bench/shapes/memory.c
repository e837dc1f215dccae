/* Reads the cases of suites of memory-bound operations: activations, passes over rows, calls on
 * images, and pooling. */
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW        1024
#define MOST_IMAGE 65536 /* channels, height and width */

static const char *const activation_names[] = {
#define X(value, suffix, name, ...) [value] = #name,
#include "ops/common/activation_list.h"
#undef X
};
#define ACTIVATIONS (sizeof activation_names / sizeof *activation_names)

static const char *const pass_names[BENCH_PASSES] = {
    [BENCH_PASS_COPY] = "copy",
    [BENCH_PASS_SCALE] = "scale",
    [BENCH_PASS_RELU] = "relu",
    [BENCH_PASS_ADD] = "add",
    [BENCH_PASS_SAXPY] = "saxpy",
    [BENCH_PASS_BIAS_GELU] = "bias gelu",
    [BENCH_PASS_TRANSPOSE] = "transpose",
    [BENCH_PASS_SUM] = "sum",
    [BENCH_PASS_MAX] = "max",
    [BENCH_PASS_ROW_SUMS] = "row sums",
    [BENCH_PASS_SOFTMAX] = "softmax",
    [BENCH_PASS_LAYER_NORM] = "layer norm",
};

/* Reads the name of a case, the choice in the member `choice`, and the numbers of elements, of the
 * case or else of the suite, which must be multiples of a row. */
static bool read_sized(const bench_reader *reader, const json_t *suite, const json_t *from,
                       const char *choice, const char *const *names, size_t count,
                       const char **name, uint32_t *chosen, bench_integers *sizes)
{
    const char *const known[] = {"name", "source", choice, "sizes", NULL};
    const json_t *owner = json_object_get(from, "sizes") != NULL ? from : suite;
    sizes->count = 0;
    if (!bench_only_known(reader, from, known) || !bench_read_source(reader, from) ||
        !bench_read_text(reader, from, "name", true, name) ||
        !bench_read_choice(reader, from, choice, true, names, count, chosen) ||
        !bench_read_integers(reader, owner, "sizes", ROW, BENCH_MOST_SIZE, sizes))
        return false;
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->values[i] % ROW != 0)
            return bench_refuse(reader, "\"sizes\" must be multiples of %d, not %" PRId64, ROW,
                                sizes->values[i]);
    return true;
}

/* Sets a case: its name, from the name in the file and the number of elements, and the operation.
 */
typedef void make_case(const char *name, uint32_t chosen, int64_t elements,
                       bench_shape_case *shape);

/* Reads cases that `read_sized` reads, each with all its sizes. */
static bool read_all(bench_reader *reader, const json_t *suite, const char *choice,
                     const char *const *names, size_t count, make_case *make, bench_shape_suite *to)
{
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        const char *name = NULL;
        uint32_t chosen = 0;
        bench_integers sizes;
        bench_set_case(reader, to->name, number);
        if (!read_sized(reader, suite, each, choice, names, count, &name, &chosen, &sizes))
            return false;
        for (size_t i = 0; i < sizes.count; i++) {
            bench_shape_case shape = {.name = ""};
            make(name, chosen, sizes.values[i], &shape);
            if (!bench_add_case(reader, &shape, to))
                return false;
        }
    }
    return true;
}

static void make_activation(const char *name, uint32_t chosen, int64_t elements,
                            bench_shape_case *shape)
{
    shape->activation.kind = (tenon_activation_kind)chosen;
    shape->activation.elements = elements;
    snprintf(shape->name, sizeof shape->name, "%.40s %" PRId64, name, elements);
}

static void make_pass(const char *name, uint32_t chosen, int64_t elements, bench_shape_case *shape)
{
    char size[BENCH_SIZE_TEXT];
    shape->pass.kind = (bench_pass_kind)chosen;
    shape->pass.elements = elements;
    bench_size_text(elements, size);
    snprintf(shape->name, sizeof shape->name, "%.40s %s", name, size);
}

bool bench_read_activations(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    return read_all(reader, suite, "activation", activation_names, ACTIVATIONS, make_activation,
                    to);
}

bool bench_read_passes(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    return read_all(reader, suite, "operation", pass_names, BENCH_PASSES, make_pass, to);
}

/* Adds a call with each of the suite's shapes of images. */
static bool add_image_call(const bench_reader *reader, const json_t *images, bench_image_call *call,
                           bench_shape_suite *to)
{
    const json_t *each;
    size_t number;
    json_array_foreach(images, number, each)
    {
        static const char *const known[] = {"n", "c", "h", "w", NULL};
        bench_shape_case shape = {.name = ""};
        if (!bench_only_known(reader, each, known) ||
            !bench_read_integer(reader, each, "n", true, 1, BENCH_MOST_IMAGES, &call->n) ||
            !bench_read_integer(reader, each, "c", true, 1, MOST_IMAGE, &call->c) ||
            !bench_read_integer(reader, each, "h", true, 1, MOST_IMAGE, &call->h))
            return false;
        call->w = call->h;
        if (!bench_read_integer(reader, each, "w", false, 1, MOST_IMAGE, &call->w) ||
            !bench_tensor_fits(reader, "the images", call->n * call->c, call->h, call->w) ||
            !bench_check_image_call(reader, call))
            return false;
        shape.image_call = *call;
        snprintf(shape.name, sizeof shape.name, "%.40s %d@%d n%d", call->name, (int)call->c,
                 (int)call->h, (int)call->n);
        if (!bench_add_case(reader, &shape, to))
            return false;
    }
    return true;
}

bool bench_read_image_calls(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    static const char *const known[] = {"name", "source", "call", NULL};
    const json_t *images = json_object_get(suite, "images"), *each;
    size_t number;
    if (!json_is_array(images) || json_array_size(images) == 0)
        return bench_refuse(reader, "\"images\" must be an array that is not empty");
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        bench_image_call call = {.name = NULL};
        bench_set_case(reader, to->name, number);
        if (!bench_only_known(reader, each, known) || !bench_read_source(reader, each) ||
            !bench_read_text(reader, each, "name", true, &call.name) ||
            !bench_read_text(reader, each, "call", true, &call.line) ||
            !add_image_call(reader, images, &call, to))
            return false;
    }
    return true;
}

static bool read_pool(const bench_reader *reader, const json_t *from, const char **name,
                      bench_pool_shape *pool)
{
    static const char *const kinds[] = {"max", "average"};
    static const char *const known[] = {"name", "source", "pool",   "c",   "h",
                                        "w",    "window", "stride", "pad", NULL};
    uint32_t kind = 0;
    *pool = (bench_pool_shape){.stride = 1};
    if (!bench_only_known(reader, from, known) || !bench_read_source(reader, from) ||
        !bench_read_text(reader, from, "name", true, name) ||
        !bench_read_choice(reader, from, "pool", true, kinds, 2, &kind) ||
        !bench_read_integer(reader, from, "c", true, 1, MOST_IMAGE, &pool->c) ||
        !bench_read_integer(reader, from, "h", true, 1, MOST_IMAGE, &pool->h) ||
        !bench_read_integer(reader, from, "window", true, 1, MOST_IMAGE, &pool->window) ||
        !bench_read_integer(reader, from, "stride", false, 1, MOST_IMAGE, &pool->stride) ||
        !bench_read_integer(reader, from, "pad", false, 0, MOST_IMAGE, &pool->pad))
        return false;
    pool->is_average = kind == 1;
    pool->w = pool->h;
    if (!bench_read_integer(reader, from, "w", false, 1, MOST_IMAGE, &pool->w))
        return false;
    if (pool->pad >= pool->window)
        return bench_refuse(reader, "\"pad\" must be less than \"window\": %" PRId64, pool->pad);
    if (pool->window > pool->h + 2 * pool->pad || pool->window > pool->w + 2 * pool->pad)
        return bench_refuse(reader, "the window is larger than the padded images: %" PRId64,
                            pool->window);
    return true;
}

/* Reads the layouts of images: bit 0 is N C H W, bit 1 is N H W C. */
static bool read_layouts(const bench_reader *reader, const json_t *suite, bool are_wanted[2])
{
    static const char *const names[] = {"nchw", "nhwc"};
    const json_t *list = json_object_get(suite, "layouts"), *each;
    size_t number;
    are_wanted[0] = list == NULL;
    are_wanted[1] = false;
    if (list != NULL && (!json_is_array(list) || json_array_size(list) == 0))
        return bench_refuse(reader, "\"layouts\" must be an array of \"nchw\" and \"nhwc\"");
    json_array_foreach(list, number, each)
    {
        const char *name = json_is_string(each) ? json_string_value(each) : "";
        const int layout = strcmp(name, names[0]) == 0 ? 0 : strcmp(name, names[1]) == 0 ? 1 : -1;
        if (layout < 0)
            return bench_refuse(reader, "\"layouts\" must be an array of \"nchw\" and \"nhwc\"");
        are_wanted[layout] = true;
    }
    return true;
}

/* Adds pooling with each number of images and each layout. */
static bool add_pools(const bench_reader *reader, const char *name, bench_pool_shape *pool,
                      const bench_integers *images, const bool are_wanted[2], bench_shape_suite *to)
{
    for (size_t i = 0; i < images->count; i++)
        for (int last = 0; last < 2; last++) {
            bench_shape_case shape = {.name = ""};
            if (!are_wanted[last])
                continue;
            pool->n = images->values[i];
            pool->channels_last = last != 0;
            shape.pool = *pool;
            snprintf(shape.name, sizeof shape.name, "%.24s %s %d@%d %dx%d/%d n%d %s", name,
                     pool->is_average ? "avg" : "max", (int)pool->c, (int)pool->h,
                     (int)pool->window, (int)pool->window, (int)pool->stride, (int)pool->n,
                     pool->channels_last ? "nhwc" : "nchw");
            if (!bench_tensor_fits(reader, "the images", pool->n * pool->c, pool->h, pool->w) ||
                !bench_add_case(reader, &shape, to))
                return false;
        }
    return true;
}

bool bench_read_pools(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    bench_integers images = {{1}, 1};
    bool are_wanted[2];
    const json_t *each;
    size_t number;
    if (!bench_read_integers(reader, suite, "n", 1, BENCH_MOST_IMAGES, &images) ||
        !read_layouts(reader, suite, are_wanted))
        return false;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        const char *name = NULL;
        bench_pool_shape pool;
        bench_set_case(reader, to->name, number);
        if (!read_pool(reader, each, &name, &pool) ||
            !add_pools(reader, name, &pool, &images, are_wanted, to))
            return false;
    }
    return true;
}
