/* References of the optimizers and of clipping: the formulas of include/tenon/optimizer.h with
 * running error bounds (docs/numerics.md). */
#include "ops/common/running.h"
#include "ops/optimizer/internal.h"

#include <math.h>
#include <stdlib.h>

/* The values of all operands. */
typedef struct operands {
    uint32_t count;
    tn_guard guard;
    double *values[TENON_LINES_VIEWS]; /* NULL if absent */
} operands;

static void release(operands *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        free(all->values[i]);
}

/* Reads all operands, in the shape of the parameter, and the guard that follows them. */
static bool read(const tenon_tensor *const *views, uint32_t count, bool is_guarded, operands *all)
{
    const tenon_tensor *like = views[OPTIMIZER_PARAMETER];
    *all = (operands){.count = count};
    bool whole = !is_guarded || tn_guard_read(views + count, &all->guard);
    for (uint32_t i = 0; i < count; i++)
        if (views[i] != NULL) {
            all->values[i] = tn_host_read(views[i], like->rank, like->shape);
            whole = whole && all->values[i] != NULL;
        }
    if (!whole)
        release(all);
    return whole;
}

/* Gets the parameter in the arithmetic's type, and the gradient. */
static void begin(const tn_arithmetic *t, const operands *all, int64_t i, bool maximize,
                  tn_bounded *parameter, tn_bounded *gradient)
{
    const double *master = all->values[all->count - 1];
    const double *from = master != NULL ? master : all->values[OPTIMIZER_PARAMETER];
    const double g = all->values[OPTIMIZER_GRADIENT][i];
    *parameter = tn_operand_value(t, from[i]);
    *gradient = tn_operand_value(t, maximize ? -g : g);
    if (all->guard.scales)
        *gradient = tn_product(t, *gradient, tn_operand_value(t, all->guard.scale));
}

/* Returns true if the step is skipped, after storing the old values of all outputs. */
static bool skip(const tenon_tensor *const *views, const operands *all, int64_t elements,
                 tn_bounded *results)
{
    int64_t at = 0;
    for (uint32_t v = OPTIMIZER_PARAMETER; all->guard.skips && v < all->count; v++)
        for (int64_t i = 0; views[v] != NULL && i < elements; i++)
            results[at++] = (tn_bounded){all->values[v][i], 0};
    return all->guard.skips;
}

static tn_bounded penalise(const tn_arithmetic *t, tn_bounded gradient, double decay,
                           tn_bounded parameter)
{
    return decay != 0 ? tn_sum(t, gradient, tn_scaled(t, decay, parameter)) : gradient;
}

/* Writes the results of the parameter and of its master, the last operand, if present. */
static void finish(const tenon_tensor *const *views, uint32_t count, int64_t elements, int64_t i,
                   tn_bounded parameter, tn_bounded *results)
{
    uint32_t outputs = 0;
    for (uint32_t v = OPTIMIZER_PARAMETER; v < count; v++)
        outputs += views[v] != NULL;
    results[i] = tn_stored(views[OPTIMIZER_PARAMETER]->dtype, parameter);
    if (views[count - 1] != NULL)
        results[(outputs - 1) * elements + i] = parameter;
}

static void round_scalars(const tn_arithmetic *t, double *scalars, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        scalars[i] = tn_as_scalar(t, scalars[i]);
}

