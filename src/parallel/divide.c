/* Shares of a batch for unequal devices. */
#include "base/status.h"

#include <tenon/parallel.h>

#include <math.h>

static tenon_status check_division(const char *caller, int64_t batch, uint32_t members,
                                   const double *speeds, const int64_t *counts)
{
    double sum = 0;
    if (batch < 0 || batch > INT32_MAX)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: batch is %lld, must be 0 to %d", caller,
                       (long long)batch, INT32_MAX);
    if (members == 0 || members > TENON_GROUP_MAX_MEMBERS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: members is %u, must be 1 to %d", caller,
                       (unsigned)members, TENON_GROUP_MAX_MEMBERS);
    if (speeds == NULL || counts == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       speeds == NULL ? "speeds" : "counts");
    for (uint32_t m = 0; m < members; m++) {
        if (!(speeds[m] >= 0) || isinf(speeds[m]))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: speeds[%u] is %g, not a number from 0 on", caller, (unsigned)m,
                           speeds[m]);
        sum += speeds[m] > 0;
    }
    if (sum == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: none of %u members has a speed above 0",
                       caller, (unsigned)members);
    return TENON_OK;
}

/* Scales the speeds by a power of two, so that the largest is between 1/2 and 1. */
static void scale(uint32_t members, const double *speeds, double *rates)
{
    double most = 0;
    int exponent;
    for (uint32_t m = 0; m < members; m++)
        most = fmax(most, speeds[m]);
    (void)frexp(most, &exponent);
    for (uint32_t m = 0; m < members; m++)
        rates[m] = ldexp(speeds[m], -exponent);
}

/* Returns whether member a should get a further sample rather than b: it is done with it earlier,
 * or at the same time and is the faster one. Each side is rounded once, so that every host with
 * IEEE arithmetic decides alike. */
static bool is_better(const double *rates, const int64_t *counts, uint32_t a, uint32_t b)
{
    const double of_a = (double)(counts[a] + 1) * rates[b],
                 of_b = (double)(counts[b] + 1) * rates[a];
    return of_a < of_b || (of_a == of_b && rates[a] > rates[b]);
}

/* Gives most samples in proportion to the rates: fewer than the batch, by at most two for each
 * member and one for rounding. Returns the rest. */
static int64_t give_proportional(int64_t batch, uint32_t members, const double *rates,
                                 int64_t *counts)
{
    double total = 0;
    int64_t rest = batch;
    for (uint32_t m = 0; m < members; m++)
        total += rates[m];
    for (uint32_t m = 0; m < members; m++) {
        const double share = floor((double)batch * (rates[m] / total)) - 1;
        counts[m] = share > 0 ? (int64_t)share : 0;
        rest -= counts[m];
    }
    return rest;
}

TENON_API tenon_status tenon_divide_batch(int64_t batch, uint32_t members, const double *speeds,
                                          int64_t *counts)
{
    double rates[TENON_GROUP_MAX_MEMBERS];
    TN_TRY(check_division("tenon_divide_batch", batch, members, speeds, counts));
    scale(members, speeds, rates);
    for (int64_t rest = give_proportional(batch, members, rates, counts); rest > 0; rest--) {
        uint32_t best = 0;
        for (uint32_t m = 1; m < members; m++)
            if (rates[best] == 0 || (rates[m] > 0 && is_better(rates, counts, m, best)))
                best = m;
        counts[best]++;
    }
    return TENON_OK;
}
