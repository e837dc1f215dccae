/* The self-check of GEMM's solvers: an awkward problem with the layouts of the one at hand. */
#include "check/case.h"
#include "check/host.h"
#include "ops/gemm/matrix.h"
#include "ops/gemm/tiled.h"

#include "base/checked.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

/* Two of the largest block that a solver has, and one; K past two of the longest blocks, and a
 * tail. Short of the lab's 16 MiB by far. */
#define CHECK_ROWS      29
#define CHECK_ROWS_THIN 13
#define CHECK_COLS      131
#define CHECK_DEPTH     1091
/* A vector's problem has its other dimension long. */
#define CHECK_VECTOR_ROWS 701

/* On matrix units: K past all stages, and a tail. */
#define CHECK_STAGES 5
#define CHECK_TAIL   3
#define VECTOR       16 /* elements: 16 bytes of i8, and no less of the other types */

/* Gaps: a pitch longer than the rows, a batch longer than its matrices, an offset. */
#define PITCH_GAP 5
#define OFFSET    3

typedef struct check {
    tenon_gemm_params params;
    gemm_problem problem;
    tn_twin twins[GEMM_OPERANDS];
    tn_bounded *expected;
} check;

tenon_tensor tn_gemm_check_view(tenon_dtype dtype, gemm_layout layout, int64_t rows, int64_t cols)
{
    tenon_tensor view = {.offset = OFFSET * tenon_dtype_size(dtype),
                         .dtype = dtype,
                         .rank = 3,
                         .shape = {2, rows, cols}};
    int64_t step = layout == GEMM_STRIDED ? 2 : 1;
    int64_t inner = layout == GEMM_UNIT_ROW ? rows : cols,
            outer = layout == GEMM_UNIT_ROW ? cols : rows;
    int64_t pitch = inner * step + PITCH_GAP;
    view.stride[0] = pitch * outer + PITCH_GAP;
    view.stride[1] = layout == GEMM_UNIT_ROW ? step : pitch;
    view.stride[2] = layout == GEMM_UNIT_ROW ? pitch : step;
    return view;
}

tn_check_sizes tn_gemm_check_matrix_sizes(const int32_t *values)
{
    return (tn_check_sizes){2 * values[MATRIX_MB] + 1, 2 * values[MATRIX_NB] + 1,
                            (int64_t)CHECK_STAGES * values[MATRIX_KB] + CHECK_TAIL, VECTOR};
}

static tn_check_sizes sizes_for(const gemm_problem *like, const tn_choice *choice)
{
    const int32_t *values = choice->values;
    const bool split = tn_is_solver(choice->solver, &tn_gemm_split_k);
    if (tn_gemm_is_matrix(choice->solver))
        return tn_gemm_check_matrix_sizes(values);
    tn_check_sizes sizes = {CHECK_ROWS, CHECK_COLS, CHECK_DEPTH, 1};
    if (split || tn_is_solver(choice->solver, &tn_gemm_tiled))
        sizes = (tn_check_sizes){2 * values[TILED_MB] + 1, 2 * values[TILED_NB] + 1,
                                 split ? CHECK_DEPTH : 4 * values[TILED_KB] + 3, values[TILED_VW]};
    if (like->n == 1) {
        sizes.m = CHECK_VECTOR_ROWS;
        sizes.n = 1;
    } else if (tn_gemm_is_skinny(choice->solver)) { /* the thin side stays the thin side */
        sizes.m = like->n < like->m ? CHECK_COLS : CHECK_ROWS_THIN;
        sizes.n = like->n < like->m ? CHECK_ROWS_THIN : CHECK_COLS;
    }
    return sizes;
}

tenon_tensor tn_gemm_check_factor(tenon_dtype dtype, gemm_layout layout, int64_t rows, int64_t cols,
                                  int64_t width)
{
    tenon_tensor view = tn_gemm_check_view(dtype, layout, rows, cols);
    const int across = layout == GEMM_UNIT_ROW ? 2 : 1;
    if (width == 1)
        return view;
    view.offset = (uint64_t)width * tenon_dtype_size(dtype);
    view.stride[across] = tn_round_up(view.stride[across], width);
    view.stride[0] = view.stride[across] * (layout == GEMM_UNIT_ROW ? cols : rows) + PITCH_GAP;
    return view;
}

