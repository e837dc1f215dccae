/* The reference of the random family, and its awkward cases. docs/numerics.md derives the bound of
 * normal numbers; the others are exact. */
#include "check/awkward.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/exp_sum.h"
#include "ops/common/philox.h"
#include "ops/random/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Radius: 3 for the error of log (3 ulp) under the root, 6 for the root (3 ulp). Cosine or sine: 8
 * (4 ulp), and 2 for its argument. One each for their product and that with the deviation. */
#define NORMAL_ROUNDOFFS (3 + 6 + 8 + 2 + 1 + 1)

#define PI 3.14159265358979323846

static double in_acc(tenon_dtype dtype, double value)
{
    return dtype == TENON_DTYPE_F64 ? value : (double)(float)value;
}

static tn_bounded uniform(const tenon_random_params *params, tenon_dtype dtype, uint64_t number)
{
    double least, most, u;
    const double low = in_acc(dtype, params->low), tiny = tn_least_normal(dtype);
    if (dtype == TENON_DTYPE_F64)
        u = (double)(tn_philox_wide_word(params->seed, params->sequence, number) >> 11) * 0x1p-53;
    else
        u = (double)(tn_philox_word(params->seed, params->sequence, number) >> 8) * 0x1p-24;
    /* Two statements, to prevent fusing. In double the product of two floats is exact, and the sum
     * rounds as if it were. */
    double part = in_acc(dtype, in_acc(dtype, params->high - params->low) * u);
    double value = in_acc(dtype, low + part);
    tn_random_limits(dtype, params->low, params->high, &least, &most);
    value = value < least ? least : value;
    value = value > most ? most : value;
    unsigned char element[8];
    tn_dtype_store(dtype, element, value);
    const bool flushes = (part != 0 && fabs(part) < tiny) || (low != 0 && fabs(low) < tiny) ||
                         (value != 0 && fabs(value) < tiny);
    return (tn_bounded){tn_dtype_load(dtype, element), flushes ? 2 * tiny : 0};
}

/* Computes v for the radius and u for the angle from the words of a pair. */
static void pair_units(const tenon_random_params *params, tenon_dtype dtype, uint64_t number,
                       double *v, double *u)
{
    const uint64_t radius = number & ~UINT64_C(16), angle = radius + 16;
    if (dtype == TENON_DTYPE_F64) {
        *v = (double)((tn_philox_wide_word(params->seed, params->sequence, radius) >> 11) + 1) *
             0x1p-53;
        *u = (double)(tn_philox_wide_word(params->seed, params->sequence, angle) >> 11) * 0x1p-53;
        return;
    }
    uint32_t word = tn_philox_word(params->seed, params->sequence, radius);
    word = word < UINT32_C(1) << 24 ? word : word & UINT32_C(0xffffff00);
    *v = (double)(word > 0 ? word : 1) * 0x1p-32;
    *u = (double)(tn_philox_word(params->seed, params->sequence, angle) >> 8) * 0x1p-24;
}

/* Returns the cosine or sine of 2π · u, reduced to an eighth of a turn about a quarter. */
static double wave(double u, bool sine)
{
    const double quarter = floor(4 * u + 0.5), angle = 2 * PI * (u - quarter / 4);
    switch (((int)quarter + (sine ? 3 : 0)) % 4) {
    case 0:
        return cos(angle);
    case 1:
        return -sin(angle);
    case 2:
        return -cos(angle);
    default:
        return sin(angle);
    }
}

static tn_bounded normal(const tenon_random_params *params, tenon_dtype dtype, uint64_t number)
{
    const double mean = in_acc(dtype, params->mean), deviation = in_acc(dtype, params->deviation);
    const double unit = tn_unit(dtype), least = tn_least_normal(dtype);
    double v, u;
    pair_units(params, dtype, number, &v, &u);
    const double radius = sqrt(-2 * log(v)), part = deviation * (radius * wave(u, number & 16));
    const double error = tn_gamma(NORMAL_ROUNDOFFS, unit) * fabs(part);
    /* Possibly flushed: the sine of the angle, the two products, the sum, and the parameters. */
    const double lost = least * (deviation * (radius + 1) + radius + 3);
    return tn_stored(dtype,
                     (tn_bounded){mean + part, error + unit * (fabs(mean + part) + error) + lost});
}

static tn_bounded bernoulli(const tenon_random_params *params, uint64_t number)
{
    const int64_t word = tn_philox_word(params->seed, params->sequence, number);
    return (tn_bounded){word < tn_philox_threshold(params->probability) ? 1 : 0, 0};
}

bool tn_random_reference(const void *user, const tenon_tensor *const *views, tn_bounded *results)
{
    const tenon_random_params *params = user;
    const tenon_tensor *y = views[RANDOM_Y];
    const uint64_t count = (uint64_t)tenon_tensor_elements(y);
    for (uint64_t i = 0; i < count; i++)
        results[i] = params->kind == TENON_RANDOM_UNIFORM  ? uniform(params, y->dtype, i)
                     : params->kind == TENON_RANDOM_NORMAL ? normal(params, y->dtype, i)
                                                           : bernoulli(params, i);
    return true;
}

bool tn_random_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const tn_lines_problem *like = (const tn_lines_problem *)problem;
    tenon_random_params *params = (tenon_random_params *)c->params.bytes;
    (void)choice;
    if (number == TN_LINES_LAYOUTS)
        return false;
    tn_awkward_begin(c, &tn_operation_random);
    params->kind = like->kind;
    params->seed = UINT64_C(0x0123456789abcdef);
    params->sequence = UINT64_C(0xfedcba9876543210);
    params->low = -0.75;
    params->high = 1.5;
    params->mean = 0.25;
    params->deviation = 3;
    params->probability = 0.3;
    c->views[RANDOM_Y] = tn_lines_awkward((tenon_dtype)like->dtype, number, 1);
    return true;
}