static bool sgd(const tenon_sgd_params *params, const tenon_tensor *const *views, bool is_guarded,
                tn_bounded *results)
{
    const int64_t count = tenon_tensor_elements(views[SGD_PARAMETER]);
    const tn_arithmetic t = tn_arithmetic_of(views[SGD_PARAMETER]->dtype);
    double s[TN_MAX_SCALARS];
    operands all;
    if (!read(views, SGD_OPERANDS, is_guarded, &all))
        return false;
    const bool skips = skip(views, &all, count, results);
    tn_sgd_scalars(params, s);
    round_scalars(&t, s, SGD_SCALARS);
    for (int64_t i = 0; !skips && i < count; i++) {
        tn_bounded p, g;
        begin(&t, &all, i, (params->flags & TENON_SGD_MAXIMIZE) != 0, &p, &g);
        g = penalise(&t, g, s[SGD_DECAY], p);
        tn_bounded d = g;
        if (views[SGD_VELOCITY] != NULL) {
            tn_bounded v = g;
            if ((params->flags & TENON_SGD_FIRST) == 0)
                v = tn_sum(&t,
                           tn_scaled(&t, s[SGD_MOMENTUM],
                                     tn_operand_value(&t, all.values[SGD_VELOCITY][i])),
                           tn_scaled(&t, s[SGD_FRESH], g));
            results[count + i] = v;
            d = (params->flags & TENON_SGD_NESTEROV) != 0
                    ? tn_sum(&t, g, tn_scaled(&t, s[SGD_MOMENTUM], v))
                    : v;
        }
        p = tn_sum(&t, p, tn_scaled(&t, -s[SGD_RATE], d));
        finish(views, SGD_OPERANDS, count, i, p, results);
    }
    release(&all);
    return true;
}

bool tn_sgd_reference(const void *params, const tenon_tensor *const *views, tn_bounded *results)
{
    return sgd(params, views, false, results);
}

bool tn_sgd_guarded_reference(const void *params, const tenon_tensor *const *views,
                              tn_bounded *results)
{
    return sgd(params, views, true, results);
}

static tn_bounded moment(const tn_arithmetic *t, double keep, double old, double fresh,
                         tn_bounded x)
{
    return tn_sum(t, tn_scaled(t, keep, tn_operand_value(t, old)), tn_scaled(t, fresh, x));
}

static bool adam(const tenon_adam_params *params, const tenon_tensor *const *views, bool is_guarded,
                 tn_bounded *results)
{
    const bool decoupled = (params->flags & TENON_ADAM_DECOUPLED) != 0;
    const int64_t count = tenon_tensor_elements(views[ADAM_PARAMETER]);
    const tn_arithmetic t = tn_arithmetic_of(views[ADAM_PARAMETER]->dtype);
    double s[TN_MAX_SCALARS];
    operands all;
    if (!read(views, ADAM_OPERANDS, is_guarded, &all))
        return false;
    const bool skips = skip(views, &all, count, results);
    tn_adam_scalars(params, s);
    round_scalars(&t, s, ADAM_SCALARS);
    for (int64_t i = 0; !skips && i < count; i++) {
        tn_bounded p, g;
        begin(&t, &all, i, (params->flags & TENON_ADAM_MAXIMIZE) != 0, &p, &g);
        if (decoupled)
            p = tn_scaled(&t, s[ADAM_DECAY], p);
        else
            g = penalise(&t, g, s[ADAM_DECAY], p);
        tn_bounded m =
            moment(&t, s[ADAM_KEEP_FIRST], all.values[ADAM_FIRST][i], s[ADAM_NEW_FIRST], g);
        tn_bounded v = moment(&t, s[ADAM_KEEP_SECOND], all.values[ADAM_SECOND][i],
                              s[ADAM_NEW_SECOND], tn_product(&t, g, g));
        results[count + i] = m;
        results[2 * count + i] = v;
        tn_bounded root = tn_scaled(&t, s[ADAM_ROOT], tn_square_root(&t, v));
        tn_bounded d = tn_quotient(&t, m, tn_sum(&t, root, tn_operand_value(&t, s[ADAM_EPSILON])));
        p = tn_sum(&t, p, tn_scaled(&t, -s[ADAM_RATE], d));
        finish(views, ADAM_OPERANDS, count, i, p, results);
    }
    release(&all);
    return true;
}

bool tn_adam_reference(const void *params, const tenon_tensor *const *views, tn_bounded *results)
{
    return adam(params, views, false, results);
}

