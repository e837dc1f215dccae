/* The reference of chains, by a running error analysis (docs/numerics.md), and their self-check. */
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

#define DIVISION_ROUNDOFFS 5 /* 2.5 ulp, which OpenCL allows in f32 */

/* An error times a factor, of which an infinite one makes no NaN of an exact value. */
static double scaled(double error, double factor)
{
    return error == 0 || factor == 0 ? 0 : error * fabs(factor);
}

/* What is lost where the device takes denormals for zero, of a value as it may be there. */
static double flushed(tn_bounded x, double least)
{
    return fabs(x.value) - x.bound < least ? fmin(fabs(x.value) + x.bound, least) : 0;
}

/* A result that carries an error, after `count` roundings; f64 rounds as often in the reference. */
static tn_bounded rounded(tenon_dtype dtype, double value, double carried, double count)
{
    double roundings = count * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    return (tn_bounded){
        value, carried + tn_gamma(roundings, tn_roundoff(dtype)) * (fabs(value) + carried) +
                   tn_least_normal(dtype)};
}

static tn_bounded plus(tenon_dtype dtype, tn_bounded v, tn_bounded p)
{
    double least = tn_least_normal(dtype);
    return rounded(dtype, v.value + p.value,
                   v.bound + flushed(v, least) + p.bound + flushed(p, least), 1);
}

/* p is exact, as it comes from memory or the parameters. */
static tn_bounded times(tenon_dtype dtype, tn_bounded v, double p)
{
    double least = tn_least_normal(dtype);
    double lost = scaled(flushed((tn_bounded){p, 0}, least), fabs(v.value) + v.bound);
    return rounded(dtype, v.value * p, scaled(v.bound + flushed(v, least), p) + lost, 1);
}

static tn_bounded over(tenon_dtype dtype, tn_bounded v, double p)
{
    double least = tn_least_normal(dtype);
    if (fabs(p) < least) /* may be a division by 0 */
        return (tn_bounded){v.value / p, (double)INFINITY};
    return rounded(dtype, v.value / p, scaled(v.bound + flushed(v, least), 1 / p),
                   DIVISION_ROUNDOFFS + 1);
}

static tn_bounded either(tenon_dtype dtype, tn_bounded v, double p, bool first)
{
    double least = tn_least_normal(dtype);
    double lost = flushed(v, least) + flushed((tn_bounded){p, 0}, least);
    return (tn_bounded){first || isnan(v.value) ? v.value : p, v.bound + lost};
}

static tn_bounded run_step(const tenon_chain_step *step, tenon_dtype dtype, tn_bounded v, double p,
                           double q)
{
    const tenon_activation activation = {step->activation, 0, step->alpha, step->beta};
    switch (step->op) {
    case TENON_CHAIN_ADD:
        return plus(dtype, v, (tn_bounded){p, 0});
    case TENON_CHAIN_SUBTRACT:
        return plus(dtype, v, (tn_bounded){-p, 0});
    case TENON_CHAIN_MULTIPLY:
        return times(dtype, v, p);
    case TENON_CHAIN_DIVIDE:
        return over(dtype, v, p);
    case TENON_CHAIN_MAX:
        return either(dtype, v, p, v.value > p);
    case TENON_CHAIN_MIN:
        return either(dtype, v, p, v.value < p);
    case TENON_CHAIN_FMA:
        return plus(dtype, times(dtype, v, p), (tn_bounded){q, 0});
    default:
        v.bound += flushed(v, tn_least_normal(dtype));
        return tn_activation_reference(&activation, dtype, v);
    }
}

/* An operand of an element: of an input, or a scalar as the device has it. */
static double operand(uint32_t source, double scalar, double *const values[], int64_t i,
                      tenon_dtype dtype)
{
    if (source != TENON_CHAIN_SCALAR)
        return values[source - 1][i];
    return dtype == TENON_DTYPE_F64 ? scalar : (double)(float)scalar;
}

