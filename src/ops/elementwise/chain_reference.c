/* The reference of chains, with running error bounds (docs/numerics.md), and their awkward cases.
 */
#include "check/awkward.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

#define DIVISION_ROUNDOFFS 5 /* 2.5 ulp, which OpenCL allows in f32 */

/* Returns an error times a factor. No error stays 0 even if the factor is infinite. */
static double scaled(double error, double factor)
{
    return error == 0 || factor == 0 ? 0 : error * fabs(factor);
}

/* Returns the error if the device flushes denormals, of a value that may be off by its bound. */
static double flushed(tn_bounded x, double least)
{
    return fabs(x.value) - x.bound < least ? fmin(fabs(x.value) + x.bound, least) : 0;
}

/* Adds `count` roundings to a carried error. For f64 the reference rounds as often. */
static tn_bounded rounded(tenon_dtype dtype, double value, double carried, double count)
{
    double roundings = count * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    return (tn_bounded){
        value, carried + tn_gamma(roundings, tn_roundoff(dtype)) * (fabs(value) + carried) +
                   tn_least_normal(dtype)};
}

tn_bounded tn_chain_plus(tenon_dtype dtype, tn_bounded v, double p)
{
    const double least = tn_least_normal(dtype);
    return rounded(dtype, v.value + p,
                   v.bound + flushed(v, least) + flushed((tn_bounded){p, 0}, least), 1);
}

tn_bounded tn_chain_times(tenon_dtype dtype, tn_bounded v, double p)
{
    double least = tn_least_normal(dtype);
    double lost = scaled(flushed((tn_bounded){p, 0}, least), fabs(v.value) + v.bound);
    return rounded(dtype, v.value * p, scaled(v.bound + flushed(v, least), p) + lost, 1);
}

static tn_bounded over(tenon_dtype dtype, tn_bounded v, double p)
{
    double least = tn_least_normal(dtype);
    if (fabs(p) < least) /* may be flushed to a division by 0 */
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

/* Returns a function of v, and of p if it has two operands. */
static tn_bounded function_of(uint32_t op, tenon_dtype dtype, tn_bounded v, double p)
{
    v.bound += flushed(v, tn_least_normal(dtype));
    return op >= CHAIN_UNARY
               ? tn_function_reference(op - CHAIN_UNARY, dtype, v)
               : tn_function2_reference(op - CHAIN_BINARY + TENON_ELEMENTWISE_POW, dtype, v, p);
}

static tn_bounded run_step(const tenon_chain_step *step, tenon_dtype dtype, tn_bounded v, double p,
                           double q)
{
    const tenon_activation activation = {step->activation, 0, step->alpha, step->beta};
    if (v.bound == TN_ANYTHING)
        return v;
    if (step->op >= CHAIN_BINARY)
        return function_of(step->op, dtype, v, p);
    switch (step->op) {
    case TENON_CHAIN_ADD:
        return tn_chain_plus(dtype, v, p);
    case TENON_CHAIN_SUBTRACT:
        return tn_chain_plus(dtype, v, -p);
    case TENON_CHAIN_MULTIPLY:
        return tn_chain_times(dtype, v, p);
    case TENON_CHAIN_DIVIDE:
        return over(dtype, v, p);
    case TENON_CHAIN_MAX:
        return either(dtype, v, p, v.value > p);
    case TENON_CHAIN_MIN:
        return either(dtype, v, p, v.value < p);
    case TENON_CHAIN_FMA:
        return tn_chain_plus(dtype, tn_chain_times(dtype, v, p), q);
    default:
        v.bound += flushed(v, tn_least_normal(dtype));
        return tn_activation_reference(&activation, dtype, v);
    }
}

/* Returns an operand of a step: an element of an input, or a scalar as rounded for the device. */
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
    /* The device may flush even a value that no step changes. */
    v.bound += params->step_count == 0 ? flushed(v, tn_least_normal(dtype)) : 0;
    return tn_stored(dtype, v);
}