bool tn_adam_guarded_reference(const void *params, const tenon_tensor *const *views,
                               tn_bounded *results)
{
    return adam(params, views, true, results);
}

bool tn_square_sum_reference(const void *user, const tenon_tensor *const *views,
                             tn_bounded *results)
{
    const tenon_square_sum_params *params = user;
    const tenon_tensor *x = views[SQUARE_SUM_X];
    const int64_t count = tenon_tensor_elements(x);
    const tn_arithmetic t = tn_arithmetic_of(x->dtype);
    double *values = tn_host_read(x, x->rank, x->shape), sum = 0, flushed = 0;
    double *old = tn_host_read(views[SQUARE_SUM_SUM], views[SQUARE_SUM_SUM]->rank,
                               views[SQUARE_SUM_SUM]->shape);
    const bool whole = values != NULL && old != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        sum += values[i] * values[i];
        flushed += values[i] != 0 ? t.least : 0;
    }
    if (whole) {
        /* A product, an addition for each element, and one to the previous value. */
        const bool adds = (params->flags & TENON_SQUARE_SUM_ADD) != 0;
        const double before = adds ? old[0] : 0;
        results[0] = (tn_bounded){before + sum,
                                  tn_gamma((double)count + 2, t.unit) * (fabs(before) + sum) +
                                      2 * flushed + (fabs(before) < t.least ? fabs(before) : 0)};
    }
    free(values);
    free(old);
    return whole;
}

/* Returns the factor of clipping; exactly 1 if x is not changed. */
static tn_bounded clip_factor(const tn_arithmetic *t, const tenon_clip_params *params, double sum,
                              const tn_guard *guard)
{
    const tn_bounded root = tn_square_root(t, tn_operand_value(t, sum));
    const tn_bounded norm =
        guard->scales ? tn_product(t, root, tn_operand_value(t, guard->scale)) : root;
    const tn_bounded factor =
        tn_quotient(t, tn_operand_value(t, tn_as_scalar(t, params->max_norm)),
                    tn_sum(t, norm, tn_operand_value(t, tn_as_scalar(t, params->epsilon))));
    const bool keeps = (params->flags & TENON_CLIP_SKIP_NONFINITE) != 0 && !isfinite(root.value);
    if (keeps || factor.value - factor.bound > 1)
        return (tn_bounded){1, 0};
    if (factor.value > 1) /* may be on either side of 1 */
        return (tn_bounded){1, factor.bound};
    return factor;
}

static bool clip(const tenon_clip_params *params, const tenon_tensor *const *views,
                 const tn_guard *guard, tn_bounded *results)
{
    const tenon_tensor *x = views[CLIP_X], *sum = views[CLIP_SUM];
    const int64_t count = tenon_tensor_elements(x);
    const tn_arithmetic t = tn_arithmetic_of(x->dtype);
    double *values = tn_host_read(x, x->rank, x->shape);
    double *old = tn_host_read(sum, sum->rank, sum->shape);
    const bool whole = values != NULL && old != NULL;
    const tn_bounded factor = whole ? clip_factor(&t, params, old[0], guard) : (tn_bounded){1, 0};
    const bool changes = factor.value != 1 || factor.bound != 0;
    for (int64_t i = 0; whole && i < count; i++) {
        const tn_bounded value = tn_operand_value(&t, values[i]);
        results[i] = guard->skips
                         ? (tn_bounded){values[i], 0}
                         : tn_stored(x->dtype, changes ? tn_product(&t, factor, value) : value);
    }
    free(values);
    free(old);
    return whole;
}

bool tn_clip_reference(const void *params, const tenon_tensor *const *views, tn_bounded *results)
{
    const tn_guard none = {.scale = 1};
    return clip(params, views, &none, results);
}

bool tn_clip_guarded_reference(const void *params, const tenon_tensor *const *views,
                               tn_bounded *results)
{
    tn_guard guard;
    return tn_guard_read(views + CLIP_OPERANDS, &guard) && clip(params, views, &guard, results);
}
