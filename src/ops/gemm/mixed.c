/* Argument validation of products whose factors have other types than the result, their family and
 * awkward cases, and its solvers gemm_mixed/converted and gemm_mixed/sums. */
#include "ops/gemm/mixed.h"

#include "check/awkward.h"
#include "ops/gemm/split_k.h"
#include "ops/registry.h"

#include <string.h>

static const tn_solver *const solvers[] = {&tn_gemm_mixed_sums, &tn_gemm_mixed_converted};

static bool mixed_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    const gemm_mixed_problem *like = (const gemm_mixed_problem *)problem;
    const gemm_problem *p = &like->product;
    const uint32_t types[] = {like->types[GEMM_A], like->types[GEMM_B], p->dtype, p->dtype,
                              p->dtype};
    tenon_gemm_params *params = (tenon_gemm_params *)c->params.bytes;
    if (number > 0)
        return false;
    tn_awkward_begin(c, &tn_operation_gemm_mixed);
    params->flags = (p->flags & GEMM_TF32) != 0 ? TENON_GEMM_ALLOW_TF32 : 0;
    params->epilogue = tn_check_epilogue(p->flags, p->activation);
    tn_gemm_awkward_views(p, choice, number, 2, GEMM_AWKWARD_ROWS, types, c->views);
    return true;
}

const tn_family tn_gemm_mixed_family = {
    .name = "gemm_mixed", TN_SOLVERS(solvers), .awkward = mixed_awkward, .paths = tn_gemm_paths};

