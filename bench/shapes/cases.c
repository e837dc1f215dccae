/* Reads the cases of suites of products and convolutions. */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if the name matches the pattern, in which * stands for any text. */
static bool fits(const char *pattern, const char *name)
{
    for (; *pattern != '*'; pattern++, name++)
        if (*pattern != *name || *pattern == '\0')
            return *pattern == *name;
    for (;; name++)
        if (fits(pattern + 1, name))
            return true;
        else if (*name == '\0')
            return false;
}

/* Returns true if the suite has no "match", or one of its patterns matches the name. Sets *well to
 * false if "match" is malformed. */
static bool matches(const bench_reader *reader, const json_t *suite, const char *name, bool *well)
{
    const json_t *patterns = json_object_get(suite, "match"), *pattern;
    size_t i;
    if (patterns == NULL)
        return true;
    if (!json_is_array(patterns)) {
        *well = bench_refuse(reader, "\"match\" must be an array of patterns");
        return false;
    }
    json_array_foreach(patterns, i, pattern)
    {
        if (!json_is_string(pattern)) {
            *well = bench_refuse(reader, "\"match\" must be an array of patterns");
            return false;
        }
        if (fits(json_string_value(pattern), name))
            return true;
    }
    return false;
}

/* Returns the suite of convolutions that a member names; NULL, with a message, if there is none. */
static const bench_shape_suite *suite_of(const bench_reader *reader, const json_t *suite,
                                         const char *member)
{
    const char *name = "";
    if (!bench_read_text(reader, suite, member, true, &name))
        return NULL;
    const bench_shape_suite *found = bench_shape_suite_named(name);
    if (found != NULL && found->conv != NULL)
        return found;
    (void)bench_refuse(reader, "\"%s\": there is no suite of convolutions \"%.40s\"", member, name);
    return NULL;
}

static bool product_fits(const bench_reader *reader, const bench_gemm_shape *s)
{
    return bench_tensor_fits(reader, "the factor a", s->batch, s->m, s->k) &&
           bench_tensor_fits(reader, "the factor b", s->batch, s->k, s->n) &&
           bench_tensor_fits(reader, "the product", s->batch, s->m, s->n);
}

static bool add_gemm(bench_shape_suite *to, const bench_gemm_shape *shape)
{
    bench_gemm_shape *list = realloc(to->gemm, (to->count + 1) * sizeof *list);
    if (list == NULL)
        return false;
    to->gemm = list;
    to->gemm[to->count++] = *shape;
    return true;
}

static bool has_gemm(const bench_shape_suite *suite, const bench_gemm_shape *shape)
{
    char name[BENCH_GEMM_NAME_SIZE], other[BENCH_GEMM_NAME_SIZE];
    bench_gemm_name(shape, name);
    for (uint32_t i = 0; i < suite->count; i++) {
        bench_gemm_name(&suite->gemm[i], other);
        if (strcmp(name, other) == 0)
            return true;
    }
    return false;
}

static bool read_product(const bench_reader *reader, const json_t *from, bench_gemm_shape *shape)
{
    static const char *const known[] = {"name", "source", "batch",      "m",
                                        "n",    "k",      "transposed", NULL};
    const char *transposed = "";
    *shape = (bench_gemm_shape){.batch = 1};
    if (!bench_only_known(reader, from, known) || !bench_read_source(reader, from) ||
        !bench_read_text(reader, from, "name", true, &shape->what) ||
        !bench_read_integer(reader, from, "batch", false, 1, BENCH_MOST_IMAGES, &shape->batch) ||
        !bench_read_integer(reader, from, "m", true, 1, BENCH_MOST_SIZE, &shape->m) ||
        !bench_read_integer(reader, from, "n", true, 1, BENCH_MOST_SIZE, &shape->n) ||
        !bench_read_integer(reader, from, "k", true, 1, BENCH_MOST_SIZE, &shape->k) ||
        !bench_read_text(reader, from, "transposed", false, &transposed))
        return false;
    if (strlen(transposed) != strspn(transposed, "ab"))
        return bench_refuse(reader, "\"transposed\" must be \"a\", \"b\" or \"ab\", not \"%.40s\"",
                            transposed);
    shape->a_transposed = strchr(transposed, 'a') != NULL;
    shape->b_transposed = strchr(transposed, 'b') != NULL;
    return product_fits(reader, shape);
}

