/* Shares of a batch for unequal devices, by the times that they needed. */
#include "base/status.h"

#include <tenon/parallel.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The steps with each division, and the divisions after the first measurement of all members. */
enum { REPEATS = 2, ROUNDS = 3 };

/* Members without samples are measured first: at least one in each division. */
enum { MOST_DIVISIONS = TENON_GROUP_MAX_MEMBERS + ROUNDS + 1 };

struct tenon_shares {
    int64_t batch;
    uint32_t members;
    bool is_fixed;
    int64_t counts[TENON_GROUP_MAX_MEMBERS];
    uint32_t steps, rounds;                 /* with this division; divisions that may follow */
    double least[TENON_GROUP_MAX_MEMBERS];  /* the shortest time of each member in these steps */
    double speeds[TENON_GROUP_MAX_MEMBERS]; /* 0: not measured */
    int64_t best[TENON_GROUP_MAX_MEMBERS];  /* the division with the shortest step */
    double shortest;
    uint32_t seen_count;
    int64_t seen[MOST_DIVISIONS][TENON_GROUP_MAX_MEMBERS];
};

/* Fails unless the samples of the members are not negative and add up to the batch. */
static tenon_status check_counts(const char *caller, int64_t batch, uint32_t members,
                                 const int64_t *counts)
{
    int64_t sum = 0;
    for (uint32_t m = 0; m < members; m++) {
        if (counts[m] < 0 || counts[m] > batch)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: counts[%u] is %lld, must be 0 to batch, which is %lld", caller,
                           (unsigned)m, (long long)counts[m], (long long)batch);
        sum += counts[m];
    }
    if (sum == batch)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: counts has %lld samples, but batch is %lld",
                   caller, (long long)sum, (long long)batch);
}

static tenon_status check_creation(const char *caller, int64_t batch, uint32_t members,
                                   const int64_t *counts)
{
    if (batch < 1 || batch > INT32_MAX)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: batch is %lld, must be 1 to %d", caller,
                       (long long)batch, INT32_MAX);
    if (members == 0 || members > TENON_GROUP_MAX_MEMBERS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: members is %u, must be 1 to %d", caller,
                       (unsigned)members, TENON_GROUP_MAX_MEMBERS);
    return counts == NULL ? TENON_OK : check_counts(caller, batch, members, counts);
}

TENON_API tenon_status tenon_shares_create(int64_t batch, uint32_t members, const int64_t *counts,
                                           tenon_shares **out)
{
    static const char caller[] = "tenon_shares_create";
    double equal[TENON_GROUP_MAX_MEMBERS];
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(check_creation(caller, batch, members, counts));
    tenon_shares *s = calloc(1, sizeof *s);
    if (s == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    s->batch = batch;
    s->members = members;
    s->rounds = ROUNDS;
    s->shortest = INFINITY;
    s->is_fixed = counts != NULL || members == 1;
    for (uint32_t m = 0; m < members; m++)
        equal[m] = 1;
    tenon_status status = TENON_OK;
    if (counts != NULL)
        memcpy(s->counts, counts, members * sizeof *counts);
    else
        status = tenon_divide_batch(batch, members, equal, s->counts);
    if (status != TENON_OK) {
        free(s);
        return tn_fail_because(status, "%s", caller);
    }
    *out = s;
    return TENON_OK;
}

TENON_API void tenon_shares_destroy(tenon_shares *shares)
{
    free(shares);
}

TENON_API const int64_t *tenon_shares_counts(const tenon_shares *shares)
{
    return shares != NULL ? shares->counts : NULL;
}

TENON_API int tenon_shares_is_fixed(const tenon_shares *shares)
{
    return shares != NULL && shares->is_fixed;
}

static tenon_status check_times(const char *caller, const tenon_shares *s, const double *seconds)
{
    /* So that the speed is finite. */
    const double least = DBL_MIN * INT32_MAX;
    for (uint32_t m = 0; m < s->members; m++)
        if (s->counts[m] > 0 && (!(seconds[m] >= least) || isinf(seconds[m])))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: seconds[%u] is %g, must be positive and finite for a member with "
                           "%lld samples",
                           caller, (unsigned)m, seconds[m], (long long)s->counts[m]);
    return TENON_OK;
}

/* Determines the speeds with the present division, whose steps have been made. */
static void judge(tenon_shares *s)
{
    double longest = 0;
    for (uint32_t m = 0; m < s->members; m++) {
        if (s->counts[m] == 0)
            continue;
        s->speeds[m] = (double)s->counts[m] / s->least[m];
        longest = fmax(longest, s->least[m]);
    }
    if (longest < s->shortest) {
        memcpy(s->best, s->counts, sizeof s->best);
        s->shortest = longest;
    }
    memcpy(s->seen[s->seen_count++], s->counts, sizeof s->counts);
    s->steps = 0;
}

static bool was_seen(const tenon_shares *s, const int64_t *counts)
{
    for (uint32_t i = 0; i < s->seen_count; i++)
        if (memcmp(s->seen[i], counts, s->members * sizeof *counts) == 0)
            return true;
    return false;
}

/* Chooses the next division, or keeps the best one. Members that were not measured come first. */
static tenon_status advance(tenon_shares *s)
{
    double unmeasured[TENON_GROUP_MAX_MEMBERS];
    bool has_all = true;
    for (uint32_t m = 0; m < s->members; m++) {
        unmeasured[m] = s->speeds[m] == 0;
        has_all = has_all && s->speeds[m] > 0;
    }
    TN_TRY(tenon_divide_batch(s->batch, s->members, has_all ? s->speeds : unmeasured, s->counts));
    if (!has_all)
        return TENON_OK;
    if (s->rounds == 0 || was_seen(s, s->counts)) {
        memcpy(s->counts, s->best, sizeof s->counts);
        s->is_fixed = true;
    } else {
        s->rounds--;
    }
    return TENON_OK;
}

TENON_API tenon_status tenon_shares_record(tenon_shares *s, const double *seconds)
{
    static const char caller[] = "tenon_shares_record";
    if (s == NULL || seconds == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       s == NULL ? "shares" : "seconds");
    TN_TRY(check_times(caller, s, seconds));
    if (s->is_fixed)
        return TENON_OK;
    for (uint32_t m = 0; m < s->members; m++)
        s->least[m] = s->steps == 0 ? seconds[m] : fmin(s->least[m], seconds[m]);
    if (++s->steps < REPEATS)
        return TENON_OK;
    judge(s);
    const tenon_status status = advance(s);
    return status == TENON_OK ? TENON_OK : tn_fail_because(status, "%s", caller);
}
