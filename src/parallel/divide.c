/* Shares of a batch for unequal devices. */
#include "base/status.h"

#include <tenon/parallel.h>

#include <math.h>

static tenon_status check(const char *caller, int64_t batch, uint32_t members, const double *speeds,
                          const int64_t *counts)
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

/* Returns whether member a should get a further sample rather than b: it is done with it earlier,
 * or at the same time and is the faster one. Each side is rounded once, so that every host with
 * IEEE arithmetic decides alike. */
static bool is_better(const double *speeds, const int64_t *counts, uint32_t a, uint32_t b)
{
    const double of_a = (double)(counts[a] + 1) * speeds[b],
                 of_b = (double)(counts[b] + 1) * speeds[a];
    return of_a < of_b || (of_a == of_b && speeds[a] > speeds[b]);
}

/* Gives most samples in proportion to the speeds, scaled to the largest one; fewer than the batch,
 * by at most one for each member and one for rounding. Returns the rest. */
static int64_t give_proportional(int64_t batch, uint32_t members, const double *speeds,
                                 int64_t *counts)
{
    double most = 0, total = 0;
    int64_t rest = batch;
    for (uint32_t m = 0; m < members; m++)
        most = fmax(most, speeds[m]);
    for (uint32_t m = 0; m < members; m++)
        total += speeds[m] / most;
    for (uint32_t m = 0; m < members; m++) {
        const double share = floor((double)batch * (speeds[m] / most / total)) - 1;
        counts[m] = share > 0 ? (int64_t)share : 0;
        rest -= counts[m];
    }
    return rest;
}

TENON_API tenon_status tenon_divide_batch(int64_t batch, uint32_t members, const double *speeds,
                                          int64_t *counts)
{
    TN_TRY(check("tenon_divide_batch", batch, members, speeds, counts));
    for (int64_t rest = give_proportional(batch, members, speeds, counts); rest > 0; rest--) {
        uint32_t best = 0;
        for (uint32_t m = 1; m < members; m++)
            if (speeds[best] == 0 || (speeds[m] > 0 && is_better(speeds, counts, m, best)))
                best = m;
        counts[best]++;
    }
    return TENON_OK;
}
