/* References of sorting and of the largest elements, and their awkward cases. Results are exact. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/sort/internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct sort_entry {
    double value;
    int64_t index;
} sort_entry;

/* Compares by value, NaNs last, then by index. */
static int compare_values(const sort_entry *a, const sort_entry *b, bool descending)
{
    const bool a_nan = isnan(a->value), b_nan = isnan(b->value);
    if (a_nan || b_nan) {
        if (a_nan != b_nan)
            return a_nan ? 1 : -1;
    } else if (a->value < b->value || a->value > b->value) {
        return (a->value < b->value) != descending ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

static int ascending(const void *a, const void *b)
{
    return compare_values(a, b, false);
}

static int descending(const void *a, const void *b)
{
    return compare_values(a, b, true);
}

/* The operands of a reference; NULL if absent. */
typedef struct sort_views {
    const tenon_tensor *x, *payload, *y, *indices, *moved;
} sort_views;

/* Writes the first elements of each sorted row to the results of the outputs that are present,
 * which follow one another. */
static void write_row(const sort_views *v, const tn_axis_walk *to, const tn_axis_walk *from,
                      int64_t row, const sort_entry *sorted, const double *payload,
                      tn_bounded *results)
{
    const int64_t count = tenon_tensor_elements(v->y);
    for (int64_t i = 0; i < to->size; i++) {
        const int64_t at = tn_axis_walk_at(to, row, i);
        tn_bounded *result = results + at;
        *result = (tn_bounded){sorted[i].value, 0};
        result += count;
        if (v->indices != NULL) {
            *result = (tn_bounded){(double)sorted[i].index, 0};
            result += count;
        }
        if (v->moved != NULL)
            *result = (tn_bounded){payload[tn_axis_walk_at(from, row, sorted[i].index)], 0};
    }
}

static bool sort_rows(const sort_views *v, int32_t axis, bool down, tn_bounded *results)
{
    const uint32_t a = (uint32_t)(axis < 0 ? axis + (int32_t)v->x->rank : axis);
    const tn_axis_walk from = tn_axis_walk_of(v->x, a), to = tn_axis_walk_of(v->y, a);
    double *x = tn_host_read(v->x, v->x->rank, v->x->shape);
    double *payload = v->payload != NULL ? tn_host_read(v->payload, v->x->rank, v->x->shape) : NULL;
    sort_entry *entries = tn_array(from.size, sizeof *entries);
    const bool whole = x != NULL && entries != NULL && (payload != NULL || v->payload == NULL);
    for (int64_t row = 0; whole && row < from.outer * from.inner; row++) {
        for (int64_t i = 0; i < from.size; i++)
            entries[i] = (sort_entry){x[tn_axis_walk_at(&from, row, i)], i};
        qsort(entries, (size_t)from.size, sizeof *entries, down ? descending : ascending);
        write_row(v, &to, &from, row, entries, payload, results);
    }
    free(x);
    free(payload);
    free(entries);
    return whole;
}

bool tn_sort_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_sort_params *params = given;
    const sort_views views = {v[SORT_CALL_X], v[SORT_CALL_PAYLOAD], v[SORT_CALL_Y],
                              v[SORT_CALL_INDICES], v[SORT_CALL_MOVED]};
    return sort_rows(&views, params->axis, (params->flags & TENON_SORT_DESCENDING) != 0, results);
}

bool tn_top_k_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_top_k_params *params = given;
    const sort_views views = {v[TOP_K_X], NULL, v[TOP_K_Y], v[TOP_K_INDICES], NULL};
    return sort_rows(&views, params->axis, (params->flags & TENON_TOP_K_SMALLEST) == 0, results);
}

/* Fills x with integers of the full range, or with reals of which every third is one of a few, with
 * both zeros and infinities. */
