/* References of tenon_bernoulli, tenon_categorical and tenon_permutation, and their awkward cases.
 * docs/numerics.md derives the bound of a drawn class; the others are exact. */
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
#include "ops/common/philox.h"
#include "ops/random/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

bool tn_bernoulli_reference(const void *user, const tenon_tensor *const *views, tn_bounded *results)
{
    const tenon_bernoulli_params *params = user;
    const tenon_tensor *p = views[DRAW_X];
    double *values = tn_host_read(p, p->rank, p->shape);
    for (int64_t i = 0; values != NULL && i < tenon_tensor_elements(p); i++) {
        const int64_t word = tn_philox_word(params->seed, params->sequence, (uint64_t)i);
        const double probability = values[i] > 0 ? fmin(values[i], 1) : 0;
        results[i] = (tn_bounded){word < tn_philox_threshold(probability) ? 1 : 0, 0};
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

/* Replaces a row of logits by weights. Returns the greatest error of a sum of the device's weights,
 * relative to that of these: an exponential is within 3 ulp, its argument is rounded once. */
static double take_weights(double *row, int64_t classes, bool is_logits, double unit)
{
    double most = -(double)INFINITY, farthest = 0;
    for (int64_t k = 0; k < classes; k++)
        most = row[k] > most || isnan(row[k]) ? row[k] : most;
    for (int64_t k = 0; k < classes; k++) {
        if (is_logits && isfinite(row[k]))
            farthest = fmax(farthest, fmin(most - row[k], 200));
        row[k] = is_logits ? exp(row[k] - most) : row[k] > 0 || isnan(row[k]) ? row[k] : 0;
    }
    return is_logits ? (farthest + 8) * unit : 0;
}

/* Returns the first class whose partial sum, plus `slack`, exceeds the target. */
static int64_t first_above(const double *weights, int64_t classes, double target, double slack)
{
    double sum = 0;
    int64_t drawn = -1;
    for (int64_t k = 0; k < classes; k++) {
        sum += weights[k];
        drawn = weights[k] > 0 ? k : drawn;
        if (sum + slack > target && weights[k] > 0)
            break;
    }
    return drawn;
}

/* A partial sum that is within the error of the target may be on either side of it. */
static tn_bounded draw(const tenon_categorical_params *params, tenon_dtype dtype, double *row,
                       int64_t classes, uint64_t number)
{
    const double unit = tn_unit(dtype);
    const uint32_t word = tn_philox_word(params->seed, params->sequence, number);
    const double u = dtype == TENON_DTYPE_F64 ? word * 0x1p-32 : (double)(word >> 8) * 0x1p-24;
    const bool is_logits = (params->flags & TENON_CATEGORICAL_LOGITS) != 0;
    const double relative = take_weights(row, classes, is_logits, unit);
    double total = 0;
    for (int64_t k = 0; k < classes; k++)
        total += row[k];
    if (!(total > 0) || isinf(total))
        return (tn_bounded){-1, 0};
    const double slack = 2 * (relative + tn_gamma((double)classes + 2, 2 * unit)) * total +
                         2 * (double)classes * tn_least_normal(dtype);
    const double low = (double)first_above(row, classes, u * total, slack),
                 high = (double)first_above(row, classes, u * total, -slack);
    return (tn_bounded){(low + high) / 2, (high - low) / 2};
}

bool tn_categorical_reference(const void *user, const tenon_tensor *const *views,
                              tn_bounded *results)
{
    const tenon_categorical_params *params = user;
    const tenon_tensor *x = views[DRAW_X];
    const int64_t classes = x->shape[x->rank - 1];
    double *values = tn_host_read(x, x->rank, x->shape);
    for (int64_t i = 0; values != NULL && i < tenon_tensor_elements(views[DRAW_Y]); i++)
        results[i] = draw(params, x->dtype, values + i * classes, classes, (uint64_t)i);
    const bool whole = values != NULL;
    free(values);
    return whole;
}

/* Applies the network to a number, in arithmetic instead of bit operations. */
static uint64_t permute(const tenon_permutation_params *params, uint64_t number, uint64_t half)
{
    const uint32_t key[] = {(uint32_t)params->seed, (uint32_t)(params->seed >> 32)};
    uint64_t left = number / half, right = number % half;
    for (uint32_t round = 0; round < 8; round++) {
        const uint32_t counter[] = {(uint32_t)right, round, (uint32_t)params->sequence,
                                    (uint32_t)(params->sequence >> 32)};
        uint32_t words[4];
        tn_philox(counter, key, words);
        const uint64_t next = left ^ words[0] % half;
        left = right;
        right = next;
    }
    return left * half + right;
}

bool tn_permutation_reference(const void *user, const tenon_tensor *const *views,
                              tn_bounded *results)
{
    const uint64_t count = (uint64_t)views[RANDOM_Y]->shape[0];
    uint64_t half = 4;
    while (half < UINT64_C(1) << 31 && half * half < count)
        half *= 2;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = permute(user, i, half);
        while (number >= count)
            number = permute(user, number, half);
        results[i] = (tn_bounded){(double)number, 0};
    }
    return true;
}

#define SEED     UINT64_C(0x0123456789abcdef)
#define SEQUENCE UINT64_C(0xfedcba9876543210)

static tenon_dtype y_type(const tn_lines_problem *like, uint32_t operand)
{
    const uint32_t size = like->element_size[operand];
    return size == 1 ? TENON_DTYPE_U8 : size == 4 ? TENON_DTYPE_I32 : TENON_DTYPE_I64;
}

bool tn_bernoulli_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    const tn_lines_problem *like = (const tn_lines_problem *)problem;
    const tenon_dtype type = (tenon_dtype)like->dtype;
    tenon_bernoulli_params *params = (tenon_bernoulli_params *)c->params.bytes;
    (void)choice;
    if (number == TN_LINES_LAYOUTS)
        return false;
    tn_awkward_begin(c, &tn_operation_bernoulli);
    params->seed = SEED;
    params->sequence = SEQUENCE;
    c->views[DRAW_X] = tn_lines_awkward(type, number, DRAW_X);
    c->views[DRAW_Y] =
        tn_lines_awkward(like->kind != 0 ? y_type(like, DRAW_Y) : type, number, DRAW_Y);
    return true;
}

