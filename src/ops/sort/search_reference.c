/* The reference of tenon_search_sorted, and its awkward cases. Results are exact. */
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/sort/internal.h"

#include <math.h>
#include <stdlib.h>

/* Returns whether element x is counted for a value. */
static bool precedes(double x, double value, bool right)
{
    if (isnan(x))
        return right && isnan(value);
    return isnan(value) || x < value || (right && x <= value);
}

/* Halves the part of the row where the place may be. */
bool tn_search_sorted_reference(const void *given, const tenon_tensor *const *v,
                                tn_bounded *results)
{
    const tenon_search_sorted_params *params = given;
    const tenon_tensor *sorted = v[SEARCH_SORTED], *values = v[SEARCH_VALUES];
    const bool right = (params->flags & TENON_SEARCH_RIGHT) != 0;
    const uint32_t last = values->rank - 1;
    const int64_t size = sorted->shape[sorted->rank - 1], count = values->shape[last];
    int64_t shape[TENON_MAX_RANK];
    memcpy(shape, values->shape, sizeof shape);
    shape[last] = size;
    double *x = tn_host_read(sorted, values->rank, shape);
    double *wanted = tn_host_read(values, values->rank, values->shape);
    const bool whole = x != NULL && wanted != NULL;
    for (int64_t i = 0; whole && i < tenon_tensor_elements(values); i++) {
        const double *row = x + i / count * size;
        int64_t place = 0, end = size;
        while (place < end) {
            const int64_t middle = place + (end - place) / 2;
            if (precedes(row[middle], wanted[i], right))
                place = middle + 1;
            else
                end = middle;
        }
        results[i] = (tn_bounded){(double)place, 0};
    }
    free(x);
    free(wanted);
    return whole;
}

/* Writes ascending elements, some of them equal, and values between, at and beyond them. */
void tn_search_sorted_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *sorted = v[SEARCH_SORTED], *values = v[SEARCH_VALUES];
    const int64_t size = sorted->shape[sorted->rank - 1];
    const bool has_nan = tn_dtype_is_float(sorted->dtype);
    int64_t index[TENON_MAX_RANK] = {0};
    (void)params;
    for (int64_t i = 0; i < tenon_tensor_elements(sorted); i++) {
        const int64_t at = i % size;
        double x = floor((double)at / 3) * 0.5 - 10;
        if (has_nan && at % 16 == 0 && at == size - 1)
            x = (double)NAN;
        tn_dtype_store(sorted->dtype, tn_host_element(sorted, index), x);
        tn_next_index(index, sorted->shape, sorted->rank);
    }
    for (int64_t i = tenon_tensor_elements(values); i > 0; i--) {
        const double x = floor((tn_random(seed) + 1) * (double)(size + 20) / 8) * 0.5 - 11;
        tn_dtype_store(values->dtype, tn_host_element(values, index), x);
        tn_next_index(index, values->shape, values->rank);
    }
}

bool tn_search_sorted_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                              tn_case *c)
{
    static const int64_t sorted[] = {3, 97}, values[] = {3, 613};
    const sort_problem *p = (const sort_problem *)problem;
    (void)choice;
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_search_sorted);
    ((tenon_search_sorted_params *)c->params.bytes)->flags =
        p->flags & SORT_RIGHT ? TENON_SEARCH_RIGHT : 0;
    c->views[SEARCH_SORTED] = tn_awkward_view((tenon_dtype)p->dtype, 2, sorted, number == 1);
    c->views[SEARCH_VALUES] = tn_awkward_view((tenon_dtype)p->dtype, 2, values, number == 1);
    c->views[SEARCH_INDICES] =
        tn_awkward_view(p->wide != 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32, 2, values, number == 1);
    return true;
}
