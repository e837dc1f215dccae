/* Argument validation of tenon_bernoulli, tenon_categorical and tenon_permutation, their families
 * and solvers. */
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/epilogue.h"
#include "ops/common/gpu.h"
#include "ops/random/internal.h"

#include <stdio.h>
#include <string.h>

/* Elements of a piece of a CPU's work-item. */
#define CPU_CHUNK 256

/* From this number of classes on, a piece is a vector of rows. */
#define MANY_CLASSES 64

/* Configures a solver whose kernel has the family's name. Its work-items on a GPU have one element
 * each. */
static void configure(tenon_context *context, const char *source, const char *kernel,
                      uint32_t dtype, uint32_t out_bytes, tn_choice *choice)
{
    char bytes[40] = "";
    if (out_bytes != 0)
        snprintf(bytes, sizeof bytes, " -DTENON_OUT_BYTES=%u", out_bytes);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s", dtype,
                      tn_lanes(context, dtype), tn_gpu_option(context), bytes);
    *TN_LAYOUT(tn_lines_launch, choice) = (tn_lines_launch){
        .source = source, .kernel = kernel, .cpu_chunk = CPU_CHUNK, .gpu_chunk = 1, .bits = 2};
}

static const char *bernoulli_configure(tenon_context *context, const tn_problem *problem,
                                       tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    configure(context, "random/bernoulli", "bernoulli", p->dtype,
              p->kind != 0 ? p->element_size[DRAW_Y] : 0, choice);
    return NULL;
}

static const char *categorical_configure(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    configure(context, "random/categorical", "categorical", p->dtype, p->element_size[DRAW_Y],
              choice);
    if (p->number[0] >= MANY_CLASSES)
        TN_LAYOUT(tn_lines_launch, choice)->cpu_chunk = (int64_t)tn_lanes(context, p->dtype);
    return NULL;
}

static const char *permutation_configure(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    configure(context, "random/permutation", "permutation", TENON_DTYPE_F32,
              p->element_size[RANDOM_Y], choice);
    return NULL;
}

static const tn_solver bernoulli_lines = {.name = "lines",
                                          .serves = "everything",
                                          .configure = bernoulli_configure,
                                          .launch = tn_lines_launch_choice};
static const tn_solver categorical_lines = {.name = "lines",
                                            .serves = "everything; a work-item reads whole rows",
                                            .configure = categorical_configure,
                                            .launch = tn_lines_launch_choice};
static const tn_solver permutation_lines = {.name = "lines",
                                            .serves = "everything",
                                            .configure = permutation_configure,
                                            .launch = tn_lines_launch_choice};

static const tn_solver *const bernoulli_solvers[] = {&bernoulli_lines};
static const tn_solver *const categorical_solvers[] = {&categorical_lines};
static const tn_solver *const permutation_solvers[] = {&permutation_lines};

static uint64_t categorical_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags, TENON_CATEGORICAL_LOGITS);
}

const tn_family tn_bernoulli_family = {
    .name = "bernoulli", TN_SOLVERS(bernoulli_solvers), .awkward = tn_bernoulli_awkward};
const tn_family tn_categorical_family = {.name = "categorical",
                                         TN_SOLVERS(categorical_solvers),
                                         .awkward = tn_categorical_awkward,
                                         .paths = categorical_paths};
const tn_family tn_permutation_family = {
    .name = "permutation", TN_SOLVERS(permutation_solvers), .awkward = tn_permutation_awkward};

static void set_scalars(uint64_t seed, uint64_t sequence, tn_call *call)
{
    memcpy(&call->scalars[0], &seed, sizeof seed);
    memcpy(&call->scalars[1], &sequence, sizeof sequence);
}

static tenon_status check_index_type(const char *caller, const tenon_tensor *y)
{
    if (y->dtype == TENON_DTYPE_I32 || y->dtype == TENON_DTYPE_I64)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: y is %s, must be i32 or i64", caller,
                   tenon_dtype_string(y->dtype));
}

