/* The self-check of the solvers for i8 and u8: an awkward problem with the types and layouts of the
 * one at hand, its scales and its zero points. */
#include "check/case.h"
#include "check/host.h"
#include "ops/gemm/int8.h"
#include "ops/gemm/matrix.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

/* As GEMM's own: two of the largest block and one, K past four blocks and a tail. */
#define CHECK_ROWS        29
#define CHECK_ROWS_TILED  129
#define CHECK_COLS        131
#define CHECK_DEPTH       1091
#define CHECK_VECTOR_ROWS 701
/* Bytes that gemm_int8/tiled reads at once where it can. */
#define PATCH 16

/* Brings sums of some 2^20 into the range of bytes, and far into that of f16. */
#define ALPHA 0x1p-15

typedef struct check {
    tenon_gemm_params params;
    int8_problem problem;
    tn_twin twins[INT8_OPERANDS];
    tn_bounded *expected;
    uint64_t seed;
} check;

static tenon_status make_matrices(tenon_stream *stream, const int8_problem *like,
                                  const tn_choice *choice, check *c)
{
    const gemm_problem *p = &like->gemm;
    const uint32_t *types = like->types;
    bool vector = p->n == 1;
    const bool tiled = tn_is_solver(choice->solver, &tn_gemm_int8_tiled);
    const tn_check_sizes size =
        tn_gemm_is_matrix(choice->solver)
            ? tn_gemm_check_matrix_sizes(choice->values)
            : (tn_check_sizes){vector  ? CHECK_VECTOR_ROWS
                               : tiled ? CHECK_ROWS_TILED
                                       : CHECK_ROWS,
                               vector ? 1 : CHECK_COLS, CHECK_DEPTH, tiled ? PATCH : 1};
    const int64_t m = size.m, n = size.n, k = size.k;
    tenon_dtype real = types[GEMM_D] == TENON_DTYPE_I32 ? TENON_DTYPE_I32 : (tenon_dtype)p->dtype;
    tenon_dtype bias = types[GEMM_BIAS] != 0 ? (tenon_dtype)types[GEMM_BIAS] : real;
    const tenon_tensor views[GEMM_OPERANDS] = {
        [GEMM_A] = tn_gemm_check_factor((tenon_dtype)types[GEMM_A], tn_gemm_layout(p, GEMM_A), m, k,
                                        size.width),
        [GEMM_B] = tn_gemm_check_factor((tenon_dtype)types[GEMM_B], tn_gemm_layout(p, GEMM_B), k, n,
                                        size.width),
        [GEMM_C] = tn_gemm_check_view(real, GEMM_UNIT_COL, m, n),
        [GEMM_BIAS] = tn_gemm_check_view(bias, GEMM_UNIT_COL, 1, n),
        [GEMM_D] = tn_gemm_check_view((tenon_dtype)types[GEMM_D], tn_gemm_layout(p, GEMM_D), m, n),
    };
    for (int x = 0; x < GEMM_OPERANDS; x++)
        if (x != GEMM_BIAS || (p->flags & GEMM_HAS_BIAS) != 0)
            TN_TRY(tn_twin_create(stream, &views[x], &c->seed, &c->twins[x]));
    return TENON_OK;
}

static tenon_status make_vectors(tenon_stream *stream, const int8_problem *like, check *c)
{
    static const int of[] = {GEMM_A, GEMM_B, GEMM_D};
    for (int i = 0; i < INT8_VECTORS; i++) {
        const tenon_tensor *factor = &c->twins[of[i % 3]].host;
        bool scale = i < INT8_ZERO_A;
        const int64_t size[] = {factor->shape[i % 3 == 0 ? 1 : 2]};
        if ((like->present >> i & 1) == 0)
            continue;
        tenon_tensor view = tenon_tensor_view(scale ? TENON_DTYPE_F32 : factor->dtype, 1, size);
        view.stride[0] = 2;
        TN_TRY(tn_twin_create(stream, &view, &c->seed, &c->twins[GEMM_OPERANDS + i]));
    }
    return TENON_OK;
}

