/* Awkward cases (sizes and layouts on which the self-check tries a solver) of the GEMM solvers,
 * with the types and layouts of the given problem, and helpers that related families share. */
#include "base/checked.h"
#include "check/awkward.h"
#include "ops/gemm/internal.h"
#include "ops/registry.h"

/* The columns exceed two of the largest block of any solver by one. K exceeds two of the longest
 * blocks by a remainder. The operands are far smaller than the validation context's 16 MiB. */
#define USUAL_COLS  131
#define USUAL_DEPTH 1091

/* Gaps between elements: extra pitch of rows and of batch entries, and an offset. */
#define GAP    5
#define OFFSET 3

/* Returns a view of matrices with the given layout, batched unless `batch` is 0. The first matrix
 * is aligned for vectors of `width` elements; the second is not. */
static tenon_tensor matrix_view(uint32_t dtype, gemm_layout layout, int64_t batch, int64_t rows,
                                int64_t cols, int64_t width)
{
    const uint32_t lead = batch > 0 ? 1 : 0;
    const bool by_columns = layout == GEMM_UNIT_ROW;
    const int64_t step = layout == GEMM_STRIDED ? 2 : 1;
    const int64_t inner = by_columns ? rows : cols, outer = by_columns ? cols : rows;
    const int64_t pitch = tn_round_up(inner * step + GAP, width);
    tenon_tensor view = {.dtype = (tenon_dtype)dtype, .rank = lead + 2};
    view.offset = (uint64_t)(width > 1 ? width : OFFSET) * tenon_dtype_size(view.dtype);
    view.shape[0] = batch;
    view.stride[0] = pitch * outer + GAP;
    view.shape[lead] = rows;
    view.shape[lead + 1] = cols;
    view.stride[lead] = by_columns ? step : pitch;
    view.stride[lead + 1] = by_columns ? pitch : step;
    return view;
}

/* Returns the layout of d in the case. A single row with strided elements also counts as
 * contiguous along M. Batch-invariant calls keep such a d; in all other calls the factors are
 * exchanged, and the case would describe another problem. */
static gemm_layout layout_of_d(const gemm_problem *like)
{
    const gemm_layout layout = tn_gemm_layout(like, GEMM_D);
    return layout == GEMM_UNIT_ROW ? GEMM_STRIDED : layout;
}

void tn_gemm_awkward_views(const gemm_problem *like, const tn_choice *choice, uint32_t number,
                           int64_t batch, int64_t rows, const uint32_t types[GEMM_OPERANDS],
                           tenon_tensor views[GEMM_MATRICES])
{
    int64_t m = tn_awkward_size(choice, number, "m", rows);
    int64_t n = tn_awkward_size(choice, number, "n", USUAL_COLS);
    const int64_t k = tn_awkward_size(choice, number, "k", USUAL_DEPTH);
    const int64_t thin = tn_awkward_size(choice, number, "thin", 0);
    const int64_t width = tn_awkward_size(choice, number, "width", 1);
    const int64_t d_width = tn_awkward_size(choice, number, "d_width", 1);
    if (thin > 0) { /* the thin side remains the thin side */
        m = like->n < like->m ? USUAL_COLS : thin;
        n = like->n < like->m ? thin : USUAL_COLS;
    }
    views[GEMM_A] = matrix_view(types[GEMM_A], tn_gemm_layout(like, GEMM_A), batch, m, k, width);
    views[GEMM_B] = matrix_view(types[GEMM_B], tn_gemm_layout(like, GEMM_B), batch, k, n, width);
    views[GEMM_D] = matrix_view(types[GEMM_D], layout_of_d(like), batch, m, n, d_width);
    if ((like->flags & GEMM_HAS_C) != 0)
        views[GEMM_C] = matrix_view(types[GEMM_C], GEMM_UNIT_COL, batch, m, n, d_width);
    if ((like->flags & GEMM_HAS_BIAS) != 0)
        views[GEMM_BIAS] = matrix_view(types[GEMM_BIAS], GEMM_UNIT_COL, batch, 1, n, 1);
    if ((like->flags & TENON_POST_SCALE) != 0)
        views[GEMM_POST + POST_SCALE] = matrix_view(types[GEMM_D], GEMM_UNIT_COL, batch, 1, n, 1);
    if ((like->flags & TENON_POST_SHIFT) != 0)
        views[GEMM_POST + POST_SHIFT] = matrix_view(types[GEMM_D], GEMM_STRIDED, batch, m, 1, 1);
    if ((like->flags & TENON_POST_RESIDUAL) != 0)
        views[GEMM_POST + POST_RESIDUAL] =
            matrix_view(types[GEMM_D], GEMM_UNIT_COL, batch, m, n, d_width);
}

bool tn_gemm_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const gemm_problem *like = (const gemm_problem *)problem;
    const uint32_t type = like->dtype, types[] = {type, type, type, type, type};
    tenon_gemm_params *params = (tenon_gemm_params *)c->params.bytes;
    if (number == tn_awkward_count(choice))
        return false;
    tn_awkward_begin(c, (like->flags & TENON_POST_ANY) != 0 ? &tn_operation_gemm_post
                                                            : &tn_operation_gemm);
    params->flags = (like->flags & GEMM_TF32) != 0 ? TENON_GEMM_ALLOW_TF32 : 0;
    params->epilogue = tn_check_epilogue(like->flags, like->activation);
    tn_gemm_awkward_views(like, choice, number, 2, GEMM_AWKWARD_ROWS, types, c->views);
    if (tn_post_tries_in_place(choice, like->flags))
        c->same[GEMM_POST + POST_RESIDUAL] = GEMM_D + 1;
    return true;
}
