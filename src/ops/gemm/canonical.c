/* Conversion of the caller's views to the canonical GEMM problem. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/gemm/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Describes the first size in which two matrices disagree, and which factor would fit if it were
 * transposed. Returns `text`. */
static const char *describe_mismatch(const int64_t *a, const int64_t *b, const int64_t *d,
                                     char text[192])
{
    const struct {
        char size, first, second;
        int64_t in_first, in_second;
    } sizes[] = {
        {'K', 'a', 'b', a[1], b[0]}, {'M', 'a', 'd', a[0], d[0]}, {'N', 'b', 'd', b[1], d[1]}};
    const bool a_turned = a[0] == b[0] && a[1] == d[0] && b[1] == d[1];
    const bool b_turned = a[1] == b[1] && a[0] == d[0] && b[0] == d[1];
    int i = 0;
    while (i < 2 && sizes[i].in_first == sizes[i].in_second)
        i++;
    int used = snprintf(text, 192, ": %c is %" PRId64 " in %c and %" PRId64 " in %c", sizes[i].size,
                        sizes[i].in_first, sizes[i].first, sizes[i].in_second, sizes[i].second);
    if (a_turned || b_turned)
        snprintf(text + used, (size_t)(192 - used),
                 "; if %c is stored as %s, make its view with tenon_tensor_transpose",
                 b_turned ? 'b' : 'a', b_turned ? "N K" : "K M");
    return text;
}

static tenon_status check_shapes(const char *caller, const tenon_tensor *a, const tenon_tensor *b,
                                 const tenon_tensor *d)
{
    char sa[160], sb[160], sd[160], why[192];
    const tenon_tensor *views[] = {a, b, d};
    static const char *const names[] = {"a", "b", "d"};
    for (int i = 0; i < 3; i++)
        if (views[i]->rank < 2)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be at least 2",
                           caller, names[i], views[i]->rank);
    const int64_t *ea = &a->shape[a->rank - 2], *eb = &b->shape[b->rank - 2],
                  *ed = &d->shape[d->rank - 2];
    if (ea[1] != eb[0] || ed[0] != ea[0] || ed[1] != eb[1])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: sizes do not match: a is %s, b is %s, d is %s; they must be … M K, … K "
                       "N and … M N%s",
                       caller, tn_shape_text(a->rank, a->shape, sa),
                       tn_shape_text(b->rank, b->shape, sb), tn_shape_text(d->rank, d->shape, sd),
                       describe_mismatch(ea, eb, ed, why));
    return TENON_OK;
}

/* Sets a factor's strides over d's batch and within its matrix. */
static tenon_status take_factor(const char *caller, const char *name, const tenon_tensor *view,
                                const tenon_tensor *d, int64_t *batch, gemm_matrix *matrix)
{
    tenon_tensor lead = *view;
    lead.rank -= 2;
    matrix->row = view->shape[lead.rank] == 1 ? 0 : view->stride[lead.rank];
    matrix->col = view->shape[lead.rank + 1] == 1 ? 0 : view->stride[lead.rank + 1];
    return tn_broadcast(caller, name, &lead, d->rank - 2, d->shape, batch);
}

static tenon_status take_broadcast(const char *caller, const char *name, const tenon_tensor *view,
                                   const tenon_tensor *d, int64_t *batch, gemm_matrix *matrix)
{
    int64_t stride[TENON_MAX_RANK];
    if (view == NULL)
        return TENON_OK;
    TN_TRY(tn_broadcast(caller, name, view, d->rank, d->shape, stride));
    memcpy(batch, stride, (d->rank - 2) * sizeof *batch);
    matrix->row = stride[d->rank - 2];
    matrix->col = stride[d->rank - 1];
    return TENON_OK;
}

/* Returns true if dimension `i` of the batch can be folded into M (or into N if `columns`). The
 * other factor must be broadcast along the dimension. In every other matrix the step between batch
 * entries must continue the stride of the rows (columns). */
static bool folds(const gemm_problem *p, uint64_t i, bool columns)
{
    int other = columns ? GEMM_A : GEMM_B;
    int64_t size = columns ? p->n : p->m;
    uint32_t keep = columns ? GEMM_KEEP_COLUMNS : GEMM_KEEP_ROWS;
    if (p->matrix[other].batch[i] != 0 || (p->flags & keep) != 0)
        return false;
    for (int x = 0; x < GEMM_MATRICES; x++) {
        const gemm_matrix *matrix = &p->matrix[x];
        int64_t stride = columns ? matrix->col : matrix->row;
        if (x != other && size != 1 && matrix->batch[i] != stride * size)
            return false;
    }
    return true;
}

