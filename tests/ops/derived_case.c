#include "derived_case.h"

#include "builds.h"
#include "fixture.h"
#include "quick.h"

#include "ops/registry.h"

#define ATTEMPTS      24 /* at variants of an example that the operation accepts */
#define MOST_SIZES    24
#define MOST_SIZE     5000
#define MOST_ELEMENTS (1 << 17)

/* New sizes for those of an example. Equal sizes stay equal, since most of them must. */
typedef struct sizes {
    int64_t from[MOST_SIZES], to[MOST_SIZES];
    uint32_t count;
    bool keeps_most; /* for calls whose sizes depend on each other */
} sizes;

/* Returns the size that replaces another one. One, and sizes beyond the table, are kept. */
static int64_t replaced(sizes *s, int64_t size, test_random *random)
{
    uint32_t i = 0;
    while (i < s->count && s->from[i] != size)
        i++;
    if (size <= 1 || i == MOST_SIZES)
        return size;
    if (i == s->count) {
        const int64_t most = test_one_in(random, 3) ? 2 * size : size;
        s->count++;
        s->from[i] = size;
        s->to[i] = test_one_in(random, 3) || (s->keeps_most && !test_one_in(random, 4))
                       ? size
                       : test_between(random, 1, most < MOST_SIZE ? most : MOST_SIZE);
    }
    return s->to[i];
}

/* Gives a view a new shape: dense, with its dimensions in the old order in memory. */
static void reshape(tenon_tensor *view, const int64_t *shape)
{
    bool is_done[TENON_MAX_RANK] = {false};
    int64_t old[TENON_MAX_RANK], step = 1;
    memcpy(old, view->stride, sizeof old);
    memmove(view->shape, shape, view->rank * sizeof *shape);
    for (uint32_t n = 0; n < view->rank; n++) {
        uint32_t next = TENON_MAX_RANK;
        for (uint32_t d = view->rank; d-- > 0;)
            if (!is_done[d] && (next == TENON_MAX_RANK || old[d] < old[next]))
                next = d;
        is_done[next] = true;
        if (old[next] != 0) { /* otherwise it is broadcast */
            view->stride[next] = step;
            step *= view->shape[next];
        }
    }
}

/* Operands that are identical to another one take its view. */
static void share_views(tn_case *c)
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->same[i] != 0)
            c->views[i] = c->views[c->same[i] - 1];
}

/* Returns true if an operand is present and has a view of its own. */
static bool has_view(const tn_case *c, uint32_t i)
{
    return c->views[i].dtype != TENON_DTYPE_INVALID && c->same[i] == 0;
}

static void replace_shapes(tn_case *c, sizes *s, test_random *random)
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        int64_t shape[TENON_MAX_RANK];
        if (!has_view(c, i))
            continue;
        for (uint32_t d = 0; d < c->views[i].rank; d++)
            shape[d] = replaced(s, c->views[i].shape[d], random);
        reshape(&c->views[i], shape);
    }
    share_views(c);
}

/* Gives the outputs the shapes that follow from the inputs. Operands that had an output's shape in
 * the example get the new one too. */
static void infer_shapes(tn_case *c, const tenon_tensor *before)
{
    const uint32_t count = c->operation->operand_count;
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    for (uint32_t i = 0; i < count; i++)
        views[i] = c->views[i].dtype != TENON_DTYPE_INVALID ? &c->views[i] : NULL;
    for (uint32_t i = 0; i < count; i++) {
        tenon_tensor output;
        if (!has_view(c, i) || c->operation->operands[i].shape == NULL ||
            tn_operation_output_shape(c->operation, c->params.bytes, views, i, &output) !=
                TENON_OK ||
            output.rank != c->views[i].rank)
            continue;
        for (uint32_t k = 0; k < count; k++)
            if (has_view(c, k) && before[k].rank == output.rank &&
                memcmp(before[k].shape, before[i].shape, output.rank * sizeof *output.shape) == 0)
                reshape(&c->views[k], output.shape);
    }
    share_views(c);
}

static void change_views(tn_case *c, sizes *s, bool infers, test_random *random)
{
    const bool lays_out = test_one_in(random, 2);
    tenon_tensor before[TN_MAX_OPERANDS];
    memcpy(before, c->views, sizeof before);
    replace_shapes(c, s, random);
    if (infers)
        infer_shapes(c, before);
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        tenon_tensor *view = &c->views[i];
        if (lays_out && has_view(c, i) && test_one_in(random, 2))
            *view = test_random_view(random, view->dtype, view->rank, view->shape);
    }
    share_views(c);
}

/* Selects other words of the fields that have words, and other flags. */
static void change_words(tn_case *c, test_random *random)
{
    for (uint32_t f = 0; f < c->operation->field_count; f++) {
        const tn_field *field = &c->operation->fields[f];
        uint32_t words = 0;
        while (field->words != NULL && field->words[words] != NULL)
            words++;
        for (uint32_t i = 0; i < field->count && words > 0 && test_one_in(random, 2); i++) {
            const uint32_t word = (uint32_t)test_between(random, 0, (int64_t)words - 1);
            memcpy(c->params.bytes + field->offset + i * field->step, &word, sizeof word);
        }
    }
    if (test_one_in(random, 3))
        c->params.head.flags = (uint32_t)test_next(random) & c->operation->flags;
}

/* Replaces the sizes among the parameters, such as the number of packed filters. */
static void change_numbers(tn_case *c, sizes *s, test_random *random)
{
    for (uint32_t f = 0; f < c->operation->field_count; f++) {
        const tn_field *field = &c->operation->fields[f];
        for (uint32_t i = 0; i < field->count && field->type == TN_FIELD_I64; i++) {
            unsigned char *at = c->params.bytes + field->offset + i * field->step;
            int64_t number;
            memcpy(&number, at, sizeof number);
            number = replaced(s, number, random);
            memcpy(at, &number, sizeof number);
        }
    }
}

/* Returns true if the operation accepts the call. Operations with packed weights find out by a
 * plan, for which nothing is built. */
static bool is_accepted(const tn_case *c, const tenon_tensor *const *views)
{
    call_builds builds;
    return c->operation->plan != NULL
               ? builds_of_call(c->operation, c->params.bytes, views, &builds)
               : tn_operation_supported(c->operation, test_context, c->params.bytes, views) ==
                     TENON_OK;
}

static bool is_supported(const tn_case *c)
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        if (c->views[i].dtype == TENON_DTYPE_INVALID)
            continue;
        views[i] = &c->views[i];
        if (tenon_tensor_elements(views[i]) > MOST_ELEMENTS)
            return false;
    }
    return quick_admits(c->operation, c->params.bytes, views) && is_accepted(c, views);
}

bool derived_case(const char *line, tenon_dtype type, test_random *random, tn_case *c)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        sizes s = {.keeps_most = i >= ATTEMPTS / 3};
        assert_ok(tn_case_parse_line(line, type, c));
        c->seed = test_next(random);
        change_words(c, random);
        if (i < 2 * ATTEMPTS / 3) { /* the others keep the sizes */
            if (test_one_in(random, 2))
                change_numbers(c, &s, random);
            change_views(c, &s, i % 2 == 0, random);
        }
        if (is_supported(c))
            return true;
    }
    return false;
}
