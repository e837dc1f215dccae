/* Argument validation of tenon_segment_reduce and its gradient, their problem and their families.
 */
#include "base/dtype.h"
#include "ops/common/gpu.h"
#include "ops/common/index.h"
#include "ops/common/values.h"
#include "ops/segment/internal.h"

#include <inttypes.h>
#include <string.h>

_Static_assert((int)TENON_SEGMENT_SUM == SCAN_SUM && (int)TENON_SEGMENT_PRODUCT == SCAN_PRODUCT &&
                   (int)TENON_SEGMENT_MAX == SCAN_MAX && (int)TENON_SEGMENT_MIN == SCAN_MIN &&
                   (int)TENON_SEGMENT_MEAN == SEGMENT_MEAN,
               "kernels take the numbers of the public kinds");

static const tn_solver *const reduce_solvers[] = {&tn_segment_rows, &tn_segment_blocks};
static const tn_solver *const backward_solvers[] = {
    &tn_segment_backward_rows, &tn_segment_backward_scatter, &tn_segment_backward_sorted};

static const tn_solver *const weights_solvers[] = {&tn_segment_weights_products};

static uint64_t segment_paths(const tn_problem *problem)
{
    const segment_problem *p = (const segment_problem *)problem;
    return tn_paths_of_flags(p->flags, SEGMENT_HAS_INDICES | SEGMENT_HAS_WEIGHTS |
                                           SEGMENT_HAS_OFFSETS | SEGMENT_HAS_IDS) |
           UINT64_C(1) << (8 + p->kind) | UINT64_C(1) << (16 + p->dtype);
}

const tn_family tn_segment_reduce_family = {.name = "segment_reduce",
                                            TN_SOLVERS(reduce_solvers),
                                            .awkward = tn_segment_reduce_awkward,
                                            .paths = segment_paths};
const tn_family tn_segment_reduce_backward_family = {.name = "segment_reduce_backward",
                                                     TN_SOLVERS(backward_solvers),
                                                     .awkward = tn_segment_reduce_backward_awkward,
                                                     .paths = segment_paths};

const tn_family tn_segment_reduce_backward_weights_family = {
    .name = "segment_reduce_backward_weights",
    TN_SOLVERS(weights_solvers),
    .awkward = tn_segment_reduce_backward_weights_awkward,
    .paths = segment_paths};

const char *const tn_segment_words[] = {"sum", "product", "max", "min", "mean", NULL};

void tn_segment_options(tenon_context *context, uint32_t dtype, uint32_t index_type,
                        uint32_t segment_type, bool vectors, tn_choice *choice)
{
    tn_choice_options(context, choice, "%s%s%s%s%s", tn_value_options(dtype),
                      vectors && context->device.is_cpu ? " -DTENON_VW=8" : "",
                      tn_gpu_option(context), tn_index_option(index_type),
                      segment_type == TENON_DTYPE_I64 ? " -DTENON_SEGMENT=long" : "");
}

/* The operands of a call, numbered as in the forward direction: the lists, and in the places of x
 * and y the first and the last one. The rows are x or dx, and the results y or dy. */
typedef struct segment_call {
    tn_call *call;
    const tn_argument *rows, *results, *operands[SEGMENT_OPERANDS];
    uint32_t flags;
} segment_call;

/* Checks a list with one entry per position, or one more than segments. */
static tenon_status check_list(const segment_call *c, uint32_t operand, int64_t size,
                               const char *rule)
{
    const tn_argument *a = c->operands[operand];
    if (a->view == NULL)
        return TENON_OK;
    if (a->view->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be 1",
                       c->call->caller, a->name, a->view->rank);
    if (a->view->shape[0] != size)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: size is %" PRId64 ", must be %" PRId64 ", %s", c->call->caller,
                       a->name, a->view->shape[0], size, rule);
    return TENON_OK;
}

static tenon_status check_rows(const segment_call *c)
{
    const tenon_tensor *rows = c->rows->view, *results = c->results->view;
    tenon_tensor wanted = *rows;
    if (rows->rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is 0, must be at least 1",
                       c->call->caller, c->rows->name);
    TN_TRY(tn_same_dtype_check(c->call->caller, c->operands[SEGMENT_Y]->name,
                               c->operands[SEGMENT_Y]->view, c->operands[SEGMENT_X]->name,
                               c->operands[SEGMENT_X]->view->dtype));
    if (results->rank == rows->rank)
        wanted.shape[0] = results->shape[0];
    return tn_shape_check(c->call->caller, c->results->name, results, rows->rank, wanted.shape);
}