static void fold(gemm_problem *p, uint64_t i, bool columns)
{
    int other = columns ? GEMM_A : GEMM_B;
    int64_t *size = columns ? &p->n : &p->m;
    for (int x = 0; x < GEMM_MATRICES; x++) {
        gemm_matrix *matrix = &p->matrix[x];
        int64_t *stride = columns ? &matrix->col : &matrix->row;
        if (x != other && *size == 1)
            *stride = matrix->batch[i];
        memmove(&matrix->batch[i], &matrix->batch[i + 1],
                (GEMM_MAX_BATCH - 1 - i) * sizeof *matrix->batch);
        matrix->batch[GEMM_MAX_BATCH - 1] = 0;
    }
    *size *= p->batch[i];
    memmove(&p->batch[i], &p->batch[i + 1], (GEMM_MAX_BATCH - 1 - i) * sizeof *p->batch);
    p->batch[GEMM_MAX_BATCH - 1] = 0;
    p->batch_rank--;
}

static void fold_batch(gemm_problem *p)
{
    for (uint64_t i = p->batch_rank; i-- > 0;) {
        if (folds(p, i, false))
            fold(p, i, false);
        else if (folds(p, i, true))
            fold(p, i, true);
        else
            continue;
        i = p->batch_rank; /* dimensions skipped earlier may fold now */
    }
}

static void transpose(gemm_matrix *matrix)
{
    int64_t row = matrix->row;
    matrix->row = matrix->col;
    matrix->col = row;
}

void tn_gemm_exchange(gemm_problem *p)
{
    gemm_matrix a = p->matrix[GEMM_A];
    int64_t m = p->m;
    p->matrix[GEMM_A] = p->matrix[GEMM_B];
    p->matrix[GEMM_B] = a;
    p->m = p->n;
    p->n = m;
    for (int x = 0; x < GEMM_MATRICES; x++)
        transpose(&p->matrix[x]);
}

static bool wants_exchange(const gemm_problem *p)
{
    const gemm_matrix *d = &p->matrix[GEMM_D];
    if (p->batch_invariant || p->n == 1)
        return false;
    return p->m == 1 || (d->col != 1 && d->row == 1);
}

static void collapse_batch(gemm_problem *p, const tenon_tensor *d, const tn_space *batch)
{
    tn_space space = *batch;
    space.rank = d->rank - 2;
    space.views = GEMM_MATRICES;
    memcpy(space.shape, d->shape, space.rank * sizeof *space.shape);
    tn_space_collapse(&space);
    p->batch_rank = space.rank;
    memcpy(p->batch, space.shape, sizeof p->batch);
    for (int x = 0; x < GEMM_MATRICES; x++)
        memcpy(p->matrix[x].batch, space.stride[x], sizeof p->matrix[x].batch);
}

/* Returns true if the scale or the zero point of a (0), b (1) or d (2) is a vector. */
static bool has_vector(const tenon_epilogue *epilogue, int of)
{
    const tenon_tensor *scale = epilogue->scale[of], *zero_point = epilogue->zero_point[of];
    return (scale != NULL && tenon_tensor_elements(scale) > 1) ||
           (zero_point != NULL && tenon_tensor_elements(zero_point) > 1);
}

/* Sets the strides of the terms after the activation, and their flags. */
static tenon_status take_post(const char *caller, const tenon_tensor *const *views, tn_space *batch,
                              gemm_problem *p)
{
    const tenon_tensor *d = views[GEMM_D];
    for (int term = 0; term < POST_TERMS; term++) {
        const int x = GEMM_POST + term;
        if (views[x] == NULL)
            continue;
        if (term == POST_RESIDUAL)
            TN_TRY(tn_shape_check(caller, tn_post_names[term], views[x], d->rank, d->shape));
        TN_TRY(take_broadcast(caller, tn_post_names[term], views[x], d, batch->stride[x],
                              &p->matrix[x]));
        p->flags |= TENON_POST_SCALE << term;
    }
    return TENON_OK;
}

