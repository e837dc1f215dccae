/* The self-checks: packing and unpacking, and the products by panels. */
#include "base/dtype.h"
#include "ops/common/host.h"
#include "ops/packed/internal.h"

#include <stdlib.h>
#include <string.h>

/* Runs of rows and panels: two, and one. */
#define PACK_ROWS 261
/* Rows after whose tiles every height of the last ones is left over: with tiles of fourteen rows 8,
 * 4 and 1; 1; and 2; with tiles of four 3, 1 and 2. K is past two of the longest blocks, and a tail.
 */
#define CHECK_SIZES 3
static const int64_t check_rows[CHECK_SIZES] = {27, 29, 30};
#define CHECK_COLS  131
#define CHECK_DEPTH 1091
#define GAP         3
#define OFFSET      3

static const char no_memory[] = "packed self-check: no memory";

/* Two matrices with gaps, contiguous along the dimension that the problem's are. */
static tenon_tensor pack_view(const pack_problem *like, tenon_dtype dtype, int64_t cols)
{
    gemm_layout layout = like->col == 1   ? GEMM_UNIT_COL
                         : like->row == 1 ? GEMM_UNIT_ROW
                                          : GEMM_STRIDED;
    return tn_gemm_check_view(dtype, layout, PACK_ROWS, cols);
}

static tenon_status make_twins(tenon_stream *stream, const tenon_tensor *view, int64_t panel,
                               bool reverse, tn_twin *twins)
{
    const int64_t elements =
        view->shape[0] * view->shape[1] * tn_packed_padded(view->shape[2], panel);
    const tenon_tensor flat = tenon_tensor_view(view->dtype, 1, &elements);
    uint64_t seed = 1;
    TN_TRY(tn_twin_create(stream, view, &seed, &twins[reverse ? PACK_TO : PACK_FROM]));
    return tn_twin_create(stream, &flat, &seed, &twins[reverse ? PACK_FROM : PACK_TO]);
}

/* What the output must hold: its elements moved one by one. */
static tn_bounded *expected_of(const tn_twin *twins, int64_t panel, bool reverse)
{
    const tenon_tensor *tensor = &twins[reverse ? PACK_TO : PACK_FROM].host,
                       *packed = &twins[reverse ? PACK_FROM : PACK_TO].host;
    const size_t size = tenon_dtype_size(tensor->dtype);
    const int64_t count = reverse ? tenon_tensor_elements(tensor) : packed->shape[0];
    tn_bounded *expected = calloc((size_t)count, sizeof *expected);
    unsigned char *elements = malloc((size_t)packed->shape[0] * size);
    if (expected != NULL && elements != NULL) {
        if (reverse)
            memcpy(elements, packed->memory.u.svm, (size_t)packed->shape[0] * size);
        else
            tn_pack_reference(tensor, panel, elements);
        for (int64_t i = 0; i < count; i++) {
            int64_t at =
                reverse ? tn_packed_position(tensor->shape[1], tensor->shape[2], panel, i) : i;
            expected[i].value = tn_dtype_load(tensor->dtype, elements + (size_t)at * size);
        }
    }
    if (elements == NULL) {
        free(expected);
        expected = NULL;
    }
    free(elements);
    return expected;
}

static tenon_status check_pack(tenon_stream *stream, const pack_problem *like,
                               const tn_choice *choice, tn_twin *twins, bool *right, char why[256])
{
    static const double no_scalars[TN_MAX_SCALARS] = {0};
    /* Types of one size share a kernel; a device without f64 moves its elements all the same. */
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const bool dense = like->panel == like->cols, reverse = like->reverse != 0;
    const int64_t cols = dense ? 131 : 2 * like->panel + 1, panel = dense ? cols : like->panel;
    const tenon_tensor view = pack_view(like, dtype, cols);
    pack_problem problem;
    TN_TRY(make_twins(stream, &view, panel, reverse, twins));
    tn_bounded *expected = expected_of(twins, panel, reverse);
    if (expected == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s", no_memory);
    tn_pack_canonicalise(&view, dense ? 0 : panel, reverse, &problem);
    tenon_status status = tn_twin_run(stream, "pack self-check", choice, &problem.head, no_scalars,
                                      twins, PACK_OPERANDS);
    if (status == TENON_OK)
        *right = tn_host_within(&twins[PACK_TO].host, expected, why);
    free(expected);
    return status;
}

tenon_status tn_pack_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    tn_twin twins[PACK_OPERANDS] = {0};
    tenon_status status =
        check_pack(stream, (const pack_problem *)problem, choice, twins, right, why);
    for (int i = 0; i < PACK_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}

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
        if (x != GEMM_B)
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
                           &c->twins[GEMM_BIAS].host, d, c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s", no_memory);
    TN_TRY(tn_gemm_packed_canonicalise(operation, &c->params, &c->twins[GEMM_A].device,
                                       &c->b.device, like->panel, &c->twins[GEMM_C].device,
                                       &c->twins[GEMM_BIAS].device, &c->twins[GEMM_D].device,
                                       &c->problem, &empty));
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    TN_TRY(tn_twin_run(stream, operation, choice, &c->problem.gemm.head, scalars, c->twins,
                       GEMM_OPERANDS));
    *right = tn_host_within(d, c->expected, why);
    return TENON_OK;
}

static tenon_status check_rows_of(tenon_stream *stream, const packed_problem *like, int64_t rows,
                                  const tn_choice *choice, bool *right, char why[256])
{
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s", no_memory);
    c->params = tenon_gemm_params_default();
    c->params.epilogue.alpha = 0.75;
    c->params.epilogue.beta = -0.5;
    c->params.epilogue.activation.kind = like->gemm.activation;
    c->params.epilogue.activation.alpha = 0.25;
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