/* Checks the lists. Returns the number of positions in *positions. */
static tenon_status check_lists(const segment_call *c, int64_t *positions)
{
    const tn_argument *const *v = c->operands;
    const tenon_tensor *indices = v[SEGMENT_INDICES]->view, *segments = v[SEGMENT_SEGMENTS]->view;
    const char *caller = c->call->caller;
    const int64_t count = c->results->view->shape[0];
    const bool by_id = (c->flags & TENON_SEGMENT_IDS) != 0;
    *positions = c->rows->view->shape[0];
    if (indices != NULL) {
        TN_TRY(tn_index_check(caller, "indices", indices));
        if (indices->rank == 1)
            *positions = indices->shape[0];
        TN_TRY(check_list(c, SEGMENT_INDICES, *positions, "the number of positions"));
    }
    if (*positions > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: number of positions is %" PRId64 ", must be at most %d", caller,
                       indices != NULL ? "indices" : c->rows->name, *positions, INT32_MAX);
    TN_TRY(check_list(c, SEGMENT_WEIGHTS, *positions, "the number of positions"));
    TN_TRY(tn_same_dtype_check(caller, v[SEGMENT_WEIGHTS]->name, v[SEGMENT_WEIGHTS]->view,
                               v[SEGMENT_X]->name, v[SEGMENT_X]->view->dtype));
    if (segments == NULL && by_id)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: segments: are absent, must be present with TENON_SEGMENT_IDS", caller);
    if (segments == NULL)
        return count == 0
                   ? (*positions == 0
                          ? TENON_OK
                          : tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                                    "%s: %s: has no rows, must have some for %" PRId64 " positions",
                                    caller, c->results->name, *positions))
               : *positions % count == 0 ? TENON_OK
                                         : tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                                                   "%s: %s: number of rows is %" PRId64
                                                   ", must divide the number of positions, %" PRId64
                                                   ", or segments must be given",
                                                   caller, c->results->name, count, *positions);
    TN_TRY(tn_index_check(caller, "segments", segments));
    return by_id ? check_list(c, SEGMENT_SEGMENTS, *positions, "the number of positions")
                 : check_list(c, SEGMENT_SEGMENTS, count + 1, "the number of segments plus 1");
}

/* Fills in the columns, of which there is at least one, sorted by the strides of the output. */
static void fill_columns(const tenon_tensor *rows, const tenon_tensor *results, uint32_t by,
                         segment_problem *p)
{
    const tenon_tensor *const views[SEGMENT_VIEWS] = {rows, results};
    tn_space space = {.rank = rows->rank - 1, .views = SEGMENT_VIEWS};
    for (uint32_t v = 0; v < SEGMENT_VIEWS; v++) {
        p->row_step[v] = views[v]->stride[0];
        for (uint32_t d = 0; d < space.rank; d++) {
            space.shape[d] = rows->shape[d + 1];
            space.stride[v][d] = views[v]->stride[d + 1];
        }
    }
    tn_space_sort(&space, by);
    tn_space_collapse(&space);
    if (space.rank == 0)
        space.rank = (uint32_t)(space.shape[0] = 1);
    p->rank = space.rank;
    memcpy(p->shape, space.shape, sizeof p->shape);
    memcpy(p->stride, space.stride, sizeof p->stride);
}

static tenon_status prepare(const segment_call *c, uint32_t kind, segment_problem *p, bool *empty)
{
    const tn_argument *const *v = c->operands;
    const tenon_tensor *indices = v[SEGMENT_INDICES]->view, *weights = v[SEGMENT_WEIGHTS]->view;
    const tenon_tensor *segments = v[SEGMENT_SEGMENTS]->view;
    int64_t positions = 0;
    bool has_columns = true;
    TN_TRY(check_rows(c));
    TN_TRY(check_lists(c, &positions));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = v[SEGMENT_X]->view->dtype;
    p->kind = kind;
    p->segments = c->results->view->shape[0];
    p->rows = c->rows->view->shape[0];
    p->positions = positions;
    p->index_type = indices != NULL ? indices->dtype : TENON_DTYPE_I32;
    p->segment_type = segments != NULL ? segments->dtype : TENON_DTYPE_I32;
    if (indices != NULL) {
        p->flags |= SEGMENT_HAS_INDICES;
        p->index_step = indices->stride[0];
    }
    if (weights != NULL) {
        p->flags |= SEGMENT_HAS_WEIGHTS;
        p->weight_step = weights->stride[0];
    }
    if (segments != NULL) {
        p->flags |= c->flags & TENON_SEGMENT_IDS ? SEGMENT_HAS_IDS : SEGMENT_HAS_OFFSETS;
        p->segment_step = segments->stride[0];
    }
    *empty = tn_tensor_empty(v[SEGMENT_Y]->view);
    p->rank = 1;
    for (uint32_t d = 1; d < c->rows->view->rank; d++)
        has_columns = has_columns && c->rows->view->shape[d] > 0;
    if (has_columns)
        fill_columns(c->rows->view, c->results->view,
                     c->results == v[SEGMENT_Y] ? SEGMENT_RESULTS : SEGMENT_ROWS, p);
    return TENON_OK;
}

