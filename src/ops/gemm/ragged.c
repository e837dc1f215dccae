/* Argument validation, the canonical problem and the solver family of tenon_gemm_ragged. */
#include "ops/gemm/ragged.h"

#include "base/shape.h"

#include <inttypes.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_ragged_cpu, &tn_ragged_tiled, &tn_ragged_plain};

const tn_family tn_gemm_ragged_family = {.name = "gemm_ragged",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_ragged_awkward,
                                         .paths = tn_gemm_paths};

static tenon_status check_rank(const char *caller, const char *name, const tenon_tensor *view,
                               uint32_t rank, const char *shape)
{
    if (view->rank == rank)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be %u: %s", caller, name,
                   view->rank, rank, shape);
}

static tenon_status check_shapes(const char *caller, const tenon_tensor *const *views)
{
    char sa[160], sb[160], sd[160];
    const tenon_tensor *a = views[RAGGED_A], *b = views[RAGGED_B], *d = views[RAGGED_D],
                       *offsets = views[RAGGED_OFFSETS];
    TN_TRY(check_rank(caller, "a", a, 2, "rows K"));
    TN_TRY(check_rank(caller, "b", b, 3, "G K N"));
    TN_TRY(check_rank(caller, "offsets", offsets, 1, "G + 1"));
    TN_TRY(check_rank(caller, "d", d, 2, "rows N"));
    if (a->shape[1] != b->shape[1] || d->shape[0] != a->shape[0] || d->shape[1] != b->shape[2])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: sizes do not match: a is %s, b is %s, d is %s; they must be rows K, G "
                       "K N and rows N",
                       caller, tn_shape_text(2, a->shape, sa), tn_shape_text(3, b->shape, sb),
                       tn_shape_text(2, d->shape, sd));
    if (offsets->shape[0] - 1 != b->shape[0])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: offsets: size is %" PRId64 ", must be one more than the %" PRId64
                       " groups of b",
                       caller, offsets->shape[0], b->shape[0]);
    return TENON_OK;
}

/* Sets the strides of a matrix from the last two dimensions of a view. */
static void take_matrix(const tenon_tensor *view, gemm_matrix *matrix)
{
    const int64_t *shape = &view->shape[view->rank - 2], *stride = &view->stride[view->rank - 2];
    matrix->row = shape[0] == 1 ? 0 : stride[0];
    matrix->col = shape[1] == 1 ? 0 : stride[1];
}

/* Sets the strides of c, broadcast to d's shape, and of the bias, broadcast over groups and
 * columns. */
static tenon_status take_broadcasts(const char *caller, const tenon_tensor *const *views,
                                    gemm_problem *p)
{
    const tenon_tensor *c = views[RAGGED_C], *bias = views[RAGGED_BIAS];
    const int64_t bias_shape[] = {views[RAGGED_B]->shape[0], views[RAGGED_B]->shape[2]};
    int64_t stride[TENON_MAX_RANK];
    if (c != NULL) { /* checked even if it is not read */
        TN_TRY(tn_epilogue_bias_hint(
            tn_broadcast(caller, "c", c, 2, views[RAGGED_D]->shape, stride), bias));
        if ((p->flags & GEMM_HAS_C) != 0)
            p->matrix[GEMM_C] = (gemm_matrix){.row = stride[0], .col = stride[1]};
    }
    if (bias != NULL) {
        TN_TRY(tn_broadcast(caller, "bias", bias, 2, bias_shape, stride));
        p->matrix[GEMM_BIAS] = (gemm_matrix){.col = stride[1], .batch = {stride[0]}};
    }
    return TENON_OK;
}

static tenon_status canonicalize(const char *caller, const tenon_gemm_ragged_params *params,
                                 const tenon_tensor *const *views, ragged_problem *problem,
                                 bool *empty)
{
    static const uint8_t operands[GEMM_OPERANDS] = {RAGGED_A, RAGGED_B, RAGGED_C, RAGGED_BIAS,
                                                    RAGGED_D};
    const tenon_tensor *b = views[RAGGED_B], *d = views[RAGGED_D];
    gemm_problem *p = &problem->gemm;
    tn_problem_begin(&p->head, sizeof *problem);
    TN_TRY(check_shapes(caller, views));
    p->dtype = d->dtype;
    p->activation = params->epilogue.activation.kind;
    p->flags = (tn_epilogue_adds(&params->epilogue, views[RAGGED_C]) ? GEMM_HAS_C : 0) |
               (views[RAGGED_BIAS] != NULL ? GEMM_HAS_BIAS : 0) |
               (params->epilogue.alpha == 0 ? GEMM_SKIP_AB : 0);
    p->m = d->shape[0];
    p->n = d->shape[1];
    p->k = b->shape[1];
    p->batch_rank = 1;
    p->batch[0] = b->shape[0];
    take_matrix(views[RAGGED_A], &p->matrix[GEMM_A]);
    take_matrix(b, &p->matrix[GEMM_B]);
    take_matrix(d, &p->matrix[GEMM_D]);
    p->matrix[GEMM_B].batch[0] = b->shape[0] == 1 ? 0 : b->stride[0];
    TN_TRY(take_broadcasts(caller, views, p));
    for (int x = 0; x < GEMM_OPERANDS; x++)
        p->matrix[x].operand = operands[x];
    problem->offsets_step = views[RAGGED_OFFSETS]->stride[0];
    *empty = tn_tensor_empty(d) || p->batch[0] == 0;
    return TENON_OK;
}

tenon_status tn_ragged_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_gemm_ragged_params *params = given;
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    const tenon_tensor *views[RAGGED_OPERANDS];
    tenon_dtype dtype;
    TN_TRY(tn_epilogue_check(caller, &params->epilogue, operands[RAGGED_C].view));
    TN_TRY(tn_epilogue_refuse_post(caller, &params->epilogue));
    dtype = operands[RAGGED_A].view->dtype;
    TN_TRY(tn_float_check(caller, "a", call->context, dtype));
    for (int i = 0; i < RAGGED_OPERANDS; i++) {
        views[i] = operands[i].view;
        if (i != RAGGED_OFFSETS)
            TN_TRY(tn_same_dtype_check(caller, operands[i].name, views[i], "a", dtype));
    }
    if (views[RAGGED_OFFSETS]->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: offsets: type is %s, must be i32", caller,
                       tenon_dtype_string(views[RAGGED_OFFSETS]->dtype));
    TN_TRY(canonicalize(caller, params, views, (ragged_problem *)problem, empty));
    if (params->epilogue.beta == 0)
        call->operands[RAGGED_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}