bool tn_elementwise_chain_reference(const void *params, const tenon_tensor *const *views,
                                    tn_bounded *results)
{
    const tenon_tensor *y = views[CHAIN_Y];
    int64_t count = tenon_tensor_elements(y);
    double *values[CHAIN_Y] = {NULL};
    bool whole = true;
    for (int v = 0; v < CHAIN_Y; v++)
        if (views[v] != NULL) {
            values[v] = tn_host_read(views[v], y->rank, y->shape);
            whole = whole && values[v] != NULL;
        }
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = run_element(params, values, i, (tenon_dtype)y->dtype);
    for (int v = 0; v < CHAIN_Y; v++)
        free(values[v]);
    return whole;
}

/* Makes a case of the problem's steps, on rows with tails and gaps. Inputs repeat as in the
 * problem. */
static void same_steps(const elementwise_chain_problem *like, tn_case *c)
{
    const uint32_t last = like->views.rank - 1;
    tenon_elementwise_chain_params *params = (tenon_elementwise_chain_params *)c->params.bytes;
    params->step_count = (uint32_t)like->step_count;
    for (uint32_t n = 0; n < params->step_count; n++) {
        const chain_step_args *s = &like->steps[n];
        params->steps[n] = (tenon_chain_step){(uint32_t)s->op,
                                              (uint32_t)s->operand,
                                              (uint32_t)s->addend,
                                              (uint32_t)s->activation,
                                              0.75,
                                              1.25};
    }
    for (int i = 0; i < CHAIN_OPERANDS; i++) {
        const int64_t wanted = like->views.stride[i][last], shape[] = {37, 229};
        const int64_t along = wanted == 0 || wanted == 1 ? wanted : 2 + i;
        c->views[i] = tenon_tensor_view((tenon_dtype)like->views.to, 2, shape);
        c->views[i].stride[1] = along;
        c->views[i].stride[0] = along != 0 ? 229 * along + i + 1 : 1;
        c->views[i].offset = (uint64_t)(i + 1) * tenon_dtype_size((tenon_dtype)like->views.to);
    }
}

/* Makes a case with every operation, with operands of either kind, and an activation. If the build
 * is for another activation, the case has that one as well. */
static void every_step(uint32_t activation, uint32_t built, tn_case *c)
{
    enum { ACTIVATION = 2, MAXIMUM = 4 };
    tenon_elementwise_chain_params *params = (tenon_elementwise_chain_params *)c->params.bytes;
    static const tenon_chain_step steps[TENON_CHAIN_MAX_STEPS] = {
        {.op = TENON_CHAIN_FMA, .operand = TENON_CHAIN_X1, .addend = TENON_CHAIN_X2},
        {.op = TENON_CHAIN_SUBTRACT, .alpha = 0.3},
        {.op = TENON_CHAIN_ACTIVATE, .alpha = 0.25, .beta = 0.75},
        {.op = TENON_CHAIN_MULTIPLY, .operand = TENON_CHAIN_X3},
        {.op = TENON_CHAIN_MAX, .operand = TENON_CHAIN_X2},
        {.op = TENON_CHAIN_MIN, .alpha = 0.75},
        {.op = TENON_CHAIN_DIVIDE, .alpha = -1.5},
        {.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1}};
    params->step_count = TENON_CHAIN_MAX_STEPS;
    memcpy(params->steps, steps, sizeof steps);
    params->steps[ACTIVATION].activation = activation;
    if (built != 0 && activation != built)
        params->steps[MAXIMUM] =
            (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE, .activation = built, .alpha = 1};
}

bool tn_elementwise_chain_awkward(const tn_problem *problem, const tn_choice *choice,
                                  uint32_t number, tn_case *c)
{
    const elementwise_chain_problem *like = (const elementwise_chain_problem *)problem;
    const bool same = tn_awkward_size(choice, 0, "same_steps", 0) != 0;
    uint32_t activations[CHAIN_STEPS] = {TENON_ACTIVATION_IDENTITY}, count = 0;
    for (uint64_t n = 0; n < like->step_count; n++)
        if (like->steps[n].op == CHAIN_ACTIVATE)
            activations[count++] = (uint32_t)like->steps[n].activation;
    count = same ? 1 : TN_LAYOUTS * (count > 0 ? count : 1);
    if (number == count)
        return false;
    tn_pointwise_awkward(&tn_operation_elementwise_chain, like->views.from, like->views.to,
                         (tn_layout)(number % TN_LAYOUTS), c);
    if (same)
        same_steps(like, c);
    else
        every_step(activations[number / TN_LAYOUTS], like->views.kind, c);
    return true;
}