/* Adds the products of convolutions, each once. */
static bool add_products(const bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    bool well = true;
    const bench_shape_suite *from = suite_of(reader, suite, "products_of");
    if (from == NULL)
        return false;
    for (uint32_t i = 0; i < from->count && well; i++) {
        char name[BENCH_CONV_NAME_SIZE];
        const bench_gemm_shape product = bench_conv_product(&from->conv[i]);
        bench_conv_name(&from->conv[i], name);
        if (matches(reader, suite, name, &well) && !has_gemm(to, &product))
            well = product_fits(reader, &product) &&
                   (add_gemm(to, &product) || bench_refuse(reader, "out of memory"));
    }
    return well;
}

bool bench_read_gemm(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const json_t *each;
    size_t i;
    json_array_foreach(json_object_get(suite, "cases"), i, each)
    {
        bench_gemm_shape shape;
        bench_set_case(reader, to->name, i);
        if (!read_product(reader, each, &shape))
            return false;
        if (has_gemm(to, &shape))
            return bench_refuse(reader, "an earlier case has the same name and sizes");
        if (!add_gemm(to, &shape))
            return bench_refuse(reader, "out of memory");
    }
    snprintf(reader->place, sizeof reader->place, "%.40s", to->name);
    return json_object_get(suite, "products_of") == NULL || add_products(reader, suite, to);
}

static bool add_conv(bench_shape_suite *to, const bench_conv_shape *shape)
{
    bench_conv_shape *list = realloc(to->conv, (to->count + 1) * sizeof *list);
    if (list == NULL)
        return false;
    to->conv = list;
    to->conv[to->count++] = *shape;
    return true;
}

static bool has_conv(const bench_shape_suite *suite, const bench_conv_shape *shape)
{
    char name[BENCH_CONV_NAME_SIZE], other[BENCH_CONV_NAME_SIZE];
    bench_conv_name(shape, name);
    for (uint32_t i = 0; i < suite->count; i++) {
        bench_conv_name(&suite->conv[i], other);
        if (strcmp(name, other) == 0)
            return true;
    }
    return false;
}

static bool sizes_fit(const bench_reader *reader, const bench_conv_shape *s)
{
    if (s->c % s->groups != 0 || s->k % s->groups != 0)
        return bench_refuse(reader, "\"groups\" must divide \"c\" and \"k\": %lld, %lld and %lld",
                            (long long)s->groups, (long long)s->c, (long long)s->k);
    if (s->h + 2 * s->pad < s->r || s->w + 2 * s->pad < s->s)
        return bench_refuse(reader,
                            "the filters are larger than the padded images: %lldx%lld and "
                            "%lldx%lld",
                            (long long)s->r, (long long)s->s, (long long)s->h + 2 * s->pad,
                            (long long)s->w + 2 * s->pad);
    return bench_tensor_fits(reader, "an image", s->c, s->h, s->w) &&
           bench_tensor_fits(reader, "a filter of all channels", s->c, s->r, s->s) &&
           bench_tensor_fits(reader, "the filters", s->k, s->c / s->groups, s->r * s->s) &&
           bench_tensor_fits(reader, "an output image", s->k, bench_conv_output(s, false),
                             bench_conv_output(s, true));
}