tenon_status tn_bernoulli_prepare(const void *given, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tenon_bernoulli_params *params = given;
    const tenon_tensor *views[] = {call->operands[DRAW_X].view, call->operands[DRAW_Y].view};
    const tenon_dtype type = views[DRAW_X]->dtype, y = views[DRAW_Y]->dtype;
    const char *caller = call->caller;
    const bool is_integer = y == TENON_DTYPE_U8 || y == TENON_DTYPE_BOOL || y == TENON_DTYPE_I32 ||
                            y == TENON_DTYPE_I64;
    TN_TRY(tn_float_check(caller, "p", call->context, type));
    if (y != type && !is_integer)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: y is %s, must be %s, u8, bool, i32 or i64",
                       caller, tenon_dtype_string(y), tenon_dtype_string(type));
    TN_TRY(tn_lines_shape_check(caller, "y", views[DRAW_Y], "p", views[DRAW_X]));
    *empty = tn_tensor_empty(views[DRAW_Y]);
    tn_lines_canonicalize(views, DRAW_OPERANDS, TN_LINES_NUMBERED, (tn_lines_problem *)problem);
    ((tn_lines_problem *)problem)->kind = is_integer;
    set_scalars(params->seed, params->sequence, call);
    return TENON_OK;
}

tenon_status tn_categorical_prepare(const void *given, tn_call *call, tn_problem *problem,
                                    bool *empty)
{
    const tenon_categorical_params *params = given;
    const tenon_tensor *x = call->operands[DRAW_X].view, *y = call->operands[DRAW_Y].view;
    tn_lines_problem *p = (tn_lines_problem *)problem;
    const char *caller = call->caller;
    char text[160], wanted[160];
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(check_index_type(caller, y));
    if (x->rank == 0 || x->shape[x->rank - 1] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: shape is %s, must have a last dimension of at least one class",
                       caller, tn_shape_text(x->rank, x->shape, text));
    tenon_tensor rows = *x;
    rows.rank--;
    if (!tn_tensor_same_shape(&rows, y))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: y: shape is %s, must be %s, that of x without its last dimension",
                       caller, tn_shape_text(y->rank, y->shape, text),
                       tn_shape_text(rows.rank, rows.shape, wanted));
    const tenon_tensor *views[] = {&rows, y};
    *empty = tn_tensor_empty(y);
    tn_lines_canonicalize(views, DRAW_OPERANDS, TN_LINES_NUMBERED, p);
    p->flags = params->flags;
    p->number[0] = x->shape[rows.rank];
    p->number[1] = x->stride[rows.rank];
    set_scalars(params->seed, params->sequence, call);
    return TENON_OK;
}

uint32_t tn_permutation_bits(uint64_t count)
{
    uint32_t bits = 2;
    while (bits < 32 && count > UINT64_C(1) << 2 * bits)
        bits++;
    return bits;
}

tenon_status tn_permutation_prepare(const void *given, tn_call *call, tn_problem *problem,
                                    bool *empty)
{
    const tenon_permutation_params *params = given;
    const tenon_tensor *y = call->operands[RANDOM_Y].view;
    tn_lines_problem *p = (tn_lines_problem *)problem;
    const char *caller = call->caller;
    char text[160];
    TN_TRY(check_index_type(caller, y));
    if (y->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y: shape is %s, must be one dimension",
                       caller, tn_shape_text(y->rank, y->shape, text));
    if (y->dtype == TENON_DTYPE_I32 && y->shape[0] > INT32_MAX)
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "%s: y: shape is %s; the type i32 has numbers for at most 2147483647 elements", caller,
            tn_shape_text(y->rank, y->shape, text));
    *empty = tn_tensor_empty(y);
    tn_lines_canonicalize(&y, RANDOM_OPERANDS, TN_LINES_NUMBERED, p);
    p->number[0] = tn_permutation_bits((uint64_t)y->shape[0]);
    p->number[1] = y->shape[0];
    set_scalars(params->seed, params->sequence, call);
    return TENON_OK;
}
