/* Argument validation of tenon_loss_scale, its family, solver, reference and awkward cases. */
#include "base/shape.h"
#include "check/awkward.h"
#include "ops/common/running.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"
#include "optimizer/loss_scale_args.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Limits between which a scale and its inverse are normal f32 numbers. */
#define LEAST 0x1p-126
#define MOST  0x1p126

/* Indices of the scalars. */
enum { GROWTH, BACKOFF, INTERVAL, MINIMUM, MAXIMUM };
/* Elements of the state. */
enum { SCALE, INVERSE, COUNT, SKIPPED };

static const char *loss_scale_configure(tenon_context *context, const tn_problem *problem,
                                        tn_choice *choice)
{
    (void)problem;
    tn_choice_options(context, choice, "%s", "");
    return NULL;
}

static tenon_status loss_scale_launch(const char *caller, tn_recording *recording,
                                      const tn_problem *problem, const tn_choice *choice)
{
    const loss_scale_problem *p = (const loss_scale_problem *)problem;
    tn_patch patches[2 + LOSS_SCALE_SCALARS] = {
        {TN_PATCH_OFFSET, LOSS_SCALE_SKIP, offsetof(loss_scale_args, skip),
         p->is_byte != 0 ? sizeof(uint8_t) : sizeof(int32_t)},
        {TN_PATCH_OFFSET, LOSS_SCALE_STATE, offsetof(loss_scale_args, state), sizeof(float)}};
    const loss_scale_args args = {.stride = p->stride, .is_byte = (tenon_i64)p->is_byte};
    for (uint16_t i = 0; i < LOSS_SCALE_SCALARS; i++)
        patches[2 + i] =
            (tn_patch){TN_PATCH_SCALAR_F32, i,
                       (uint16_t)(offsetof(loss_scale_args, scalar) + i * sizeof(tenon_i64)), 1};
    const tn_launch launch = {.source = "optimizer/loss_scale",
                              .options = choice->options,
                              .kernel = "loss_scale",
                              .dimensions = 1,
                              .global = {1},
                              .local = {1},
                              .operands = {LOSS_SCALE_SKIP, LOSS_SCALE_STATE},
                              .operand_count = LOSS_SCALE_OPERANDS,
                              TN_ARGS(args),
                              TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

static const tn_solver single_solver = {.name = "single",
                                        .serves = "everything, with a single work-item",
                                        .configure = loss_scale_configure,
                                        .launch = loss_scale_launch};

static bool loss_scale_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                               tn_case *c)
{
    static const int64_t one[] = {1}, state[] = {TENON_LOSS_SCALE_STATE};
    tenon_loss_scale_params *params = (tenon_loss_scale_params *)c->params.bytes;
    const bool is_byte = ((const loss_scale_problem *)problem)->is_byte != 0;
    (void)choice;
    if (number == 8)
        return false;
    tn_awkward_begin(c, &tn_operation_loss_scale);
    params->interval = number % 2 == 0 ? 1 : 100;
    params->maximum = number % 4 < 2 ? params->maximum : 0.25;
    c->views[LOSS_SCALE_SKIP] =
        tn_awkward_view(is_byte ? TENON_DTYPE_U8 : TENON_DTYPE_I32, 1, one, false);
    c->views[LOSS_SCALE_STATE] = tn_awkward_view(TENON_DTYPE_F32, 1, state, number % 2 != 0);
    return true;
}

static const tn_solver *const solvers[] = {&single_solver};

static uint64_t loss_scale_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const loss_scale_problem *)problem)->is_byte, 1);
}

const tn_family tn_loss_scale_family = {.name = "loss_scale",
                                        TN_SOLVERS(solvers),
                                        .awkward = loss_scale_awkward,
                                        .paths = loss_scale_paths};

static tenon_status check_params(const char *caller, const tenon_loss_scale_params *params)
{
    TN_TRY(tn_number_check(caller, "growth", params->growth, 1, MOST));
    TN_TRY(tn_number_check(caller, "backoff", params->backoff, LEAST, 1));
    TN_TRY(tn_number_check(caller, "interval", params->interval, 1, 0x1p24));
    if (params->interval != floor(params->interval))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: interval is %g, must be a whole number", caller,
                       params->interval);
    TN_TRY(tn_number_check(caller, "maximum", params->maximum, LEAST, MOST));
    return tn_number_check(caller, "minimum", params->minimum, LEAST, params->maximum);
}

tenon_status tn_loss_scale_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    const tenon_loss_scale_params *params = given;
    const tenon_tensor *skip = call->operands[LOSS_SCALE_SKIP].view,
                       *state = call->operands[LOSS_SCALE_STATE].view;
    const char *caller = call->caller;
    loss_scale_problem *p = (loss_scale_problem *)problem;
    char text[160];
    TN_TRY(check_params(caller, params));
    TN_TRY(tn_single_check(caller, "skip", skip, true));
    if (state->dtype != TENON_DTYPE_F32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: state is %s, must be f32", caller,
                       tenon_dtype_string(state->dtype));
    if (state->rank != 1 || state->shape[0] != TENON_LOSS_SCALE_STATE)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: state: shape is %s, must be %d", caller,
                       tn_shape_text(state->rank, state->shape, text), TENON_LOSS_SCALE_STATE);
    *empty = false;
    tn_problem_begin(problem, sizeof *p);
    p->stride = state->stride[0];
    p->is_byte = skip->dtype == TENON_DTYPE_U8;
    call->scalars[GROWTH] = params->growth;
    call->scalars[BACKOFF] = params->backoff;
    call->scalars[INTERVAL] = params->interval;
    call->scalars[MINIMUM] = params->minimum;
    call->scalars[MAXIMUM] = params->maximum;
    return TENON_OK;
}

static tn_bounded limited(const tn_arithmetic *t, const tenon_loss_scale_params *params,
                          tn_bounded scale)
{
    const double least = tn_as_scalar(t, params->minimum), most = tn_as_scalar(t, params->maximum);
    scale.value = scale.value < least ? least : scale.value;
    scale.value = scale.value > most ? most : scale.value;
    return scale;
}

bool tn_loss_scale_reference(const void *user, const tenon_tensor *const *views,
                             tn_bounded *results)
{
    const tenon_loss_scale_params *params = user;
    const tenon_tensor *skip = views[LOSS_SCALE_SKIP], *state = views[LOSS_SCALE_STATE];
    const tn_arithmetic t = tn_arithmetic_of(TENON_DTYPE_F32);
    double *skips = tn_host_read(skip, skip->rank, skip->shape);
    double *old = tn_host_read(state, state->rank, state->shape);
    const bool whole = skips != NULL && old != NULL;
    if (whole) {
        const bool skipped = skips[0] != 0, grows = !skipped && old[COUNT] + 1 >= params->interval;
        const double factor = skipped ? params->backoff : grows ? params->growth : 1;
        tn_bounded scale = tn_operand_value(&t, old[SCALE]);
        if (factor != 1)
            scale = tn_product(&t, scale, tn_operand_value(&t, tn_as_scalar(&t, factor)));
        scale = limited(&t, params, scale);
        results[SCALE] = scale;
        results[INVERSE] = tn_quotient(&t, tn_operand_value(&t, 1), scale);
        results[COUNT] = (tn_bounded){skipped || grows ? 0 : old[COUNT] + 1, 0};
        results[SKIPPED] = (tn_bounded){old[SKIPPED] + (skipped ? 1 : 0), 0};
    }
    free(skips);
    free(old);
    return whole;
}
