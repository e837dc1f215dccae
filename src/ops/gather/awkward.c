/* The awkward cases of gather, its gradient and scatter. */
#include "check/awkward.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

/* More rows than a digit of the sort has values, and more indices than a work-item sorts. */
#define AWKWARD_ROWS    300
#define AWKWARD_INDICES 59, 71

/* A case of an index mode: the table, the indices and the picked tensor. */
typedef struct shapes {
    uint32_t mode, rank, index_rank, picked_rank;
    int64_t table[5], indices[4], picked[5];
} shapes;

static const shapes cases[] = {
    {TENON_INDEX_SLICES,
     3,
     2,
     4,
     {2, AWKWARD_ROWS, 83},
     {AWKWARD_INDICES},
     {2, AWKWARD_INDICES, 83}},
    {TENON_INDEX_SLICES, 3, 2, 4, {2, AWKWARD_ROWS, 5}, {AWKWARD_INDICES}, {2, AWKWARD_INDICES, 5}},
    {TENON_INDEX_ELEMENTS, 3, 3, 3, {5, 61, 9}, {4, 71, 9}, {4, 71, 9}},
    {TENON_INDEX_TUPLES, 4, 3, 3, {3, 11, 13, 40}, {3, 97, 2}, {3, 97, 40}},
};

/* Returns a view with a gap between lines, contiguous along the last dimension or along the second
 * one. */
static tenon_tensor view_of(tenon_dtype dtype, uint32_t rank, const int64_t *shape, bool along_axis)
{
    tenon_tensor view = tn_awkward_view(dtype, rank, shape, false);
    const uint32_t last = rank - 1;
    const int64_t inner = shape[last];
    int64_t step = along_axis ? 1 : inner + 1;
    for (uint32_t d = last - 1; d > 0; d--) {
        view.stride[d] = step;
        step *= view.shape[d];
    }
    if (along_axis) {
        view.stride[last] = step + 1;
        step = view.stride[last] * inner;
    }
    view.stride[0] = step + 5;
    return view;
}

/* Begins case `number` of an operation for a table of a type. The indices include repetitions and
 * some out of range. Returns NULL past the last case. */
static const shapes *begin_shapes(uint32_t type, uint32_t index_type, const tn_operation *operation,
                                  uint32_t number, bool is_gather, tn_case *c)
{
    const tenon_dtype dtype = (tenon_dtype)type;
    if (number >= sizeof cases / sizeof *cases)
        return NULL;
    const shapes *s = &cases[number];
    const bool along_axis = number == 1;
    tn_awkward_begin(c, operation);
    c->same_options = true;
    c->views[is_gather ? GATHER_FROM : GATHER_TO] = view_of(dtype, s->rank, s->table, along_axis);
    c->views[is_gather ? GATHER_TO : GATHER_FROM] =
        view_of(dtype, s->picked_rank, s->picked, along_axis);
    c->views[GATHER_INDICES] = view_of((tenon_dtype)index_type, s->index_rank, s->indices, false);
    return s;
}

static bool gather_case(uint32_t type, uint32_t index_type, const tn_operation *operation,
                        uint32_t number, const gather_tuple_args *tuple, tn_case *c)
{
    tenon_gather_params *params = (tenon_gather_params *)c->params.bytes;
    const shapes *s =
        begin_shapes(type, index_type, operation, number, operation == &tn_operation_gather, c);
    if (s == NULL)
        return false;
    params->axis = 1;
    params->mode = s->mode;
    params->flags = tuple->from_end ? TENON_INDEX_FROM_END : 0;
    return true;
}

bool tn_gather_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const gather_problem *p = (const gather_problem *)problem;
    (void)choice;
    return gather_case(p->dtype, p->index_type, &tn_operation_gather, number, &p->tuple, c);
}

bool tn_gather_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                                tn_case *c)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    (void)choice;
    return gather_case(p->dtype, p->index_type, &tn_operation_gather_backward, number, &p->tuple,
                       c);
}

bool tn_scatter_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        tn_case *c)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    tenon_scatter_params *params = (tenon_scatter_params *)c->params.bytes;
    (void)choice;
    const shapes *s =
        begin_shapes(p->dtype, p->index_type, &tn_operation_scatter, number, false, c);
    if (s == NULL)
        return false;
    params->axis = 1;
    params->mode = s->mode;
    params->op = p->op;
    params->flags = p->tuple.from_end ? TENON_INDEX_FROM_END : 0;
    return true;
}