static bool read_convolution(const bench_reader *reader, const json_t *from,
                             bench_conv_shape *shape)
{
    static const char *const known[] = {"name", "source", "n",      "c",   "h",      "w", "k",
                                        "r",    "s",      "stride", "pad", "groups", NULL};
    *shape = (bench_conv_shape){.n = 1, .stride = 1, .groups = 1};
    if (!bench_only_known(reader, from, known) || !bench_read_source(reader, from) ||
        !bench_read_text(reader, from, "name", true, &shape->network) ||
        !bench_read_integer(reader, from, "c", true, 1, BENCH_MOST_SIZE, &shape->c) ||
        !bench_read_integer(reader, from, "h", true, 1, BENCH_MOST_SIZE, &shape->h) ||
        !bench_read_integer(reader, from, "k", true, 1, BENCH_MOST_SIZE, &shape->k) ||
        !bench_read_integer(reader, from, "r", true, 1, BENCH_MOST_SIZE, &shape->r) ||
        !bench_read_integer(reader, from, "stride", false, 1, BENCH_MOST_SIZE, &shape->stride) ||
        !bench_read_integer(reader, from, "pad", false, 0, BENCH_MOST_SIZE, &shape->pad) ||
        !bench_read_integer(reader, from, "groups", false, 1, BENCH_MOST_SIZE, &shape->groups))
        return false;
    shape->w = shape->h;
    shape->s = shape->r;
    return bench_read_integer(reader, from, "w", false, 1, BENCH_MOST_SIZE, &shape->w) &&
           bench_read_integer(reader, from, "s", false, 1, BENCH_MOST_SIZE, &shape->s) &&
           sizes_fit(reader, shape);
}

/* Adds a convolution with each of the numbers of images. */
static bool add_own(const bench_reader *reader, bench_conv_shape *shape,
                    const bench_integers *images, bench_shape_suite *to)
{
    for (size_t i = 0; i < images->count; i++) {
        shape->n = images->values[i];
        if (has_conv(to, shape))
            return bench_refuse(reader, "an earlier case has the same name and sizes");
        if (!add_conv(to, shape))
            return bench_refuse(reader, "out of memory");
    }
    return true;
}

/* Adds the convolutions of the suite itself: first those that have numbers of images of their own,
 * then all others with each number of the suite. */
static bool add_all(bench_reader *reader, const json_t *suite, const bench_integers *images,
                    bench_shape_suite *to)
{
    const json_t *each;
    size_t number;
    for (size_t round = 0; round <= images->count; round++)
        json_array_foreach(json_object_get(suite, "cases"), number, each)
        {
            bench_conv_shape shape;
            bench_integers some = {{round > 0 ? images->values[round - 1] : 1}, 1};
            bench_set_case(reader, to->name, number);
            if (!read_convolution(reader, each, &shape) ||
                !bench_read_integers(reader, each, "n", 1, BENCH_MOST_IMAGES, &some))
                return false;
            const bool is_own = json_object_get(each, "n") != NULL;
            if (is_own == (round == 0) && !add_own(reader, &shape, &some, to))
                return false;
        }
    return true;
}

/* Adds those of another suite whose names match: with their own numbers of images, or those with
 * one image with each number in `images`. */
static bool add_from(bench_reader *reader, const json_t *suite, const bench_integers *images,
                     bench_shape_suite *to)
{
    const bool has_images = json_object_get(suite, "n") != NULL;
    const bench_shape_suite *from = suite_of(reader, suite, "from");
    bool well = from != NULL;
    for (size_t i = 0; well && i < images->count; i++)
        for (uint32_t s = 0; well && s < from->count; s++) {
            char name[BENCH_CONV_NAME_SIZE];
            bench_conv_shape shape = from->conv[s];
            bench_conv_name(&shape, name);
            if (!matches(reader, suite, name, &well) || (has_images && shape.n != 1))
                continue;
            shape.n = has_images ? images->values[i] : shape.n;
            well = add_conv(to, &shape) || bench_refuse(reader, "out of memory");
        }
    return well;
}

bool bench_read_conv(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    bench_integers images = {{1}, 1};
    if (!bench_read_integers(reader, suite, "n", 1, BENCH_MOST_IMAGES, &images))
        return false;
    if (json_object_get(suite, "from") != NULL)
        return add_from(reader, suite, &images, to);
    return add_all(reader, suite, &images, to);
}