void tn_sort_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    static const double few[] = {0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY};
    const tenon_tensor *x = v[SORT_CALL_X];
    /* i8 and u8 saturate, and have many equal elements. */
    const int64_t most = tenon_dtype_size(x->dtype) > 2 ? INT32_MAX : INT16_MAX;
    int64_t index[TENON_MAX_RANK] = {0}, count = tenon_tensor_elements(x);
    (void)params;
    if (tn_dtype_is_integer(x->dtype))
        tn_case_integers(x, -most, most, seed);
    for (int64_t i = 0; i < count; i++) {
        if (i % 3 == 0)
            tn_dtype_store(x->dtype, tn_host_element(x, index),
                           few[(int64_t)((tn_random(seed) + 1) * 3.49)]);
        tn_next_index(index, x->shape, x->rank);
    }
}

static tenon_dtype index_type(const sort_problem *p)
{
    return p->wide != 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32;
}

/* A call of tenon_sort or tenon_top_k with the operands and the order of a problem. `shape` is that
 * of x, whose axis is the middle one. */
static void sort_case(const sort_problem *p, const int64_t shape[3], bool gaps, tn_case *c)
{
    static const tenon_dtype payloads[] = {
        [1] = TENON_DTYPE_U8, [2] = TENON_DTYPE_F16, [4] = TENON_DTYPE_I32, [8] = TENON_DTYPE_F64};
    tenon_sort_params *params = (tenon_sort_params *)c->params.bytes;
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    tn_awkward_begin(c, &tn_operation_sort);
    params->axis = 1;
    params->flags = p->descending;
    c->views[SORT_CALL_X] = c->views[SORT_CALL_Y] = tn_awkward_view(dtype, 3, shape, gaps);
    if ((p->flags & SORT_HAS_INDICES) != 0)
        c->views[SORT_CALL_INDICES] = tn_awkward_view(index_type(p), 3, shape, gaps);
    if (p->payload_size != 0)
        c->views[SORT_CALL_PAYLOAD] = c->views[SORT_CALL_MOVED] =
            tn_awkward_view(payloads[p->payload_size], 3, shape, gaps);
}

static void top_k_case(const sort_problem *p, const int64_t shape[3], bool gaps, tn_case *c)
{
    tenon_top_k_params *params = (tenon_top_k_params *)c->params.bytes;
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    const int64_t results[] = {shape[0], 7, shape[2]};
    tn_awkward_begin(c, &tn_operation_top_k);
    params->axis = 1;
    params->flags = p->descending != 0 ? 0 : TENON_TOP_K_SMALLEST;
    c->views[TOP_K_X] = tn_awkward_view(dtype, 3, shape, gaps);
    c->views[TOP_K_Y] = tn_awkward_view(dtype, 3, results, gaps);
    if ((p->flags & SORT_HAS_INDICES) != 0)
        c->views[TOP_K_INDICES] = tn_awkward_view(index_type(p), 3, results, gaps);
}

/* Rows that CPUs keep in private memory, longer ones, and for the radix sort contiguous ones of
 * several pieces. Those of sort/buckets are all long. sort/select has more rows than lanes, which
 * are contiguous in the second case. */
bool tn_sort_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    enum { CASES = 3 };
    static const int64_t usual[CASES] = {67, 521, 32803}, all_long[CASES] = {32771, 32803, 65551};
    const sort_problem *p = (const sort_problem *)problem;
    const bool is_long = tn_is_solver(choice->solver, &tn_sort_buckets);
    const bool has_long = is_long || tn_is_solver(choice->solver, &tn_sort_radix);
    if (number == (has_long ? CASES : 2))
        return false;
    const bool is_select = tn_is_solver(choice->solver, &tn_sort_select);
    const bool single = number == 2 || (is_select && number == 1);
    const int64_t shape[] = {is_select ? SORT_LANES + 3 : 2,
                             is_long ? all_long[number] : usual[number],
                             single ? 1 : (is_long ? 2 : 3)};
    if (p->limit < p->space.size)
        top_k_case(p, shape, number == 1, c);
    else
        sort_case(p, shape, number == 1, c);
    return true;
}
