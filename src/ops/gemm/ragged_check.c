/* The self-check of the ragged product's solvers. */
#include "check/case.h"
#include "check/host.h"
#include "ops/gemm/ragged.h"

#include "base/dtype.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

/* As GEMM's: blocks and one, K past two of its blocks; and groups that are empty, of one row, and
 * of many, with rows before and after them all and an offset that goes back. */
#define CHECK_ROWS       47
#define CHECK_ROWS_TILED 167
#define CHECK_COLS       131
#define CHECK_DEPTH      1091
#define CHECK_GROUPS     6
#define GAP              3

typedef struct check {
    tenon_gemm_ragged_params params;
    ragged_problem problem;
    tn_twin twins[RAGGED_OPERANDS];
    tn_bounded *expected;
} check;

/* Matrices, in groups where there are any, that lie as `layout` says. */
static tenon_tensor make_view(tenon_dtype dtype, gemm_layout layout, int64_t groups, int64_t rows,
                              int64_t cols)
{
    uint32_t lead = groups > 0 ? 1 : 0;
    int64_t step = layout == GEMM_STRIDED ? 2 : 1;
    int64_t pitch = (layout == GEMM_UNIT_ROW ? rows : cols) * step + GAP;
    tenon_tensor view = {.offset = GAP * tenon_dtype_size(dtype), .dtype = dtype, .rank = lead + 2};
    view.shape[0] = groups;
    view.stride[0] = pitch * (layout == GEMM_UNIT_ROW ? cols : rows) + GAP;
    view.shape[lead] = rows;
    view.shape[lead + 1] = cols;
    view.stride[lead] = layout == GEMM_UNIT_ROW ? step : pitch;
    view.stride[lead + 1] = layout == GEMM_UNIT_ROW ? pitch : step;
    return view;
}

static tenon_status fill_offsets(tenon_stream *stream, tn_twin *offsets, int64_t rows)
{
    const double values[CHECK_GROUPS + 1] = {1, 1, 2, 30, 20, (double)rows - 1, 0};
    tenon_tensor dense = tenon_tensor_view(TENON_DTYPE_I32, 1, offsets->device.shape);
    int32_t data[CHECK_GROUPS + 1];
    unsigned char *host = (unsigned char *)offsets->host.memory.u.svm + offsets->host.offset;
    for (int i = 0; i <= CHECK_GROUPS; i++) {
        data[i] = (int32_t)values[i];
        tn_dtype_store(TENON_DTYPE_I32, host + (size_t)i * sizeof *data, values[i]);
    }
    dense.memory = offsets->device.memory;
    dense.offset = offsets->device.offset;
    return tenon_tensor_upload(stream, data, sizeof data, &dense, NULL);
}

static tenon_status make_operands(tenon_stream *stream, const gemm_problem *like,
                                  const tn_choice *choice, check *c)
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    int64_t rows = tn_is_solver(choice->solver, &tn_ragged_tiled) ? CHECK_ROWS_TILED : CHECK_ROWS;
    const int64_t offsets[] = {CHECK_GROUPS + 1};
    uint64_t seed = 1;
    const tenon_tensor views[RAGGED_OPERANDS] = {
        [RAGGED_A] = make_view(dtype, tn_gemm_layout(like, GEMM_A), 0, rows, CHECK_DEPTH),
        [RAGGED_B] =
            make_view(dtype, tn_gemm_layout(like, GEMM_B), CHECK_GROUPS, CHECK_DEPTH, CHECK_COLS),
        [RAGGED_OFFSETS] = tenon_tensor_view(TENON_DTYPE_I32, 1, offsets),
        [RAGGED_C] = make_view(dtype, GEMM_UNIT_COL, 0, rows, CHECK_COLS),
        [RAGGED_BIAS] = make_view(dtype, GEMM_UNIT_COL, 0, CHECK_GROUPS, CHECK_COLS),
        [RAGGED_D] = make_view(dtype, tn_gemm_layout(like, GEMM_D), 0, rows, CHECK_COLS),
    };
    for (int x = 0; x < RAGGED_OPERANDS; x++)
        if (x != RAGGED_BIAS || (like->flags & GEMM_HAS_BIAS) != 0)
            TN_TRY(tn_twin_create(stream, &views[x], &seed, &c->twins[x]));
    return fill_offsets(stream, &c->twins[RAGGED_OFFSETS], rows);
}

static tenon_status check_run(tenon_stream *stream, const gemm_problem *like,
                              const tn_choice *choice, check *c, bool *right, char why[256])
{
    static const char operation[] = "gemm_ragged self-check";
    const tenon_tensor *host[RAGGED_OPERANDS], *device[RAGGED_OPERANDS];
    const tenon_tensor *d = &c->twins[RAGGED_D].host;
    double scalars[TN_MAX_SCALARS] = {0};
    bool empty = false;
    TN_TRY(make_operands(stream, like, choice, c));
    for (int x = 0; x < RAGGED_OPERANDS; x++) {
        host[x] = tn_twin_host(&c->twins[x]);
        device[x] = tn_twin_device(&c->twins[x]);
    }
    c->expected = malloc((size_t)tenon_tensor_elements(d) * sizeof *c->expected);
    if (c->expected == NULL || !tn_gemm_ragged_reference(&c->params, host, c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    TN_TRY(tn_ragged_canonicalise(operation, &c->params, device, &c->problem, &empty));
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    TN_TRY(tn_twin_run(stream, operation, choice, &c->problem.gemm.head, scalars, c->twins,
                       RAGGED_OPERANDS));
    *right = tn_host_within(d, c->expected, why);
    if (!*right)
        tn_twins_blame(stream, &tn_operation_gemm_ragged, &c->params, c->twins, RAGGED_OPERANDS,
                       choice);
    return TENON_OK;
}

tenon_status tn_ragged_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    const gemm_problem *like = &((const ragged_problem *)problem)->gemm;
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "gemm_ragged self-check: no memory");
    c->params = tenon_gemm_ragged_params_default();
    c->params.epilogue = tn_check_epilogue(like->flags, like->activation);
    tenon_status status = check_run(stream, like, choice, c, right, why);
    for (int x = 0; x < RAGGED_OPERANDS; x++)
        tn_twin_destroy(&c->twins[x]);
    free(c->expected);
    free(c);
    return status;
}