static tn_bounded run_element(const tenon_elementwise_chain_params *params, double *const values[],
                              int64_t i, tenon_dtype dtype)
{
    tn_bounded v = {values[0][i], 0};
    for (uint32_t n = 0; n < params->step_count; n++) {
        const tenon_chain_step *step = &params->steps[n];
        double p = operand(step->operand, step->alpha, values, i, dtype);
        double q = operand(step->addend, step->beta, values, i, dtype);
        v = run_step(step, dtype, v, p, q);
    }
    /* The device may flush what no step has touched. */
    v.bound += params->step_count == 0 ? flushed(v, tn_least_normal(dtype)) : 0;
    return tn_stored(dtype, v);
}

bool tn_elementwise_chain_reference(const tenon_elementwise_chain_params *params,
                                    const tenon_tensor *const *inputs, const tenon_tensor *y,
                                    tn_bounded *results)
{
    int64_t count = tenon_tensor_elements(y);
    double *values[CHAIN_Y] = {NULL};
    bool whole = true;
    for (int v = 0; v < CHAIN_Y; v++)
        if (inputs[v] != NULL) {
            values[v] = tn_host_read(inputs[v], y->rank, y->shape);
            whole = whole && values[v] != NULL;
        }
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = run_element(params, values, i, (tenon_dtype)y->dtype);
    for (int v = 0; v < CHAIN_Y; v++)
        free(values[v]);
    return whole;
}

static void fill(const void *params, tn_pointwise_problem *problem)
{
    double scalars[TN_MAX_SCALARS];
    tn_elementwise_chain_fill(params, (elementwise_chain_problem *)problem, scalars);
}

/* Every operation, with operands of either sort, and one activation; where that is not the one that
 * the build is for, that one as well. */
static tenon_status check_activation(tenon_stream *stream, const tn_problem *problem,
                                     const tn_choice *choice, uint32_t activation, bool *right,
                                     char why[256])
{
    enum { MAXIMUM = 4 };
    const uint32_t built = ((const tn_pointwise_problem *)problem)->kind;
    tenon_elementwise_chain_params params = {
        .step_count = TENON_CHAIN_MAX_STEPS,
        .steps = {{.op = TENON_CHAIN_FMA, .operand = TENON_CHAIN_X1, .addend = TENON_CHAIN_X2},
                  {.op = TENON_CHAIN_SUBTRACT, .alpha = 0.3},
                  {.op = TENON_CHAIN_ACTIVATE, .activation = activation, .alpha = 1, .beta = 0.5},
                  {.op = TENON_CHAIN_MULTIPLY, .operand = TENON_CHAIN_X3},
                  {.op = TENON_CHAIN_MAX, .operand = TENON_CHAIN_X2},
                  {.op = TENON_CHAIN_MIN, .alpha = 0.75},
                  {.op = TENON_CHAIN_DIVIDE, .alpha = -1.5},
                  {.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1}}};
    if (built != 0 && activation != built)
        params.steps[MAXIMUM] =
            (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE, .activation = built, .alpha = 1};
    elementwise_chain_problem filled;
    double scalars[TN_MAX_SCALARS] = {0};
    tn_elementwise_chain_fill(&params, &filled, scalars);
    const tn_pointwise_check check = {.of = &tn_operation_elementwise_chain,
                                      .params = &params,
                                      .scalars = scalars,
                                      .problem_size = sizeof(elementwise_chain_problem),
                                      .fill = fill};
    uint64_t seed = 1;
    for (int layout = 0; layout < TN_POINTWISE_LAYOUTS && *right; layout++)
        TN_TRY(tn_pointwise_self_check(stream, problem, choice, &check, layout, &seed, right, why));
    return TENON_OK;
}

tenon_status tn_elementwise_chain_self_check(tenon_stream *stream, const tn_problem *problem,
                                             const tn_choice *choice, bool *right, char why[256])
{
    const elementwise_chain_problem *like = (const elementwise_chain_problem *)problem;
    bool activates = false;
    if (tn_is_solver(choice->solver, &tn_chain_fixed))
        return tn_chain_fixed_check(stream, problem, choice, right, why);
    for (uint64_t n = 0; n < like->step_count && *right; n++) {
        if (like->steps[n].op != CHAIN_ACTIVATE)
            continue;
        activates = true;
        TN_TRY(check_activation(stream, problem, choice, (uint32_t)like->steps[n].activation, right,
                                why));
    }
    return activates
               ? TENON_OK
               : check_activation(stream, problem, choice, TENON_ACTIVATION_IDENTITY, right, why);
}