static tenon_status fill(const char *caller, const tenon_gemm_params *params,
                         const tenon_tensor *const *views, gemm_problem *p)
{
    tn_space batch = {0};
    const tenon_tensor *d = views[GEMM_D];
    const tenon_epilogue *epilogue = &params->epilogue;
    TN_TRY(take_factor(caller, "a", views[GEMM_A], d, batch.stride[GEMM_A], &p->matrix[GEMM_A]));
    TN_TRY(take_factor(caller, "b", views[GEMM_B], d, batch.stride[GEMM_B], &p->matrix[GEMM_B]));
    TN_TRY(take_factor(caller, "d", d, d, batch.stride[GEMM_D], &p->matrix[GEMM_D]));
    TN_TRY(tn_epilogue_bias_hint(
        take_broadcast(caller, "c", views[GEMM_C], d, batch.stride[GEMM_C], &p->matrix[GEMM_C]),
        views[GEMM_BIAS]));
    TN_TRY(take_broadcast(caller, "bias", views[GEMM_BIAS], d, batch.stride[GEMM_BIAS],
                          &p->matrix[GEMM_BIAS]));
    p->dtype = d->dtype;
    p->activation = epilogue->activation.kind;
    p->batch_invariant = (params->flags & TENON_GEMM_BATCH_INVARIANT) != 0;
    p->flags =
        (tn_epilogue_adds(epilogue, views[GEMM_C]) ? GEMM_HAS_C : 0) |
        (views[GEMM_BIAS] != NULL ? GEMM_HAS_BIAS : 0) | (epilogue->alpha == 0 ? GEMM_SKIP_AB : 0) |
        (has_vector(epilogue, 0) ? GEMM_KEEP_ROWS : 0) |
        (has_vector(epilogue, 1) || has_vector(epilogue, 2) ? GEMM_KEEP_COLUMNS : 0) |
        (p->dtype == TENON_DTYPE_F32 && (params->flags & TENON_GEMM_ALLOW_TF32) != 0 ? GEMM_TF32
                                                                                     : 0);
    TN_TRY(take_post(caller, views, &batch, p));
    p->m = d->shape[d->rank - 2];
    p->n = d->shape[d->rank - 1];
    p->k = views[GEMM_A]->shape[views[GEMM_A]->rank - 1];
    if ((p->flags & GEMM_HAS_C) ==
        0) { /* c is not read: problems that differ only in its strides are the same */
        memset(batch.stride[GEMM_C], 0, sizeof batch.stride[GEMM_C]);
        p->matrix[GEMM_C].row = p->matrix[GEMM_C].col = 0;
    }
    collapse_batch(p, d, &batch);
    return TENON_OK;
}

/* Fills in all fields that do not depend on the order of the factors. */
static tenon_status begin(const char *caller, const tenon_gemm_params *params,
                          const tenon_tensor *const *views, gemm_problem *problem)
{
    tn_problem_begin(&problem->head, sizeof *problem);
    TN_TRY(check_shapes(caller, views[GEMM_A], views[GEMM_B], views[GEMM_D]));
    TN_TRY(fill(caller, params, views, problem));
    for (uint64_t x = 0; x < GEMM_MATRICES; x++)
        problem->matrix[x].operand = x;
    return TENON_OK;
}

tenon_status tn_gemm_canonicalize(const char *caller, const tenon_gemm_params *params,
                                  const tenon_tensor *a, const tenon_tensor *b,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *d, gemm_problem *problem, bool *empty)
{
    const tenon_tensor *views[GEMM_MATRICES] = {a, b, c, bias, d};
    return tn_gemm_canonicalize_views(caller, params, views, problem, empty);
}

tenon_status tn_gemm_canonicalize_views(const char *caller, const tenon_gemm_params *params,
                                        const tenon_tensor *const views[GEMM_MATRICES],
                                        gemm_problem *problem, bool *empty)
{
    TN_TRY(begin(caller, params, views, problem));
    *empty = tn_tensor_empty(views[GEMM_D]);
    if (problem->batch_invariant && problem->n != 1 && problem->matrix[GEMM_D].col != 1)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: d: its stride along N is %" PRId64
                       "; with TENON_GEMM_BATCH_INVARIANT it must be 1",
                       caller, problem->matrix[GEMM_D].col);
    if (*empty)
        return TENON_OK;
    fold_batch(problem);
    if (wants_exchange(problem))
        tn_gemm_exchange(problem);
    return TENON_OK;
}

tenon_status tn_gemm_canonicalize_packed(const char *caller, const tenon_gemm_params *params,
                                         const tenon_tensor *const views[GEMM_MATRICES],
                                         gemm_problem *problem, bool *empty)
{
    TN_TRY(begin(caller, params, views, problem));
    *empty = tn_tensor_empty(views[GEMM_D]);
    problem->flags |= GEMM_KEEP_COLUMNS;
    if (!*empty)
        fold_batch(problem);
    return TENON_OK;
}
