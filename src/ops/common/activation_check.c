/* Names, customary constants and validation of the activations. */
#include "ops/common/epilogue.h"

#include <math.h>
#include <stdio.h>

#define X(number, NAME, ...)                                                                       \
    _Static_assert(TENON_ACTIVATION_##NAME == (number), "the number of " #NAME);
#include "ops/common/activation_list.h"
#undef X

const char *const tn_activation_words[] = {
#define X(number, NAME, name, ...) [number] = #name,
#include "ops/common/activation_list.h"
#undef X
    [TN_ACTIVATION_KINDS] = NULL};

static const struct {
    bool is_build;
    uint32_t constants;
    double alpha, beta; /* customary values */
} listed[] = {
#define X(number, NAME, name, ...) [number] = {__VA_ARGS__},
#include "ops/common/activation_list.h"
#undef X
};

#define CELU_LEAST 1e-30
#define CELU_MOST  1e30

bool tn_activation_is_build(uint32_t kind)
{
    return kind < TN_ACTIVATION_KINDS && listed[kind].is_build;
}

uint32_t tn_activation_constants(uint32_t kind)
{
    return kind < TN_ACTIVATION_KINDS ? listed[kind].constants : 0;
}

/* Returns the kind of the activation that contains the member at an address. */
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
    if (activation.kind < TN_ACTIVATION_KINDS) {
        activation.alpha = listed[kind].alpha;
        activation.beta = listed[kind].beta;
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

/* Returns the requirement that the constants violate, or NULL. A 0 that would turn the formula into
 * another function's is treated as a forgotten constant. */
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
    if (activation->kind >= TN_ACTIVATION_KINDS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: activation kind is %u, which is not a tenon_activation_kind",
                       caller, activation->kind);
    if (activation->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: activation: reserved is %u, must be 0", caller,
                       activation->reserved);
    const char *wanted = wanted_constants(activation);
    return wanted == NULL ? TENON_OK : refuse_constants(caller, activation, wanted);
}
