/* The self-check of the products by panels. */
#include "check/host.h"
#include "ops/packed/internal.h"

#include <stdlib.h>
#include <string.h>

/* Rows after whose tiles every height of the last ones is left over: with tiles of fourteen rows 8,
 * 4 and 1; 1; and 2; with tiles of four 3, 1 and 2. K is past two of the longest blocks, and a
 * tail.
 */
#define CHECK_SIZES 3
static const int64_t check_rows[CHECK_SIZES] = {27, 29, 30};
#define CHECK_COLS  131
#define CHECK_DEPTH 2091

static const char no_memory[] = "packed self-check: no memory";

typedef struct check {
    tenon_gemm_params params;
    packed_problem problem;
    tn_twin twins[GEMM_OPERANDS]; /* b's is the packed elements */
    tn_twin b;
    tn_bounded *expected;
} check;

/* b as the reference takes it, and what its panels hold. */
static tenon_status pack_b(tenon_stream *stream, tenon_dtype dtype, int64_t panel, check *c)
{
    const int64_t shape[] = {2, CHECK_DEPTH, CHECK_COLS};
    const int64_t elements = 2 * CHECK_DEPTH * tn_packed_padded(CHECK_COLS, panel);
    const tenon_tensor b = tenon_tensor_view(dtype, 3, shape),
                       flat = tenon_tensor_view(dtype, 1, &elements);
    tn_twin *packed = &c->twins[GEMM_B];
    uint64_t seed = 2;
    TN_TRY(tn_twin_create(stream, &b, &seed, &c->b));
    TN_TRY(tn_twin_create(stream, &flat, &seed, packed));
    tn_pack_reference(&c->b.host, panel, packed->host.memory.u.svm);
    return tenon_tensor_upload(stream, packed->host.memory.u.svm,
                               (size_t)elements * tenon_dtype_size(dtype), &packed->device, NULL);
}

static tenon_status make_operands(tenon_stream *stream, const packed_problem *like, int64_t rows,
                                  check *c)
{
    const gemm_problem *p = &like->gemm;
    tenon_dtype dtype = (tenon_dtype)p->dtype;
    uint64_t seed = 1;
    const tenon_tensor views[GEMM_OPERANDS] = {
        [GEMM_A] = tn_gemm_check_view(dtype, tn_gemm_layout(p, GEMM_A), rows, CHECK_DEPTH),
        [GEMM_C] = tn_gemm_check_view(dtype, GEMM_UNIT_COL, rows, CHECK_COLS),
        [GEMM_BIAS] = tn_gemm_check_view(dtype, GEMM_UNIT_COL, 1, CHECK_COLS),
        [GEMM_D] = tn_gemm_check_view(dtype, tn_gemm_layout(p, GEMM_D), rows, CHECK_COLS)};
    for (int x = 0; x < GEMM_OPERANDS; x++)
        if (x != GEMM_B && (x != GEMM_BIAS || (p->flags & GEMM_HAS_BIAS) != 0))
            TN_TRY(tn_twin_create(stream, &views[x], &seed, &c->twins[x]));
    return pack_b(stream, dtype, like->panel, c);
}

static tenon_status check_run(tenon_stream *stream, const packed_problem *like, int64_t rows,
                              const tn_choice *choice, check *c, bool *right, char why[256])
{
    static const char operation[] = "gemm_packed self-check";
    const tenon_tensor *d = &c->twins[GEMM_D].host;
    double scalars[TN_MAX_SCALARS] = {0};
    bool empty = false;
    TN_TRY(make_operands(stream, like, rows, c));
    c->expected = malloc((size_t)tenon_tensor_elements(d) * sizeof *c->expected);
    if (c->expected == NULL ||
        !tn_gemm_reference(&c->params, &c->twins[GEMM_A].host, &c->b.host, &c->twins[GEMM_C].host,
                           tn_twin_host(&c->twins[GEMM_BIAS]), d, c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s", no_memory);
    TN_TRY(tn_gemm_packed_canonicalise(operation, &c->params, &c->twins[GEMM_A].device,
                                       &c->b.device, like->panel, &c->twins[GEMM_C].device,
                                       tn_twin_device(&c->twins[GEMM_BIAS]),
                                       &c->twins[GEMM_D].device, &c->problem, &empty));
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    TN_TRY(tn_twin_run(stream, operation, choice, &c->problem.gemm.head, scalars, c->twins,
                       GEMM_OPERANDS));
    *right = tn_host_within(d, c->expected, why);
    if (!*right) {
        const tenon_tensor *const views[GEMM_OPERANDS] = {[GEMM_A] = &c->twins[GEMM_A].host,
                                                          [GEMM_C] = &c->twins[GEMM_C].host,
                                                          [GEMM_BIAS] =
                                                              tn_twin_host(&c->twins[GEMM_BIAS]),
                                                          [GEMM_D] = d};
        tn_packed_blame(stream, &c->params, CHECK_DEPTH, CHECK_COLS, views, choice);
    }
    return TENON_OK;
}

static tenon_status check_rows_of(tenon_stream *stream, const packed_problem *like, int64_t rows,
                                  const tn_choice *choice, bool *right, char why[256])
{
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s", no_memory);
    c->params = tenon_gemm_params_default();
    c->params.epilogue = tn_check_epilogue(like->gemm.flags, like->gemm.activation);
    tenon_status status = check_run(stream, like, rows, choice, c, right, why);
    for (int x = 0; x < GEMM_OPERANDS; x++)
        tn_twin_destroy(&c->twins[x]);
    tn_twin_destroy(&c->b);
    free(c->expected);
    free(c);
    return status;
}

tenon_status tn_gemm_packed_self_check(tenon_stream *stream, const tn_problem *problem,
                                       const tn_choice *choice, bool *right, char why[256])
{
    *right = true;
    for (int i = 0; i < CHECK_SIZES && *right; i++)
        TN_TRY(check_rows_of(stream, (const packed_problem *)problem, check_rows[i], choice, right,
                             why));
    return TENON_OK;
}