bool tn_categorical_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    /* Rows that do not fill vectors, or leave a single one; more classes than partial sums. */
    static const int64_t shapes[][3] = {{3, 70, 5}, {2, 17, 1301}, {5, 13, 1}};
    const tn_lines_problem *like = (const tn_lines_problem *)problem;
    tenon_categorical_params *params = (tenon_categorical_params *)c->params.bytes;
    (void)choice;
    if (number == 6)
        return false;
    tn_awkward_begin(c, &tn_operation_categorical);
    params->flags = number % 2 == 0 ? 0 : TENON_CATEGORICAL_LOGITS;
    params->seed = SEED;
    params->sequence = SEQUENCE;
    c->views[DRAW_X] =
        tn_awkward_view((tenon_dtype)like->dtype, 3, shapes[number / 2], number >= 2);
    c->views[DRAW_Y] = tn_awkward_view(y_type(like, DRAW_Y), 2, shapes[number / 2], number >= 4);
    return true;
}

bool tn_permutation_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    static const int64_t sizes[] = {1, 5, 16, 17, 1000, 4097};
    tenon_permutation_params *params = (tenon_permutation_params *)c->params.bytes;
    (void)choice;
    if (number == sizeof sizes / sizeof *sizes)
        return false;
    tn_awkward_begin(c, &tn_operation_permutation);
    params->seed = SEED;
    params->sequence = SEQUENCE;
    c->views[RANDOM_Y] = tn_awkward_view(y_type((const tn_lines_problem *)problem, RANDOM_Y), 1,
                                         &sizes[number], number % 2 != 0);
    return true;
}
