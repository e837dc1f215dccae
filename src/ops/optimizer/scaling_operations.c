/* Descriptions (dispatch/operation.h) of tenon_nonfinite and tenon_loss_scale. */
#include "base/dtype.h"
#include "check/case.h"
#include "ops/common/output_shape.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"

#include <math.h>

/* The flag is 0 in half of the cases. In half of the cases one element of x is not finite. */
static void fill_valid_nonfinite(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const tenon_tensor *x = v[NONFINITE_X];
    int64_t index[TENON_MAX_RANK] = {0};
    const double drawn = tn_random(seed), place = tn_random(seed) / 2 + 0.5;
    (void)params;
    tn_case_integers(v[NONFINITE_FLAG], 0, 1, seed);
    if (drawn < 0 || tenon_tensor_elements(x) == 0)
        return;
    for (uint32_t d = 0; d < x->rank; d++)
        index[d] = (int64_t)(place * (double)(x->shape[d] - 1));
    tn_dtype_store(x->dtype, tn_host_element(x, index), values[(int)(drawn * 2.999)]);
}

static const tn_field nonfinite_fields[] = {TN_FLAGS_FIELD(tenon_nonfinite_params)};
static const tenon_nonfinite_params nonfinite_defaults = TENON_NONFINITE_PARAMS_INIT;

TENON_API void tenon_nonfinite_params_default(tenon_nonfinite_params *params, uint32_t size)
{
    tn_params_give(params, size, &nonfinite_defaults, sizeof nonfinite_defaults);
}

TENON_API tenon_status tenon_nonfinite(tenon_stream *stream, const tenon_nonfinite_params *params,
                                       const tenon_tensor *x, const tenon_tensor *flag,
                                       const tenon_sync *sync)
{
    return TN_RUN(tn_operation_nonfinite, x, flag);
}

TENON_API tenon_status tenon_nonfinite_plan(tenon_context *context,
                                            const tenon_nonfinite_params *params,
                                            const tenon_tensor *x, const tenon_tensor *flag,
                                            tenon_plan **plan)
{
    return TN_PLAN(tn_operation_nonfinite, x, flag);
}

static const char *const nonfinite_examples[] = {
    "nonfinite x=T:4x5 flag=i32:",
    "nonfinite x=T:33003+1 flag=i32:1+2 flags=1",
    "nonfinite x=T:37x229/1,40 flag=i32:",
    NULL,
};

const tn_operation tn_operation_nonfinite = {
    TN_NAMES("tenon_nonfinite"),
    .family = &tn_nonfinite_family,
    .operands = {{.name = "x"},
                 {.name = "flag", .read = true, .role = TN_OUTPUT, .shape = tn_shape_one_i32}},
    .operand_count = NONFINITE_OPERANDS,
    TN_FIELDS(nonfinite_fields),
    TN_PARAMS(nonfinite_defaults, TENON_NONFINITE_PARAMS_INIT),
    .flags = TENON_NONFINITE_KEEP,
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_nonfinite_prepare,
    .reference = tn_nonfinite_reference,
    .fill_valid = fill_valid_nonfinite,
    .is_measurable = true,
    .examples = nonfinite_examples,
};

/* The state has a scale of at least 1/16 and whole counts. One step of four is skipped. */
static void fill_valid_loss_scale(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *views[GUARD_OPERANDS] = {[GUARD_SKIP] = v[LOSS_SCALE_SKIP]};
    (void)params;
    tn_case_integers(v[LOSS_SCALE_STATE], 1, 100, seed);
    tn_guard_fill(views, seed);
}

static const tn_field loss_scale_fields[] = {
    TN_FLAGS_FIELD(tenon_loss_scale_params),
    TN_FIELD("growth", TN_FIELD_F64, tenon_loss_scale_params, growth),
    TN_FIELD("backoff", TN_FIELD_F64, tenon_loss_scale_params, backoff),
    TN_FIELD("interval", TN_FIELD_F64, tenon_loss_scale_params, interval),
    TN_FIELD("minimum", TN_FIELD_F64, tenon_loss_scale_params, minimum),
    TN_FIELD("maximum", TN_FIELD_F64, tenon_loss_scale_params, maximum)};
static const tenon_loss_scale_params loss_scale_defaults = TENON_LOSS_SCALE_PARAMS_INIT;

TENON_API void tenon_loss_scale_params_default(tenon_loss_scale_params *params, uint32_t size)
{
    tn_params_give(params, size, &loss_scale_defaults, sizeof loss_scale_defaults);
}

TENON_API tenon_status tenon_loss_scale(tenon_stream *stream, const tenon_loss_scale_params *params,
                                        const tenon_tensor *skip, const tenon_tensor *state,
                                        const tenon_sync *sync)
{
    return TN_RUN(tn_operation_loss_scale, skip, state);
}

TENON_API tenon_status tenon_loss_scale_plan(tenon_context *context,
                                             const tenon_loss_scale_params *params,
                                             const tenon_tensor *skip, const tenon_tensor *state,
                                             tenon_plan **plan)
{
    return TN_PLAN(tn_operation_loss_scale, skip, state);
}

static const char *const loss_scale_examples[] = {
    "loss_scale skip=i32: state=f32:4 interval=3",
    "loss_scale skip=u8:1+3 state=f32:4/2+1 growth=1.5 backoff=0.75 maximum=50",
    NULL,
};

const tn_operation tn_operation_loss_scale = {
    TN_NAMES("tenon_loss_scale"),
    .family = &tn_loss_scale_family,
    .operands = {{.name = "skip"}, {.name = "state", .read = true, .role = TN_OUTPUT}},
    .operand_count = LOSS_SCALE_OPERANDS,
    TN_FIELDS(loss_scale_fields),
    TN_PARAMS(loss_scale_defaults, TENON_LOSS_SCALE_PARAMS_INIT),
    TN_PROBLEM(loss_scale_problem),
    .prepare = tn_loss_scale_prepare,
    .reference = tn_loss_scale_reference,
    .fill_valid = fill_valid_loss_scale,
    .examples = loss_scale_examples,
};