static tenon_status make_operands(tenon_stream *stream, const gemm_problem *like,
                                  const tn_choice *choice, check *c)
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    const tn_check_sizes s = sizes_for(like, choice);
    uint64_t seed = 1;
    const tenon_tensor views[GEMM_OPERANDS] = {
        [GEMM_A] = tn_gemm_check_factor(dtype, tn_gemm_layout(like, GEMM_A), s.m, s.k, s.width),
        [GEMM_B] = tn_gemm_check_factor(dtype, tn_gemm_layout(like, GEMM_B), s.k, s.n, s.width),
        [GEMM_C] = tn_gemm_check_view(dtype, GEMM_UNIT_COL, s.m, s.n),
        [GEMM_BIAS] = tn_gemm_check_view(dtype, GEMM_UNIT_COL, 1, s.n),
        [GEMM_D] = tn_gemm_check_view(dtype, tn_gemm_layout(like, GEMM_D), s.m, s.n),
    };
    for (int x = 0; x < GEMM_OPERANDS; x++)
        if (x != GEMM_BIAS || (like->flags & GEMM_HAS_BIAS) != 0)
            TN_TRY(tn_twin_create(stream, &views[x], &seed, &c->twins[x]));
    return TENON_OK;
}

static tenon_status run(tenon_stream *stream, const tn_choice *choice, check *c)
{
    static const char operation[] = "gemm self-check";
    const tn_twin *twins = c->twins;
    bool empty = false;
    double scalars[TN_MAX_SCALARS] = {0};
    TN_TRY(tn_gemm_canonicalise(operation, &c->params, &twins[GEMM_A].device, &twins[GEMM_B].device,
                                &twins[GEMM_C].device, tn_twin_device(&twins[GEMM_BIAS]),
                                &twins[GEMM_D].device, &c->problem, &empty));
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    return tn_twin_run(stream, operation, choice, &c->problem.head, scalars, c->twins,
                       GEMM_OPERANDS);
}

static tenon_status check_run(tenon_stream *stream, const gemm_problem *like,
                              const tn_choice *choice, check *c, bool *right, char why[256])
{
    const tenon_tensor *d = &c->twins[GEMM_D].host;
    TN_TRY(make_operands(stream, like, choice, c));
    c->expected = malloc((size_t)tenon_tensor_elements(d) * sizeof *c->expected);
    if (c->expected == NULL ||
        !tn_gemm_reference(&c->params, &c->twins[GEMM_A].host, &c->twins[GEMM_B].host,
                           &c->twins[GEMM_C].host, tn_twin_host(&c->twins[GEMM_BIAS]), d,
                           c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "gemm self-check: no memory");
    TN_TRY(run(stream, choice, c));
    *right = tn_host_within(d, c->expected, why);
    if (!*right)
        tn_twins_blame(stream, &tn_operation_gemm, &c->params, c->twins, GEMM_OPERANDS, choice);
    return TENON_OK;
}

tenon_status tn_gemm_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    const gemm_problem *like = (const gemm_problem *)problem;
    char name[TN_SOLVER_NAME_SIZE];
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "gemm self-check: no memory");
    c->params = tenon_gemm_params_default();
    c->params.flags = (like->flags & GEMM_TF32) != 0 ? TENON_GEMM_ALLOW_TF32 : 0;
    if (tn_gemm_is_matrix(choice->solver)) /* whose bound is another */
        c->params.solver = tn_solver_name(&tn_gemm_family, choice, name);
    c->params.epilogue = tn_check_epilogue(like->flags, like->activation);
    tenon_status status = check_run(stream, like, choice, c, right, why);
    for (int x = 0; x < GEMM_OPERANDS; x++)
        tn_twin_destroy(&c->twins[x]);
    free(c->expected);
    free(c);
    return status;
}
