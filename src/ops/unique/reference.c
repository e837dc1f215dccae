/* The reference of tenon_unique, and its awkward cases. Results are exact. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/unique/internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct unique_entry {
    double value;
    int64_t index;
} unique_entry;

static bool are_equal(double a, double b)
{
    return isnan(a) ? isnan(b) : !(a < b || a > b || isnan(b));
}

/* Orders by value, NaN last, then by index. */
static int by_value(const void *left, const void *right)
{
    const unique_entry *a = left, *b = right;
    if (!are_equal(a->value, b->value))
        return isnan(b->value) || a->value < b->value ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* The results of each output, NULL if it is absent. */
typedef struct unique_results {
    tn_bounded *list[UNIQUE_OPERANDS];
    int64_t capacity;
} unique_results;

static unique_results begin_results(const tenon_tensor *const *v, tn_bounded *results)
{
    unique_results r = {.capacity = 0};
    for (uint32_t i = UNIQUE_Y; i < UNIQUE_OPERANDS; i++) {
        if (v[i] == NULL)
            continue;
        const int64_t count = tenon_tensor_elements(v[i]);
        r.list[i] = results;
        results += count;
        for (int64_t e = 0; e < count; e++)
            r.list[i][e] = (tn_bounded){i == UNIQUE_FIRST ? -1 : 0, 0};
        if (i == UNIQUE_Y || i == UNIQUE_FIRST || i == UNIQUE_COUNTS)
            r.capacity = count;
    }
    return r;
}

/* Adds an element to different element `number`, whose first element it is if `is_first`. */
static void add_element(const unique_results *r, const unique_entry *e, int64_t number,
                        bool is_first)
{
    if (r->list[UNIQUE_INVERSE] != NULL)
        r->list[UNIQUE_INVERSE][e->index].value = (double)number;
    if (number >= r->capacity)
        return;
    if (is_first && r->list[UNIQUE_Y] != NULL)
        r->list[UNIQUE_Y][number].value = e->value;
    if (is_first && r->list[UNIQUE_FIRST] != NULL)
        r->list[UNIQUE_FIRST][number].value = (double)e->index;
    if (r->list[UNIQUE_COUNTS] != NULL)
        r->list[UNIQUE_COUNTS][number].value++;
}

bool tn_unique_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_unique_params *params = given;
    const tenon_tensor *x = v[UNIQUE_X];
    const int64_t count = tenon_tensor_elements(x);
    const unique_results r = begin_results(v, results);
    double *values = tn_host_read(x, x->rank, x->shape);
    unique_entry *entries = tn_array(count, sizeof *entries);
    const bool whole = values != NULL && entries != NULL;
    int64_t number = -1;
    for (int64_t i = 0; whole && i < count; i++)
        entries[i] = (unique_entry){values[i], i};
    if (whole && (params->flags & TENON_UNIQUE_CONSECUTIVE) == 0)
        qsort(entries, (size_t)count, sizeof *entries, by_value);
    for (int64_t i = 0; whole && i < count; i++) {
        const bool is_first = i == 0 || !are_equal(entries[i].value, entries[i - 1].value);
        number += is_first;
        add_element(&r, &entries[i], number, is_first);
    }
    if (whole)
        r.list[UNIQUE_COUNT][0].value = (double)(number + 1);
    free(values);
    free(entries);
    return whole;
}

/* Writes runs of a few values, among them both zeros and, for reals, NaN. */
void tn_unique_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *x = v[UNIQUE_X];
    const bool is_real = tn_dtype_is_float(x->dtype);
    int64_t index[TENON_MAX_RANK] = {0};
    double value = 0;
    (void)params;
    for (int64_t i = tenon_tensor_elements(x); i > 0; i--) {
        if (tn_random(seed) < 0) {
            value = floor(tn_random(seed) * 30);
            if (is_real && value > 27)
                value = (double)NAN;
            else if (is_real && value < -27)
                value = -0.0;
        }
        tn_dtype_store(x->dtype, tn_host_element(x, index), value);
        tn_next_index(index, x->shape, x->rank);
    }
}

/* Elements of one block or of several; with room for all of them, or for a few. */
bool tn_unique_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const unique_problem *p = (const unique_problem *)problem;
    const int64_t shape[] = {3, tn_awkward_size(choice, 0, "size", 21), 5};
    const int64_t room[] = {number == 0 ? 3 * 5 * shape[1] : 17};
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_unique);
    ((tenon_unique_params *)c->params.bytes)->flags =
        p->flags & UNIQUE_RUNS ? TENON_UNIQUE_CONSECUTIVE : 0;
    c->views[UNIQUE_X] = tn_awkward_view((tenon_dtype)p->dtype, 3, shape, number == 1);
    c->views[UNIQUE_COUNT] = tn_awkward_view(TENON_DTYPE_I32, 0, shape, false);
    if (p->flags & UNIQUE_HAS_Y)
        c->views[UNIQUE_Y] = tn_awkward_view((tenon_dtype)p->dtype, 1, room, number == 1);
    if (p->flags & UNIQUE_HAS_FIRST)
        c->views[UNIQUE_FIRST] = tn_awkward_view(TENON_DTYPE_I32, 1, room, number == 1);
    if (p->flags & UNIQUE_HAS_INVERSE)
        c->views[UNIQUE_INVERSE] = tn_awkward_view(TENON_DTYPE_I32, 3, shape, number == 1);
    if (p->flags & UNIQUE_HAS_COUNTS)
        c->views[UNIQUE_COUNTS] = tn_awkward_view(TENON_DTYPE_I32, 1, room, number == 1);
    return true;
}