tenon_status tn_segment_reduce_prepare(const void *given, tn_call *call, tn_problem *problem,
                                       bool *empty)
{
    const tenon_segment_params *params = given;
    const tn_argument *o = call->operands;
    const segment_call c = {
        call, &o[SEGMENT_X], &o[SEGMENT_Y], {&o[0], &o[1], &o[2], &o[3], &o[4]}, params->flags};
    const tenon_dtype dtype = c.rows->view->dtype;
    TN_TRY(tn_reserved_check(call->caller, params->reserved));
    TN_TRY(tn_kind_check(call->caller, "kind", params->kind, TENON_SEGMENT_MEAN,
                         "tenon_segment_kind"));
    TN_TRY(tn_value_check(call->caller, "x", call->context, dtype));
    if (params->kind == TENON_SEGMENT_MEAN && !tn_dtype_is_float(dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: x: type is %s, must be a floating-point type for a mean", call->caller,
                       tenon_dtype_string(dtype));
    if (call->operands[SEGMENT_WEIGHTS].view != NULL &&
        (!tn_dtype_is_float(dtype) ||
         (params->kind != TENON_SEGMENT_SUM && params->kind != TENON_SEGMENT_MEAN)))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: weights: are present, must be absent except for floating-point sums "
                       "and means",
                       call->caller);
    return prepare(&c, params->kind, (segment_problem *)problem, empty);
}

static tenon_status check_gradient_kind(const tn_call *call, const tenon_segment_params *params)
{
    TN_TRY(tn_reserved_check(call->caller, params->reserved));
    TN_TRY(tn_kind_check(call->caller, "kind", params->kind, TENON_SEGMENT_MEAN,
                         "tenon_segment_kind"));
    if (params->kind != TENON_SEGMENT_SUM && params->kind != TENON_SEGMENT_MEAN)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: params: kind is %s, must be sum or mean",
                       call->caller, tn_segment_words[params->kind]);
    return TENON_OK;
}

tenon_status tn_segment_reduce_backward_prepare(const void *given, tn_call *call,
                                                tn_problem *problem, bool *empty)
{
    const tenon_segment_params *params = given;
    const tn_argument *o = call->operands;
    const segment_call c = {
        call, &o[SEGMENT_DX], &o[SEGMENT_DY], {&o[0], &o[1], &o[2], &o[3], &o[4]}, params->flags};
    TN_TRY(check_gradient_kind(call, params));
    TN_TRY(tn_float_check(call->caller, "dy", call->context, c.results->view->dtype));
    return prepare(&c, params->kind, (segment_problem *)problem, empty);
}

tenon_status tn_segment_reduce_backward_weights_prepare(const void *given, tn_call *call,
                                                        tn_problem *problem, bool *empty)
{
    const tenon_segment_params *params = given;
    const tn_argument *o = call->operands, *x = &o[SEGMENT_WEIGHTS_X], *dy = &o[SEGMENT_WEIGHTS_DY];
    const segment_call c = {
        call,
        x,
        dy,
        {x, &o[SEGMENT_WEIGHTS_INDICES], &o[SEGMENT_DWEIGHTS], &o[SEGMENT_WEIGHTS_SEGMENTS], dy},
        params->flags};
    segment_problem *p = (segment_problem *)problem;
    TN_TRY(check_gradient_kind(call, params));
    TN_TRY(tn_float_check(call->caller, "x", call->context, x->view->dtype));
    TN_TRY(prepare(&c, params->kind, p, empty));
    p->flags &= ~(uint32_t)SEGMENT_HAS_WEIGHTS; /* they are the output */
    *empty = tn_tensor_empty(o[SEGMENT_DWEIGHTS].view);
    return TENON_OK;
}
