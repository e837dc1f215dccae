/* References of compaction and of a masked put, and their awkward cases. Results are exact. */
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/compact/internal.h"
#include "ops/registry.h"

#include <stdlib.h>

/* Returns the number of expected values of an output; 0 if it is absent. */
static int64_t results_of(const tenon_tensor *view)
{
    return view != NULL ? tenon_tensor_elements(view) : 0;
}

static void write_index(const tenon_tensor *indices, int64_t to, const tenon_tensor *mask,
                        const int64_t *index, int64_t number, tn_bounded *results)
{
    if (indices->rank == 1) {
        results[to] = (tn_bounded){(double)number, 0};
        return;
    }
    for (uint32_t d = 0; d < mask->rank; d++)
        results[to * mask->rank + d] = (tn_bounded){(double)index[d], 0};
}

bool tn_compact_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *mask = v[COMPACT_MASK], *x = v[COMPACT_X], *indices = v[COMPACT_INDICES];
    const int64_t elements = tenon_tensor_elements(mask);
    const int64_t y_results = results_of(v[COMPACT_Y]), index_results = results_of(indices);
    const int64_t capacity = indices != NULL ? indices->shape[0] : y_results;
    int64_t index[TENON_MAX_RANK] = {0}, count = 0;
    tn_bounded *places = results + y_results;
    double *chosen = tn_host_read(mask, mask->rank, mask->shape);
    double *values = x != NULL ? tn_host_read(x, mask->rank, mask->shape) : NULL;
    const bool whole = chosen != NULL && (values != NULL || x == NULL);
    (void)params;
    for (int64_t i = 0; i < y_results + index_results; i++)
        results[i] = (tn_bounded){i < y_results ? 0 : -1, 0};
    for (int64_t i = 0; whole && i < elements; i++) {
        if (chosen[i] != 0) {
            if (count < capacity && values != NULL)
                results[count] = (tn_bounded){values[i], 0};
            if (count < capacity && indices != NULL)
                write_index(indices, count, mask, index, i, places);
            count++;
        }
        tn_next_index(index, mask->shape, mask->rank);
    }
    places[index_results] = (tn_bounded){(double)count, 0};
    free(chosen);
    free(values);
    return whole;
}

/* Sets about half of the mask to zeros of either sign. */
void tn_compact_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *mask = v[COMPACT_MASK];
    int64_t index[TENON_MAX_RANK] = {0};
    (void)params;
    for (int64_t i = tenon_tensor_elements(mask); i > 0; i--) {
        const double x = tn_random(seed);
        /* The numbers may be those that the elements were made of; a bool is true if its number is
         * negative. */
        if (x > 0)
            tn_dtype_store(mask->dtype, tn_host_element(mask, index), x > 0.5 ? -0.0 : 0.0);
        tn_next_index(index, mask->shape, mask->rank);
    }
}

/* Masks of one block, or of several; with room for all elements, or for a few. */
bool tn_compact_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        tn_case *c)
{
    static const tenon_dtype types[] = {
        [1] = TENON_DTYPE_U8, [2] = TENON_DTYPE_F16, [4] = TENON_DTYPE_I32, [8] = TENON_DTYPE_F64};
    const compact_problem *p = (const compact_problem *)problem;
    const int64_t shape[] = {3, tn_awkward_size(choice, 0, "size", 21), 5};
    const int64_t outputs[] = {number == 0 ? 3 * 5 * shape[1] : 37, 3};
    const uint32_t rank = p->flags & COMPACT_COORDINATES ? 2 : 1;
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_compact);
    c->views[COMPACT_MASK] = tn_awkward_view((tenon_dtype)p->mask_dtype, 3, shape, number == 1);
    c->views[COMPACT_COUNT] = tn_awkward_view(TENON_DTYPE_I32, 0, shape, false);
    if (p->flags & COMPACT_HAS_X) {
        c->views[COMPACT_X] = tn_awkward_view(types[p->size], 3, shape, number == 1);
        c->views[COMPACT_Y] = tn_awkward_view(types[p->size], 1, outputs, number == 1);
    }
    if (p->flags & COMPACT_HAS_INDICES)
        c->views[COMPACT_INDICES] = tn_awkward_view(TENON_DTYPE_I32, rank, outputs, number == 1);
    return true;
}

/* The table's old values are in y. */
bool tn_masked_put_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *mask = v[PUT_MASK], *source = v[PUT_SOURCE], *y = v[PUT_Y];
    double *chosen = tn_host_read(mask, mask->rank, mask->shape);
    double *line = tn_host_read(source, 1, source->shape);
    double *old = tn_host_read(y, y->rank, y->shape);
    const bool whole = chosen != NULL && line != NULL && old != NULL;
    int64_t from = 0;
    (void)params;
    for (int64_t i = 0; whole && i < tenon_tensor_elements(y); i++) {
        const bool is_put = chosen[i] != 0 && from < source->shape[0];
        results[i] = (tn_bounded){is_put ? line[from] : old[i], 0};
        from += is_put;
    }
    free(chosen);
    free(line);
    free(old);
    return whole;
}

/* Masks of one block, or of several; with enough elements, or with a few. */
bool tn_masked_put_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                           tn_case *c)
{
    static const tenon_dtype types[] = {
        [1] = TENON_DTYPE_U8, [2] = TENON_DTYPE_F16, [4] = TENON_DTYPE_I32, [8] = TENON_DTYPE_F64};
    const compact_problem *p = (const compact_problem *)problem;
    const int64_t shape[] = {3, tn_awkward_size(choice, 0, "size", 21), 5};
    const int64_t source[] = {number == 0 ? 3 * 5 * shape[1] : 37};
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_masked_put);
    c->views[PUT_MASK] = tn_awkward_view((tenon_dtype)p->mask_dtype, 3, shape, number == 1);
    c->views[PUT_SOURCE] = tn_awkward_view(types[p->size], 1, source, number == 1);
    c->views[PUT_Y] = tn_awkward_view(types[p->size], 3, shape, number == 1);
    return true;
}