tenon_status tn_gemm_mixed_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    const tenon_gemm_params *params = given;
    const char *caller = call->caller;
    gemm_mixed_problem *p = (gemm_mixed_problem *)problem;
    const tenon_tensor *v[GEMM_OPERANDS];
    for (int x = 0; x < GEMM_OPERANDS; x++)
        v[x] = call->operands[x].view;
    TN_TRY(tn_mixed_check(caller, &call->operands[GEMM_A], &call->operands[GEMM_B],
                          &call->operands[GEMM_D]));
    TN_TRY(tn_epilogue_check(caller, &params->epilogue, v[GEMM_C]));
    TN_TRY(tn_epilogue_refuse_post(caller, &params->epilogue));
    for (int x = GEMM_C; x < GEMM_OPERANDS; x++)
        TN_TRY(tn_same_dtype_check(caller, call->operands[x].name, v[x], "d", v[GEMM_D]->dtype));
    memset(p, 0, sizeof *p);
    TN_TRY(tn_gemm_canonicalize(caller, params, v[GEMM_A], v[GEMM_B], v[GEMM_C], v[GEMM_BIAS],
                                v[GEMM_D], &p->product, empty));
    p->product.head.size = sizeof *p;
    p->product.dtype = v[GEMM_D]->dtype;
    for (int x = GEMM_A; x <= GEMM_B; x++)
        p->types[x] = v[p->product.matrix[x].operand]->dtype;
    if (params->epilogue.beta == 0)
        call->operands[GEMM_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

/* gemm_mixed/converted */

/* Returns a factor as a view: the batch, rows and columns. */
static tenon_tensor view_of(const gemm_mixed_problem *p, int matrix)
{
    const gemm_problem *g = &p->product;
    const gemm_matrix *x = &g->matrix[matrix];
    const uint32_t batch = (uint32_t)g->batch_rank;
    tenon_tensor view = {.dtype = (tenon_dtype)p->types[matrix], .rank = batch + 2};
    memcpy(view.shape, g->batch, batch * sizeof *view.shape);
    memcpy(view.stride, x->batch, batch * sizeof *view.stride);
    view.shape[batch] = matrix == GEMM_A ? g->m : g->k;
    view.shape[batch + 1] = matrix == GEMM_A ? g->k : g->n;
    view.stride[batch] = x->row;
    view.stride[batch + 1] = x->col;
    return view;
}

/* Makes the product of the copies, which are operands of their own numbers. */
static gemm_problem convert(const gemm_mixed_problem *p, tn_widened_factors *copies)
{
    gemm_problem product = tn_gemm_without_post(&p->product);
    *copies = (tn_widened_factors){.count = 0};
    const bool is_read = (product.flags & GEMM_SKIP_AB) == 0 && product.k > 0;
    for (int x = GEMM_A; x <= GEMM_B && is_read; x++) {
        gemm_matrix *matrix = &product.matrix[x];
        const tenon_tensor view = view_of(p, x);
        if (p->types[x] == product.dtype)
            continue;
        const tenon_tensor copy = tn_widen(copies, &view, (uint16_t)matrix->operand);
        const uint32_t batch = view.rank - 2;
        memcpy(matrix->batch, copy.stride, batch * sizeof *matrix->batch);
        matrix->row = copy.stride[batch];
        matrix->col = copy.stride[batch + 1];
    }
    product.head.workspace_limit = tn_frame_room(product.head.workspace_limit, copies->bytes);
    return product;
}

static const char *converted_configure(tenon_context *context, const tn_problem *problem,
                                       tn_choice *choice)
{
    const gemm_mixed_problem *p = (const gemm_mixed_problem *)problem;
    tn_widened_factors copies;
    const gemm_problem product = convert(p, &copies);
    choice->time = tn_gemm_estimate(context, &product) +
                   tn_widen_time(context, &copies, problem->workspace_limit);
    return tn_mixed_choose(p->types, copies.bytes, choice);
}

static tenon_status converted_launch(const char *caller, tn_recording *recording,
                                     const tn_problem *problem, const tn_choice *choice)
{
    tn_widened_factors copies;
    const gemm_problem product = convert((const gemm_mixed_problem *)problem, &copies);
    tn_frame frame = tn_frame_after(copies.bytes);
    (void)choice;
    TN_TRY(tn_widen_record(caller, recording, &copies, problem->workspace_limit, &frame));
    return tn_gemm_record(caller, recording, &frame, &product);
}

const tn_solver tn_gemm_mixed_converted = {
    .name = "converted",
    .serves = "everything: a product by a solver of gemm, of copies of the factors in f32",
    .needs = "workspace for the copies, and that of the solver",
    .configure = converted_configure,
    .launch = converted_launch};

/* gemm_mixed/sums */

/* Makes the product of 16-bit factors whose sums are stored in f32, dense, as operand d. */
static gemm_problem sums_of(const gemm_mixed_problem *p, uint64_t bytes)
{
    gemm_problem sums = tn_gemm_without_post(&p->product);
    sums.dtype = p->types[GEMM_A];
    sums.flags = GEMM_PARTIAL;
    sums.activation = TENON_ACTIVATION_IDENTITY;
    sums.sums = 1U << GEMM_D;
    sums.matrix[GEMM_C] = (gemm_matrix){.operand = GEMM_C};
    sums.matrix[GEMM_BIAS] = (gemm_matrix){.operand = GEMM_BIAS};
    tn_gemm_store_densely(&sums);
    sums.head.workspace_limit = tn_frame_room(p->product.head.workspace_limit, bytes);
    return sums;
}

static const char *sums_configure(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const gemm_mixed_problem *p = (const gemm_mixed_problem *)problem;
    const gemm_problem *g = &p->product;
    if (p->types[GEMM_A] != p->types[GEMM_B])
        return "the factors have different types";
    if ((g->flags & GEMM_SKIP_AB) != 0 || g->k == 0)
        return "the product is not computed";
    const uint64_t bytes = tn_gemm_split_bytes(g, 1);
    const gemm_problem sums = sums_of(p, bytes);
    const tn_work add = tn_gemm_split_sum_work(context, g, 1);
    tn_choice_add(context, choice, &add);
    choice->time += tn_gemm_estimate(context, &sums);
    return tn_mixed_choose(p->types, bytes, choice);
}

static tenon_status sums_launch(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const gemm_mixed_problem *p = (const gemm_mixed_problem *)problem;
    const uint64_t bytes = tn_gemm_split_bytes(&p->product, 1);
    const gemm_problem sums = sums_of(p, bytes);
    tn_frame frame = tn_frame_after(bytes);
    (void)choice;
    tn_frame_operand(&frame, GEMM_D, TN_WORKSPACE, 0);
    TN_TRY(tn_gemm_record(caller, recording, &frame, &sums));
    return tn_gemm_split_record_sum(caller, recording, &p->product, 1,
                                    recording->context->device.is_cpu);
}

const tn_solver tn_gemm_mixed_sums = {
    .name = "sums",
    .serves = "factors of the same 16-bit type: their product by a solver of gemm, with sums in "
              "f32, and a pass with the epilogue",
    .needs = "workspace for the sums, and that of the solver",
    .configure = sums_configure,
    .launch = sums_launch};
