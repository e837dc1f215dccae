/* The activations' names, their customary constants, and what is refused of them. */
#include "ops/common/epilogue.h"

#include <math.h>
#include <stdio.h>

const char *const tn_activation_words[] = {
    "identity",   "relu",      "leaky_relu", "clipped_relu", "sigmoid", "tanh", "elu",
    "selu",       "celu",      "gelu",       "gelu_tanh",    "silu",    "mish", "hard_sigmoid",
    "hard_swish", "hard_tanh", "softplus",   "softsign",     "exp",     "abs",  "square",
    NULL};
#define KINDS (sizeof tn_activation_words / sizeof *tn_activation_words - 1)

#define CELU_LEAST 1e-30
#define CELU_MOST  1e30

bool tn_activation_is_build(uint32_t kind)
{
    static const bool is_build[KINDS] = {
        [TENON_ACTIVATION_SIGMOID] = true,   [TENON_ACTIVATION_TANH] = true,
        [TENON_ACTIVATION_ELU] = true,       [TENON_ACTIVATION_SELU] = true,
        [TENON_ACTIVATION_CELU] = true,      [TENON_ACTIVATION_GELU] = true,
        [TENON_ACTIVATION_GELU_TANH] = true, [TENON_ACTIVATION_SILU] = true,
        [TENON_ACTIVATION_MISH] = true,      [TENON_ACTIVATION_SOFTPLUS] = true,
        [TENON_ACTIVATION_EXP] = true,
    };
    return kind < KINDS && is_build[kind];
}

uint32_t tn_activation_constants(uint32_t kind)
{
    static const uint32_t constants[KINDS] = {
        [TENON_ACTIVATION_LEAKY_RELU] = 1, [TENON_ACTIVATION_CLIPPED_RELU] = 1,
        [TENON_ACTIVATION_ELU] = 1,        [TENON_ACTIVATION_CELU] = 1,
        [TENON_ACTIVATION_HARD_TANH] = 2,  [TENON_ACTIVATION_HARD_SIGMOID] = 2,
    };
    return kind < KINDS ? constants[kind] : 0;
}

/* The kind of the activation that has a member at an address. */
static uint32_t kind_beside(const void *member, size_t offset)
{
    return ((const tenon_activation *)(const void *)((const char *)member - offset))->kind;
}

bool tn_activation_uses_alpha(const void *params, const void *alpha)
{
    (void)params;
    return tn_activation_constants(kind_beside(alpha, offsetof(tenon_activation, alpha))) >= 1;
}

bool tn_activation_uses_beta(const void *params, const void *beta)
{
    (void)params;
    return tn_activation_constants(kind_beside(beta, offsetof(tenon_activation, beta))) == 2;
}

TENON_API tenon_activation tenon_activation_default(tenon_activation_kind kind)
{
    tenon_activation activation = {.kind = (uint32_t)kind};
    switch (kind) {
    case TENON_ACTIVATION_LEAKY_RELU:
        activation.alpha = 0.01;
        break;
    case TENON_ACTIVATION_CLIPPED_RELU:
        activation.alpha = 6;
        break;
    case TENON_ACTIVATION_ELU:
    case TENON_ACTIVATION_CELU:
        activation.alpha = 1;
        break;
    case TENON_ACTIVATION_HARD_SIGMOID:
        activation.alpha = 1.0 / 6;
        activation.beta = 0.5;
        break;
    case TENON_ACTIVATION_HARD_TANH:
        activation.alpha = -1;
        activation.beta = 1;
        break;
    default:
        break;
    }
    return activation;
}

tenon_activation tn_activation_tried(uint32_t kind)
{
    tenon_activation activation = {.kind = kind, .alpha = 0.25, .beta = 0.75};
    if (kind == TENON_ACTIVATION_CLIPPED_RELU || kind == TENON_ACTIVATION_HARD_TANH)
        activation = tenon_activation_default((tenon_activation_kind)kind);
    if (kind == TENON_ACTIVATION_HARD_TANH) {
        activation.alpha *= 4;
        activation.beta *= 4;
    }
    return activation;
}

/* What a kind wants of its constants, where it has not got it. A 0 where the formula would be
 * another function's is a constant that was forgotten. */
static const char *wanted_constants(const tenon_activation *activation)
{
    const double alpha = activation->alpha, beta = activation->beta;
    switch (activation->kind) {
    case TENON_ACTIVATION_LEAKY_RELU:
        return isfinite(alpha) && alpha != 0 ? NULL : "must be finite and not 0; usually 0.01";
    case TENON_ACTIVATION_CLIPPED_RELU:
        return alpha > 0 ? NULL : "must be above 0; usually 6";
    case TENON_ACTIVATION_ELU:
        return isfinite(alpha) && alpha != 0 ? NULL : "must be finite and not 0; usually 1";
    case TENON_ACTIVATION_CELU:
        return alpha >= CELU_LEAST && alpha <= CELU_MOST ? NULL
                                                         : "must be from 1e-30 to 1e30; usually 1";
    case TENON_ACTIVATION_HARD_SIGMOID:
        return isfinite(alpha) && alpha != 0 && isfinite(beta)
                   ? NULL
                   : "must be finite and alpha not 0; usually 1/6 and 1/2";
    case TENON_ACTIVATION_HARD_TANH:
        return alpha < beta ? NULL : "alpha must be below beta; usually -1 and 1";
    default:
        return NULL;
    }
}

static tenon_status refuse_constants(const char *caller, const tenon_activation *activation,
                                     const char *wanted)
{
    const bool has_beta = tn_activation_constants(activation->kind) == 2;
    char beta[64] = "";
    if (has_beta)
        snprintf(beta, sizeof beta, " and beta is %g", activation->beta);
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: activation: alpha of %s is %g%s, %s",
                   caller, tn_activation_words[activation->kind], activation->alpha, beta, wanted);
}

tenon_status tn_activation_check(const char *caller, const tenon_activation *activation)
{
    if (activation->kind >= KINDS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: activation kind is %u, which is no tenon_activation_kind",
                       caller, activation->kind);
    if (activation->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: activation: reserved is %u, must be 0", caller,
                       activation->reserved);
    const char *wanted = wanted_constants(activation);
    return wanted == NULL ? TENON_OK : refuse_constants(caller, activation, wanted);
}
