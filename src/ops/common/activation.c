/* References of the activations and their derivatives. docs/numerics.md derives the bounds. */
#include "ops/common/epilogue.h"

#include <math.h>

#define SELU_SCALE 1.0507009873554805 /* Klambauer et al. */
#define SELU_SLOPE 1.7580993408473766 /* SELU_SCALE · 1.6732632423543772 */

static double between(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* Limits x from below. A factor has underflowed to 0 by then, so that the product is its limit
 * instead of 0 · infinity. */
static double cut(double x)
{
    return x < -800 ? -800 : x;
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* Returns the derivative of the sigmoid. */
static double bell(double x)
{
    double e = exp(-fabs(x));
    return e / ((1 + e) * (1 + e));
}

/* Returns twice the argument of the tanh in the approximation of gelu. */
static double gelu_argument(double x)
{
    return 2 * 0.7978845608028654 * (x + 0.044715 * x * x * x);
}

/* A value computed by the device, its sensitivity to the error of x, and its own roundings. */
typedef struct outcome {
    double value;
    double slope;     /* at least the derivative anywhere within the error of x */
    double magnitude; /* the number that the roundings are relative to */
    double roundoffs;
    double flushed; /* absolute error due to flushing, in least normal numbers */
} outcome;

static outcome relative(double value, double slope, double roundoffs)
{
    return (outcome){value, slope, fabs(value), roundoffs, 1};
}

static outcome piecewise(const tenon_activation *activation, double v)
{
    double alpha = activation->alpha, beta = activation->beta;
    double floored = v > 0 || isnan(v) ? v : 0.0;
    outcome result = {v, 1, 0, 0, 0};
    switch (activation->kind) {
    case TENON_ACTIVATION_RELU:
        result.value = floored;
        return result;
    case TENON_ACTIVATION_LEAKY_RELU:
        return (outcome){v > 0 ? v : alpha * v, fmax(1, fabs(alpha)), fabs(alpha * v), 3, 1};
    case TENON_ACTIVATION_CLIPPED_RELU:
        return (outcome){floored > alpha ? alpha : floored, 1, fabs(alpha), 1, 0};
    case TENON_ACTIVATION_HARD_SIGMOID:
        return (outcome){between(alpha * v + beta, 0, 1), fabs(alpha), fabs(alpha * v) + fabs(beta),
                         4, 1};
    case TENON_ACTIVATION_HARD_SWISH:
        return relative(v > 3 ? v : v < -3 ? -0.0 : v * (v + 3) / 6, 1.5, 6);
    case TENON_ACTIVATION_HARD_TANH: {
        double raised = v < alpha ? alpha : v;
        return (outcome){raised > beta ? beta : raised, 1, fmax(fabs(alpha), fabs(beta)), 1, 0};
    }
    case TENON_ACTIVATION_SOFTSIGN:
        return relative(isinf(v) ? copysign(1, v) : v / (1 + fabs(v)), 1, 7);
    case TENON_ACTIVATION_ABS:
        result.value = fabs(v);
        return result;
    case TENON_ACTIVATION_SQUARE:
        return relative(v * v, 2 * fabs(v), 2);
    default:
        return result;
    }
}

/* An error e of x changes x² by at most (2|x| + e)·e, and multiplies exp(x) by exp(e). */
static outcome forward(const tenon_activation *activation, tn_bounded x)
{
    double v = x.value, alpha = activation->alpha, t = cut(v), a = fmin(fabs(v) + x.bound, 800), y;
    outcome result;
    switch (activation->kind) {
    case TENON_ACTIVATION_SIGMOID:
        y = sigmoid(v);
        return relative(y, fmin(0.25, y * fmin(exp(x.bound), 2)), 16);
    case TENON_ACTIVATION_TANH:
        return relative(tanh(v), 1, 12);
    case TENON_ACTIVATION_ELU:
        result = relative(v > 0 ? v : alpha * expm1(v), fmax(1, fabs(alpha)), 9);
        result.flushed += fabs(alpha);
        return result;
    case TENON_ACTIVATION_SELU:
        result = relative(v > 0 ? SELU_SCALE * v : SELU_SLOPE * expm1(v), SELU_SLOPE, 9);
        result.flushed += SELU_SLOPE;
        return result;
    case TENON_ACTIVATION_CELU:
        result = relative(v > 0 ? v : alpha * expm1(v / alpha), 1, 16);
        result.flushed += alpha;
        return result;
    case TENON_ACTIVATION_GELU:
        result = relative(t * erfc(-t * 0.7071067811865476) / 2, 1.13, 42 + 3 * (a * a + a));
        break;
    case TENON_ACTIVATION_GELU_TANH:
        result = relative(t / (1 + exp(-gelu_argument(t))), 1.13,
                          20 + 7 * fabs(gelu_argument(fmin(a, v < 0 ? 40 : 1))));
        break;
    case TENON_ACTIVATION_SILU:
        result = relative(t / (1 + exp(-t)), 1.1, 18);
        break;
    case TENON_ACTIVATION_MISH:
        result = relative(t * tanh(v > 0 ? v + log1p(exp(-v)) : log1p(exp(t))), 1.1, 28);
        break;
    case TENON_ACTIVATION_SOFTPLUS:
        return relative(v > 0 ? v + log1p(exp(-v)) : log1p(exp(v)), 1, 14);
    case TENON_ACTIVATION_EXP:
        return relative(exp(v), exp(v) * fmin(exp(x.bound), 1e300), 8);
    default:
        result = piecewise(activation, v);
        if (activation->kind == TENON_ACTIVATION_SQUARE)
            result.slope += x.bound;
        return result;
    }
    result.flushed += 2 * a;
    return result;
}

static tn_bounded bounded(outcome o, tenon_dtype dtype, double e)
{
    /* For f64, the reference, also in double, rounds as much again. */
    double u = tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    double moved = e > 0 ? o.slope * e : 0;
    double rounded = o.roundoffs > 0 ? o.roundoffs * u * (o.magnitude + moved) : 0;
    return (tn_bounded){o.value, moved + rounded + o.flushed * tn_least_normal(dtype)};
}

tn_bounded tn_activation_reference(const tenon_activation *activation, tenon_dtype dtype,
                                   tn_bounded x)
{
    return bounded(forward(activation, x), dtype, x.bound);
}

/* Returns the activation with the device's constants, which decide on which side of a kink x is. */
static tenon_activation as_rounded(tenon_activation activation, tenon_dtype dtype)
{
    if (dtype != TENON_DTYPE_F64) {
        activation.alpha = (double)(float)activation.alpha;
        activation.beta = (double)(float)activation.beta;
    }
    return activation;
}

/* Returns true if roundings decide on which side of a kink alpha · x + beta is. */
static bool undecided(double alpha, double x, double beta, double u)
{
    double t = alpha * x + beta, error = 4 * u * (fabs(alpha * x) + fabs(beta));
    return fabs(t) <= error || fabs(t - 1) <= error;
}

static outcome piecewise_derivative(const tenon_activation *activation, double v, double u)
{
    double alpha = activation->alpha, beta = activation->beta;
    outcome result = {1, 0, 0, 0, 0};
    if (isnan(v))
        return (outcome){v, 0, 0, 0, 0};
    switch (activation->kind) {
    case TENON_ACTIVATION_RELU:
        result.value = v > 0;
        return result;
    case TENON_ACTIVATION_LEAKY_RELU:
        result.value = v > 0 ? 1 : alpha;
        return result;
    case TENON_ACTIVATION_CLIPPED_RELU:
        result.value = v > 0 && v < alpha;
        return result;
    case TENON_ACTIVATION_HARD_SIGMOID: {
        double t = alpha * v + beta;
        result.value = isnan(t) ? 0 : t > 0 && t < 1 ? alpha : 0;
        if (undecided(alpha, v, beta, u))
            result = (outcome){result.value, 0, fabs(alpha), 1 / u, 0};
        return result;
    }
    case TENON_ACTIVATION_HARD_SWISH:
        if (v > -3 && v < 3)
            return (outcome){(2 * v + 3) / 6, 0, (2 * fabs(v) + 3) / 6, 5, 1};
        result.value = v > 0;
        return result;
    case TENON_ACTIVATION_HARD_TANH:
        result.value = v > alpha && v < beta;
        return result;
    case TENON_ACTIVATION_SOFTSIGN:
        return relative(1 / ((1 + fabs(v)) * (1 + fabs(v))), 0, 14);
    case TENON_ACTIVATION_ABS:
        result.value = (v > 0) - (v < 0);
        return result;
    case TENON_ACTIVATION_SQUARE:
        result.value = 2 * v;
        return result;
    default:
        return result;
    }
}

/* Returns the derivative part + product, with the product proportional to x; either may dominate.
 */
static outcome sum_of(double part, double product, double a, double roundoffs)
{
    return (outcome){part + product, 0, fabs(part) + fabs(product), roundoffs, 1 + 8 * a};
}

static outcome mish_derivative(double t, double a)
{
    double softplus = t > 0 ? t + log1p(exp(-t)) : log1p(exp(t));
    double steep = cosh(softplus); /* its square overflows only above 354 */
    double rise = softplus > 350 ? 0 : sigmoid(t) / (steep * steep);
    return sum_of(tanh(softplus), t * rise, a, 52);
}

static outcome derivative(const tenon_activation *activation, double v, double u)
{
    double alpha = activation->alpha, t = between(v, -800, 800), a = fabs(t), s, rise;
    outcome result;
    switch (activation->kind) {
    case TENON_ACTIVATION_SIGMOID:
        return relative(bell(v), 0, 16);
    case TENON_ACTIVATION_TANH:
        result = relative(4 * bell(2 * v), 0, 16);
        result.flushed = 4;
        return result;
    case TENON_ACTIVATION_ELU:
        result = relative(v > 0 ? 1 : alpha * exp(v), 0, 10);
        result.flushed += fabs(alpha);
        return result;
    case TENON_ACTIVATION_SELU:
        result = relative(v > 0 ? SELU_SCALE : SELU_SLOPE * exp(v), 0, 10);
        result.flushed += SELU_SLOPE;
        return result;
    case TENON_ACTIVATION_CELU:
        return relative(v > 0 ? 1 : exp(v / alpha), 0, 8 + 7 * fmin(fabs(v / alpha), 800));
    case TENON_ACTIVATION_GELU:
        return sum_of(erfc(-t * 0.7071067811865476) / 2, t * 0.3989422804014327 * exp(-t * t / 2),
                      a, 48 + 3 * (a * a + a));
    case TENON_ACTIVATION_GELU_TANH:
        t = between(v, -40, 40);
        s = gelu_argument(t);
        rise = 1.5957691216057308 * (1 + 3 * 0.044715 * t * t);
        result = sum_of(sigmoid(s), t * bell(s) * rise, a, 32 + 8 * fabs(s));
        result.flushed += 4 * fabs(t) * rise;
        return result;
    case TENON_ACTIVATION_SILU:
        return sum_of(sigmoid(t), t * bell(t), a, 24);
    case TENON_ACTIVATION_MISH:
        return mish_derivative(t, a);
    case TENON_ACTIVATION_SOFTPLUS:
        return relative(sigmoid(v), 0, 16);
    case TENON_ACTIVATION_EXP:
        return relative(exp(v), 0, 8);
    default:
        return piecewise_derivative(activation, v, u);
    }
}

tn_bounded tn_activation_gradient_reference(const tenon_activation *activation, tenon_dtype dtype,
                                            double x, double dy)
{
    const tenon_activation rounded = as_rounded(*activation, dtype);
    double u = tn_roundoff(dtype);
    tn_bounded slope = bounded(derivative(&rounded, x, u), dtype, 0);
    double value = dy * slope.value;
    if (tn_may_be_nan(dy, slope))
        return (tn_bounded){value, TN_ANYTHING};
    return (tn_bounded){value,
                        fabs(dy) * slope.bound + 2 * u * fabs(value) + tn_least_normal(dtype)};
}