static void get_views(const check *c, bool host, int8_views views)
{
    for (int i = 0; i < INT8_OPERANDS; i++) {
        const tn_twin *twin = &c->twins[i];
        bool present = twin->host.memory.kind != TENON_MEMORY_NONE;
        views[i] = !present ? NULL : host ? &twin->host : &twin->device;
    }
}

/* The vectors that the canonical form asks the parameters for. */
static void set_vectors(int8_views views, tenon_epilogue *epilogue)
{
    for (int i = 0; i < 3; i++) {
        epilogue->scale[i] = views[GEMM_OPERANDS + INT8_SCALE_A + i];
        epilogue->zero_point[i] = views[GEMM_OPERANDS + INT8_ZERO_A + i];
    }
}

static tenon_status run(tenon_stream *stream, const tn_choice *choice, check *c)
{
    static const char operation[] = "gemm_int8 self-check";
    int8_views views;
    bool empty = false;
    double scalars[TN_MAX_SCALARS] = {0};
    get_views(c, false, views);
    set_vectors(views, &c->params.epilogue);
    TN_TRY(tn_gemm_int8_canonicalise(operation, &c->params, views, &c->problem, &empty));
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    TN_TRY(tn_twin_launch(stream, operation, choice, &c->problem.gemm.head, scalars, c->twins,
                          INT8_OPERANDS));
    return tn_twin_fetch(stream, &c->twins[GEMM_D]);
}

/* The operation has d behind the vectors. */
static void blame(tenon_stream *stream, const tn_choice *choice, const check *c)
{
    int8_views views;
    const tenon_tensor *ordered[INT8_OPERANDS];
    get_views(c, true, views);
    memcpy(ordered, views, GEMM_D * sizeof *views);
    memcpy(ordered + GEMM_D, views + GEMM_OPERANDS, INT8_VECTORS * sizeof *views);
    ordered[INT8_OPERANDS - 1] = views[GEMM_D];
    tn_case_blame(stream, &tn_operation_gemm_int8, &c->params, ordered, choice, 1);
}

static tenon_status check_run(tenon_stream *stream, const int8_problem *like,
                              const tn_choice *choice, check *c, bool *right, char why[256])
{
    int8_views views;
    TN_TRY(make_matrices(stream, like, choice, c));
    TN_TRY(make_vectors(stream, like, c));
    get_views(c, true, views);
    c->expected = malloc((size_t)tenon_tensor_elements(views[GEMM_D]) * sizeof *c->expected);
    if (c->expected == NULL || !tn_gemm_int8_reference(&c->params, views, c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "gemm_int8 self-check: no memory");
    TN_TRY(run(stream, choice, c));
    *right = tn_host_within(views[GEMM_D], c->expected, why);
    if (!*right)
        blame(stream, choice, c);
    return TENON_OK;
}

tenon_status tn_gemm_int8_self_check(tenon_stream *stream, const tn_problem *problem,
                                     const tn_choice *choice, bool *right, char why[256])
{
    const int8_problem *like = (const int8_problem *)problem;
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "gemm_int8 self-check: no memory");
    bool whole = like->types[GEMM_D] == TENON_DTYPE_I32;
    c->seed = 1;
    c->params = tenon_gemm_params_default();
    c->params.epilogue = tn_check_epilogue(like->gemm.flags, like->gemm.activation);
    if (c->params.epilogue.alpha != 0)
        c->params.epilogue.alpha = whole ? 1 : ALPHA;
    if (whole && c->params.epilogue.beta != 0)
        c->params.epilogue.beta = 1;
    if (whole)
        c->params.epilogue.activation.alpha = 1000;
    tenon_status status = check_run(stream, like, choice, c, right, why);
    for (int x = 0; x < INT8_OPERANDS; x++)
        tn_twin_destroy(&c->twins[x]);
    free(c->expected);
    free(c);
    return status;
}
