/* Values of the inputs of the operations on segments, and their awkward cases. */
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/segment/internal.h"

#include <math.h>
#include <string.h>

static void put(const tenon_tensor *list, int64_t i, double value)
{
    tn_dtype_store(list->dtype, tn_host_element(list, &i), value);
}

/* Returns a random integer from low to high. */
static double between(uint64_t *seed, double low, double high)
{
    return fmin(floor(low + (tn_random(seed) + 1) / 2 * (high - low + 1)), high);
}

/* Fills a list with ascending integers from low to high at irregular distances, so that some
 * segments are empty. */
static void fill_ascending(const tenon_tensor *list, double low, double high, uint64_t *seed)
{
    const double count = (double)list->shape[0];
    for (int64_t i = 0; i < list->shape[0]; i++) {
        const double from = floor(low + (high - low + 1) * (double)i / count);
        const double to = floor(low + (high - low + 1) * (double)(i + 1) / count);
        put(list, i, between(seed, from, fmin(to, high)));
    }
}

/* Elements of products are close to 1, because other products soon underflow, and any result would
 * be right. Integers are of the full range, to wrap around. */
static void fill_values(const tenon_tensor *x, uint32_t kind, uint64_t *seed)
{
    if (x->dtype == TENON_DTYPE_I32)
        tn_case_integers(x, INT32_MIN, INT32_MAX, seed);
    else if (kind == TENON_SEGMENT_PRODUCT && tn_dtype_is_float(x->dtype))
        tn_case_reals(x, 0.99, 1.01, seed);
}

/* Some indices are one out of range, some offsets before the first position and after the last. */
static void fill_lists(const tenon_segment_params *params, const tenon_tensor *const *v,
                       int64_t rows, int64_t segments, uint64_t *seed)
{
    const tenon_tensor *indices = v[SEGMENT_INDICES], *list = v[SEGMENT_SEGMENTS];
    const int64_t positions = indices != NULL ? indices->shape[0] : rows;
    for (int64_t p = 0; indices != NULL && p < positions; p++)
        put(indices, p, between(seed, -1, (double)rows));
    if (list == NULL)
        return;
    if (params->flags & TENON_SEGMENT_IDS)
        fill_ascending(list, positions > 8 ? -1 : 0, (double)segments, seed);
    else
        fill_ascending(list, positions > 8 ? -1 : 0, (double)positions + 1, seed);
}

void tn_segment_reduce_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    fill_values(v[SEGMENT_X], ((const tenon_segment_params *)params)->kind, seed);
    fill_lists(params, v, v[SEGMENT_X]->shape[0], v[SEGMENT_Y]->shape[0], seed);
}

void tn_segment_reduce_backward_fill_valid(const void *params, const tenon_tensor *const *v,
                                           uint64_t *seed)
{
    fill_lists(params, v, v[SEGMENT_DX]->shape[0], v[SEGMENT_DY]->shape[0], seed);
}

void tn_segment_reduce_backward_weights_fill_valid(const void *params, const tenon_tensor *const *v,
                                                   uint64_t *seed)
{
    const tenon_tensor *lists[SEGMENT_OPERANDS] = {[SEGMENT_INDICES] = v[SEGMENT_WEIGHTS_INDICES],
                                                   [SEGMENT_SEGMENTS] =
                                                       v[SEGMENT_WEIGHTS_SEGMENTS]};
    fill_lists(params, lists, v[SEGMENT_WEIGHTS_X]->shape[0], v[SEGMENT_WEIGHTS_DY]->shape[0],
               seed);
}

/* Segments are runs of a few numbers, with about eight elements each. */
void tn_segment_scan_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *segments = v[SEGMENT_SCAN_SEGMENTS];
    int64_t index[TENON_MAX_RANK] = {0};
    double number = 0;
    fill_values(v[SEGMENT_SCAN_X], ((const tenon_segment_scan_params *)given)->kind, seed);
    for (int64_t i = tenon_tensor_elements(segments); i > 0; i--) {
        if (tn_random(seed) < -0.75)
            number = between(seed, -2, 2);
        tn_dtype_store(segments->dtype, tn_host_element(segments, index), number);
        tn_next_index(index, segments->shape, segments->rank);
    }
}

/* Begins a case with the lists and the type of a problem; sets the number of positions and of
 * segments. Columns end within a vector, or are a single one. */
static void begin_segments(const tn_operation *operation, const segment_problem *p,
                           const tn_choice *choice, uint32_t number, bool is_backward, tn_case *c)
{
    tenon_segment_params *params = (tenon_segment_params *)c->params.bytes;
    const bool gaps = number == 1;
    const int64_t count = number == 2 ? 3 : 40, each = tn_awkward_size(choice, 0, "each", 120);
    const int64_t rows = p->flags & SEGMENT_HAS_INDICES ? 23 : each * count;
    const int64_t columns = number == 2 ? 1 : 21;
    const int64_t positions = each * count, list[] = {positions};
    const int64_t segments[] = {p->flags & SEGMENT_HAS_IDS ? positions : count + 1};
    const int64_t x[] = {rows, columns}, y[] = {count, columns};
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    tn_awkward_begin(c, operation);
    params->kind = p->kind;
    params->flags = p->flags & SEGMENT_HAS_IDS ? TENON_SEGMENT_IDS : 0;
    c->views[is_backward ? SEGMENT_DX : SEGMENT_X] = tn_awkward_view(dtype, 2, x, gaps);
    c->views[is_backward ? SEGMENT_DY : SEGMENT_Y] = tn_awkward_view(dtype, 2, y, gaps);
    if (p->flags & SEGMENT_HAS_INDICES)
        c->views[SEGMENT_INDICES] = tn_awkward_view((tenon_dtype)p->index_type, 1, list, gaps);
    if (p->flags & SEGMENT_HAS_WEIGHTS)
        c->views[SEGMENT_WEIGHTS] = tn_awkward_view(dtype, 1, list, gaps);
    if (p->flags & (SEGMENT_HAS_IDS | SEGMENT_HAS_OFFSETS))
        c->views[SEGMENT_SEGMENTS] =
            tn_awkward_view((tenon_dtype)p->segment_type, 1, segments, gaps);
}

bool tn_segment_reduce_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                               tn_case *c)
{
    if (number == 3)
        return false;
    begin_segments(&tn_operation_segment_reduce, (const segment_problem *)problem, choice, number,
                   false, c);
    if (number == 2) { /* segments of more than one block */
        const bool lists = c->views[SEGMENT_INDICES].dtype != 0;
        const int64_t positions = 3 * tn_awkward_size(choice, 0, "size", SCAN_BLOCK + 37);
        for (uint32_t v = lists ? SEGMENT_INDICES : SEGMENT_X; v <= SEGMENT_SEGMENTS; v++)
            if (c->views[v].dtype != 0 &&
                (v != SEGMENT_SEGMENTS ||
                 (((const segment_problem *)problem)->flags & SEGMENT_HAS_IDS)))
                c->views[v].shape[0] = positions;
    }
    return true;
}

bool tn_segment_reduce_backward_awkward(const tn_problem *problem, const tn_choice *choice,
                                        uint32_t number, tn_case *c)
{
    if (number == 3)
        return false;
    begin_segments(&tn_operation_segment_reduce_backward, (const segment_problem *)problem, choice,
                   number, true, c);
    if (tn_is_solver(choice->solver, &tn_segment_backward_scatter)) {
        static const int contiguous[] = {SEGMENT_DY, SEGMENT_DX};
        for (int i = 0; i < 2; i++) {
            tenon_tensor *view = &c->views[contiguous[i]];
            *view = tn_awkward_view(view->dtype, 2, view->shape, false);
        }
    }
    return true;
}

bool tn_segment_reduce_backward_weights_awkward(const tn_problem *problem, const tn_choice *choice,
                                                uint32_t number, tn_case *c)
{
    tenon_tensor v[SEGMENT_OPERANDS];
    if (number == 3)
        return false;
    begin_segments(&tn_operation_segment_reduce_backward_weights, (const segment_problem *)problem,
                   choice, number, false, c);
    memcpy(v, c->views, sizeof v);
    const bool has_indices = v[SEGMENT_INDICES].dtype != TENON_DTYPE_INVALID;
    const int64_t positions = has_indices ? v[SEGMENT_INDICES].shape[0] : v[SEGMENT_X].shape[0];
    c->views[SEGMENT_WEIGHTS_DY] = v[SEGMENT_Y];
    c->views[SEGMENT_WEIGHTS_INDICES] = v[SEGMENT_INDICES];
    c->views[SEGMENT_WEIGHTS_SEGMENTS] = v[SEGMENT_SEGMENTS];
    c->views[SEGMENT_DWEIGHTS] = tn_awkward_view(v[SEGMENT_X].dtype, 1, &positions, number == 1);
    return true;
}

/* Rows longer than two blocks, or than two pieces, contiguous along and across the axis. */
bool tn_segment_scan_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                             tn_case *c)
{
    const segment_scan_problem *p = (const segment_scan_problem *)problem;
    tenon_segment_scan_params *params = (tenon_segment_scan_params *)c->params.bytes;
    const int64_t size = tn_awkward_size(choice, 0, "size", 2 * SCAN_BLOCK + 37);
    const int64_t along[] = {2, size}, across[] = {size, 3};
    const int64_t *shape = number == 0 ? along : across;
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_segment_scan);
    params->kind = p->kind;
    params->flags = p->flags;
    params->axis = number == 0 ? 1 : 0;
    for (uint32_t v = 0; v < SEGMENT_SCAN_OPERANDS; v++)
        c->views[v] =
            tn_awkward_view((tenon_dtype)(v == SEGMENT_SCAN_SEGMENTS ? p->segment_type : p->dtype),
                            2, shape, number == 1);
    return true;
}
